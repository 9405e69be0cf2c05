"""The functions that a twin's text calls, by name: `add__i32` is `add` for i32.

A twin is Python text that mirrors a kernel; every operation in it is a call of one of these. Vectors
and matrices are tuples of components, row by row. Written from the language's description; it must not
import metate, but for the values of sin, exp and their kin: they have one definition, which tests/accuracy measures.
"""

from __future__ import annotations

import math
import re

from . import numbers as n
from . import table

_NAME = re.compile(r"\b[a-z_0-9]+?__[a-z0-9_]+\b")


def _arithmetic(function):
    return lambda s, *_: (lambda fit: lambda a, b: fit(function(a, b)))(n.fit(s))


def _add(s):
    return _arithmetic(lambda a, b: a + b)(s)


def _mul(s):
    return _arithmetic(lambda a, b: a * b)(s)


def _sub(s):
    return _arithmetic(lambda a, b: a - b)(s)


def _neg(s):
    return (lambda v: -v) if n.is_float(s) else (lambda fit: lambda v: fit(-v))(n.wrap(s))


def _div(s):
    return _arithmetic(n.divide)(s)


def _floor(s):
    return n.whole(math.floor) if n.is_float(s) else (lambda v: v)


def _floordiv(s):
    if n.is_float(s):
        divide, floor = _div(s), _floor(s)
        return lambda a, b: floor(divide(a, b))
    return _arithmetic(lambda a, b: a // b if b else 0)(s)


def _mod(s):
    if not n.is_float(s):
        return _arithmetic(lambda a, b: a % b if b else 0)(s)
    quotient, multiply, subtract = _floordiv(s), _mul(s), _sub(s)
    return lambda a, b: subtract(a, multiply(quotient(a, b), b))


def _raw_div(s):
    if n.is_float(s):
        divide, trunc = _div(s), n.whole(math.trunc)
        return lambda a, b: trunc(divide(a, b))
    return _arithmetic(n.truncated_quotient)(s)


def _raw_mod(s):
    if n.is_float(s):
        return n.remainder
    return _arithmetic(lambda a, b: a - b * n.truncated_quotient(a, b) if b else 0)(s)


def _known_power(s, exponent):
    """x ** 3 and the like: by repeated squaring, each product rounded."""
    multiply = _mul(s)

    def call(base):
        square, result, left = base, None, int(exponent)
        while left:
            if left & 1:
                result = square if result is None else multiply(result, square)
            if left > 1:
                square = multiply(square, square)
            left >>= 1
        return (1.0 if n.is_float(s) else 1) if result is None else result

    return call


def _float_power(s, twice):
    """x ** -2, x ** 1.5 and the like: products of x or its inverse, with a root where the exponent ends in a half."""
    exponent = int(twice.replace("minus", "-")) / 2
    whole, multiply, divide, root = int(abs(exponent)), _mul(s), _div(s), _sqrt(s)
    product = _known_power(s, whole)

    def call(base):
        number = divide(1.0, base) if exponent < 0 else base
        if whole == abs(exponent):
            return product(number)
        if (number < 0 and number != -math.inf) or number != number:
            return math.nan
        size = abs(number)
        return multiply(product(size), root(size)) if whole else root(size)

    return call


def _small_power(s):
    """x ** n of an n that is known at run time, from -15 to 15 here."""
    powers = {k: _float_power(s, str(2 * k)) for k in range(-15, 16)}
    return lambda base, exponent: powers[exponent % 31 - 15](base)


def _abs(s):
    return abs if n.is_float(s) else (lambda fit: lambda v: fit(abs(v)))(n.wrap(s))


def _sign(s):
    return (lambda v: float((v > 0) - (v < 0))) if n.is_float(s) else (lambda v: (v > 0) - (v < 0))


def _fract(s):
    sub, floor = _sub(s), _floor(s)
    return lambda v: sub(v, floor(v))


def _sqrt(s):
    root, into = n.quiet(math.sqrt), n.ROUND[s]
    return lambda v: v if v == math.inf else into(root(v))


def _rsqrt(s):
    root, divide = _sqrt(s), _div(s)
    return lambda v: divide(1.0, root(v))


def _elementary(name):
    """sin and its kin, which have one definition: of f32, or of f64."""

    def typed(s):
        from metate_native import _compiler  # on use: the process that runs modules has none

        into, is_double = n.ROUND[s], s == "f64"
        return lambda x, y=0.0: into(_compiler.elementary(name, x, y, is_double))

    return typed


def _whole(function):
    return lambda s: n.whole(function) if n.is_float(s) else (lambda v: v)


def _sum(s):
    add = _add(s)

    def call(v):
        total = v[0]
        for part in v[1:]:
            total = add(total, part)
        return total

    return call


def _fold(function):
    def call(v):
        result = v[0]
        for part in v[1:]:
            result = function(result, part)
        return result

    return call


def _dot(s):
    multiply, total = _mul(s), _sum(s)
    return lambda a, b: total(tuple(map(multiply, a, b)))


def _norm_sqr(s):
    dot = _dot(s)
    return lambda v: dot(v, v)


def _norm(s):
    square, root = _norm_sqr(s), _sqrt(s)
    return lambda v: root(square(v))


def _normalized(s):
    norm, divide = _norm(s), _div(s)

    def call(v):
        length = norm(v)
        return tuple(divide(part, length) for part in v)

    return call


def _norm_with(s):
    square, add, root = _norm_sqr(s), _add(s), _sqrt(s)
    return lambda v, epsilon: root(add(square(v), epsilon))


def _normalized_with(s):
    norm, divide = _norm_with(s), _div(s)

    def call(v, epsilon):
        length = norm(v, epsilon)
        return tuple(divide(part, length) for part in v)

    return call


def _cross(s):
    multiply, subtract = _mul(s), _sub(s)

    def call(a, b):
        minor = lambda i, j: subtract(multiply(a[i], b[j]), multiply(a[j], b[i]))
        return minor(0, 1) if len(a) == 2 else (minor(1, 2), minor(2, 0), minor(0, 1))

    return call


def _outer(s):
    multiply = _mul(s)
    return lambda a, b: tuple(multiply(x, y) for x in a for y in b)


def _matmul(s, rows, inner):
    dot, rows, inner = _dot(s), int(rows), int(inner)

    def call(a, b):
        columns = len(b) // inner
        return tuple(dot(a[i * inner : (i + 1) * inner], b[j::columns]) for i in range(rows) for j in range(columns))

    return call


def _transpose(_, rows):
    rows = int(rows)
    return lambda v: tuple(v[i * (len(v) // rows) + j] for j in range(len(v) // rows) for i in range(rows))


def _determinant(s, size):
    multiply, add, subtract = _mul(s), _add(s), _sub(s)

    def call(v, size=int(size)):
        if size == 1:
            return v[0]
        total = None
        for column in range(size):
            minor = tuple(v[k] for k in range(size, size * size) if k % size != column)
            term = multiply(v[column], call(minor, size - 1))
            total = term if total is None else (subtract if column % 2 else add)(total, term)
        return total

    return call


def _inverse(s, size):
    multiply, divide, determinant, negate, size = _mul(s), _div(s), _determinant(s, size), _neg(s), int(size)

    def call(v):
        scale, result = divide(1.0, determinant(v)), []
        for i in range(size):
            for j in range(size):
                minor = tuple(v[k] for k in range(size * size) if k // size != j and k % size != i)
                cofactor = determinant(minor, size - 1)
                result.append(multiply(negate(cofactor) if (i + j) % 2 else cofactor, scale))
        return tuple(result)

    return call


def _trace(s, size):
    total, size = _sum(s), int(size)
    return lambda v: total(v[:: size + 1])


def _cast_clamped(source, target, low, high):
    """Float to integer, held to where a conversion has a meaning."""
    sign = lambda text: -float(text[1:]) if text[0] == "m" else float(text)
    low, high, into = n.ROUND[source](sign(low)), n.ROUND[source](sign(high)), n.cast(source, target)
    return lambda v: into(n.maximum(n.minimum(v, high), low))


def _mix(s):
    multiply, add, subtract = _mul(s), _add(s), _sub(s)
    return lambda x, y, a: add(multiply(x, subtract(1.0, a)), multiply(y, a))


def _smoothstep(s):
    multiply, subtract, divide = _mul(s), _sub(s), _div(s)

    def call(low, high, x):
        t = n.maximum(0.0, n.minimum(divide(subtract(x, low), subtract(high, low)), 1.0))
        return multiply(multiply(t, t), subtract(3.0, multiply(2.0, t)))

    return call


def _distance(s):
    subtract, norm = _sub(s), _norm(s)
    return lambda p, q: norm(tuple(map(subtract, p, q)))


def _reflect(s):
    multiply, subtract, dot = _mul(s), _sub(s), _dot(s)

    def call(v, normal):
        twice = multiply(2.0, dot(normal, v))
        return tuple(subtract(x, multiply(twice, y)) for x, y in zip(v, normal))

    return call


def _refract(s):
    """With eta = 0.75."""
    multiply, subtract, add, dot, root = _mul(s), _sub(s), _add(s), _dot(s), _sqrt(s)

    def call(v, normal):
        along = dot(normal, v)
        k = subtract(1.0, multiply(0.5625, subtract(1.0, multiply(along, along))))
        by = add(multiply(0.75, along), root(n.maximum(k, 0.0)))
        return tuple(0.0 if k < 0.0 else subtract(multiply(0.75, x), multiply(by, y)) for x, y in zip(v, normal))

    return call


def _cmul(s):
    multiply, subtract, add = _mul(s), _sub(s), _add(s)
    return lambda a, b: (
        subtract(multiply(a[0], b[0]), multiply(a[1], b[1])), add(multiply(a[0], b[1]), multiply(a[1], b[0])),
    )  # fmt: skip


def _cdiv(s):
    times, divide, square = _cmul(s), _div(s), _norm_sqr(s)
    return lambda a, b: tuple(divide(part, square(b)) for part in times(a, (b[0], -b[1])))


def _cinv(s):
    divide, square = _div(s), _norm_sqr(s)
    return lambda z: (divide(z[0], square(z)), divide(-z[1], square(z)))


def _csqrt(s):
    multiply, add, divide, norm, root = _mul(s), _add(s), _div(s), _norm(s), _sqrt(s)

    def call(z):
        near = root(multiply(add(norm(z), abs(z[0])), 0.5))
        far = divide(multiply(abs(z[1]), 0.5), 1.0 if near == 0.0 else near)
        up = -1.0 if z[1] < 0.0 else 1.0
        return (near, multiply(up, far)) if z[0] >= 0.0 else (far, multiply(up, near))

    return call


def _translate(_):
    return lambda x, y, z: (1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, y, 0.0, 0.0, 1.0, z, 0.0, 0.0, 0.0, 1.0)


def _scale(_):
    return lambda x, y, z: (x, 0.0, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, 0.0, z, 0.0, 0.0, 0.0, 0.0, 1.0)


def _math_mod(s):
    multiply, subtract, divide, floor = _mul(s), _sub(s), _div(s), _floor(s)
    return lambda x, y: subtract(x, multiply(y, floor(divide(x, y))))


def _scaled(a, b):
    """Multiplication by a quotient of literals, which is exact before it becomes an f32."""
    return lambda s: (lambda multiply, by: lambda v: multiply(v, by))(_mul(s), n.ROUND["f32"](a / b))


FACTORIES = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "floordiv": _floordiv, "mod": _mod, "raw_div": _raw_div,
    "raw_mod": _raw_mod, "neg": _neg, "known_power": _known_power,
    "float_power": _float_power, "small_power": _small_power,
    "power": lambda s: _elementary("pow")(s) if n.is_float(s) else n.integer_power(s),
    "and": lambda s: lambda a, b: a & b, "or": lambda s: lambda a, b: a | b, "xor": lambda s: lambda a, b: a ^ b,
    "invert": lambda s: (lambda v: 1 - v) if s == "u1" else (lambda fit: lambda v: fit(~v))(n.wrap(s)),
    "shl": lambda s: n.shift(s, "<<"), "shr": lambda s: n.shift(s, ">>"), "bit_shr": lambda s: n.shift(s, "bit_shr"),
    "lt": lambda s: lambda a, b: int(a < b), "le": lambda s: lambda a, b: int(a <= b),
    "gt": lambda s: lambda a, b: int(a > b), "ge": lambda s: lambda a, b: int(a >= b),
    "eq": lambda s: lambda a, b: int(a == b), "ne": lambda s: lambda a, b: int(a != b),
    "min": lambda s: n.minimum, "max": lambda s: n.maximum, "not": lambda s: lambda v: int(v == 0),
    "select": lambda s: lambda c, a, b: a if c else b,
    "abs": _abs, "sign": _sign, "fract": _fract, "sqrt": _sqrt, "rsqrt": _rsqrt,
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc), "round": _whole(n.half_away),
    "isnan": lambda s: lambda v: int(v != v), "isinf": lambda s: lambda v: int(abs(v) == math.inf),
    "popcnt": lambda s: lambda v: (v & ((1 << n.bits_of(s)) - 1)).bit_count(),
    "clz": lambda s: lambda v: n.bits_of(s) - (v & ((1 << n.bits_of(s)) - 1)).bit_length(),
    **{name: _elementary(name) for name in (*table.ELEMENTARY, "atan2")},
    "cast": lambda a, b: n.cast(a, b) or (lambda v: v), "cast_clamped": _cast_clamped, "bit_cast": n.reinterpret,
    "fit": n.fit,
    "sum": _sum, "min_of": lambda s: _fold(n.minimum), "max_of": lambda s: _fold(n.maximum),
    "any": lambda s: lambda v: int(any(v)), "all": lambda s: lambda v: int(all(v)), "dot": _dot, "cross": _cross,
    "outer": _outer, "matmul": _matmul, "transpose": _transpose, "determinant": _determinant, "inverse": _inverse,
    "trace": _trace, "norm_sqr": _norm_sqr, "norm": _norm, "normalized": _normalized,
    "norm_with": _norm_with, "normalized_with": _normalized_with,
    "min3": lambda s: lambda a, b, c: n.minimum(n.minimum(a, b), c),
    "max3": lambda s: lambda a, b, c: n.maximum(n.maximum(a, b), c),
    "norm_inv": lambda s: (lambda square, root: lambda v: root(square(v)))(_norm_sqr(s), _rsqrt(s)),
    "mix": _mix, "clamp": lambda s: lambda x, low, high: n.minimum(n.maximum(x, low), high),
    "step": lambda s: lambda edge, x: 0.0 if x < edge else 1.0, "smoothstep": _smoothstep, "distance": _distance,
    "zero": lambda s: lambda v: 0.0 if n.is_float(s) else 0, "one": lambda s: lambda v: 1.0 if n.is_float(s) else 1,
    "refract": _refract, "cconj": lambda s: lambda z: (z[0], -z[1]), "cmul": _cmul, "cinv": _cinv, "cdiv": _cdiv,
    "csqrt": _csqrt, "translate": _translate, "scale": _scale,
    "reflect": _reflect, "math_mod": _math_mod, "radians": _scaled(math.pi, 180.0), "degrees": _scaled(180.0, math.pi),
}  # fmt: skip


def each(function, *operands):
    """Component by component."""
    return tuple(map(function, *operands))


def replaced(whole, position, value):
    """The tuple with one component changed."""
    return (*whole[:position], value, *whole[position + 1 :])


def at(whole, row, columns=1, column=0):
    """A component by its indices."""
    return whole[row * columns + column]


class Place:
    """What a function is given by reference."""

    def __init__(self, get, put):
        self.get, self.put = get, put


def functions_of(text: str) -> dict:
    """The functions that a twin's text names."""
    found = {"each": each, "replaced": replaced, "at": at}
    for name in set(_NAME.findall(text)):
        key, *types = name.split("__")
        if key in FACTORIES:
            found[name] = FACTORIES[key](*types)
    return found
