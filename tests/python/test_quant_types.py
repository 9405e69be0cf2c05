"""Quantised types are values: spelled as in programs, printed as in IR; what they hold, and what is refused."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import metate as mt
from metate import types
from metate.quant_types import QuantType, first_inexact

quant = mt.types.quant


@pytest.mark.parametrize(
    "type_, text, shown, bits, values",
    [
        (quant.int(5), "int<5, true, i32>", "int(5, True)", 5, (-16, 15)),
        (quant.int(1, False), "int<1, false, ui32>", "int(1, False)", 1, (0, 1)),
        (quant.int(33, True), "int<33, true, i64>", "int(33, True)", 33, (-(2**32), 2**32 - 1)),
        (quant.int(64, False), "int<64, false, ui64>", "int(64, False)", 64, (0, 2**64 - 1)),
        (quant.int(4, False, mt.i8), "int<4, false, i8>", "int(4, False, compute=i8)", 4, (0, 15)),
        (quant.fixed(11, max_value=2.0), "fixed<11, true, 0.001953125, f32>", "fixed(11, True, scale=0.001953125)", 11,
         (-2, 1023 / 512)),
        (quant.fixed(8, False, max_value=1), "fixed<8, false, 0.00390625, f32>", "fixed(8, False, scale=0.00390625)", 8,
         (0, 255 / 256)),
        (quant.fixed(4, scale=1e-5, compute=mt.f64), "fixed<4, true, 1.0e-05, f64>", "fixed(4, True, scale=1e-05, compute=f64)",
         4, (-8 * 1e-5, 7 * 1e-5)),
        (quant.float(5, 9), "float<5, 9, true, f32>", "float(5, 9, True)", 14, (-130816.0, 130816.0)),
        (quant.float(8, 23, False), "float<8, 23, false, f32>", "float(8, 23, False)", 31, (0, float(np.finfo(np.float32).max))),
        (quant.float(11, 53, compute=mt.f64), "float<11, 53, true, f64>", "float(11, 53, True, compute=f64)", 64,
         (-np.finfo(np.float64).max, np.finfo(np.float64).max)),
    ],
)  # fmt: skip
def test_types_are_values(type_, text, shown, bits, values):
    assert str(type_) == f"!metate.quant_{text}" and repr(type_) == f"quant.{shown}"
    assert type_.bits == bits and type_.range() == values and type_.dtype is type_.compute and type_.shape == ()
    again = eval(repr(type_), {"quant": quant, **{t.name: t for t in types.DTYPES}})
    assert again == type_ and hash(again) == hash(type_)
    assert pickle.loads(pickle.dumps(type_)) == type_ == copy.deepcopy(type_)
    with pytest.raises(AttributeError):
        type_.bits = 3


def test_types_differ_in_every_part():
    made = [
        quant.int(5), quant.int(5, False), quant.int(6), quant.int(5, compute=mt.i64), quant.fixed(5), quant.fixed(5, scale=0.5),
        quant.fixed(5, compute=mt.f64), quant.float(5, 9), quant.float(6, 8), quant.float(5, 9, compute=mt.f64),
        quant.float(5, 9, False),
    ]  # fmt: skip
    assert len(set(made)) == len(made) == len(set(map(str, made)))
    assert (made[7].kind, made[7].exp, made[7].frac, made[7].scale) == ("float", 5, 9, None)
    assert (made[0].kind, made[0].exp, made[0].frac, made[0].scale) == ("int", None, None, None)


def test_arguments_are_taichis():
    assert quant.fixed(bits=13, scale=0.1) == quant.fixed(13, True, 1.0, mt.f32, 0.1)
    assert quant.float(exp=6, frac=13, signed=False) == quant.float(6, 13, False)
    assert quant.int(bits=np.int64(4), signed=False) == quant.int(4, False)
    assert quant.fixed(8, max_value=2) == quant.fixed(8, max_value=2.0) == quant.fixed(8, scale=2**-6)


def test_what_is_computed_with_is_the_contexts_choice():
    before = mt.context.current()
    try:
        mt.init(default_fp=mt.f64, default_ip=mt.i64)
        assert quant.int(3).compute is mt.i64 and quant.int(3, False).compute is mt.u64
        assert quant.fixed(3).compute is mt.f64 and quant.float(5, 9).compute is mt.f64
        assert quant.fixed(3, compute=mt.f32).compute is mt.f32 and quant.fixed(3, compute=float).compute is mt.f64
    finally:
        mt.context.set_default(before)


def test_more_digits_than_f32_has_are_computed_with_as_f64():
    assert quant.fixed(25).compute is mt.f32 and quant.fixed(26).compute is mt.f64
    assert quant.fixed(24, False).compute is mt.f32 and quant.fixed(25, False).compute is mt.f64
    assert quant.fixed(32, max_value=2).compute is mt.f64  # of Taichi's programs


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: quant.int(65), ValueError, "quant.int: bits: expected 1 to 64, got 65"),
        (lambda: quant.int(0), ValueError, "quant.int: bits: expected 1 to 64, got 0"),
        (lambda: quant.int(4.0), TypeError, "quant.int: bits: expected a number of bits, got 4.0"),
        (lambda: quant.int(True), TypeError, "quant.int: bits: expected a number of bits, got True"),
        (lambda: quant.int(4, 1), TypeError, "quant.int: signed: expected True or False, got 1"),
        (lambda: quant.int(9, compute=mt.i8), ValueError,
         "quant.int: compute: expected an integer type that holds -256 to 255, such as i32, got i8"),
        (lambda: quant.int(3, compute=mt.u32), ValueError,
         "quant.int: compute: expected an integer type that holds -4 to 3, such as i32, got u32"),
        (lambda: quant.int(8, False, mt.i8), ValueError,
         "quant.int: compute: expected an integer type that holds 0 to 255, such as u32, got i8"),
        (lambda: quant.int(3, compute=mt.f32), ValueError,
         "quant.int: compute: expected an integer type that holds -4 to 3, such as i32, got f32"),
        (lambda: quant.int(3, compute="i33"), TypeError,
         "quant.int: compute: expected a scalar type such as mt.f32, got 'i33'"),
        (lambda: quant.fixed(26, compute=mt.f32), ValueError, "quant.fixed: bits: expected at most 25 with compute=f32, got 26"),
        (lambda: quant.fixed(55), ValueError, "quant.fixed: bits: expected at most 54 with compute=f64, got 55"),
        (lambda: quant.fixed(8, compute=mt.f16), ValueError, "quant.fixed: compute: expected f32 or f64, got f16"),
        (lambda: quant.fixed(8, max_value="2"), TypeError, "quant.fixed: max_value: expected a number, got '2'"),
        (lambda: quant.fixed(8, max_value=-1), ValueError, "quant.fixed: max_value: expected a positive number, got -1"),
        (lambda: quant.fixed(8, max_value=math.inf), ValueError, "quant.fixed: max_value: expected a positive number, got inf"),
        (lambda: quant.fixed(8, scale=0), ValueError,
         "quant.fixed: scale: expected a positive number of f32 that has an inverse, neither of them subnormal, got 0.0"),
        (lambda: quant.fixed(8, scale=1e-39), ValueError,
         "quant.fixed: scale: expected a positive number of f32 that has an inverse, neither of them subnormal, got 1e-39"),
        (lambda: quant.fixed(8, scale=[1]), TypeError, "quant.fixed: scale: expected a number, got [1]"),
        (lambda: quant.float(9, 3), ValueError, "quant.float: exp: expected 1 to 8, got 9"),
        (lambda: quant.float(12, 3, compute=mt.f64), ValueError, "quant.float: exp: expected 1 to 11, got 12"),
        (lambda: quant.float(5, 25), ValueError, "quant.float: frac: expected 1 to 24, got 25"),
        (lambda: quant.float(5, 24, False), ValueError, "quant.float: frac: expected 1 to 23, got 24"),
        (lambda: quant.float(5, 1), ValueError,
         "quant.float: frac: expected at least 2 with signed=True, for the sign is one of its bits, got 1"),
        (lambda: quant.float(5, 9, compute=mt.i32), ValueError, "quant.float: compute: expected f32 or f64, got i32"),
    ],
)  # fmt: skip
def test_types_that_cannot_be_are_refused(make, kind, text):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize("make", [
    lambda q: mt.ndarray(q, 4), lambda q: mt.types.ndarray(q), lambda q: mt.types.vector(3, q),
    lambda q: mt.types.matrix(2, 2, q),
])  # fmt: skip
def test_arrays_and_vector_types_have_no_quantised_elements(make):
    with pytest.raises(TypeError, match=r"quant\.int\(5, True\)"):
        make(quant.int(5))
    with pytest.raises(
        TypeError, match=r"expected a scalar, vector, matrix or struct type, got .*: quantised numbers are in trees"
    ):
        mt.ndarray(quant.int(5), 4)


def test_vector_types_say_where_components_are_quantised():
    with pytest.raises(TypeError, match=r"components of fields are quantised: mt\.Vector\.field\(n, dtype=\.\.\.\)"):
        mt.types.vector(3, quant.int(5))


def test_predicates_tell_what_is_computed_with():
    assert types.is_integral(quant.int(5)) and not types.is_integral(quant.fixed(5)) and not types.is_real(quant.int(5))
    assert types.is_real(quant.float(5, 9)) and types.is_signed(quant.int(5)) and not types.is_signed(quant.int(5, False, mt.i32))
    with pytest.raises(TypeError, match="is_signed: expected an integer type"):
        types.is_signed(quant.fixed(5))


def test_a_kernels_parameter_is_not_quantised():
    @mt.kernel
    def run(x: quant.int(5)): ...

    with pytest.raises(mt.TypeError_, match="run"):
        run(3)


def test_integers_keep_their_low_bits(rng):
    for type_ in (quant.int(5), quant.int(5, False), quant.int(64), quant.int(1)):
        for value in [0, 1, -1, *rng.integers(-(2**40), 2**40, 20).tolist()]:
            low = value % (1 << type_.bits)
            expected = low - (1 << type_.bits) if type_.signed and low >= 1 << (type_.bits - 1) else low
            assert type_(value) == expected
    assert quant.int(5)(15) == 15 and quant.int(5)(16) == -16 and quant.int(5)(3.9) == 3


@pytest.mark.parametrize("type_", [quant.fixed(11, max_value=2.0), quant.fixed(13, scale=0.1), quant.fixed(19, False, scale=0.1),
                                   quant.fixed(32, max_value=1024)])  # fmt: skip
def test_fixed_numbers_are_the_nearest_multiples(type_, rng):
    low, high = type_.range()
    for value in rng.uniform(low, high, 50):
        found = type_(value)
        assert abs(found - value) <= type_.scale * 0.6 and abs(found / type_.scale - round(found / type_.scale)) < 0.1
        assert type_(found) == found
    assert type_(math.nan) == 0 and math.copysign(1, type_(-0.0)) == 1
    step = quant.fixed(8, scale=0.5)
    assert [step(v) for v in (0.25, -0.25, 0.2, 63.5, 64.0, -64.0)] == [0.5, -0.5, 0, 63.5, -64, -64]  # low bits beyond


@pytest.mark.parametrize("type_", [quant.float(5, 9), quant.float(6, 13, False), quant.float(8, 24), quant.float(3, 2, False),
                                   quant.float(11, 20, compute=mt.f64)])  # fmt: skip
def test_floats_are_the_nearest(type_, rng):
    digits, bias = type_.frac - type_.signed, 2 ** (type_.exp - 1) - 1
    known = sorted(
        Fraction(d if not e else 2**digits + d) * Fraction(2) ** (max(e, 1) - bias - digits)
        for e in range(min(6, 2**type_.exp))
        for d in range(min(2**digits, 64))
    )
    for a, b in itertools.pairwise(known):
        assert type_(float(a)) == float(a)
        if type_.exp < 8 and b - a == Fraction(2) ** (1 - bias - digits):
            assert type_(float((a + b) / 2)) == float(b)  # half away from zero
    for value in [*rng.normal(size=30), *np.exp(rng.normal(size=30))]:
        value = type_.compute(value)
        found = type_(value)
        if value < 0 and not type_.signed:
            assert found == 0
        elif abs(value) < type_.range()[1] and abs(value) > 2.0 ** (1 - bias):
            assert abs(found - value) <= abs(value) * 2.0 ** -(digits + 1)
    assert type_(float(np.finfo(np.float64).max)) == type_(math.inf) == type_.range()[1] and type_(math.nan) == 0
    assert math.copysign(1, type_(-0.0)) == (-1 if type_.signed else 1)


def test_the_greatest_float_is_finite():
    assert quant.float(8, 24)(3.5e38) == float(np.finfo(np.float32).max)
    assert quant.float(5, 3)(1e9) == 1.75 * 2**16
    assert quant.float(1, 2, False)(2.0) == 2.0 and quant.float(1, 2, False)(9.0) == 3.5


def test_numbers_that_share_an_exponent():
    a, b = quant.float(5, 10, False), quant.float(5, 14)
    assert first_inexact([a, b], [1.0, -0.25]) is None and first_inexact([a, b], [0.0, 0.0]) is None
    assert first_inexact([a, b], [2.0**-12, 1.0]) == 0 and first_inexact([a, b], [1.0, 0.3]) == 1
    assert first_inexact([a, b], [-1.0, 1.0]) == 0


def test_types_of_a_kind_that_is_none():
    with pytest.raises(KeyError):
        QuantType("string", 3, True, mt.i32)
