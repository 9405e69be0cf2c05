"""sin, exp, pow and their kin: the same bits in every way of computing them, less than a unit in the last place off."""

import numpy as np
import pytest
import seeded
from ways import INTERPRETED, PLAIN, UNOPTIMISED, distinct, without

import metate as mt

NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
UNARY = ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
NAMES = (*UNARY, "atan2", "pow")
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.5,
    -2.5,
    1e-40,
    -1e-40,
    1e-320,
    1e30,
    -1e30,
    3e38,
    np.inf,
    -np.inf,
    np.nan,
)
DTYPES = [(mt.f32, np.float32, np.float64), (mt.f64, np.float64, np.longdouble)]
WAYS = distinct(PLAIN, UNOPTIMISED, *INTERPRETED.values())


@mt.func
def all_of(out: mt.template(), i, x, y):
    out[0, i], out[1, i], out[2, i], out[3, i] = mt.exp(x), mt.exp2(x), mt.log(x), mt.log2(x)
    out[4, i], out[5, i], out[6, i], out[7, i] = mt.log10(x), mt.sin(x), mt.cos(x), mt.tan(x)
    out[8, i], out[9, i], out[10, i], out[11, i] = mt.asin(x), mt.acos(x), mt.atan(x), mt.sinh(x)
    out[12, i], out[13, i], out[14, i], out[15, i] = mt.cosh(x), mt.tanh(x), mt.atan2(x, y), mt.pow(x, y)


def operands(dtype, name):
    """All pairs of special numbers, then numbers of several sizes."""
    rng = seeded.generator(name)
    x, y = (part.ravel().astype(dtype) for part in np.meshgrid(SPECIAL, SPECIAL))
    unit = rng.random((2, 300)) * 2 - 1
    sizes = np.exp(rng.random((2, 300)) * 24 - 12)
    bits = np.frombuffer(rng.bytes(600 * np.dtype(dtype).itemsize), dtype)
    return np.concatenate([x, *(unit * sizes).astype(dtype), bits]), np.concatenate(
        [y, *(unit[::-1] * 20).astype(dtype), bits[::-1]]
    )


def units_off(got, exact):
    """How far from `exact`, of a wider type, in units of the last place of got's type."""
    limit = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        size = np.clip(np.abs(exact), float(limit.smallest_normal), limit.max).astype(got.dtype)
        unit = np.spacing(size).astype(exact.dtype)
        off = np.abs(got.astype(exact.dtype) - exact) / unit
        beyond = (np.abs(exact) > exact.dtype.type(limit.max)) & (np.abs(got) >= limit.max) & (np.sign(got) == np.sign(exact))
    return np.where((got == exact) | beyond | (np.isnan(got) & np.isnan(exact)), 0, off)


@pytest.mark.parametrize("dtype, numpy, wider", DTYPES, ids=["f32", "f64"])
def test_all_ways_give_the_same_bits(dtype, numpy, wider):
    array, table = mt.types.ndarray(dtype, 1), mt.types.ndarray(dtype, 2)

    @mt.kernel
    def loop(x: array, y: array, out: table):
        for i in range(x.shape[0]):
            all_of(out, i, x[i], y[i])

    x, y = operands(numpy, f"elementary {dtype}")
    results = []
    for options in WAYS:
        with mt.Context(**options):
            results.append(np.zeros((len(NAMES), len(x)), numpy))
            loop(x, y, results[-1])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
        np.testing.assert_array_equal(np.signbit(results[0])[results[0] == 0], np.signbit(other)[results[0] == 0])
    with np.errstate(all="ignore"):
        for name, got in zip(NAMES, results[0], strict=True):
            function = getattr(np, NUMPY.get(name, name))
            wide = (x.astype(wider), y.astype(wider)) if name in ("atan2", "pow") else (x.astype(wider),)
            off = units_off(got, function(*wide))
            worst = int(np.nanargmax(np.where(np.isnan(off), np.inf, off)))
            assert not off[worst] >= 1, f"{name}({x[worst]!r}, {y[worst]!r}) = {got[worst]!r} is {off[worst]} units off"
            narrow = function(*(part.astype(numpy) for part in wide))
            zero = (narrow == 0) & (got == 0)
            np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(narrow[zero]), err_msg=name)


@pytest.mark.parametrize("dtype, numpy", [(mt.f32, np.float32), (mt.f64, np.float64), (mt.f16, np.float16)], ids=str)
def test_vectors_lanes_and_constants_have_the_bits_of_scalars(dtype, numpy):
    array, vectors = mt.types.ndarray(dtype, 1), mt.types.ndarray(mt.types.vector(3, dtype), 1)

    @mt.kernel
    def components(x: vectors, out: vectors):
        for i in x:
            out[3 * i], out[3 * i + 1], out[3 * i + 2] = mt.sin(x[i]), mt.exp(x[i]), mt.atan2(x[i], x[i] + 1)

    @mt.kernel
    def scalars(x: array, out: array):
        for i in range(x.shape[0] // 3):
            for k in mt.static(range(3)):
                t = x[3 * i + k]
                out[9 * i + k], out[9 * i + 3 + k], out[9 * i + 6 + k] = mt.sin(t), mt.exp(t), mt.atan2(t, t + 1)

    @mt.kernel
    def sums(x: array, y: array, out: array):
        for i in range(x.shape[0]):
            s = mt.cast(0, dtype)
            for j in range(y.shape[0]):
                s += mt.cos(x[i] * y[j]) * mt.tanh(y[j])
            out[i] = s

    @mt.kernel
    def constants(out: array):
        t = mt.cast(0.7, dtype)
        out[0], out[1], out[2], out[3], out[4] = mt.sin(t), mt.log(t), t**t, mt.tan(t), mt.acos(t)

    @mt.kernel
    def variables(t: dtype, out: array):
        out[0], out[1], out[2], out[3], out[4] = mt.sin(t), mt.log(t), t**t, mt.tan(t), mt.acos(t)

    rng = seeded.generator(f"elementary shapes {dtype}")
    x = (rng.random(48) * 16 - 8).astype(numpy)
    found = [np.zeros(144, numpy) for _ in range(2)]
    components(x.reshape(16, 3), found[0].reshape(48, 3))
    scalars(x, found[1])
    np.testing.assert_array_equal(*found)
    found = [np.zeros(5, numpy) for _ in range(2)]
    constants(found[0])
    variables(numpy(0.7), found[1])
    np.testing.assert_array_equal(*found)
    if dtype == mt.f16:
        return
    found, y = [], rng.random(20).astype(numpy)
    for options in distinct(*without("across_iterations")):
        with mt.Context(fast_math=False, **options):  # the sum in order, too
            found.append(np.zeros(48, numpy))
            sums(x, y, found[-1])
    np.testing.assert_array_equal(found[0], found[-1])
