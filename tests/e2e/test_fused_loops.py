"""Loops over one box run as one where each iteration has places of its own: the result is that of two loops."""

import numpy as np
import pytest
from seeded import generator

import metate as mt

rng = generator(__file__)
f32 = mt.f32
array = mt.types.ndarray(dtype=f32, ndim=1)


@mt.kernel
def chain(x: array, y: array, z: array, w: array):
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]
    for i in range(x.shape[0]):
        z[i] = y[i] + x[i]
    for i in range(x.shape[0]):
        y[i] = z[i] * z[i]
        w[i] = y[i] - x[i]


@mt.kernel
def reversed_places(x: array, y: array, z: array, w: array):
    n = x.shape[0]
    for i in range(n):
        y[i] = 2 * x[i]
    for i in range(n):
        z[i] = y[n - 1 - i]
    for i in range(n):
        w[i] = z[i]


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_arrays(n):
    x = rng.random(n).astype(np.float32)
    y, z, w = (np.zeros(n, np.float32) for _ in range(3))
    chain(x, y, z, w)
    np.testing.assert_array_equal(z, 2 * x + x)
    np.testing.assert_array_equal(y, z * z)
    np.testing.assert_allclose(w, y - x, rtol=1e-6, atol=1e-6)
    reversed_places(x, y, z, w)
    np.testing.assert_array_equal(z, 2 * x[::-1])
    np.testing.assert_array_equal(w, z)


@mt.kernel
def copied(w: array, y: array, x: array, z: array):
    for i in range(w.shape[0]):
        y[i] = w[i]
    for i in range(w.shape[0]):
        z[i] = y[i] + x[i]


@pytest.mark.parametrize("shift", [-1, 0, 1, 7])
def test_overlapping_arrays(shift):
    """x[i] is y[i + shift]: with 1, in one loop each iteration would see what the next one is still to write."""
    w, memory, z = rng.random(30).astype(np.float32), rng.random(50).astype(np.float32), np.zeros(30, np.float32)
    y, x = memory[10:40], memory[10 + shift : 40 + shift]
    expected = memory.copy()
    expected[10:40] = w
    copied(w, y, x, z)
    assert np.shares_memory(x, y)
    np.testing.assert_array_equal(memory, expected)
    np.testing.assert_array_equal(z, expected[10:40] + expected[10 + shift : 40 + shift])


def test_vectors_and_fields():
    n = 37
    a, b = (mt.Vector.field(3, f32, shape=(n, n)) for _ in range(2))
    total = mt.field(f32, shape=(n, n))

    @mt.kernel
    def run():
        for I in mt.grouped(a):
            b[I] = a[I] * 2
            b[I].y = 5
        for I in mt.grouped(b):
            total[I] = b[I].sum()
            a[I] = b[I] + 1

    given = rng.random((n, n, 3)).astype(np.float32)
    a.from_numpy(given)
    run()
    want = given * 2
    want[..., 1] = 5
    np.testing.assert_array_equal(b.to_numpy(), want)
    np.testing.assert_allclose(total.to_numpy(), want.sum(-1), rtol=1e-6)
    np.testing.assert_array_equal(a.to_numpy(), want + 1)
