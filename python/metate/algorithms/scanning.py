"""Prefix sums: the sum of each block, then each block from the sum of those before it.

Reads twice, writes once: the least that several workers can do in place. Blocks depend on the length alone, so that sums of
floats are the same for any number of threads.
"""

from __future__ import annotations

from typing import Any

from .. import intrinsics as mt
from .. import value_types as _types
from ..dtypes import i32, i64
from ..errors import RuntimeTypeError_, RuntimeValueError_
from ..frontend.function import template
from ..kernel import kernel
from .arrays import borrowed, described
from .plan import Plan, Scratch, blocks_of, length_of, scalar_of

_Array = _types.ndarray


@kernel
def prefix_sums(x: _Array(ndim=1), sums: _Array(ndim=1), dtype: template(), exclusive: template()):
    """Sums of all elements up to each one, with it or, exclusive, without it."""
    size = x.shape[0]
    blocks = sums.shape[0]
    share = (size + blocks - i32(1)) // blocks
    for block in range(blocks):
        begin = i32(mt.min(i64(block) * share, size))
        total = dtype(0)
        for i in range(begin, i32(mt.min(i64(begin) + share, size))):
            total += x[i]
        sums[block] = total
    for block in range(blocks):
        begin = i32(mt.min(i64(block) * share, size))
        total = dtype(0)
        for before in range(block):
            total += sums[before]
        for i in range(begin, i32(mt.min(i64(begin) + share, size))):
            if mt.static(exclusive):
                value = x[i]
                x[i] = total
                total += value
            else:
                total += x[i]
                x[i] = total


class PrefixSumExecutor(Plan):
    """Prefix sums of arrays of n elements, in place, again and again; or shipped (`add_to`).

    The same sums for any number of threads; integers wrap.

    Args:
        n: how many elements there are, at most.
        dtype: their scalar type, for Taichi's programs i32; any but u1.
        exclusive: an element becomes the sum of those before it, without itself.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, n: int, dtype: Any = None, exclusive: bool = False):
        self.n = length_of(n, "PrefixSumExecutor")
        self.dtype = None if dtype is None else scalar_of(dtype, "PrefixSumExecutor", numbers=True)
        self.exclusive = bool(exclusive)
        self._plan(self.dtype or i32)

    def _plan(self, dtype):
        self._planned = dtype
        scratch = {"sums": Scratch(dtype, (blocks_of(self.n),))}
        super().__init__(prefix_sums, {"x": dtype}, scratch, {"dtype": dtype, "exclusive": self.exclusive})

    def run(self, x: Any) -> None:
        """Replaces each element by its prefix sum.

        Args:
            x: a field or array of shape (m,), m at most n, of the executor's type; where it was given none, of any.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        found, count = described(x, "PrefixSumExecutor.run")
        if found != (self.dtype or found):
            raise RuntimeTypeError_(f"PrefixSumExecutor.run: expected {self.dtype!r}, got {found!r}")
        if count > self.n:
            raise RuntimeValueError_(f"PrefixSumExecutor.run: expected at most {self.n} elements, got {count}")
        if found != self._planned:
            self._plan(scalar_of(found, "PrefixSumExecutor.run", numbers=True))
        with borrowed(x) as memory:
            self._launch(memory)
