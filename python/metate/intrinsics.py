"""Functions that kernels know: arithmetic, vectors, atomics, loops, sparse operations.

In a kernel the front end recognises these objects and builds the operation. Called from Python, those
that have a meaning there compute it on numbers and NumPy arrays; the others say that they belong in a
kernel.
"""

from __future__ import annotations

import itertools

import numpy as np

from . import types as _types


class Intrinsic:
    """One function of the language.

    Attributes:
        name: how the front end knows it.
    """

    def __init__(self, name, doc, python=None):
        self.name = name
        self._python = python
        self.__doc__ = doc

    def __call__(self, *arguments, **keywords):
        if self._python is None:
            raise TypeError(f"'{self.name}' can only be used in a kernel or a @func")
        return self._python(*arguments, **keywords)

    def __repr__(self):
        return f"<intrinsic {self.name}>"


def _fold(function):
    def apply(first, *rest):
        for value in rest:
            first = function(first, value)
        return first

    return apply


def _python_vector(elements, dt=None):
    return np.asarray(elements, None if dt is None else _types.dtype(dt).numpy)


def _python_ndrange(*extents):
    pairs = [extent if isinstance(extent, tuple) else (0, extent) for extent in extents]
    return itertools.product(*(range(low, high) for low, high in pairs))


def _python_assert(condition, message="static assertion failed"):
    assert condition, message


_PLAIN = {
    # name: (what it gives, NumPy's)
    "sqrt": ("square root", np.sqrt),
    "rsqrt": ("1 / sqrt(x)", lambda x: 1 / np.sqrt(x)),
    "sin": ("sine, x in radians", np.sin),
    "cos": ("cosine, x in radians", np.cos),
    "tan": ("tangent, x in radians", np.tan),
    "asin": ("arc sine in radians", np.arcsin),
    "acos": ("arc cosine in radians", np.arccos),
    "atan": ("arc tangent in radians", np.arctan),
    "sinh": ("hyperbolic sine", np.sinh),
    "cosh": ("hyperbolic cosine", np.cosh),
    "tanh": ("hyperbolic tangent", np.tanh),
    "exp": ("e to the power x", np.exp),
    "exp2": ("2 to the power x", np.exp2),
    "log": ("natural logarithm", np.log),
    "log2": ("logarithm to base 2", np.log2),
    "log10": ("logarithm to base 10", np.log10),
    "floor": ("greatest whole number not above x, of x's type", np.floor),
    "ceil": ("least whole number not below x, of x's type", np.ceil),
    "round": ("nearest whole number, ties to even, of x's type", np.round),
    "trunc": ("x without its fraction, of x's type", np.trunc),
    "fract": ("x - floor(x)", lambda x: x - np.floor(x)),
    "abs": ("magnitude", np.abs),
    "sign": ("-1, 0 or 1, of x's type", np.sign),
    "isnan": ("u1: is x not a number?", np.isnan),
    "isinf": ("u1: is x infinite?", np.isinf),
    "popcnt": ("number of set bits of an integer", lambda x: int(x).bit_count()),
    "clz": ("number of leading zero bits of an integer", None),
}
for _name, (_what, _function) in _PLAIN.items():
    globals()[_name] = Intrinsic(_name, f"{_name}(x): {_what}; elementwise on vectors and matrices.", _function)

min = Intrinsic("min", "min(a, b, ...): the least, elementwise; a number beats a NaN.", _fold(np.fmin))
max = Intrinsic("max", "max(a, b, ...): the greatest, elementwise; a number beats a NaN.", _fold(np.fmax))
atan2 = Intrinsic("atan2", "atan2(y, x): angle of (x, y) in radians.", np.arctan2)
pow = Intrinsic("pow", "pow(x, y): x ** y.", np.power)
raw_div = Intrinsic("raw_div", "raw_div(a, b): quotient rounded towards zero; 0 for b = 0.")
raw_mod = Intrinsic("raw_mod", "raw_mod(a, b): remainder with a's sign; 0 for b = 0.")
bit_shr = Intrinsic("bit_shr", "bit_shr(x, n): shift to the right that fills with zeros.")
select = Intrinsic("select", "select(condition, a, b): a where the condition holds, else b; both are computed.", np.where)
cast = Intrinsic("cast", "cast(x, dtype): x converted to a scalar type, elementwise; integers wrap.", lambda x, t: t(x))
bit_cast = Intrinsic("bit_cast", "bit_cast(x, dtype): x's bits read as another type of the same width.")

static = Intrinsic(
    "static", "static(x): x computed while compiling; a loop over it is unrolled.", lambda *x: x[0] if len(x) == 1 else x
)
static_print = Intrinsic("static_print", "static_print(...): printed while compiling.", print)
static_assert = Intrinsic("static_assert", "static_assert(condition, message): checked while compiling.", _python_assert)
loop_config = Intrinsic("loop_config", "loop_config(serialize=True): the next loop of the kernel runs in order.")
ndrange = Intrinsic("ndrange", "ndrange(n, (a, b), ...): all index tuples of a box.", _python_ndrange)
grouped = Intrinsic("grouped", "grouped(x): the loop over x with one vector as its variable.", lambda x: x)


class _Constructor(Intrinsic):
    """`Vector` and `Matrix`, with their special values as attributes."""

    zero = Intrinsic("zero", "zero(dtype, n) or zero(dtype, n, m): all 0.", lambda t, *n: np.zeros(n, t.numpy))
    one = Intrinsic("one", "one(dtype, n) or one(dtype, n, m): all 1.", lambda t, *n: np.ones(n, t.numpy))
    unit = Intrinsic(
        "unit", "unit(n, i, dtype=default_fp): the i-th unit vector.", lambda n, i, t=_types.f32: np.eye(n, dtype=t.numpy)[i]
    )
    identity = Intrinsic("identity", "identity(dtype, n): the identity matrix.", lambda t, n: np.eye(n, dtype=t.numpy))


Vector = _Constructor("Vector", "Vector([a, b, ...], dtype=None): a vector.", _python_vector)
Matrix = _Constructor("Matrix", "Matrix([[a, b], [c, d]], dtype=None): a matrix by rows.", _python_vector)


def _atomic(name, symbol):
    text = f"atomic_{name}(place, x): place = place {symbol} x, indivisible per component; gives the old value."
    return Intrinsic(f"atomic_{name}", text)


atomic_add, atomic_sub, atomic_mul = _atomic("add", "+"), _atomic("sub", "-"), _atomic("mul", "*")
atomic_min, atomic_max = _atomic("min", "min"), _atomic("max", "max")
atomic_and, atomic_or, atomic_xor = _atomic("and", "&"), _atomic("or", "|"), _atomic("xor", "^")

is_active = Intrinsic("is_active", "is_active(tree, indices): u1: is the cell active?")
activate = Intrinsic("activate", "activate(tree, indices): makes the cell active.")

_LINEAR = {
    "dot": "dot(a, b): the sum of products.",
    "cross": "cross(a, b): the cross product of vectors of length 3 (of length 2: a scalar).",
    "outer_product": "outer_product(a, b): the matrix of products.",
    "norm": "norm(v): the Euclidean length.",
    "norm_sqr": "norm_sqr(v): the square of the Euclidean length.",
    "normalized": "normalized(v): v / norm(v).",
    "transpose": "transpose(m): rows and columns exchanged.",
    "determinant": "determinant(m), up to 4 x 4.",
    "inverse": "inverse(m), up to 4 x 4.",
    "trace": "trace(m): the sum of the diagonal.",
}
LINEAR = {name: Intrinsic(name, doc) for name, doc in _LINEAR.items()}

# What `import metate as ti` offers at top level. The linear-algebra functions are methods of values
# and, as functions, in metate.math.
__all__ = [
    *_PLAIN, "min", "max", "atan2", "pow", "raw_div", "raw_mod", "bit_shr", "select", "cast", "bit_cast",
    "static", "static_print", "static_assert", "loop_config", "ndrange", "grouped", "Vector", "Matrix",
    "atomic_add", "atomic_sub", "atomic_mul", "atomic_min", "atomic_max", "atomic_and", "atomic_or", "atomic_xor",
    "is_active", "activate",
]  # fmt: skip
