"""`load(name, *arguments)`: an example's names, as it has them when it runs with these arguments; kernels see changes.

`filmed(name, size)` are those of a program that has drawn three frames, which were looked at.
"""

import importlib.util
import os
import pathlib
import sys

import numpy as np
import pytest

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
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "SDL_VIDEODRIVER", "dummy")

    def run(name: str, size: int) -> dict:
        program = load(name, "--size", size, "--frames", 3, "--out", "film.gif")
        program["main"]()
        with Image.open("film.gif") as gif:
            assert gif.n_frames == 3
            frames = []
            for number in range(3):
                gif.seek(number)
                frames.append(np.asarray(gif.convert("RGB")).astype(int))
        assert all(frame.std() > 1 for frame in frames), "a frame is empty"
        assert abs(frames[2] - frames[0]).max() > 10, "nothing moves"
        return program

    return run
