"""Slots are counted before a kernel runs, in C and C++ hosts with memory of their own."""

import pathlib
import subprocess

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent

cells = (
    mt.types.SNodeTreeBuilder().pointer(mt.i, 32, name="blocks").pointer(mt.i, 16, name="cells").dense(mt.i, 4)
    .place(a=mt.i32).build()
)  # fmt: skip


@mt.kernel
def scatter(f: cells, x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for k in range(x.shape[0]):
        f.a[x[k]] += k + 1


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_count_move_launch(tmp_path, rng, plain, linked):
    module = mt.aot.Module(name="scatter").add_type(cells, "cells").add_kernel(scatter)
    file = module.save(tmp_path / ("scatter.o" if linked else "scatter.metate"))
    x = rng.integers(0, 2048, 700, dtype=np.int32)
    (tmp_path / "places").write_bytes(x.tobytes())
    command = [
        "clang++-22", "-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", f"-I{ROOT / 'include'}",
        f"-I{ROOT / 'abi'}", HERE / "reserve_host.cpp", "-o", tmp_path / "host", f"-L{ROOT / 'build/lib'}",
        f"-Wl,-rpath,{ROOT / 'build/lib'}", *(["-DLINKED", file] if linked else []), "-lmetate",
        *(["-DPLAIN_C"] if plain else []),
    ]  # fmt: skip
    for words in (command, [tmp_path / "host", file, tmp_path / "places"]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    counted = [len(np.unique(x // 64)), len(np.unique(x // 4)), (np.arange(len(x)) + 1).sum()]
    assert [int(number) for number in done.stdout.split()] == counted
