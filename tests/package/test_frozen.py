"""A program frozen by PyInstaller: kernels run, errors name their lines, the second start loads what the first one compiled.

It takes a minute and 400 MB, most of it LLVM: `scripts/test --long frozen`.
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """\
import metate as ti
import helper

@ti.kernel
def run(a: ti.i32) -> ti.i32:
    return helper.inc(a)

@ti.kernel
def first() -> ti.f32:
    return ti.solve(ti.Matrix([[2.0, 1.0], [1.0, 4.0]]), ti.Vector([1.0, 2.0])).y

@ti.kernel
def bad(a: ti.i32) -> ti.i32:
    return nosuch(a)

print(run(3), f"{first():.4f}", run.instances()[0].cache)
try:
    bad(1)
except ti.CompilationError as error:
    print(error)
"""
HELPER = "import metate as ti\n\n\n@ti.func\ndef inc(v):\n    return v + 1\n"
ERROR = "program.py:14:12: name 'nosuch' is not defined\n        return nosuch(a)\n               ^~~~~~\n"


def frozen(folder, *arguments):
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", "program.py", *arguments]
    command += ["--additional-hooks-dir", str(ROOT / "python/metate/__pyinstaller"), "--exclude-module", "scipy"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=900)
    return folder / "dist/program/program"


def run(program):
    environment = os.environ | {"METATE_OFFLINE_CACHE": "1", "METATE_OFFLINE_CACHE_FILE_PATH": str(program.parent / "cache")}
    done = subprocess.run([program], capture_output=True, text=True, env=environment, timeout=120)
    return done.stdout, done.stderr


@pytest.mark.skipif("METATE_TEST_FROZEN" not in os.environ, reason="it takes a minute: scripts/test --long frozen")
def test_frozen_programs(tmp_path):
    pytest.importorskip("PyInstaller", reason="PyInstaller is not installed: pip install pyinstaller")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    program = frozen(tmp_path)
    out, error = run(program)
    assert out == "" and "the source of 'run' is not available" in error
    assert "put the file into the frozen program: pyinstaller --add-data program.py:." in error
    program = frozen(tmp_path, "--add-data", "program.py:.", "--add-data", "helper.py:.")
    assert run(program) == ("4 0.4286 compiled and cached\n" + ERROR, "")
    assert run(program) == ("4 0.4286 loaded\n" + ERROR, "")
