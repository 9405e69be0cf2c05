"""Loops whose iterations run a long loop each: as lanes of vectors they give the same bits as one by one."""

import numpy as np
import pytest
from ways import PIECES, UNOPTIMISED, distinct, without

import metate as mt

f32, f64, i32, i64 = mt.f32, mt.f64, mt.i32, mt.i64
array = mt.types.ndarray
WAYS = distinct(*without("across_iterations"), UNOPTIMISED, PIECES)


def alike(launch, *outputs):
    """Runs `launch(*copies of outputs)` in every way; the results are equal bit for bit and are returned."""
    results = []
    for options in WAYS:
        with mt.Context(contract=False, fast_math=False, **options):
            copies = [np.copy(out) for out in outputs]
            launch(*copies)
            results.append(copies)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    return results[0]


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100])
def test_bodies(rng, n):
    vec3 = array(mt.types.vector(3, f32), 1)

    @mt.kernel
    def attract(p: vec3, v: vec3, dt: f32):
        for i in range(p.shape[0]):
            a = mt.Vector([0.0, 0.0, 0.0])
            for j in range(p.shape[0]):
                d = p[j] - p[i]
                r = mt.rsqrt(d.dot(d) + 0.01)
                a += d * (r * r * r)
            v[i] += dt * a

    p = rng.random((n, 3)).astype(np.float32)
    (v,) = alike(lambda v: attract(p, v, 0.5), np.ones((n, 3), np.float32))
    d = p[None] - p[:, None].astype(np.float64)
    pulls = d * ((d**2).sum(-1) + 0.01)[..., None] ** -1.5
    # Sums of many terms that cancel: right to the size of the terms.
    np.testing.assert_allclose(v, 1 + 0.5 * pulls.sum(1), atol=1e-6 * np.abs(pulls).sum(1).max() + 1e-6)


@pytest.mark.parametrize("dtype, numpy", [(f32, np.float32), (f64, np.float64), (i32, np.int32), (i64, np.int64)], ids=str)
def test_matrix_product(rng, dtype, numpy):
    matrix = array(dtype, 2)

    @mt.kernel
    def multiply(a: matrix, b: matrix, c: matrix):
        for i, j in mt.ndrange(a.shape[0], b.shape[1]):
            s = mt.cast(0, dtype)
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    a, b = (rng.integers(-9, 9, shape).astype(numpy) for shape in ((7, 30), (30, 43)))
    (c,) = alike(lambda c: multiply(a, b, c), np.zeros((7, 43), numpy))
    np.testing.assert_array_equal(c, a @ b)
    (c,) = alike(lambda c: multiply(a, b[:, ::-1], c), np.zeros((7, 43), numpy))
    np.testing.assert_array_equal(c, a @ b[:, ::-1])


def test_bounds_that_are_not_zero_and_nested_loops(rng):
    @mt.kernel
    def run(x: array(f32, 1), low: i32, high: i32, out: array(f32, 1)):
        for i in range(low, high):
            most, s = x[i], 0.0
            for j in range(x.shape[0]):
                for k in range(j):
                    s += mt.abs(x[k] - x[i])
                most = mt.max(most, x[j] if x[j] < 0.9 else s)
            out[i] += most + s

    x = rng.random(60).astype(np.float32)
    (out,) = alike(lambda out: run(x, 3, 58, out), np.ones(60, np.float32))
    assert (out[:3] == 1).all() and (out[58:] == 1).all() and (out[3:58] > 1).all()


def test_own_elements_are_written_inside(rng):
    """What an iteration writes it reads back, in order."""

    @mt.kernel
    def run(x: array(i32, 1), out: array(i32, 1)):
        for i in range(out.shape[0]):
            for j in range(x.shape[0]):
                out[i] = out[i] * 3 + x[j] - out[i] // 2

    x = rng.integers(0, 100, 40).astype(np.int32)
    (out,) = alike(lambda out: run(x, out), np.arange(37, dtype=np.int32))
    want = np.arange(37, dtype=np.int32)
    for value in x:
        want = want * 3 + value - want // 2
    np.testing.assert_array_equal(out, want)


def test_fields(rng):
    x, y = mt.field(f32, 50), mt.field(f32, 50)
    data = rng.random(50).astype(np.float32)

    @mt.kernel
    def run():
        for i in x:
            s = 0.0
            for j in range(50):
                s += x[j] * x[i]
            y[i] = s

    x.from_numpy(data)
    run()
    np.testing.assert_allclose(y.to_numpy(), data * data.sum(dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("n, m, k", [(1, 1, 1), (4, 16, 17), (5, 63, 18), (7, 64, 30), (9, 145, 1), (130, 40, 33)])
@pytest.mark.parametrize("dtype", [f32, f64, i32])
def test_rows_take_turns_together(rng, dtype, n, m, k):
    """Products of matrices: several rows at a time, with rows and columns left over."""

    @mt.kernel
    def multiply(a: array(dtype, 2), b: array(dtype, 2), c: array(dtype, 2)):
        for i, j in mt.ndrange(c.shape[0], c.shape[1]):
            for l in range(a.shape[1]):
                c[i, j] += a[i, l] * b[l, j]

    numpy = {f32: np.float32, f64: np.float64, i32: np.int32}[dtype]
    a, b = (rng.integers(-8, 9, s).astype(numpy) for s in ((n, k), (k, m)))  # sums of any order are exact
    (c,) = alike(lambda c: multiply(a, b, c), np.ones((n, m), numpy))
    np.testing.assert_array_equal(c, 1 + a @ b)


@pytest.mark.parametrize("n", [1, 16, 63, 64, 65, 200])
def test_groups_take_turns_together(rng, n):
    """Sums of columns, and of two of them: several groups of lanes at a time."""

    @mt.kernel
    def run(a: array(f32, 2), total: array(f32, 1), other: array(f32, 1)):
        for j in range(total.shape[0]):
            for i in range(a.shape[0]):
                total[j] += a[i, j]
        for j in range(total.shape[0]):
            s, t = 0.0, 0.0
            for i in range(a.shape[0]):
                s += a[i, j]
                t -= 2 * a[i, j]
            for i in range(a.shape[0]):
                s += t * a[i, 0]
            other[j] = s

    a = rng.integers(-8, 9, (20, n)).astype(np.float32)
    total, other = alike(lambda *out: run(a, *out), np.ones(n, np.float32), np.zeros(n, np.float32))
    np.testing.assert_array_equal(total, 1 + a.sum(0))
    np.testing.assert_array_equal(other, a.sum(0) - 2 * a.sum(0) * a[:, 0].sum())
