"""Which instructions a CPU with AVX-512 gets for loops that walk memory in strides, and for others."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import metate as mt

pytestmark = pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
WIDE = r"\tv\w*gather|\tv\w*scatter|%zmm|%k[1-7]\b"
N = 1 << 12


def fields(*types):
    return [mt.field(one, N) if one in (mt.f32, mt.i32) else one.field(shape=N) for one in types]


def products():
    matrix = mt.types.matrix(3, 3, mt.f32)
    a, b, c = fields(matrix, matrix, matrix)

    @mt.kernel
    def run():
        for p in a:
            c[p] = a[p] @ b[p]

    return run


def every_third():
    x, y = fields(mt.f32, mt.f32)

    @mt.kernel
    def run():
        for i in range(N // 3):
            y[3 * i] = 2 * x[3 * i]

    return run


def row():
    x, y = fields(mt.f32, mt.f32)

    @mt.kernel
    def run():
        for i in x:
            y[i] = 2 * x[i] + 1

    return run


def told():
    x, y, at = fields(mt.f32, mt.f32, mt.i32)

    @mt.kernel
    def run():
        for i in range(N // 2):
            y[i] = x[at[2 * i]] - x[at[2 * i + 1]]

    return run


def nearest():
    pair = mt.types.vector(2, mt.i32)
    points, centres, best = fields(pair, pair, mt.i32)

    @mt.kernel
    def run():
        for i in points:
            p, least = points[i], 1 << 30
            for q in range(N):
                d = centres[q] - p
                least = mt.min(least, d.dot(d) + d[0] * 3 - d[1])
            best[i] = least

    return run


def code_of(made, target, folder):
    mt.aot.Module(targets=[target]).add_kernel(made()).save(folder / "kernel.o")
    return subprocess.run(["llvm-objdump-22", "-d", folder / "kernel.o"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("made", [products, every_third], ids=lambda made: made.__name__)
@pytest.mark.parametrize("target", ["x86-64:znver4", "x86-64:znver5"])
def test_strides_are_not_gathered(made, target, tmp_path):
    assert not re.search(WIDE, code_of(made, target, tmp_path))


@pytest.mark.parametrize("made", [row, told, nearest], ids=lambda made: made.__name__)
def test_others_have_wide_vectors(made, tmp_path):
    code = code_of(made, "x86-64:znver5", tmp_path)
    assert "%zmm" in code and ("\tvgather" in code) == (made is told)


def test_other_cpus_decide_themselves(tmp_path):
    assert re.search(WIDE, code_of(every_third, "x86-64-v4", tmp_path))


@pytest.mark.parametrize(("scalar", "kind"), [(mt.f64, np.float64), (mt.i64, np.int64)])
def test_vectors_of_512_bits_go_in_and_out(scalar, kind):
    """In one register or in two: where the caller and what it calls have it."""
    eight = mt.types.vector(8, scalar)
    table = mt.types.ndarray(dtype=mt.f32, ndim=2)

    @mt.real_func
    def turned(x: table, y: table, n: mt.i32, v: eight) -> eight:
        for i in range(n):
            for j in range(n):
                y[j, i] = x[i, j]
        return v + mt.cast(1, scalar)

    @mt.real_func
    def again(y: table, n: mt.i32, v: eight) -> eight:
        result = v * mt.cast(2, scalar)
        for i in range(64):
            y[i, n] += 1.0
        if n > 0:
            result = again(y, n - 1, v + mt.cast(1, scalar)) + result
        return result

    @mt.kernel
    def run(x: table, y: table, out: mt.types.ndarray(dtype=eight, ndim=1), v: eight):
        for _ in range(1):
            w = v
            for _ in range(3):
                w = turned(x, y, 64, w)
            out[0] = w
            out[1] = again(y, 3, v)

    x, out = np.zeros((64, 64), np.float32), np.zeros((2, 8), kind)
    v = np.arange(1, 9)
    run(x, x.copy(), out, mt.Vector(list(v), dt=scalar))
    np.testing.assert_array_equal(out, [v + 3, 2 * (4 * v + 6)])
