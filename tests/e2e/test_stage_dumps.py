"""Every stage's dump of the demo's kernels, fed back, gives the same module bytes."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def stages(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "metate.cli", "stages", *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps")
    program = folder / "demo_kernels.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'examples/demo')!r})\n"
        "from kernels import kernels_for\nglobals().update(vars(kernels_for(64)))\n"
    )
    stages(program, "-o", folder, "--target", "x86-64-v3")
    return folder


@pytest.mark.parametrize("stage", ["import", "simplify", "activate", "offload", "layout.x86-64-v3", "map.x86-64-v3", "emit"])
def test_a_dump_fed_back_gives_the_same_module(dumps, tmp_path, stage):
    (module,) = dumps.glob("*.pack")
    (dump,) = dumps.glob(f"*.{stage}")
    stages("--start-from", stage.partition(".")[0], "--input", dump, "-o", tmp_path, "--target", "x86-64-v3")
    (again,) = tmp_path.glob("*.pack")
    assert again.read_bytes() == module.read_bytes()
