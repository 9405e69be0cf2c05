"""Loops that change some of a row's cells, of the others beside them: vectors under a mask, where the machine has these."""

import numpy as np
import pytest

import metate as mt
from metate import types


def relaxed(x, b, colour):
    out = x.copy()
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + b[1:-1, 1:-1]
    i, j = np.indices(x.shape)
    is_its = ((i + j) % 2 == colour)[1:-1, 1:-1]
    out[1:-1, 1:-1][is_its] = around[is_its]
    return out


@pytest.mark.parametrize(
    "dtype, numpy", [(mt.f32, np.float32), (mt.f64, np.float64), (mt.i32, np.int32), (mt.i64, np.int64), (mt.i16, np.int16)]
)
@pytest.mark.parametrize("options", [{}, {"threads": 3, "chunk_ns": 0}, {"deterministic": True}])
def test_red_and_black(rng, dtype, numpy, options):
    array = types.ndarray(dtype, 2)

    @mt.kernel
    def relax(x: array, b: array, colour: mt.i32):
        for i, j in mt.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
            if (i + j) % 2 == colour:
                x[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j]

    with mt.Context(**options):
        for shape in ((3, 3), (5, 40), (30, 301), (4, 1030)):
            x, b = (rng.integers(-9, 9, shape).astype(numpy) for _ in range(2))
            for colour in (0, 1, 0):
                expected = relaxed(x, b, colour)
                relax(x, b, colour)
                np.testing.assert_array_equal(x, expected)


def test_cells_that_a_field_chooses(rng):
    n, m = 37, 205
    x, chosen = mt.field(mt.f32, (n, m)), mt.field(mt.i32, (n, m))

    @mt.kernel
    def change(t: mt.f32):
        for i, j in x:
            if chosen[i, j] == 1:
                x[i, j] = x[i, j] * t + 1
            elif chosen[i, j] == 2:
                x[i, j] = -t

    given, kinds = rng.random((n, m), np.float32), rng.integers(0, 4, (n, m), np.int32)
    x.from_numpy(given)
    chosen.from_numpy(kinds)
    change(2.0)
    expected = np.where(kinds == 1, given * 2 + 1, np.where(kinds == 2, np.float32(-2), given))
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-6)


def test_every_third_cell_of_a_line(rng):
    @mt.kernel
    def change(x: types.ndarray(mt.i32, 1)):
        for i in range(1, x.shape[0] - 1):
            if i % 3 == 1:
                x[i] = x[i - 1] + 2 * x[i + 1]

    for n in (3, 17, 1000, 4099):
        x = rng.integers(0, 99, n, np.int32)
        expected = x.copy()
        expected[1:-1:3] = x[0:-2:3] + 2 * x[2::3]
        change(x)
        np.testing.assert_array_equal(x, expected)
