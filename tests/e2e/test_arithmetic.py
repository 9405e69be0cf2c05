"""Operators and functions of kernels against NumPy."""

import math

import numpy as np
import pytest

import metate as ti

I32 = ti.types.ndarray(dtype=ti.i32, ndim=1)
U32 = ti.types.ndarray(dtype=ti.u32, ndim=1)
F32 = ti.types.ndarray(dtype=ti.f32, ndim=1)
F64 = ti.types.ndarray(dtype=ti.f64, ndim=1)
ANY = ti.types.ndarray(ndim=1)
COUNT = 257


def integers(rng, dtype, count=COUNT):
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    small = rng.integers(max(info.min, -9), 9, count).astype(dtype)
    values = np.where(rng.random(count) < 0.5, values, small)
    values[:3] = [info.min, info.max, 0]
    return values


@ti.kernel
def int_operators(a: ANY, b: ANY, out: ti.types.ndarray(ndim=2)):
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = a[i] & b[i]
        out[4, i] = a[i] | b[i]
        out[5, i] = a[i] ^ b[i]
        out[6, i] = ~a[i]
        out[7, i] = -a[i]
        out[8, i] = ti.min(a[i], b[i])
        out[9, i] = ti.max(a[i], b[i])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_integer_operators_wrap(rng, dtype):
    a, b = integers(rng, dtype), integers(rng, dtype)[::-1].copy()
    out = np.zeros((10, COUNT), dtype)
    int_operators(a, b, out)
    with np.errstate(over="ignore"):
        expected = [a + b, a - b, a * b, a & b, a | b, a ^ b, ~a, -a, np.minimum(a, b), np.maximum(a, b)]
    for row, (got, want) in enumerate(zip(out, expected)):
        np.testing.assert_array_equal(got, want, err_msg=f"row {row}")


@ti.kernel
def divisions(a: ANY, b: ANY, quotient: ANY, remainder: ANY):
    for i in range(a.shape[0]):
        quotient[i] = a[i] // b[i]
        remainder[i] = a[i] % b[i]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_floor_division_never_traps(rng, dtype):
    a, b = integers(rng, dtype), integers(rng, dtype)[::-1].copy()
    b[5:9] = 0
    if np.iinfo(dtype).min < 0:
        a[10], b[10] = np.iinfo(dtype).min, -1
    quotient, remainder = np.zeros(COUNT, dtype), np.zeros(COUNT, dtype)
    divisions(a, b, quotient, remainder)
    for x, y, q, r in zip(a.tolist(), b.tolist(), quotient.tolist(), remainder.tolist()):
        if y == 0:
            assert (q, r) == (0, 0)
        else:
            wrapped = np.array(x // y & (1 << np.iinfo(dtype).bits) - 1, np.uint64).astype(dtype)
            assert (q, r) == (int(wrapped), x % y), (x, y)


@ti.kernel
def truncated_divisions(a: ANY, b: ANY, out: ti.types.ndarray(ndim=2)):
    for i in range(a.shape[0]):
        out[0, i] = ti.raw_div(a[i], b[i])
        out[1, i] = ti.raw_mod(a[i], b[i])
        out[2, i] = ti.raw_div(a[i], 0)
        out[3, i] = ti.raw_mod(a[i], 0)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_truncated_division_never_traps(rng, dtype):
    a, b = integers(rng, dtype), integers(rng, dtype)[::-1].copy()
    b[5:9] = 0
    if np.iinfo(dtype).min < 0:
        a[10], b[10] = np.iinfo(dtype).min, -1
    out = np.zeros((4, COUNT), dtype)
    truncated_divisions(a, b, out)
    for x, y, q, r in zip(a.tolist(), b.tolist(), *out[:2].tolist()):
        want = 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        wrapped = np.array(want & (1 << np.iinfo(dtype).bits) - 1, np.uint64).astype(dtype)
        assert (q, r) == (int(wrapped), x - y * want if y else 0), (x, y)
    np.testing.assert_array_equal(out[2:], 0)


@ti.kernel
def constant_divisions(a: I32, out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
    for i in range(a.shape[0]):
        out[0, i] = a[i] // 8
        out[1, i] = a[i] % 8
        out[2, i] = a[i] // 7
        out[3, i] = a[i] % 7
        out[4, i] = a[i] // -3
        out[5, i] = a[i] % -3
        out[6, i] = a[i] // -1
        out[7, i] = a[i] % -1
        out[8, i] = a[i] // 0
        out[9, i] = a[i] % 0
        out[10, i] = ti.raw_div(a[i], 7)
        out[11, i] = ti.raw_mod(a[i], 7)


def test_division_by_constants(rng):
    a = integers(rng, np.int32)
    out = np.zeros((12, COUNT), np.int32)
    constant_divisions(a, out)
    wide = a.astype(np.int64)
    truncated = np.trunc(wide / 7).astype(np.int64)
    expected = [wide // 8, wide % 8, wide // 7, wide % 7, wide // -3, wide % -3, -wide, 0 * wide, 0 * wide, 0 * wide]
    expected += [truncated, wide - 7 * truncated]
    for row, (got, want) in enumerate(zip(out, expected)):
        np.testing.assert_array_equal(got, want.astype(np.int32), err_msg=f"row {row}")


@ti.kernel
def shifts(a: ANY, n: I32, left: ANY, right: ANY, logical: ANY):
    for i in range(a.shape[0]):
        left[i] = a[i] << n[i]
        right[i] = a[i] >> n[i]
        logical[i] = ti.bit_shr(a[i], n[i])


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_shifts(rng, dtype):
    bits = np.iinfo(dtype).bits
    a, n = integers(rng, dtype), rng.integers(0, bits + 8, COUNT).astype(np.int32)
    left, right, logical = (np.zeros(COUNT, dtype) for _ in range(3))
    shifts(a, n, left, right, logical)
    mask = (1 << bits) - 1
    for x, k, l, r, z in zip(a.tolist(), n.tolist(), left, right, logical):
        assert int(l) & mask == x << k & mask
        assert int(r) == x >> k
        assert int(z) & mask == (x & mask) >> k


@ti.kernel
def powers(a: I32, n: I32, out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
    for i in range(a.shape[0]):
        out[0, i] = a[i] ** n[i]
        out[1, i] = a[i] ** 5
        out[2, i] = a[i] ** 0


def test_integer_powers_are_exact_and_wrap(rng):
    a, n = rng.integers(-20, 20, COUNT).astype(np.int32), rng.integers(-3, 40, COUNT).astype(np.int32)
    a[:4], n[:4] = [1, -1, -1, 0], [-2, -3, -4, -1]
    out = np.zeros((3, COUNT), np.int32)
    powers(a, n, out)

    def exact(x, k):
        if k < 0:
            return {1: 1, -1: -1 if k % 2 else 1}.get(x, 0)
        return (x**k + 2**31) % 2**32 - 2**31

    assert out[0].tolist() == [exact(x, k) for x, k in zip(a.tolist(), n.tolist())]
    assert out[1].tolist() == [exact(x, 5) for x in a.tolist()]
    assert (out[2] == 1).all()


FUNCTIONS = [
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "log",
    "rsqrt",
    "exp2",
    "log2",
    "log10",
]


@ti.kernel
def functions(x: ANY, out: ti.types.ndarray(ndim=2)):
    for i in range(x.shape[0]):
        out[0, i] = ti.sqrt(x[i])
        out[1, i] = ti.sin(x[i])
        out[2, i] = ti.cos(x[i])
        out[3, i] = ti.tan(x[i])
        out[4, i] = ti.asin(x[i])
        out[5, i] = ti.acos(x[i])
        out[6, i] = ti.atan(x[i])
        out[7, i] = ti.sinh(x[i])
        out[8, i] = ti.cosh(x[i])
        out[9, i] = ti.tanh(x[i])
        out[10, i] = ti.exp(x[i])
        out[11, i] = ti.log(x[i])
        out[12, i] = ti.rsqrt(x[i])
        out[13, i] = ti.exp2(x[i])
        out[14, i] = ti.log2(x[i])
        out[15, i] = ti.log10(x[i])


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-6), (np.float64, 1e-14)])
def test_functions(rng, dtype, tolerance):
    x = (rng.random(COUNT) * 0.98 + 0.01).astype(dtype)
    out = np.zeros((len(FUNCTIONS), COUNT), dtype)
    functions(x, out)
    numpys = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "rsqrt": lambda v: 1 / np.sqrt(v)}
    for name, got in zip(FUNCTIONS, out):
        want = numpys.get(name, getattr(np, name, None))(x.astype(np.float64))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)


@ti.kernel
def roundings(x: F32, y: F32, out: ti.types.ndarray(dtype=ti.f32, ndim=2)):
    for i in range(x.shape[0]):
        out[0, i] = ti.floor(x[i])
        out[1, i] = ti.ceil(x[i])
        out[2, i] = ti.round(x[i])
        out[3, i] = ti.trunc(x[i])
        out[4, i] = abs(x[i])
        out[5, i] = ti.sign(x[i])
        out[6, i] = x[i] % y[i]
        out[7, i] = x[i] // y[i]
        out[8, i] = ti.min(x[i], y[i], 0.25)
        out[9, i] = max(x[i], y[i], 0.25)
        out[10, i] = ti.atan2(x[i], y[i])
        out[11, i] = abs(x[i]) ** y[i]


def test_roundings_and_pairs(rng):
    x = rng.normal(0, 5, COUNT).astype(np.float32)
    x[:6] = [0.5, 1.5, -0.5, -2.5, 0.0, 3.0]
    y = rng.normal(0, 2, COUNT).astype(np.float32)
    out = np.zeros((12, COUNT), np.float32)
    roundings(x, y, out)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(wide_x) + 0.5), x)  # half away from zero
    quotient = np.floor(x / y)
    exact = [np.floor(x), np.ceil(x), rounded, np.trunc(x), np.abs(x), np.sign(x), x - quotient * y, quotient]
    exact += [np.minimum(np.minimum(x, y), np.float32(0.25)), np.maximum(np.maximum(x, y), np.float32(0.25))]
    for row, want in enumerate(exact):
        np.testing.assert_array_equal(out[row], want, err_msg=f"row {row}")
    np.testing.assert_allclose(out[10], np.arctan2(wide_x, wide_y), rtol=1e-5, atol=1e-6)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(out[11], np.abs(wide_x) ** wide_y, rtol=1e-5)


BASES = (2.0, 4.0, 8.0, 0.125, 10.0, 3.0)


@ti.kernel
def powers_of_constants(
    x: F32, wide: F64, out: ti.types.ndarray(dtype=ti.f32, ndim=2), outs: ti.types.ndarray(dtype=ti.f64, ndim=2)
):
    for i in range(x.shape[0]):
        for k, base in ti.static(enumerate(BASES)):
            out[k, i] = base ** x[i]
            outs[k, i] = ti.f64(base) ** wide[i]


def test_powers_of_constants_are_as_exact_as_others(rng):
    """8 ** x was exp2(3 * x), whose rounded product costs up to 44 units in the last place."""
    x = rng.uniform(-18, 18, COUNT).astype(np.float32)
    x[:8] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 17]
    wide = x.astype(np.float64) * 1.1
    out, outs = np.zeros((len(BASES), COUNT), np.float32), np.zeros((len(BASES), COUNT))
    powers_of_constants(x, wide, out, outs)
    for base, single, double in zip(BASES, out, outs):
        np.testing.assert_array_max_ulp(single, (np.float64(base) ** np.float64(x)).astype(np.float32), 1)
        np.testing.assert_array_max_ulp(double, np.float64(base) ** wide, 1)


@ti.kernel
def casts(x: F32, n: I32, to_int: I32, to_byte: ti.types.ndarray(dtype=ti.u8, ndim=1), wide: F64, bits: I32, back: F32):
    for i in range(x.shape[0]):
        to_int[i] = ti.cast(x[i], ti.i32)
        to_byte[i] = ti.u8(n[i])
        wide[i] = ti.f64(n[i]) / 3
        bits[i] = ti.bit_cast(x[i], ti.i32)
        back[i] = ti.bit_cast(bits[i], ti.f32)


def test_casts(rng):
    x = rng.normal(0, 1000, COUNT).astype(np.float32)
    n = integers(rng, np.int32)
    to_int, to_byte, wide = np.zeros(COUNT, np.int32), np.zeros(COUNT, np.uint8), np.zeros(COUNT, np.float64)
    bits, back = np.zeros(COUNT, np.int32), np.zeros(COUNT, np.float32)
    casts(x, n, to_int, to_byte, wide, bits, back)
    np.testing.assert_array_equal(to_int, np.trunc(x).astype(np.int32))
    np.testing.assert_array_equal(to_byte, n.astype(np.uint8))
    np.testing.assert_array_equal(wide, n / 3.0)
    np.testing.assert_array_equal(bits, x.view(np.int32))
    np.testing.assert_array_equal(back, x)


@ti.kernel
def comparisons(a: U32, b: I32, out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
    for i in range(a.shape[0]):
        out[0, i] = ti.select(a[i] < 10, 1, 2)
        out[1, i] = 1 if 0 < b[i] < 100 else 0
        out[2, i] = 1 if b[i] > 5 and b[i] % 2 == 0 else 0
        out[3, i] = 1 if b[i] < -5 or not (b[i] % 3 == 0) else 0
        out[4, i] = ti.cast(b[i] == 0, ti.i32) + ti.cast(b[i] != 0, ti.i32) * 2


def test_comparisons(rng):
    a, b = integers(rng, np.uint32), rng.integers(-150, 150, COUNT).astype(np.int32)
    out = np.zeros((5, COUNT), np.int32)
    comparisons(a, b, out)
    np.testing.assert_array_equal(out[0], np.where(a < 10, 1, 2))
    np.testing.assert_array_equal(out[1], (b > 0) & (b < 100))
    np.testing.assert_array_equal(out[2], (b > 5) & (b % 2 == 0))
    np.testing.assert_array_equal(out[3], (b < -5) | (b % 3 != 0))
    np.testing.assert_array_equal(out[4], np.where(b == 0, 1, 2))


@ti.kernel
def mixed(i8s: ti.types.ndarray(dtype=ti.i8, ndim=1), i64s: ti.types.ndarray(dtype=ti.i64, ndim=1), f32s: F32, out: F64):
    for i in range(f32s.shape[0]):
        out[i] = i8s[i] * i64s[i] + f32s[i] / 2 + math.pi


def test_promotion(rng):
    i8s = integers(rng, np.int8)
    i64s = rng.integers(-(2**30), 2**30, COUNT)
    f32s = rng.normal(0, 1, COUNT).astype(np.float32)
    out = np.zeros(COUNT)
    mixed(i8s, i64s, f32s, out)
    # i8 * i64 is i64; i64 + f32 is f32
    want = (i8s.astype(np.int64) * i64s).astype(np.float32) + f32s / np.float32(2) + np.float32(math.pi)
    np.testing.assert_allclose(out, want, rtol=1e-6)


def test_bf16_keeps_subnormal_numbers():
    """The instructions of AVX-512 BF16 took them for zero."""

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f32, ndim=1), out: ti.types.ndarray(dtype=ti.i16, ndim=1)):
        for i in x:
            b = ti.cast(x[i], ti.bf16)
            out[i] = ti.bit_cast(b + ti.bf16(0.0), ti.i16)

    x, out = np.array([2.0**-133, 3 * 2.0**-130, 2.0**-126, -(2.0**-128)], np.float32), np.zeros(4, np.int16)
    run(x, out)
    assert out.tolist() == [1, 24, 128, 32 - 2**15]


def test_atan2_of_zeros_known_while_compiling():
    """A fold made NaN of them."""

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f64, ndim=1), out: ti.types.ndarray(dtype=ti.f64, ndim=2)):
        for _ in range(1):
            out[0, 0] = ti.atan2(ti.f64(0.0), ti.f64(0.0))
            out[0, 1] = ti.atan2(ti.f64(0.0), ti.f64(-0.0))
            out[0, 2] = ti.atan2(ti.f64(-0.0), ti.f64(-0.0))
            y = ti.f64(0.0)
            out[0, 3] = ti.atan2(y, y)
        for k in range(4):
            out[1, k] = ti.atan2(x[k // 2], x[k % 2])

    out = np.zeros((2, 4))
    run(np.array([0.0, -0.0]), out)
    assert out.tolist() == [[0.0, math.pi, -math.pi, 0.0], [0.0, math.pi, 0.0, -math.pi]]
    assert np.signbit(out[1]).tolist() == [False, False, True, True]


def test_powers_have_the_type_that_products_have():
    """u1 ** u16 was an i32 where u1 * u16 is a u16."""
    kinds = [ti.u1, ti.i8, ti.u8, ti.u16, ti.i32, ti.u32, ti.u64, ti.f32, ti.f64]

    def told(base, exponent):
        """Numbers that tell the type of a one: its negative's bits, or its third."""

        @ti.kernel
        def run(one: ti.i32, out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
            a, b = ti.cast(one, base), ti.cast(one, exponent)
            for k, value in ti.static(enumerate((a * b, a**b, a ** exponent(1), ti.pow(a, b)))):
                if ti.static(base.is_float or exponent.is_float):
                    out[k] = value / 3
                else:
                    out[k] = ti.bit_shr(-value, 1) if -value < 0 else -value

        out = np.zeros(4)
        run(1, out)
        return out

    for base in kinds:
        for exponent in kinds:
            found = told(base, exponent)
            assert (found == found[0]).all(), (base, exponent, found)
    assert told(ti.u1, ti.u16)[0] == 2**16 - 1 and told(ti.u1, ti.u1)[0] == told(ti.i8, ti.i32)[0] == 2**31 - 1


def test_rounding_takes_the_results_type(rng):
    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for i in x:
            out[i, 0] = ti.floor(x[i], ti.i32)
            out[i, 1] = ti.ceil(x[i], dtype=ti.i32)
            out[i, 2] = ti.round(x[i], dtype=int) / 2 * 2  # `/` of integers is a float

    x = rng.uniform(-100, 100, 200).astype(np.float32)
    out = np.zeros((200, 3), np.int32)
    run(x, out)
    np.testing.assert_array_equal(out.T, [np.floor(x), np.ceil(x), np.round(x)])
    with pytest.raises(ti.CompilationError, match=r"ti.round has no parameter 'type'"):

        @ti.kernel
        def wrong(y: ti.f32) -> ti.i32:
            return ti.round(y, type=ti.i32)

        wrong(1.0)


@pytest.mark.parametrize("options", [{}, {"opt_level": 0}, {"opt_level": 1}, {"arch": ti.interp}], ids=str)
def test_the_sign_of_a_bf16s_bits(options):
    """LLVM 22's selection folds the question about numbers that it has just rounded."""
    array, i16, f32, f64 = ti.types.ndarray, ti.i16, ti.f32, ti.f64

    @ti.kernel
    def run(
        x: array(i16, 1), y: array(f32, 1), z: array(f64, 1), negative: array(i16, 2), v: array(ti.types.vector(2, ti.i8), 1)
    ):
        for i in x:
            negative[0, i] = ti.bit_cast(ti.cast(x[i], ti.bf16), i16) < 0
            negative[1, i] = ti.bit_cast(ti.cast(y[i], ti.bf16), i16) < 0
            negative[2, i] = ti.bit_cast(ti.cast(z[i], ti.bf16), i16) < 0
            both = ti.bit_cast(ti.cast(v[i], ti.bf16), i16) < 0
            negative[3, i], negative[4, i] = both[0], both[1]

    x = np.array([-3, 0, 5, -300, 32767, -32768], np.int16)
    y = np.array([-1.5, -0.0, 3, 1e30, -1e-40, -np.inf], np.float32)
    v = np.array([[-1, 1], [0, -7], [5, 5], [-128, 127], [3, -3], [-2, -2]], np.int8)
    negative = np.zeros((5, 6), np.int16)
    with ti.Context(**options):
        run(x, y, -y.astype(np.float64), negative, v)
    np.testing.assert_array_equal(negative, [x < 0, np.signbit(y), ~np.signbit(y), v[:, 0] < 0, v[:, 1] < 0])
