"""round, // and % of floats, math.clamp: Taichi's formulas, in kernels and of numbers known while compiling."""

import math

import numpy as np
import pytest

import metate as ti


def test_round_is_half_away_from_zero():
    @ti.kernel
    def run(x: ti.f64) -> ti.types.vector(2, ti.f64):
        return ti.Vector([ti.round(x), ti.f64(round(ti.f32(x)))])

    @ti.kernel
    def literals() -> ti.types.vector(5, ti.f32):
        return ti.Vector([ti.round(2.5), ti.round(-0.5), round(-2.5), ti.round(0.49999999999999994), ti.round(-0.2)])

    @ti.kernel
    def halves(x: ti.f16) -> ti.f16:
        return ti.round(x)

    for x, expected in ((2.5, 3), (-0.5, -1), (3.5, 4), (-2.5, -3), (0.25, 0), (1e300, 1e300), (-math.inf, -math.inf)):
        assert run(x)[0] == expected
        assert run(x)[1] == np.float32(expected)
    assert run(0.49999999999999994)[0] == 0
    assert literals().tolist() == [3, -1, -3, 0, 0] and math.copysign(1, literals()[4]) == -1
    assert [halves(x) for x in (0.5, -1.5, 2.5)] == [1, -2, 3]


@pytest.mark.parametrize(
    ("a", "b"), [(4.0, 0.8), (-4.0, 0.8), (7.5, -2.0), (1.0, 0.1), (-1e-9, 3.0), (5.0, math.inf), (1.0, 0.0)]
)
def test_quotient_and_remainder_fit_together(a, b):
    @ti.kernel
    def run(a: ti.f32, b: ti.f32) -> ti.types.vector(2, ti.f32):
        return ti.Vector([a // b, a % b])

    with np.errstate(all="ignore"):
        a, b = np.float32(a), np.float32(b)
        quotient = np.floor(a / b)
        np.testing.assert_array_equal(run(a, b), [quotient, a - quotient * b])


def test_clamp():
    @ti.kernel
    def run(x: ti.f32, low: ti.f32, high: ti.f32) -> ti.f32:
        return ti.math.clamp(x, low, high)

    assert run(0, 399, 7.5) == 7.5
    assert run(math.nan, 1, 2) == 1
    assert [run(x, 1, 2) for x in (0.5, 1.5, 2.5)] == [1, 1.5, 2]
