"""Compaction and distinct values: how many each block keeps, then each block to its place. Order is kept."""

from __future__ import annotations

from typing import Any

from .. import intrinsics as mt
from .. import value_types as _types
from ..dtypes import i32, i64
from ..errors import RuntimeTypeError_, RuntimeValueError_
from ..frontend.function import Function, func, template
from ..kernel import kernel
from .arrays import borrowed, described
from .ordering import Order, rank_of
from .plan import Plan, Scratch, blocks_of, length_of, scalar_of

_Array = _types.ndarray


@func
def _by_mask(x: template(), where: template(), i: i32, test: template()):
    return where[i] != mt.static(test)(0)


@func
def _by_test(x: template(), where: template(), i: i32, test: template()):
    return test(x[i]) != 0


@func
def _differs(x: template(), where: template(), i: i32, test: template()):
    """Is it another one than the element before it?"""
    found = True
    if i > i32(0):
        found = rank_of(x[i], test) != rank_of(x[i - i32(1)], test)
    return found


@func
def _compact(
    x: template(), where: template(), out: template(), number: template(), kept: template(), keeps: template(), test: template()
):
    size = x.shape[0]
    room = out.shape[0]
    blocks = kept.shape[0]
    share = (size + blocks - i32(1)) // blocks
    for block in range(blocks):
        begin = i32(mt.min(i64(block) * share, size))
        count = i32(0)
        for i in range(begin, i32(mt.min(i64(begin) + share, size))):
            count += i32(keeps(x, where, i, test))
        kept[block] = count
    for _ in range(1):
        at = i32(0)
        for block in range(blocks):
            count = kept[block]
            kept[block] = at
            at += count
        number[0] = at
    for block in range(blocks):
        begin = i32(mt.min(i64(block) * share, size))
        at = kept[block]
        for i in range(begin, i32(mt.min(i64(begin) + share, size))):
            if keeps(x, where, i, test):
                if at < room:
                    out[at] = x[i]
                at += i32(1)


@kernel
def compact_by_mask(
    x: _Array(ndim=1), where: _Array(ndim=1), out: _Array(ndim=1), number: _Array(i32, 1), kept: _Array(i32, 1), mask: template()
):
    """Elements of x whose mask is not 0 to the front of out, and their number; what out has no room for is left out."""
    _compact(x, where, out, number, kept, _by_mask, mask)


@kernel
def compact_by_test(x: _Array(ndim=1), out: _Array(ndim=1), number: _Array(i32, 1), kept: _Array(i32, 1), test: template()):
    """The same for elements that a function holds true of."""
    _compact(x, x, out, number, kept, _by_test, test)


@kernel
def compact_distinct(x: _Array(ndim=1), out: _Array(ndim=1), number: _Array(i32, 1), kept: _Array(i32, 1), order: template()):
    """The same for elements that differ from the one before."""
    _compact(x, x, out, number, kept, _differs, order)


class Compactor(Plan):
    """Compacts arrays of n elements, again and again; or is shipped (`add_to`).

    Its kernel takes x, the mask where there is one, out, and an i32 array for the number of elements kept.

    Args:
        dtype: the elements' scalar type.
        n: how many elements there are, at most.
        where: the mask's scalar type; or a function (@mt.func) of a value, true of those to keep; or None: of equal elements
            that follow one another the first one is kept, NaNs being equal.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, dtype: Any, n: int, where: Any = None):
        self.dtype = scalar_of(dtype, "Compactor")
        self.n = length_of(n, "Compactor")
        data, scratch = {"x": self.dtype}, {"kept": Scratch(i32, (blocks_of(self.n),))}
        self.mask = None
        if where is None:
            chosen, constants = compact_distinct, {"order": Order(self.dtype)}
        elif isinstance(where, Function):
            chosen, constants = compact_by_test, {"test": where}
        else:
            self.mask = scalar_of(where, "Compactor: where")
            data["where"] = self.mask
            chosen, constants = compact_by_mask, {"mask": self.mask}
        data |= {"out": self.dtype, "number": i32}
        super().__init__(chosen, data, scratch, constants)

    def run(self, x: Any, out: Any, where: Any = None) -> int:
        """Writes the elements that are kept to the front of out, in their order; returns how many these are.

        Args:
            x: a field or array of shape (m,), m at most n, of the compactor's type.
            out: another one of that type with room for them; what lies behind them is left as it was.
            where: a mask of shape (m,) of the compactor's type of masks; None where it has none.
        Raises RuntimeTypeError_, RuntimeValueError_ (there was no room: `out` then has the first ones), RuntimeError_ where
        memory is shared.
        """
        count = _checked(x, self.dtype, "x")
        _checked(out, self.dtype, "out")
        if count > self.n:
            raise RuntimeValueError_(f"Compactor.run: x: expected at most {self.n} elements, got {count}")
        if (where is None) != (self.mask is None):
            raise RuntimeTypeError_("Compactor.run: where: expected a mask if and only if the compactor was made for one")
        number = _numbers()
        with borrowed(x, written=False) as memory, borrowed(out) as written:
            if where is None:
                self._launch(memory, written, number)
            else:
                if _checked(where, self.mask, "where") != count:
                    raise RuntimeValueError_(f"Compactor.run: where: expected {count} elements, as x has, got another number")
                with borrowed(where, written=False) as mask:
                    self._launch(memory, mask, written, number)
        kept, room = int(number[0]), described(out, "Compactor.run: out")[1]
        if kept > room:
            raise RuntimeValueError_(f"Compactor.run: out: expected room for {kept} elements, got {room}")
        return kept


def _numbers():
    import numpy as np

    return np.zeros(1, np.int32)


def _checked(thing, dtype, name) -> int:
    found, count = described(thing, f"Compactor.run: {name}")
    if found != dtype:
        raise RuntimeTypeError_(f"Compactor.run: {name}: expected {dtype!r}, got {found!r}")
    return count


def compact(x: Any, where: Any, out: Any) -> int:
    """Writes the elements of x that are to be kept to the front of out, in their order; returns how many these are.

    Args:
        x: a field or array of scalars, of shape (n,).
        where: a field or array of scalars of shape (n,), not 0 where an element is kept; or a function (@mt.func) of a
            value, true of those to keep.
        out: other memory of x's type, of shape (m,); m must suffice.
    Raises RuntimeTypeError_, RuntimeValueError_, RuntimeError_ where memory is shared.
    """
    dtype, count = described(x, "compact: x")
    if isinstance(where, Function):
        return Compactor(dtype, count, where).run(x, out)
    return Compactor(dtype, count, described(where, "compact: where")[0]).run(x, out, where)


def unique(x: Any, out: Any) -> int:
    """Writes the distinct elements of x, ascending, to the front of out; returns how many these are. x is not changed.

    NaNs are equal to one another and stand last, as in numpy.unique.

    Args:
        x: a field or array of scalars, of shape (n,).
        out: other memory of x's type, of shape (m,); m must suffice.
    Raises RuntimeTypeError_, RuntimeValueError_, RuntimeError_ where memory is shared.
    """
    from ..ndarray import ndarray
    from .sorter import parallel_sort

    dtype, count = described(x, "unique: x")
    ordered = ndarray(dtype, count)
    with borrowed(x, written=False) as memory:
        ordered.from_numpy(memory.to_numpy() if hasattr(memory, "to_numpy") else memory)
    parallel_sort(ordered)
    return Compactor(dtype, count).run(ordered, out)
