"""Functions that kernels know: arithmetic, vectors, atomics, loops, sparse operations.

In a kernel the front end recognises these objects and builds the operation. Called from Python, those
that have a meaning there compute it on numbers and NumPy arrays; the others say that they belong in a
kernel.
"""

from __future__ import annotations

import itertools
import operator

from .errors import RuntimeTypeError_
from .lazy_numpy import is_array, np


class Intrinsic:
    """One function of the language.

    Attributes:
        name: how the front end knows it.

    Args:
        python: what it does from Python: a function, or the name of one of NumPy's.
    """

    def __init__(self, name, doc, python=None):
        self.name = name
        self._python = python
        self.__doc__ = doc

    def __call__(self, *arguments, **keywords):
        if self._python is None:
            raise RuntimeTypeError_(f"'{self.name}' can only be used in a kernel or a @func")
        function = getattr(np, self._python) if isinstance(self._python, str) else self._python
        return function(*arguments, **keywords)

    def __repr__(self):
        return f"<intrinsic {self.name}>"


def _fold(name):
    def apply(first, *rest):
        function = getattr(np, name)
        for value in rest:
            first = function(first, value)
        return first

    return apply


class Box:
    """What ndrange gives outside of a kernel: all index tuples of a box, which a kernel may loop over.

    Attributes:
        bounds: (begin, end) of each dimension.
    """

    def __init__(self, *extents):
        self.bounds = tuple(_pair(extent) for extent in extents)

    def __iter__(self):
        return itertools.product(*(range(low, high) for low, high in self.bounds))

    def __repr__(self):
        return f"ndrange({', '.join(map(repr, self.bounds))})"


def _pair(extent):
    """(begin, end) of an extent: a number or two."""
    if isinstance(extent, (tuple, list)) or is_array(extent):
        low, high = extent
        return operator.index(low), operator.index(high)
    return 0, operator.index(extent)


def _python_assert(condition, message="static assertion failed"):
    assert condition, message


def _rounded(x):
    """round from Python: as kernels do it, where NumPy takes the even one of two."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x)


_PLAIN = {
    # name: (what it gives, NumPy's)
    "sqrt": ("square root", "sqrt"),
    "rsqrt": ("1 / sqrt(x)", lambda x: 1 / np.sqrt(x)),
    "sin": ("sine, x in radians", "sin"),
    "cos": ("cosine, x in radians", "cos"),
    "tan": ("tangent, x in radians", "tan"),
    "asin": ("arc sine in radians", "arcsin"),
    "acos": ("arc cosine in radians", "arccos"),
    "atan": ("arc tangent in radians", "arctan"),
    "sinh": ("hyperbolic sine", "sinh"),
    "cosh": ("hyperbolic cosine", "cosh"),
    "tanh": ("hyperbolic tangent", "tanh"),
    "exp": ("e to the power x", "exp"),
    "exp2": ("2 to the power x", "exp2"),
    "log": ("natural logarithm", "log"),
    "log2": ("logarithm to base 2", "log2"),
    "log10": ("logarithm to base 10", "log10"),
    "floor": ("greatest whole number not above x, of x's type", "floor"),
    "ceil": ("least whole number not below x, of x's type", "ceil"),
    "round": ("nearest whole number, of two the one further from zero, of x's type", _rounded),
    "trunc": ("x without its fraction, of x's type", "trunc"),
    "fract": ("x - floor(x)", lambda x: x - np.floor(x)),
    "abs": ("magnitude", "abs"),
    "sign": ("-1, 0 or 1, of x's type", "sign"),
    "isnan": ("u1: is x not a number?", "isnan"),
    "isinf": ("u1: is x infinite?", "isinf"),
    "popcnt": ("number of set bits of an integer", lambda x: int(x).bit_count()),
    "clz": ("number of leading zero bits of an integer", None),
}
for _name, (_what, _function) in _PLAIN.items():
    globals()[_name] = Intrinsic(_name, f"{_name}(x): {_what}; elementwise on vectors and matrices.", _function)

min = Intrinsic("min", "min(a, b, ...): the least, elementwise; a number beats a NaN.", _fold("fmin"))
max = Intrinsic("max", "max(a, b, ...): the greatest, elementwise; a number beats a NaN.", _fold("fmax"))
atan2 = Intrinsic("atan2", "atan2(y, x): angle of (x, y) in radians.", "arctan2")
pow = Intrinsic("pow", "pow(x, y): x ** y.", "power")
raw_div = Intrinsic("raw_div", "raw_div(a, b): quotient rounded towards zero; 0 for b = 0.")
raw_mod = Intrinsic("raw_mod", "raw_mod(a, b): remainder with a's sign; 0 for b = 0.")
bit_shr = Intrinsic("bit_shr", "bit_shr(x, n): shift to the right that fills with zeros.")
select = Intrinsic("select", "select(condition, a, b): a where the condition holds, else b; both are computed.", "where")
cast = Intrinsic("cast", "cast(x, dtype): x converted to a scalar type, elementwise; integers wrap.", lambda x, t: t(x))
bit_cast = Intrinsic("bit_cast", "bit_cast(x, dtype): x's bits read as another type of the same width.")

random = Intrinsic("random", "random(dtype=float): a random number: of [0, 1) for a float, any value for an integer.")
randn = Intrinsic("randn", "randn(dt=default_fp): a random number of the standard normal distribution.")
zero = Intrinsic("zero_like", "zero(x): zero of x's type, elementwise.", "zeros_like")
one = Intrinsic("one_like", "one(x): one of x's type, elementwise.", "ones_like")

static = Intrinsic(
    "static", "static(x): x computed while compiling; a loop over it is unrolled.", lambda *x: x[0] if len(x) == 1 else x
)
static_print = Intrinsic("static_print", "static_print(...): printed while compiling.", print)
static_assert = Intrinsic("static_assert", "static_assert(condition, message): checked while compiling.", _python_assert)
loop_config = Intrinsic("loop_config", "loop_config(serialize=True): the next loop of the kernel runs in order.")
ndrange = Intrinsic("ndrange", "ndrange(n, (a, b), ...): all index tuples of a box.", Box)
grouped = Intrinsic("grouped", "grouped(x): the loop over x with one vector as its variable.", lambda x: x)


block_local = Intrinsic("block_local", "block_local(x, ...): Taichi's hint for GPUs; does nothing.")
cache_read_only = Intrinsic("cache_read_only", "cache_read_only(x, ...): Taichi's hint for GPUs; does nothing.")
assume_in_range = Intrinsic("assume_in_range", "assume_in_range(x, base, low, high): x; Taichi's hint for GPUs.", lambda x, *_: x)


def _matrix_value(elements, dt=None):
    from .matrix_value import matrix_value

    return matrix_value(elements, dt)


class _Constructor(Intrinsic):
    """`Vector` and `Matrix`, with their special values as attributes; isinstance(v, Matrix) is true of both, as in Taichi."""

    def __init__(self, name, doc, python, most):
        super().__init__(name, doc, python)
        self._most = most  # dimensions of its values

    def __instancecheck__(self, thing):
        if not is_array(thing):
            return False
        from .matrix_value import MatrixValue

        return isinstance(thing, MatrixValue) and 1 <= thing.ndim <= self._most

    zero = Intrinsic(
        "zero",
        "zero(dt, n) or zero(dt, n, m): all 0.",
        lambda dt, n, m=None: _matrix_value(np.zeros(n if m is None else (n, m)), dt),
    )
    one = Intrinsic(
        "one",
        "one(dt, n) or one(dt, n, m): all 1.",
        lambda dt, n, m=None: _matrix_value(np.ones(n if m is None else (n, m)), dt),
    )
    unit = Intrinsic(
        "unit",
        "unit(n, i, dtype=default_ip): the i-th unit vector.",
        lambda n, i, dt=None: _matrix_value(np.eye(n, dtype=int)[i], dt),
    )
    rows = Intrinsic("rows", "rows([v, w, ...]): the matrix of these rows.", lambda v: _matrix_value(np.stack(v)))
    cols = Intrinsic("cols", "cols([v, w, ...]): the matrix of these columns.", lambda v: _matrix_value(np.stack(v, 1)))
    diag = Intrinsic(
        "diag", "diag(n, x): the n by n matrix with x on its diagonal.", lambda n, x: _matrix_value(np.eye(n, dtype=type(x)) * x)
    )
    identity = Intrinsic("identity", "identity(dtype, n): the identity matrix.", lambda t, n: _matrix_value(np.eye(n), t))


Vector = _Constructor("Vector", "Vector([a, b, ...], dtype=None): a vector.", _matrix_value, 1)
Matrix = _Constructor("Matrix", "Matrix([[a, b], [c, d]], dtype=None): a matrix by rows.", _matrix_value, 2)


def _atomic(name, symbol):
    text = f"atomic_{name}(place, x): place = place {symbol} x, indivisible per component; gives the old value."
    return Intrinsic(f"atomic_{name}", text)


atomic_add, atomic_sub, atomic_mul = _atomic("add", "+"), _atomic("sub", "-"), _atomic("mul", "*")
atomic_min, atomic_max = _atomic("min", "min"), _atomic("max", "max")
atomic_exchange = Intrinsic(
    "atomic_exchange", "atomic_exchange(place, x): place = x, indivisible per component; gives the old value."
)
atomic_compare_exchange = Intrinsic(
    "atomic_compare_exchange",
    "atomic_compare_exchange(place, expected, x): place = x if it holds `expected`, bit for bit, indivisible; gives the old\n"
    "    value, with which the caller sees whether x is there. The place holds one number.",
)
atomic_and, atomic_or, atomic_xor = _atomic("and", "&"), _atomic("or", "|"), _atomic("xor", "^")


def _flat(indices) -> tuple[int, ...]:
    """Indices of one cell as ints: a number, a sequence or vector of them, nothing."""
    if indices is None:
        return ()
    return (operator.index(indices),) if not hasattr(indices, "__len__") else tuple(int(index) for index in indices)


def _asking(name):
    """One of the questions about cells, asked from Python of a field, a level, a tree or a member of one."""

    def ask(where, indices, *value):
        where = where.parent() if getattr(where, "kind", "") == "place" else where  # x.snode
        if not hasattr(where, name):
            raise RuntimeTypeError_(f"{name}: expected a field, a level, a tree or a member, got {where!r}")
        if name == "append" and hasattr(where, "kind"):  # a level of fields
            return where.append(_flat(indices), *value)
        return getattr(where, name)(*_flat(indices), *value)

    return ask


def _rescaled(a, b, indices):
    """rescale_index from Python."""
    if None in (*a.shape, *b.shape):
        raise RuntimeTypeError_("rescale_index: a level without bounds can only be rescaled in a kernel or a @func")
    found = [*_flat(indices)]
    for k, (mine, other) in enumerate(zip(a.shape, b.shape)):
        found[k] = found[k] // (mine // other) if mine > other else found[k] * (other // mine)
    return _matrix_value(found)


is_active = Intrinsic("is_active", "is_active(tree, indices): u1: is the cell active?", _asking("is_active"))
activate = Intrinsic("activate", "activate(tree, indices): makes the cell active.", _asking("activate"))
deactivate = Intrinsic(
    "deactivate",
    "deactivate(tree, indices): makes the cell inactive with all below it; of a list: empties it.",
    _asking("deactivate"),
)
append = Intrinsic("append", "append(list, indices, value): appends to the list in the cell at the indices; gives the index.",
                   _asking("append"))  # fmt: skip
length = Intrinsic("length", "length(list, indices): how long the list in the cell at the indices is.",
                   _asking("length"))  # fmt: skip
used = Intrinsic("used", "used(level): slots of the level in use: active cells, of a list's level chunks.")
rescale_index = Intrinsic("rescale_index", "rescale_index(a, b, I): the indices I of field or level a, as indices of b.",
                          _rescaled)  # fmt: skip
no_activate = Intrinsic("no_activate", "no_activate(x): stores in the rest of this loop leave inactive cells of x as they are.")
stop_grad = Intrinsic(
    "stop_grad",
    "stop_grad(x): x, a constant to derivatives; of a field or an array: its elements are, in the rest of this loop.",
    lambda x: x,
)

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
    *_PLAIN, "min", "max", "atan2", "pow", "raw_div", "raw_mod", "bit_shr", "select", "cast", "bit_cast", "zero", "one",
    "random", "randn", "static", "static_print", "static_assert", "loop_config", "ndrange", "grouped",
    "block_local", "cache_read_only", "assume_in_range", "Vector", "Matrix",
    "atomic_add", "atomic_sub", "atomic_mul", "atomic_min", "atomic_max", "atomic_and", "atomic_or", "atomic_xor",
    "atomic_exchange", "atomic_compare_exchange",
    "is_active", "activate", "deactivate", "append", "length", "used", "rescale_index", "no_activate", "stop_grad",
]  # fmt: skip
