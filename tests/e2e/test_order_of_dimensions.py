"""Parallel loops whose variables come in another order than memory has: results do not change, whichever is innermost."""

import numpy as np
import pytest
from ways import UNOPTIMISED

import metate as mt

f32 = mt.f32
array = mt.types.ndarray


def made(rng, shape):
    return rng.integers(-99, 99, shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(100, 70), (64, 16), (3, 200), (200, 3), (1, 1), (65, 65)])
def test_arrays_of_two_dimensions(rng, shape):
    @mt.kernel
    def run(a: array(f32, 2), b: array(f32, 2), t: array(f32, 2)):
        for j, i in mt.ndrange(a.shape[1], a.shape[0]):
            b[i, j] = 2.0 * a[i, j] + j - 3 * i
        for j, i in mt.ndrange(a.shape[1], a.shape[0]):
            t[j, i] = a[i, j]
        for j in range(1, a.shape[1] - 1):
            for i in range(1, a.shape[0] - 1):
                t[j, i] = a[i - 1, j] + a[i, j + 1]

    a = made(rng, shape)
    i, j = np.indices(shape)
    expected = a.T.copy()
    expected[1:-1, 1:-1] = (a[:-2, 1:-1] + a[1:-1, 2:]).T
    for options in ({}, UNOPTIMISED, {"deterministic": True}):
        with mt.Context(**options):
            b, t = np.zeros(shape, np.float32), np.zeros(shape[::-1], np.float32)
            run(a, b, t)
        np.testing.assert_array_equal(b, 2 * a + j - 3 * i)
        np.testing.assert_array_equal(t, expected)


@pytest.mark.parametrize("order", ["ijk", "kji", "jik"])
def test_fields_of_three_dimensions(rng, order):
    shape = (40, 24, 33)
    x, y = mt.field(f32, shape=shape, order=order), mt.field(f32, shape=shape, order=order)

    @mt.kernel
    def run():
        for k, i, j in mt.ndrange(33, 40, 24):
            y[i, j, k] = x[i, j, k] + 2 * i + 3 * j + 5 * k
        for j, k in mt.ndrange((1, 23), 33):
            for i in range(2, 39):
                y[i, j, k] -= x[i - 1, j - 1, k]

    a = made(rng, shape)
    x.from_numpy(a)
    i, j, k = np.indices(shape)
    run()
    expected = a + 2 * i + 3 * j + 5 * k
    expected[2:39, 1:23] -= a[1:38, :22]
    np.testing.assert_array_equal(y.to_numpy(), expected)


def test_columns_that_depend_on_the_turn_before(rng):
    """What a turn reads that another one writes keeps them in order."""

    @mt.kernel
    def run(a: array(f32, 2)):
        for j in range(a.shape[1]):
            for i in range(1, a.shape[0]):
                a[i, j] += a[i - 1, j]

    a = made(rng, (50, 70))
    expected = a.cumsum(axis=0)
    run(a)
    np.testing.assert_array_equal(a, expected)


def test_sums_and_random_numbers(rng):
    rows, columns = mt.field(f32, shape=90), mt.field(f32, shape=110)
    noise = mt.field(f32, shape=(90, 110))

    @mt.kernel
    def run(a: array(f32, 2)):
        for j, i in mt.ndrange(110, 90):
            rows[i] += a[i, j]
            columns[j] += a[i, j]
        for j, i in mt.ndrange(110, 90):
            noise[i, j] = mt.random()

    a = made(rng, (90, 110))
    run(a)
    np.testing.assert_array_equal(rows.to_numpy(), a.sum(axis=1))
    np.testing.assert_array_equal(columns.to_numpy(), a.sum(axis=0))
    assert len(np.unique(noise.to_numpy())) > 9000


def test_the_same_random_numbers_in_any_way():
    """A number belongs to the iteration, not to its turn."""

    def drawn(**options):
        with mt.Context(random_seed=7, **options):
            x = mt.field(f32, shape=(70, 90))

            @mt.kernel
            def draw():
                for j, i in mt.ndrange(90, 70):
                    x[i, j] = mt.random()

            draw()
            return x.to_numpy()

    np.testing.assert_array_equal(drawn(), drawn(**UNOPTIMISED))


def test_sparse_fields(rng):
    shape = (64, 96)
    x, y = mt.field(f32), mt.field(f32)
    mt.root.pointer(mt.ij, (8, 12)).dense(mt.ij, 8).place(x, y)

    @mt.kernel
    def run(a: array(f32, 2)):
        for j, i in mt.ndrange(96, 64):
            if (i // 8 + j // 8) % 3:
                x[i, j] = a[i, j]
        for j, i in mt.ndrange(96, 64):
            y[i, j] = x[i, j] + 1.0

    a = made(rng, shape)
    run(a)
    i, j = np.indices(shape)
    expected = np.where((i // 8 + j // 8) % 3, a, 0)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    np.testing.assert_array_equal(y.to_numpy(), expected + 1)
