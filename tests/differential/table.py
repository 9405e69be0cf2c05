"""What a kernel can say: one row for each operation, each kind of tree, each scalar type.

A new operation joins by its row here and, if its arithmetic is new, a function in `twins`. The
generator, the twins, the coverage and `test_table` (which compares this file with the front end's own
lists) read nothing else. Rows of statements stand in `statements`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .rules import (
    ALL,
    BITS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    arithmetic,
    casting,
    chained,
    comparison,
    conditional,
    distance,
    float_bits,
    floating,
    inverted,
    known_float_power,
    known_power,
    lengths_of,
    logical_not,
    normalising,
    of_math,
    outer,
    pairing,
    product,
    quotient,
    reduction,
    reinterpreting,
    selection,
    several,
    shaped,
    shifted,
    short_circuit,
    small_power,
    square,
    to_fixed,
    transposed,
    unary,
    with_epsilon,
)


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

_UNKNOWN = tuple(f"({{{k}}} if mt.i32(1) == 1 else {{{k}}})" for k in range(2))

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
    # Operands that nobody knows: constant exponents that are multiples of a half stand for products, a constant 2 for exp2.
    Op("** float", (f"({' ** '.join(_UNKNOWN)})",), floating("power", 2), FLOATS, accuracy="1 ulp", signs=(0,), typed=(0, 1)),
    Op("pow", (f"mt.pow({', '.join(_UNKNOWN)})",), floating("power", 2), FLOATS, accuracy="1 ulp", signs=(0,), typed=(0, 1)),
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
    Op("math.mix", ("mt.math.mix({0}, {1}, {2})",), of_math("mix", 3), ("f32", "f64"), typed=(2,)),
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

# At places of an iteration's own, for others see one of several values: an exchange, and one where something is expected.
EXCHANGES = ("exchange", "compare_exchange")

# Kinds of trees: the levels from the root to the cells. "array" stands for arrays. LEVELS are those that coverage asks for.
LEVELS = (
    ("dense",), ("dense", "dense"), ("pointer",), ("pointer", "dense"), ("dense", "pointer"),
    ("pointer", "pointer", "dense"), ("dense", "pointer", "dense"), ("pointer", "dense", "dense"), ("bitmasked",),
    ("pointer", "bitmasked"), ("dynamic",), ("dense", "dynamic"), ("hash", "dense"), ("pointer", "quant_array"),
)  # fmt: skip
ALL_LEVELS = (
    *LEVELS, ("bitmasked", "dense"), ("bitmasked", "pointer", "dense"), ("dense", "bitmasked"), ("pointer", "dynamic"),
    ("dynamic", "dense"), ("bitmasked", "dynamic"), ("hash",), ("hash", "bitmasked"), ("hash", "pointer", "dense"),
    ("quant_array",), ("dense", "quant_array"), ("bitmasked", "quant_array"), ("pointer", "dense", "quant_array"),
    ("dynamic", "quant_array"), ("hash", "quant_array"),
)  # fmt: skip

# Quantised members: of each kind, what a kernel does with them. Those in quant_arrays are ints, mostly.
_OF_NUMBERS = ("load", "store", *(f"atomic_{name}" for name in ("add", "sub", "mul", "min", "max")))
QUANTISED = {
    "int": ("load", "store", *(f"atomic_{name}" for name in ATOMICS)), "fixed": _OF_NUMBERS, "float": _OF_NUMBERS,
    "shared float": _OF_NUMBERS,
}  # fmt: skip

# How a kernel gets at fields: it closes over them, takes them as template arguments, finds them in an object.
FIELD_ACCESS = ("closure", "template", "object")
