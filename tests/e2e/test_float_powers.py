"""Powers of floats that are products: as exact as semantics.md says, with pow's special values, whoever knows the exponent."""

import numpy as np
import pytest
from ways import UNOPTIMISED

import metate as mt

f32, f64, i32 = mt.f32, mt.f64, mt.i32
array = mt.types.ndarray
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -2.5, 1e-30, 1e30)


def bases(rng, dtype):
    return np.concatenate([SPECIAL, rng.uniform(0.01, 30, 90), rng.uniform(-3, 3, 100)]).astype(dtype)


def expect(got, x, exponent, units):
    """Within so many units in the last place of what NumPy's pow of the next wider type gives; special values as it has them."""
    with np.errstate(all="ignore"):
        want = (x.astype(np.longdouble) ** np.longdouble(exponent)).astype(x.dtype)
    same = np.isnan(want) == np.isnan(got)
    assert same.all(), (exponent, x[~same], got[~same])
    infinite = np.isinf(want) | (want == 0)
    np.testing.assert_array_equal(got[infinite], want[infinite], err_msg=str(exponent))
    np.testing.assert_array_equal(np.signbit(got[infinite]), np.signbit(want[infinite]), err_msg=str(exponent))
    finite = np.isfinite(want) & (want != 0)
    np.testing.assert_array_max_ulp(got[finite], want[finite], units)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-16, -7, -3, -2, -1, -1.0, -3.0, -0.5, -1.5, -2.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 12.0])
def test_constant_exponents(rng, dtype, exponent):
    kind = {np.float32: f32, np.float64: f64}[dtype]

    @mt.kernel
    def run(x: array(kind, 1), out: array(kind, 1)):
        for i in range(x.shape[0]):
            out[i] = x[i] ** exponent

    x = bases(rng, dtype)
    for options in ({}, UNOPTIMISED):
        with mt.Context(**options):
            out = np.zeros_like(x)
            run(x, out)
        expect(out, x, exponent, int(abs(exponent)) + 2)


def test_exponents_of_the_launch_and_of_each_number(rng):
    @mt.kernel
    def run(x: array(f32, 1), n: array(i32, 1), same: i32, out: array(f32, 2)):
        for i in range(x.shape[0]):
            out[0, i] = x[i] ** n[i]
            out[1, i] = x[i] ** same
            out[2, i] = x[i] ** mt.u8(n[i] & 31)
            v = mt.Vector([x[i], 2 * x[i]]) ** same
            out[3, i] = v[1]

    x = np.tile(bases(rng, np.float32), 40)
    n = rng.integers(-40, 40, len(x)).astype(np.int32)
    n[:2] = [-(2**31), 2**30]
    for same in (-17, -16, -15, -3, -1, 0, 1, 2, 5, 8, 15, 16, 300):
        for options in ({}, UNOPTIMISED):
            with mt.Context(**options):
                out = np.zeros((4, len(x)), np.float32)
                run(x, n, same, out)
            expect(out[1], x, same, 16)
            expect(out[3], 2 * x, same, 16)
    for exponent in np.unique(n):
        chosen = n == exponent
        expect(out[0][chosen], x[chosen], exponent, 16)
    for exponent in range(32):
        chosen = n & 31 == exponent
        expect(out[2][chosen], x[chosen], exponent, 16)


def test_exponents_known_late_give_the_bits_of_constants(rng):
    @mt.kernel
    def late(x: array(f64, 1), n: i32, out: array(f64, 1)):
        for i in range(x.shape[0]):
            out[i] = x[i] ** n

    @mt.kernel
    def constant(x: array(f64, 1), exponent: mt.template(), out: array(f64, 1)):
        for i in range(x.shape[0]):
            out[i] = x[i] ** exponent

    x = bases(rng, np.float64)
    for exponent in range(-15, 16):
        one, other = np.zeros_like(x), np.zeros_like(x)
        late(x, exponent, one)
        constant(x, exponent, other)
        np.testing.assert_array_equal(one, other)


def test_integers_to_halves_and_fast_math(rng):
    @mt.kernel
    def run(n: array(i32, 1), x: array(f32, 1), out: array(f32, 2)):
        for i in range(n.shape[0]):
            out[0, i] = n[i] ** 0.5
            out[1, i] = x[i] ** -1.5
            out[2, i] = x[i] ** 20.5

    n = rng.integers(0, 1000, 100).astype(np.int32)
    x = rng.uniform(0.5, 2, 100).astype(np.float32)
    for options in ({}, {"fast_math": True}):
        with mt.Context(**options):
            out = np.zeros((3, 100), np.float32)
            run(n, x, out)
        np.testing.assert_allclose(out[0], np.sqrt(n), rtol=3e-7)
        np.testing.assert_allclose(out[1], x.astype(np.float64) ** -1.5, rtol=1e-6)
        np.testing.assert_allclose(out[2], x.astype(np.float64) ** 20.5, rtol=4e-6)
