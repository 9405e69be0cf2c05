"""Water in a browser: the kernels of examples/firmware as WebAssembly, and a page that runs and draws them.

python examples/browser/page.py -o water.html        one file, which needs no server
"""

import argparse
import base64
import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "firmware"))
import water  # noqa: E402


def page() -> str:
    """The page's text: page.html with the module, and what its header says of the fields' sizes."""
    with tempfile.TemporaryDirectory() as folder:
        module = water.save(pathlib.Path(folder), "wasm32", "wasm")
        sizes = dict(re.findall(r"#define water_(\w+)_BYTES UINT64_C\((\d+)\)", module.with_suffix(".h").read_text()))
        code = base64.b64encode(module.read_bytes()).decode()
    told = {"fields": {name: int(size) for name, size in sizes.items()}, "particles": water.n_particles, "code": code}
    return (HERE / "page.html").read_text().replace('"MODULE"', json.dumps(told))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="PAGE.html", type=pathlib.Path, required=True)
    parsed = parser.parse_args()
    parsed.output.write_text(page())
    print(parsed.output)
