"""Reductions: of each block, then of the blocks in order. Blocks depend on the length alone: the same result everywhere."""

from __future__ import annotations

from typing import Any

from .. import intrinsics as mt
from .. import value_types as _types
from ..dtypes import f32, i32, i64, u64
from ..errors import RuntimeTypeError_, RuntimeValueError_
from ..frontend.function import Function, func, template
from ..kernel import kernel
from .arrays import borrowed, described
from .plan import Plan, Scratch, blocks_of, length_of, scalar_of

_Array = _types.ndarray


@func
def _sum(a, b):
    return a + b


@func
def _min(a, b):
    return mt.min(a, b)


@func
def _max(a, b):
    return mt.max(a, b)


_NAMED = {"sum": _sum, "min": _min, "max": _max}


@func
def _reduce(x: template(), result: template(), parts: template(), together: template(), dtype: template()):
    size = x.shape[0]
    blocks = parts.shape[0]
    share = (size + blocks - i32(1)) // blocks
    for block in range(blocks):
        begin = i32(mt.min(i64(block) * share, size))
        end = i32(mt.min(i64(begin) + share, size))
        if begin < end:
            total = dtype(x[begin])
            for i in range(begin + i32(1), end):
                total = dtype(together(total, dtype(x[i])))
            parts[block] = total
    if size > i32(0):
        total = parts[0]
        for block in range(i32(1), (size + share - i32(1)) // share):
            total = dtype(together(total, parts[block]))
        result[0] = total


@kernel
def reduce_in_order(x: _Array(ndim=1), result: _Array(ndim=1), parts: _Array(ndim=1), together: template(), dtype: template()):
    """result[0] becomes all of x, taken together from left to right; nothing where x is empty."""
    _reduce(x, result, parts, together, dtype)


@kernel(fast_math=True)
def reduce_as_vectors(x: _Array(ndim=1), result: _Array(ndim=1), parts: _Array(ndim=1), together: template(), dtype: template()):
    """The same for what may be taken together in any order within a block: sums are lanes of vectors."""
    _reduce(x, result, parts, together, dtype)


class Reducer(Plan):
    """Reduces arrays of n elements, again and again; or is shipped (`add_to`): data, then an array for the one result.

    Args:
        dtype: the elements' scalar type.
        n: how many elements there are, at most.
        how: "sum", "min", "max", or a function (@mt.func) of two values that gives one; it should be associative.
    Attributes:
        result: the result's scalar type: sums of integers are i64 or u64, of f16 and bf16 f32; else the elements'.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, dtype: Any, n: int, how: Any = "sum"):
        self.dtype = scalar_of(dtype, "Reducer")
        self.n = length_of(n, "Reducer")
        together = _NAMED.get(how) if isinstance(how, str) else how
        if not isinstance(together, Function):
            raise RuntimeTypeError_(f"reduce: how: expected 'sum', 'min', 'max' or a function by @mt.func, got {how!r}")
        self.result = _type_of_sum(self.dtype) if how == "sum" else self.dtype
        self.how = how
        self._result_memory = None
        scratch = {"parts": Scratch(self.result, (blocks_of(self.n),))}
        super().__init__(
            reduce_as_vectors if how == "sum" else reduce_in_order,
            {"x": self.dtype, "result": self.result}, scratch, {"together": together, "dtype": self.result},
        )  # fmt: skip

    def run(self, x: Any) -> Any:
        """All of x as one number. Of an empty x a sum is 0, and anything else an error.

        Args:
            x: a field or array of shape (m,), m at most n, of the reducer's type.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        from ..ndarray import ndarray

        found, count = described(x, "Reducer.run")
        if found != self.dtype:
            raise RuntimeTypeError_(f"Reducer.run: expected {self.dtype!r}, got {found!r}")
        if count > self.n:
            raise RuntimeValueError_(f"Reducer.run: expected at most {self.n} elements, got {count}")
        if count == 0:
            if self.how == "sum":
                return self.result(0)
            raise RuntimeValueError_("reduce: expected at least one element, got none; only a sum of nothing is known: 0")
        if self._result_memory is None:
            self._result_memory = ndarray(self.result, 1)
        with borrowed(x, written=False) as memory:
            self._launch(memory, self._result_memory)
        return self._result_memory[0]


def _type_of_sum(dtype):
    if dtype.is_float:
        return f32 if dtype.bits == 16 else dtype
    return i64 if dtype.kind == "int" else u64


def reduce(x: Any, how: Any = "sum") -> Any:
    """All elements of x taken together, as one number: the same one for any number of threads.

    Args:
        x: a field or array of scalars, of shape (n,).
        how: "sum" (integers in 64 bits; floats of a block in any order), "min", "max" (NaNs are passed over, as
            mt.min does), or a function (@mt.func) of two values that gives one. It should be associative: it is applied from
            left to right in blocks, then to the blocks' results.
    Raises RuntimeTypeError_, RuntimeValueError_: of nothing there is only a sum.
    """
    dtype, count = described(x, "reduce")
    return Reducer(dtype, count, how).run(x)
