"""Loops over what is around a number that is known at run time: `range(i - 1, i + 2)`."""

import numpy as np
import pytest
from ways import INTERPRETED, UNOPTIMISED, distinct, without

import metate as mt

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray
WAYS = distinct({}, *without("unroll_loops"), UNOPTIMISED, INTERPRETED["interp"])
every_way = pytest.mark.parametrize("options", WAYS, ids=str)


@every_way
def test_neighbours(rng, options):
    """All nine cells, those inside of the grid: a sum, a count, and the last one that is seen."""
    n, m = 21, 34
    with mt.Context(**options):

        @mt.kernel
        def look(x: array(i32, 2), sums: array(i32, 2), last: array(i32, 2)):
            for i, j in x:
                s, k = 0, -1
                for a in range(i - 1, i + 2):
                    for b in range(j - 1, j + 2):
                        if 0 <= a < x.shape[0] and 0 <= b < x.shape[1]:
                            s += x[a, b]
                            k = a * 100 + b
                sums[i, j], last[i, j] = s, k

        x = rng.integers(-99, 99, (n, m), np.int32)
        sums, last = np.zeros_like(x), np.zeros_like(x)
        look(x, sums, last)
    padded = np.pad(x, 1)
    np.testing.assert_array_equal(sums, sum(padded[a : a + n, b : b + m] for a in range(3) for b in range(3)))
    i, j = np.indices((n, m))
    np.testing.assert_array_equal(last, np.minimum(i + 1, n - 1) * 100 + np.minimum(j + 1, m - 1))


@every_way
def test_bounds_that_wrap(options):
    """A bound is a number of 32 bits: one that wraps is below the first turn."""
    with mt.Context(**options):

        @mt.kernel
        def count(k: i32, turns: array(i32, 2)):
            for i in range(turns.shape[0]):
                for _ in range(k + i, k + i + 2):
                    turns[i, 0] += 1
                for _ in range(k + i - 3, k + i):
                    turns[i, 1] += 1

        for k in (0, -5, 2**31 - 4, -(2**31) + 1):
            turns = np.zeros((6, 2), np.int32)
            count(k, turns)

            def wrapped(value):
                return (value + 2**31) % 2**32 - 2**31

            for i in range(6):
                bounds = [(k + i, k + i + 2), (k + i - 3, k + i)]
                assert turns[i].tolist() == [max(0, wrapped(end) - wrapped(begin)) for begin, end in bounds]


@every_way
def test_values_and_breaks(rng, options):
    with mt.Context(**options):

        @mt.kernel
        def first(x: array(f32, 1), at: array(i32, 1), out: array(f32, 1)):
            for p in at:
                s = 0.0
                for a in range(at[p] - 2, at[p] + 3):
                    if x[a] < 0.1:
                        break
                    for b in range(a, a + 2):
                        s += x[b] * (b - at[p])
                out[p] = s

        x, at = rng.random(60, dtype=np.float32), rng.integers(2, 55, 40, np.int32)
        out = np.zeros(40, np.float32)
        first(x, at, out)
    for p in range(40):
        s = 0.0
        for a in range(at[p] - 2, at[p] + 3):
            if x[a] < np.float32(0.1):
                break
            s += x[a] * (a - at[p]) + x[a + 1] * (a + 1 - at[p])
        np.testing.assert_allclose(out[p], s, rtol=1e-5, atol=1e-5)
