"""`load(name, *arguments)`: an example's names, as it has them when it runs with these arguments; kernels see changes.

`filmed(name, size)` are those of a program that has drawn three frames, which were looked at.
"""

import importlib.util
import os
import pathlib
import sys

import pytest
from moving import check_film

import metate as mt

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def load(monkeypatch):
    pytest.importorskip("pygame", reason="pygame-ce is not installed")
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load_program(name: str, *arguments) -> dict:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        spec = importlib.util.spec_from_file_location(f"example_{name.replace('/', '_')}", EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        spec.loader.exec_module(module)
        return vars(module)

    yield load_program
    mt.reset()


@pytest.fixture
def filmed(load, tmp_path, monkeypatch):
    """Frames have something in them, and it moves."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "SDL_VIDEODRIVER", "dummy")

    def run(name: str, size: int) -> dict:
        program = load(name, "--size", size, "--frames", 3, "--out", "film.gif")
        program["main"]()
        check_film("film.gif")
        return program

    return run
