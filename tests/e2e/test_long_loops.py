"""Loops whose variables are i64, for extents that may be long: over ordinary arrays they compute what loops of i32 compute."""

import numpy as np
import pytest

import metate as mt

f32, i32 = mt.f32, mt.i32
SHORT, LONG = {"n": None, "m": None}, {"n": mt.Dim("n", max=2**40), "m": mt.Dim("m", max=2**33)}


def line(dims, dtype=f32):
    return mt.types.ndarray(dtype, shape=(dims["n"],)) if dims["n"] else mt.types.ndarray(dtype, ndim=1)


def plane(dims, dtype=f32):
    return mt.types.ndarray(dtype, shape=(dims["n"], dims["m"])) if dims["n"] else mt.types.ndarray(dtype, ndim=2)


def stencil(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for i, j in mt.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]

    return run


def borders(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for i, j in x:
            left = x[i, mt.max(j - 1, 0)]
            right = x[i, mt.min(j + 1, x.shape[1] - 1)]
            above = x[(i + x.shape[0] - 1) % x.shape[0], j]
            y[i, j] = left + 2 * right + 4 * above
            if i > 2 and j < x.shape[1] - 3:
                y[i, j] += x[i - 3, j + 3]

    return run


def digits(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for c in range(x.shape[0] * x.shape[1]):
            i, j = c // x.shape[1], c % x.shape[1]
            y[i, j] = x[i, j] + (c // 7 % 5) + (c & 3) + (c >> 4) % 3

    return run


def halves(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for i, j in x:
            y[i // 2, j // 2] += x[i, j]

    return run


def columns(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for j in range(x.shape[1]):
            total = 0.0
            for i in range(x.shape[0]):
                total += x[i, j]
                y[i, j] = total

    return run


def windows(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for i, j in x:
            total = 0.0
            for a in range(i - 1, i + 2):
                for b in range(mt.max(j - 2, 0), mt.min(j + 3, x.shape[1])):
                    if 0 <= a and a < x.shape[0]:
                        total += x[a, b]
            y[i, j] = total

    return run


def backwards(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for i in range(x.shape[0]):
            for j in range(x.shape[1] - 1, -1, -1):
                y[i, j] = x[x.shape[0] - 1 - i, j] - (y[i, j + 1] if j + 1 < x.shape[1] else 0.0)
            k = x.shape[1]
            while k > 0:
                k -= 2
                if k >= 0:
                    y[i, k] += 1.0

    return run


def strided(dims):
    @mt.kernel
    def run(x: plane(dims), y: plane(dims)):
        for i in range(x.shape[0]):
            for j in range(1, x.shape[1], 3):
                y[i, j] = 2 * x[i, j]
            for j in range(0, x.shape[1] - 1, 2):
                if x[i, j] > x[i, j + 1]:
                    y[i, j] += x[i, j + 1]

    return run


PLANES = [stencil, borders, digits, halves, columns, windows, backwards, strided]


@pytest.fixture(params=[0, 2], ids=["O0", "O2"])
def level(request):
    with mt.Context(arch=mt.cpu, opt_level=request.param):
        yield request.param


@pytest.mark.parametrize("make", PLANES, ids=lambda make: make.__name__)
def test_planes(level, make, rng):
    short, long = make(SHORT), make(LONG)
    for shape in ((37, 64), (5, 1030), (1, 1), (300, 7)):
        x = rng.integers(-50, 50, shape).astype(np.float32)  # sums are exact
        y, other = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        short(x, y)
        long(x, other)
        np.testing.assert_array_equal(y, other)
        assert y.any() or shape == (1, 1)


def scatter(dims):
    @mt.kernel
    def run(x: line(dims, i32), y: line(dims, i32), out: mt.types.ndarray(mt.i64, ndim=1)):
        for i in x:
            y[x[i]] += 1
            mt.atomic_max(out[0], i * (x[i] % 3))
        for i in range(x.shape[0]):
            if x[i] % 2 == 0:
                at = mt.atomic_add(out[1], 1)
                out[4 + at % 4] += 1
        least = x[0]
        for _ in range(1):
            for i in range(1, x.shape[0]):
                if x[i] < least:
                    least = x[i]
                    out[2] = i

    return run


def dotted(dims):
    @mt.kernel
    def run(x: line(dims, i32), y: line(dims, i32), out: mt.types.ndarray(mt.i64, ndim=1)):
        for i in range(x.shape[0] - 1):
            out[0] += x[i] * x[i + 1]
        for i in range(x.shape[0]):
            y[x.shape[0] - 1 - i] = x[i] * 3 + i % 8
        for i in range(x.shape[0]):
            if i >= x.shape[0] // 3 and i * 2 < x.shape[0] + 5:
                out[1] += y[i] * (i - x.shape[0] // 2)

    return run


@pytest.mark.parametrize("make", [scatter, dotted], ids=lambda make: make.__name__)
def test_lines(level, make, rng):
    kernels = make(SHORT), make(LONG)
    for count in (1000, 17):
        x = rng.integers(0, count, count).astype(np.int32)
        found = []
        for kernel in kernels:
            y, out = np.zeros(count, np.int32), np.zeros(8, np.int64)
            kernel(x, y, out)
            found.append(np.concatenate([y, out]))
        np.testing.assert_array_equal(*found)
