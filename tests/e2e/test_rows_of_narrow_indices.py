"""Lanes whose coordinates are computed in 32 bits, at borders that a condition keeps them from; beside NumPy."""

import numpy as np
import pytest
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct

import metate as mt

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray
WAYS = distinct({}, UNOPTIMISED, PIECES, INTERPRETED["interp"])
every_way = pytest.mark.parametrize("options", WAYS, ids=str)


def convolved(a, w, mode):
    r, q = w.shape[0] // 2, w.shape[1] // 2
    padded = np.pad(a.astype(np.float64), ((r, w.shape[0]), (q, w.shape[1])), mode=mode)
    b = np.zeros(a.shape)
    for p in range(w.shape[0]):
        for o in range(w.shape[1]):
            b += w[p, o] * padded[p : p + a.shape[0], o : o + a.shape[1]]
    return b


@every_way
@pytest.mark.parametrize("shape", [(1, 1), (5, 16), (13, 47), (9, 70)])
@pytest.mark.parametrize("weights", [(1, 1), (3, 5), (4, 2)])
def test_weights_of_any_size(options, shape, weights):
    with mt.Context(**options):

        @mt.kernel
        def convolve(a: array(f32, 2), w: array(f32, 2), b: array(f32, 2)):
            n, m = a.shape[0], a.shape[1]
            r, q = w.shape[0] // 2, w.shape[1] // 2
            for i, j in b:
                s = 0.0
                for p in range(w.shape[0]):
                    for o in range(w.shape[1]):
                        k, l = i + p - r, j + o - q
                        if 0 <= k and k < n and 0 <= l and l < m:
                            s += a[k, l] * w[p, o]
                b[i, j] = s

        rng = np.random.default_rng(3)
        a, w, b = rng.random(shape, np.float32), rng.random(weights, np.float32), np.zeros(shape, np.float32)
        convolve(a, w, b)
        np.testing.assert_allclose(b, convolved(a, w, "constant"), 1e-5, 1e-6)


@every_way
def test_rows_that_fall(options):
    with mt.Context(**options):

        @mt.kernel
        def reflect(a: array(f32, 1), b: array(f32, 1), turns: i32, last: i32):
            for i in range(b.shape[0]):
                s = 0.0
                for o in range(turns):
                    l = last - o - i
                    if 0 <= l and l < a.shape[0]:
                        s += a[l]
                b[i] = s

        for n, last in ((50, 49), (50, 60), (33, 20)):
            a, b = np.random.default_rng(n).random(n, np.float32), np.zeros(n, np.float32)
            reflect(a, b, 20, last)
            places = last - np.arange(n)[:, None] - np.arange(20)
            inside = (places >= 0) & (places < n)
            np.testing.assert_allclose(b, np.where(inside, a[places.clip(0, n - 1)], 0).sum(1), 1e-5, 1e-6)


@every_way
def test_numbers_that_wrap_between_two_lanes(options):
    with mt.Context(**options):

        @mt.kernel
        def shifted(a: array(i32, 1), b: array(i32, 1), turns: i32, shift: i32):
            for i in range(b.shape[0]):
                s = 0
                for o in range(turns):
                    l = i + o + shift
                    if 0 <= l and l < a.shape[0]:
                        s += a[l]
                b[i] = s

        a = np.arange(1, 65, dtype=np.int32)
        for shift in (2**31 - 70, 2**31 - 40, 2**31 - 1, -(2**31), -(2**31) + 30, -50, 20):
            b = np.zeros(64, np.int32)
            shifted(a, b, 20, shift)
            places = np.int64(shift) + np.arange(64)[:, None] + np.arange(20)
            places = (places + 2**31) % 2**32 - 2**31
            inside = (places >= 0) & (places < 64)
            np.testing.assert_array_equal(b, np.where(inside, a[places.clip(0, 63)], 0).sum(1))
