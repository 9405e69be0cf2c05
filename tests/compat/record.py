"""Records what a module computes in the cases of this folder: ``python record.py taichi`` writes expected.json.

Run it in the peers' environment (bench/setup-peers). The recorded file is what test_compat.py compares Metate with.
"""

import importlib
import inspect
import json
import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
CASE_FILES = sorted(path.stem for path in FOLDER.glob("cases_*.py"))


def cases():
    """(name, function) of every case."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    for stem in CASE_FILES:
        module = importlib.import_module(stem)
        for name, function in list(vars(module).items()):
            if inspect.isfunction(function) and function.__module__ == stem and not name.startswith("_"):
                yield f"{stem.removeprefix('cases_')}.{name}", function


def plain(result):
    """A result as JSON has it: arrays as [dtype, nested list]."""
    if isinstance(result, (tuple, list)):
        return [plain(part) for part in result]
    if isinstance(result, np.ndarray):
        return {"dtype": str(result.dtype), "shape": list(result.shape), "values": result.ravel().tolist()}
    return result.item() if isinstance(result, np.generic) else result


def main(module_name):
    ti = importlib.import_module(module_name)
    found = {}
    for name, function in cases():
        ti.init(arch=ti.cpu, log_level="error")
        found[name] = plain(function(ti))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
    (FOLDER / "expected.json").write_text(f"{{\n{lines}\n}}\n")
    print(f"{len(found)} cases recorded with {module_name} {ti.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
