"""What a kernel can say: one row for each operation, each kind of tree, each scalar type.

A new operation joins by its row here and, if its arithmetic is new, a function in `twins`. The
generator, the twins, the coverage and `test_table` (which compares this file with the front end's own
lists) read nothing else. Rows of statements stand in `statements`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Op:
    """An operation.

    Attributes:
        name: how coverage calls it.
        texts: its spellings in a kernel; {0}, {1} are the operands.
        rule: (result type, random) -> Use, or None if it cannot give that type.
        counts: the scalar types that coverage expects.
        accuracy: of the result, for the manual. Two answers always agree bit for bit.
        whole: bound of the result's magnitude from those of the operands, when all are whole numbers; None:
            not such a number then.
        signs: operands whose zeros must have a certain sign; `signless`: the result's zero has none.
        shapes: "scalar", "vector", "matrix": what coverage expects besides scalars.
        typed: operands that are no Python numbers: those are decided, or refused, while compiling.
    """

    name: str
    texts: tuple[str, ...]
    rule: Callable
    counts: tuple[str, ...]
    accuracy: str = "exact"
    whole: Callable | None = None
    signs: tuple[int, ...] = ()
    signless: bool = False
    shapes: tuple[str, ...] = ("scalar",)
    typed: tuple[int, ...] = ()


# -- rules ----------------------------------------------------------------------------------------------


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


# -- rows -----------------------------------------------------------------------------------------------


def _infix(symbol):
    return (f"({{0}} {symbol} {{1}})",)


def _call(name, arity=1, *more):
    arguments = ", ".join(f"{{{k}}}" for k in range(arity))
    return (f"mt.{name}({arguments})", *more)


def _method(name):
    return (f"{{0}}.{name}()", f"{{0}}.{name}()")


def _sum_bound(a, b):
    return a + b


def _product_bound(a, b):
    return a * b


def _same_bound(*bounds):
    return max(bounds)


def _same_or_one(*bounds):
    return max(1, *bounds)


_ELEMENTWISE = ("scalar", "vector", "matrix")
ELEMENTARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2", "log10",
)  # fmt: skip

_UNKNOWN = "({1} if mt.i32(1) == 1 else {1})"

OPS = (
    Op("+", _infix("+"), arithmetic("add", NUMBERS), NUMBERS, whole=_sum_bound, shapes=_ELEMENTWISE),
    Op("-", _infix("-"), arithmetic("sub", NUMBERS), NUMBERS, whole=_sum_bound, shapes=_ELEMENTWISE),
    Op("*", _infix("*"), arithmetic("mul", NUMBERS), NUMBERS, whole=_product_bound, shapes=_ELEMENTWISE),
    Op("/", _infix("/"), quotient, NUMBERS, signs=(1,), shapes=_ELEMENTWISE),
    Op("//", _infix("//"), arithmetic("floordiv", NUMBERS), NUMBERS, signs=(1,), shapes=("scalar", "vector")),
    Op("%", _infix("%"), arithmetic("mod", NUMBERS), NUMBERS, shapes=("scalar", "vector")),
    Op("raw_div", _call("raw_div", 2), arithmetic("raw_div", NUMBERS), NUMBERS, signs=(1,)),
    Op("raw_mod", _call("raw_mod", 2), arithmetic("raw_mod", NUMBERS), NUMBERS),
    Op("** integer", _infix("**"), arithmetic("power", INTEGERS), INTEGERS, typed=(1,)),
    Op("** 2", ("({0} ** 2)", "mt.pow({0}, 2)", "pow({0}, 2)"), known_power(2), ("i32", "i64", "u32", "u64", *FLOATS),
        whole=lambda a: a * a),
    Op("** 3", ("({0} ** 3)",), known_power(3), ("i32", "i64", "u32", "u64", *FLOATS)),
    Op("** 5", ("({0} ** 5)",), known_power(5), FLOATS),
    Op("** 0", ("({0} ** 0)",), known_power(0), ("i32", "i64", "u32", "u64", *FLOATS)),
    # An exponent that nobody knows: constants that are multiples of a half stand for products.
    Op("** float", (f"({{0}} ** {_UNKNOWN})",), floating("power", 2), FLOATS, accuracy="1 ulp", signs=(0,), typed=(1,)),
    Op("pow", (f"mt.pow({{0}}, {_UNKNOWN})",), floating("power", 2), FLOATS, accuracy="1 ulp", signs=(0,), typed=(1,)),
    Op("** small", ("({0} ** ({1} % 31 - 15))",), small_power, ("f32", "f64"), accuracy="16 ulp", signs=(0,), typed=(1,)),
    Op("** -2", ("({0} ** -2)", "mt.pow({0}, -2.0)"), known_float_power(-2), ("f32", "f64"), accuracy="2 ulp"),
    Op("** 1.5", ("({0} ** 1.5)", "mt.pow({0}, 1.5)"), known_float_power(1.5), ("f32", "f64"), accuracy="2 ulp", signs=(0,)),
    Op("** -0.5", ("({0} ** -0.5)",), known_float_power(-0.5), ("f32", "f64"), accuracy="1 ulp", signs=(0,)),
    Op("&", _infix("&"), arithmetic("and", BITS, True), BITS, shapes=("scalar", "vector")),
    Op("|", _infix("|"), arithmetic("or", BITS, True), BITS, shapes=("scalar", "vector")),
    Op("^", _infix("^"), arithmetic("xor", BITS, True), BITS, shapes=("scalar", "vector")),
    Op("<<", _infix("<<"), shifted("shl"), INTEGERS, shapes=("scalar", "vector")),
    Op(">>", _infix(">>"), shifted("shr"), INTEGERS, shapes=("scalar", "vector")),
    Op("bit_shr", _call("bit_shr", 2), shifted("bit_shr"), INTEGERS),
    Op("<", _infix("<"), comparison("lt"), ALL, whole=_same_bound, shapes=("scalar", "vector")),
    Op("<=", _infix("<="), comparison("le"), ALL, whole=_same_bound),
    Op(">", _infix(">"), comparison("gt"), ALL, whole=_same_bound),
    Op(">=", _infix(">="), comparison("ge"), ALL, whole=_same_bound),
    Op("==", _infix("=="), comparison("eq"), ALL, whole=_same_bound, shapes=("scalar", "vector")),
    Op("!=", _infix("!="), comparison("ne"), ALL, whole=_same_bound),
    Op("chained comparison", ("({0} < {1} <= {2})", "({0} >= {1} != {2})"), chained, NUMBERS, whole=_same_bound),
    Op("and", ("({0} and {1})",), short_circuit("and"), ("u1", *INTEGERS), whole=_same_bound, typed=(0,)),
    Op("or", ("({0} or {1})",), short_circuit("or"), ("u1", *INTEGERS), whole=_same_bound, typed=(0,)),
    Op("not", ("(not {0})",), logical_not, ALL, whole=_same_bound),
    Op("negation", ("(-{0})",), unary("neg", NUMBERS), NUMBERS, whole=_same_bound, shapes=("scalar", "vector")),
    Op("unary +", ("(+{0})",), unary("fit", NUMBERS), NUMBERS, whole=_same_bound),
    Op("~", ("(~{0})",), unary("invert", BITS), BITS),
    Op("min", _call("min", 2, "min({0}, {1})"), arithmetic("min", ALL, True), ALL, whole=_same_bound, signless=True,
        shapes=("scalar", "vector")),
    Op("max", _call("max", 2, "max({0}, {1})"), arithmetic("max", ALL, True), ALL, whole=_same_bound, signless=True,
        shapes=("scalar", "vector")),
    Op("select", _call("select", 3), selection, ALL, whole=lambda c, a, b: max(a, b), shapes=_ELEMENTWISE),
    Op("conditional", ("({1} if {0} else {2})",), conditional, ALL, whole=lambda c, a, b: max(a, b), shapes=_ELEMENTWISE),
    Op("cast", ("mt.cast({0}, {t})", "{t}({0})"), casting, ALL, whole=_same_bound, shapes=("scalar", "vector")),
    Op("bit_cast", ("mt.bit_cast({0}, {t})",), reinterpreting, INTEGERS),
    Op("bit_cast of a float", ("",), float_bits, FLOATS),
    Op("abs", _call("abs", 1, "abs({0})"), unary("abs", NUMBERS), NUMBERS, whole=_same_bound, shapes=("scalar", "vector")),
    Op("sign", _call("sign"), unary("sign", NUMBERS), NUMBERS, whole=lambda a: 1),
    Op("floor", _call("floor", 1, "math.floor({0})"), unary("floor", NUMBERS), NUMBERS, whole=_same_bound, shapes=("scalar",
        "vector")),
    Op("ceil", _call("ceil", 1, "math.ceil({0})"), unary("ceil", NUMBERS), NUMBERS, whole=_same_bound),
    Op("round", _call("round", 1, "round({0})"), unary("round", NUMBERS), NUMBERS, whole=_same_bound),
    Op("trunc", _call("trunc", 1, "math.trunc({0})"), unary("trunc", NUMBERS), NUMBERS, whole=_same_bound),
    Op("fract", _call("fract"), floating("fract"), FLOATS),
    Op("sqrt", _call("sqrt", 1, "math.sqrt({0})"), floating("sqrt"), FLOATS, shapes=("scalar", "vector")),
    Op("rsqrt", _call("rsqrt"), floating("rsqrt"), FLOATS, signs=(0,)),
    *(Op(name, _call(name), floating(name), FLOATS, accuracy="1 ulp") for name in ELEMENTARY),
    Op("atan2", _call("atan2", 2), floating("atan2", 2), FLOATS, accuracy="1 ulp", signs=(0, 1)),
    Op("isnan", _call("isnan"), to_fixed("isnan", "u1", FLOATS), FLOATS),
    Op("isinf", _call("isinf"), to_fixed("isinf", "u1", FLOATS), FLOATS),
    Op("popcnt", _call("popcnt"), to_fixed("popcnt", "i32", INTEGERS), INTEGERS),
    Op("clz", _call("clz"), to_fixed("clz", "i32", INTEGERS), INTEGERS),
    Op("sum", _method("sum"), reduction("sum", NUMBERS), NUMBERS, shapes=("vector", "matrix")),
    Op("min of components", ("{0}.min()", "mt.min({0})"), reduction("min_of", NUMBERS), NUMBERS, whole=_same_bound,
        signless=True, shapes=("vector", "matrix")),
    Op("max of components", ("{0}.max()", "mt.max({0})"), reduction("max_of", NUMBERS), NUMBERS, whole=_same_bound,
        signless=True, shapes=("vector", "matrix")),
    Op("any", _method("any"), reduction("any", ALL, "u1"), ALL, whole=_same_bound, shapes=("vector",)),
    Op("all", _method("all"), reduction("all", ALL, "u1"), ALL, whole=_same_bound, shapes=("vector",)),
    Op("dot", ("{0}.dot({1})", "mt.math.dot({0}, {1})"), pairing("dot", NUMBERS, (2, 3, 4), lambda k: ()), NUMBERS,
        whole=lambda a, b: 4 * a * b, shapes=("vector",)),
    Op("cross", ("{0}.cross({1})", "mt.math.cross({0}, {1})"), pairing("cross", NUMBERS, (2, 3),
        lambda k: () if k == 2 else (3,)), NUMBERS, whole=lambda a, b: 2 * a * b, shapes=("vector",)),
    Op("outer_product", ("{0}.outer_product({1})",), outer, NUMBERS, whole=_product_bound, shapes=("vector",)),
    Op("@", _infix("@"), product, NUMBERS, whole=lambda a, b: 3 * a * b, shapes=("matrix",)),
    Op("transpose", ("{0}.transpose()", "mt.math.transpose({0})"), transposed, ALL, whole=_same_bound, shapes=("matrix",)),
    Op("determinant", ("{0}.determinant()", "mt.math.determinant({0})"), square("determinant", NUMBERS), NUMBERS,
        shapes=("matrix",)),
    Op("trace", ("{0}.trace()",), square("trace", NUMBERS), NUMBERS, whole=lambda a: 4 * a, shapes=("matrix",)),
    Op("inverse", ("{0}.inverse()", "mt.math.inverse({0})"), inverted, FLOATS, signs=(0,), shapes=("matrix",)),
    Op("norm", ("{0}.norm()", "mt.math.length({0})"), lengths_of("norm"), FLOATS, shapes=("vector",)),
    Op("norm_sqr", ("{0}.norm_sqr()",), lengths_of("norm_sqr"), FLOATS, whole=lambda a: 3 * a * a, shapes=("vector",)),
    Op("norm_inv", ("{0}.norm_inv()",), lengths_of("norm_inv"), FLOATS, shapes=("vector",)),
    Op("normalized", ("{0}.normalized()", "mt.math.normalize({0})"), normalising, FLOATS, shapes=("vector",)),
    Op("norm(eps)", ("{0}.norm({1})", "{0}.norm(eps={1})"), with_epsilon("norm_with"), FLOATS, shapes=("vector",)),
    Op("normalized(eps)", ("{0}.normalized({1})",), with_epsilon("normalized_with"), FLOATS, signs=(1,), shapes=("vector",)),
    Op("min of three", ("mt.min({0}, {1}, {2})", "min({0}, {1}, {2})"), several("min3", NUMBERS), NUMBERS,
       whole=_same_bound, signless=True),
    Op("max of three", ("mt.max({0}, {1}, {2})", "max({0}, {1}, {2})"), several("max3", NUMBERS), NUMBERS,
       whole=_same_bound, signless=True),
    Op("math.mix", ("mt.math.mix({0}, {1}, {2})",), of_math("mix", 3), ("f32", "f64")),
    Op("math.clamp", ("mt.math.clamp({0}, {1}, {2})",), of_math("clamp", 3, NUMBERS), NUMBERS, whole=_same_bound, signless=True),
    Op("math.step", ("mt.math.step({0}, {1})",), of_math("step", 2, ("f32",)), ("f32",), whole=lambda a, b: 1),
    Op("math.smoothstep", ("mt.math.smoothstep({0}, {1}, {2})",), of_math("smoothstep", 3), ("f32", "f64"), signs=(0, 1, 2),
        signless=True),
    Op("math.distance", ("mt.math.distance({0}, {1})",), distance, ("f32", "f64"), shapes=("vector",)),
    Op("math.reflect", ("mt.math.reflect({0}, {1})",), of_math("reflect", 2, ("f32", "f64"), ((3,), (2,))), ("f32", "f64"),
        shapes=("vector",)),
    Op("math.mod", ("mt.math.mod({0}, {1})",), of_math("math_mod", 2), ("f32", "f64"), signs=(1,)),
    Op("zero", ("mt.zero({0})",), unary("zero", ALL), ALL, whole=lambda a: 0, shapes=_ELEMENTWISE),
    Op("one", ("mt.one({0})",), unary("one", ALL), ALL, whole=lambda a: 1, shapes=_ELEMENTWISE),
    Op("math.refract", ("mt.math.refract({0}, {1}, 0.75)",), shaped("refract", 2, (3,), (3,)), ("f32", "f64"), signless=True,
        shapes=("vector",)),
    Op("math.cconj", ("mt.math.cconj({0})",), shaped("cconj", 1, (2,)), ("f32", "f64"), shapes=("vector",)),
    Op("math.cmul", ("mt.math.cmul({0}, {1})",), shaped("cmul", 2, (2,)), ("f32", "f64"), shapes=("vector",)),
    Op("math.cinv", ("mt.math.cinv({0})",), shaped("cinv", 1, (2,)), ("f32", "f64"), signs=(0,), shapes=("vector",)),
    Op("math.cdiv", ("mt.math.cdiv({0}, {1})",), shaped("cdiv", 2, (2,)), ("f32", "f64"), signs=(1,), shapes=("vector",)),
    Op("math.csqrt", ("mt.math.csqrt({0})",), shaped("csqrt", 1, (2,)), ("f32", "f64"), signless=True, shapes=("vector",)),
    Op("math.translate", ("mt.math.translate({0}, {1}, {2})",), shaped("translate", 3, (4, 4), ()), ("f32", "f64"),
        whole=_same_or_one, shapes=("matrix",)),
    Op("math.scale", ("mt.math.scale({0}, {1}, {2})",), shaped("scale", 3, (4, 4), ()), ("f32", "f64"), whole=_same_or_one,
        shapes=("matrix",)),
    Op("math.radians", ("mt.math.radians({0})",), of_math("radians", 1), ("f32", "f64")),
    Op("math.degrees", ("mt.math.degrees({0})",), of_math("degrees", 1), ("f32", "f64")),
)  # fmt: skip
BY_NAME = {op.name: op for op in OPS}

ATOMICS = {
    # name: (symbol of the augmented assignment or None, twin, scalar types)
    "add": ("+", "add", NUMBERS), "sub": ("-", "sub", NUMBERS), "mul": ("*", "mul", NUMBERS),
    "min": (None, "min", NUMBERS), "max": (None, "max", NUMBERS),
    "and": ("&", "and", BITS), "or": ("|", "or", BITS), "xor": ("^", "xor", BITS),
}  # fmt: skip

# Kinds of trees: the levels from the root to the cells. "array" stands for arrays. LEVELS are those that coverage asks for.
LEVELS = (
    ("dense",), ("dense", "dense"), ("pointer",), ("pointer", "dense"), ("dense", "pointer"),
    ("pointer", "pointer", "dense"), ("dense", "pointer", "dense"), ("pointer", "dense", "dense"), ("bitmasked",),
    ("pointer", "bitmasked"), ("dynamic",), ("dense", "dynamic"), ("hash", "dense"),
)  # fmt: skip
ALL_LEVELS = (
    *LEVELS, ("bitmasked", "dense"), ("bitmasked", "pointer", "dense"), ("dense", "bitmasked"), ("pointer", "dynamic"),
    ("dynamic", "dense"), ("bitmasked", "dynamic"), ("hash",), ("hash", "bitmasked"), ("hash", "pointer", "dense"),
)  # fmt: skip

# How a kernel gets at fields: it closes over them, takes them as template arguments, finds them in an object.
FIELD_ACCESS = ("closure", "template", "object")
