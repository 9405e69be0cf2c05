"""Rules of operations: how a result of some type comes of operands (see table.Op.rule)."""

from __future__ import annotations

import math
from typing import NamedTuple

from . import numbers as n


class Type(NamedTuple):
    """A scalar, vector or matrix type; `shape` is (), (n,) or (n, m)."""

    scalar: str
    shape: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def of(self, scalar: str) -> Type:
        return Type(scalar, self.shape)

    @property
    def text(self) -> str:
        if not self.shape:
            return f"mt.{self.scalar}"
        kind = "vector" if len(self.shape) == 1 else "matrix"
        return f"mt.types.{kind}({', '.join(map(str, self.shape))}, mt.{self.scalar})"

    @property
    def label(self) -> str:
        """Its column in the coverage."""
        return ("", "vector ", "matrix ")[len(self.shape)] + self.scalar


INTEGERS = tuple(n.INTEGERS)
FLOATS = tuple(n.FLOATS)
BITS = ("u1", *INTEGERS)
NUMBERS = (*INTEGERS, *FLOATS)
ALL = ("u1", *NUMBERS)


class Use(NamedTuple):
    """One way to get a result: types of the operands, the scalar types that each is cast through, the
    twin's function, and the operand type that coverage counts."""

    operands: tuple[Type, ...]
    paths: tuple[tuple[str, ...], ...]
    twin: str
    counted: Type
    text: str | None = None  # instead of the row's


def _lower(scalar: str, rng, kinds) -> str:
    """A type that gives `scalar` together with it."""
    fitting = [k for k in kinds if n.promote(k, scalar) == scalar]
    return rng.choice(fitting) if fitting and rng.random() < 0.35 else scalar


def _spread(shape, rng):
    """Shapes of two operands whose result has this one."""
    if shape and rng.random() < 0.3:
        return ((), shape) if rng.random() < 0.5 else (shape, ())
    return shape, shape


def _pair(common: str, shape, rng, kinds):
    """Two operands that are brought to `common` and `shape`."""
    scalars = [common, _lower(common, rng, kinds)]
    rng.shuffle(scalars)
    return tuple(Type(s, sh) for s, sh in zip(scalars, _spread(shape, rng)))


def arithmetic(twin, kinds, keeps_bool=False):
    """Both operands to their common type, which the result has."""

    def rule(result, rng):
        if result.scalar not in kinds:
            return None
        lower = kinds if keeps_bool else ("u1", *kinds)
        pair = _pair(result.scalar, result.shape, rng, lower)
        if {p.scalar for p in pair} == {"u1"} and not keeps_bool:
            return None
        return Use(pair, ((result.scalar,),) * 2, f"{twin}__{result.scalar}", result)

    return rule


def comparison(twin):
    def rule(result, rng):
        if result.scalar != "u1":
            return None
        common = rng.choice(ALL)
        pair = _pair(common, result.shape, rng, ALL)
        return Use(pair, ((common,),) * 2, f"{twin}__{common}", result.of(common))

    return rule


def quotient(result, rng):
    """`/`: integers first to their common type, then to default_fp."""
    if not n.is_float(result.scalar):
        return None
    if result.scalar == "f32" and rng.random() < 0.4:
        common = rng.choice(INTEGERS)
        return Use(_pair(common, result.shape, rng, INTEGERS), ((common, "f32"),) * 2, "div__f32", result.of(common))
    pair = _pair(result.scalar, result.shape, rng, NUMBERS)
    return Use(pair, ((result.scalar,),) * 2, f"div__{result.scalar}", result)


def unary(twin, kinds):
    def rule(result, rng):
        return Use((result,), ((),), f"{twin}__{result.scalar}", result) if result.scalar in kinds else None

    return rule


def floating(twin, arity=1):
    """A function of floats; integers are taken as default_fp."""

    def rule(result, rng):
        if not n.is_float(result.scalar):
            return None
        if arity == 1 and result.scalar == "f32" and rng.random() < 0.2:
            integer = rng.choice(INTEGERS)
            return Use((result.of(integer),), (("f32",),), f"{twin}__f32", result.of(integer))
        return Use((result,) * arity, ((),) * arity, f"{twin}__{result.scalar}", result)

    return rule


def to_fixed(twin, target, kinds):
    """One operand of any of the kinds, a result of one type."""

    def rule(result, rng):
        if result.scalar != target:
            return None
        operand = result.of(rng.choice(kinds))
        return Use((operand,), ((),), f"{twin}__{operand.scalar}", operand)

    return rule


def logical_not(result, rng):
    if result != Type("u1"):
        return None
    operand = Type(rng.choice(ALL))
    return Use((operand,), ((),), f"not__{operand.scalar}", operand)


def shifted(twin):
    """The result has the left operand's type; the amount may have any."""

    def rule(result, rng):
        if result.scalar not in INTEGERS:
            return None
        amount = Type(rng.choice((result.scalar, "i32", *INTEGERS)), result.shape if rng.random() < 0.7 else ())
        return Use((result, amount), ((), ()), f"{twin}__{result.scalar}", result)

    return rule


def known_power(exponent):
    def rule(result, rng):
        scalar = result.scalar
        if scalar not in NUMBERS or n.promote(scalar, "i32") != scalar:
            return None
        bases = [k for k in BITS if n.promote(k, "i32") == scalar] if scalar in INTEGERS else [scalar]
        base = result.of(rng.choice((scalar, *bases)))
        return Use((base,), ((scalar,),), f"known_power__{scalar}__{exponent}", result)

    return rule


def known_float_power(exponent):
    """Of f32 and f64: whole exponents below zero, and halves."""

    def rule(result, rng):
        if result.scalar not in ("f32", "f64"):
            return None
        twice = f"{2 * exponent:.0f}".replace("-", "minus")
        return Use((result,), ((),), f"float_power__{result.scalar}__{twice}", result)

    return rule


def small_power(result, rng):
    if result.scalar not in ("f32", "f64"):
        return None
    return Use((result, Type("i32")), ((), ()), f"small_power__{result.scalar}", result)


def selection(result, rng):
    pair = _pair(result.scalar, result.shape, rng, ALL)
    condition = Type("u1", result.shape if rng.random() < 0.6 else ())
    return Use((condition, *pair), ((), (result.scalar,), (result.scalar,)), f"select__{result.scalar}", result)


def conditional(result, rng):
    """`a if c else b`: computed in branches."""
    scalars = [result.scalar, _lower(result.scalar, rng, ALL)]
    rng.shuffle(scalars)
    return Use((Type("u1"), *(result.of(s) for s in scalars)), ((), (result.scalar,), (result.scalar,)), "if", result)


def short_circuit(twin):
    """The operand that decides, of the operands' common type."""

    def rule(result, rng):
        if result.shape or result.scalar not in ("u1", *INTEGERS):
            return None
        return Use(_pair(result.scalar, (), rng, ("u1", *INTEGERS)), ((result.scalar,),) * 2, twin, result)

    return rule


def chained(result, rng):
    """a < b <= c."""
    if result != Type("u1"):
        return None
    common = Type(rng.choice(NUMBERS))
    return Use((common,) * 3, ((),) * 3, "chain", common)


_CLAMPS = {"f16": ("30000", "300"), "bf16": ("30000", "300"), "f32": ("2e9", "300"), "f64": ("2e9", "40000")}


def casting(result, rng):
    """Any scalar type to any; floats that go to integers are held to where that has a meaning."""
    source = rng.choice(ALL)
    operand = result.of(source)
    if n.is_float(source) and result.scalar in INTEGERS:
        high = rng.choice(_CLAMPS[source])
        if source in ("f32", "f64") and n.bits_of(result.scalar) == 64 and rng.random() < 0.5:
            high = "9e18"
        text = f"mt.cast(mt.max(mt.min({{0}}, mt.{source}({high})), mt.{source}(-{high})), {{t}})"
        return Use((operand,), ((),), f"cast_clamped__{source}__{result.scalar}__m{high}__{high}", operand, text)
    return Use((operand,), ((result.scalar,),), "", operand)


def reinterpreting(result, rng):
    """Bits of an integer as another type of that width (floats are made, not taken apart: a NaN has many)."""
    same = [k for k in INTEGERS if n.bits_of(k) == n.bits_of(result.scalar)]
    if not same:
        return None
    operand = result.of(rng.choice(same))
    return Use((operand,), ((),), f"bit_cast__{operand.scalar}__{result.scalar}", operand)


def float_bits(result, rng):
    """Bits of a float that is no NaN: one that comes from an integer."""
    if result.scalar not in INTEGERS or result.scalar in ("i8", "u8"):
        return None
    source = {16: rng.choice(("f16", "bf16")), 32: "f32", 64: "f64"}[n.bits_of(result.scalar)]
    operand = result.of("i16")
    text = f"mt.bit_cast(mt.cast({{0}}, mt.{source}), {{t}})"
    return Use((operand,), ((source,),), f"bit_cast__{source}__{result.scalar}", result.of(source), text)


def reduction(twin, kinds, result_scalar=None):
    """A vector or matrix to a scalar."""

    def rule(result, rng):
        if result.shape or (result_scalar or result.scalar) != result.scalar or not kinds:
            return None
        scalar = rng.choice(kinds) if result_scalar else result.scalar
        if scalar not in kinds:
            return None
        shape = rng.choice(((2,), (3,), (4,), (2, 2), (2, 3)))
        return Use((Type(scalar, shape),), ((),), f"{twin}__{scalar}", Type(scalar, shape))

    return rule


def pairing(twin, kinds, lengths, shape):
    """Two vectors to what `shape` makes of their length."""

    def rule(result, rng):
        fitting = [k for k in lengths if shape(k) == result.shape]
        if result.scalar not in kinds or not fitting:
            return None
        length = rng.choice(fitting)
        scalars = [result.scalar, _lower(result.scalar, rng, kinds)]
        rng.shuffle(scalars)
        vectors = tuple(Type(s, (length,)) for s in scalars)
        return Use(vectors, ((result.scalar,),) * 2, f"{twin}__{result.scalar}", vectors[0].of(result.scalar))

    return rule


def outer(result, rng):
    if len(result.shape) != 2 or result.scalar not in NUMBERS:
        return None
    vectors = tuple(Type(result.scalar, (k,)) for k in result.shape)
    return Use(vectors, ((), ()), f"outer__{result.scalar}", vectors[0])


def product(result, rng):
    """`@`: matrix by matrix or vector."""
    if not result.shape or result.scalar not in NUMBERS:
        return None
    inner = rng.choice((2, 3))
    left = Type(result.scalar, (result.shape[0], inner))
    right = Type(result.scalar, (inner, *result.shape[1:]))
    return Use((left, right), ((), ()), f"matmul__{result.scalar}__{left.shape[0]}__{inner}", left)


def transposed(result, rng):
    if len(result.shape) != 2:
        return None
    operand = Type(result.scalar, result.shape[::-1])
    return Use((operand,), ((),), f"transpose__{result.scalar}__{operand.shape[0]}", operand)


def square(twin, kinds):
    """A square matrix to a scalar."""

    def rule(result, rng):
        if result.shape or result.scalar not in kinds:
            return None
        size = rng.choice((2, 3)) if rng.random() < 0.85 else 4
        operand = Type(result.scalar, (size, size))
        return Use((operand,), ((),), f"{twin}__{result.scalar}__{size}", operand)

    return rule


def inverted(result, rng):
    if len(result.shape) != 2 or result.shape[0] != result.shape[1] or not n.is_float(result.scalar):
        return None
    return Use((result,), ((),), f"inverse__{result.scalar}__{result.shape[0]}", result)


def normalising(result, rng):
    if len(result.shape) != 1 or not n.is_float(result.scalar):
        return None
    return Use((result,), ((),), f"normalized__{result.scalar}", result)


def lengths_of(twin):
    """A float vector to a scalar."""

    def rule(result, rng):
        if result.shape or not n.is_float(result.scalar):
            return None
        operand = Type(result.scalar, (rng.choice((2, 3)),))
        return Use((operand,), ((),), f"{twin}__{result.scalar}", operand)

    return rule


def of_math(twin, arity, kinds=("f32", "f64"), shapes=((),)):
    """A function of metate.math, which takes its literals as f32."""

    def rule(result, rng):
        if result.scalar not in kinds or result.shape not in shapes:
            return None
        return Use((result,) * arity, ((),) * arity, f"{twin}__{result.scalar}", result)

    return rule


def several(twin, kinds):
    """A function of three operands of one type."""

    def rule(result, rng):
        if result.scalar not in kinds:
            return None
        return Use((result,) * 3, ((),) * 3, f"{twin}__{result.scalar}", result)

    return rule


def with_epsilon(twin):
    """norm(eps) and its like."""

    def rule(result, rng):
        if n.is_float(result.scalar) and len(result.shape) == (twin == "normalized_with"):
            vector = Type(result.scalar, result.shape or (rng.choice((2, 3)),))
            return Use((vector, Type(result.scalar)), ((), ()), f"{twin}__{result.scalar}", vector)
        return None

    return rule


def shaped(twin, arity, shape, operand=(2,), kinds=("f32", "f64")):
    """A function of metate.math from `arity` operands of one shape to a result of another."""

    def rule(result, rng):
        if result.scalar not in kinds or result.shape != shape:
            return None
        return Use((Type(result.scalar, operand),) * arity, ((),) * arity, f"{twin}__{result.scalar}", result)

    return rule


def distance(result, rng):
    if result.shape or result.scalar not in ("f32", "f64"):
        return None
    operand = Type(result.scalar, (3,))
    return Use((operand,) * 2, ((), ()), f"distance__{result.scalar}", operand)
