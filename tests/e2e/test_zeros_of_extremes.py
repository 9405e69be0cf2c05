"""min and max of zeros with two signs, however a kernel runs: a zero whose sign one of the operands has (semantics 1.8, 6.4)."""

import ctypes
import itertools
import subprocess

import numpy as np
import pytest

import metate as mt

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
WAYS = {"interpreted": mt.interp, "O0": mt.cpu, "O2": mt.cpu, "simt": mt.simt}
TURNS = 24  # more than a vector has lanes, and a rest


def operands(dtype):
    pairs = np.array(list(itertools.product([0.0, -0.0], repeat=2)) * TURNS, dtype)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def kernel_of(name):
    line = mt.types.ndarray(getattr(mt, name), ndim=1, contiguous=True)

    @mt.kernel
    def extremes(x: line, y: line, least: line, most: line, atomic: line):
        for i in range(x.shape[0]):
            least[i] = mt.min(x[i], y[i])
            most[i] = mt.max(x[i], y[i])
        for i in range(x.shape[0]):
            atomic[2 * i] = x[i]
            atomic[2 * i + 1] = x[i]
        for i in range(x.shape[0]):
            mt.atomic_min(atomic[2 * i], y[i])
            mt.atomic_max(atomic[2 * i + 1], y[i])

    return extremes


def check(run, dtype):
    x, y = operands(dtype)
    least, most, atomic = np.ones(len(x), dtype), np.ones(len(x), dtype), np.ones(2 * len(x), dtype)
    run(x, y, least, most, atomic)
    for found in (least, most, atomic[::2], atomic[1::2]):
        assert (found == 0).all()
        same = np.signbit(x) == np.signbit(y)
        np.testing.assert_array_equal(np.signbit(found[same]), np.signbit(x[same]))
    return least, most


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("way", WAYS)
def test_a_zero_of_one_of_the_operands_signs(name, way):
    options = {"opt_level": int(way[1])} if way[0] == "O" else {}
    with mt.Context(arch=WAYS[way], **options):
        least, most = check(kernel_of(name), FLOATS[name])
    if way == "interpreted":  # which counts -0 as less
        x, y = operands(FLOATS[name])
        np.testing.assert_array_equal(np.signbit(least), np.signbit(x) | np.signbit(y))
        np.testing.assert_array_equal(np.signbit(most), np.signbit(x) & np.signbit(y))


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_in_c(tmp_path, name):
    mt.aot.Module(name="zeros").add_kernel(kernel_of(name)).save(tmp_path / "zeros.c")
    flags = ["-std=c99", "-O2", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, tmp_path / "zeros.c", "-lm", "-o", tmp_path / "zeros.so"], check=True)
    entry = ctypes.CDLL(str(tmp_path / "zeros.so")).zeros_extremes

    def run(*arrays):
        given = []
        for array in arrays:
            given += [ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(len(array))]
        assert entry(*given, None, None) == 0

    check(run, FLOATS[name])
