"""`Sorter` and `parallel_sort`: what they take, checked. The kernels are sorting.py's."""

from __future__ import annotations

from typing import Any

from ..dtypes import i32, u64
from ..errors import RuntimeTypeError_, RuntimeValueError_
from . import sorting
from .arrays import borrowed, described
from .ordering import Order
from .plan import Plan, Scratch, blocks_of, length_of, scalar_of


class Sorter(Plan):
    """Sorts arrays of one type and length, again and again, in memory that it keeps; or is shipped (`add_to`).

    Stable; the same result for any number of threads. NaNs stand last (first, where descending), as in numpy.sort; -0.0 and
    0.0 are equal.

    Args:
        dtype: the keys' scalar type.
        n: how many keys there are, at most.
        values: the scalar type of what moves with the keys; None: nothing does.
        descending: the greatest key first; equal ones stay in their order.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, dtype: Any, n: int, values: Any = None, descending: bool = False):
        self.dtype = scalar_of(dtype, "Sorter")
        self.values = None if values is None else scalar_of(values, "Sorter")
        self.n = length_of(n, "Sorter")
        blocks = blocks_of(self.n)
        data = {"keys": self.dtype}
        scratch = {"other_keys": Scratch(self.dtype, (self.n,))}
        if self.values is not None:
            data["values"] = self.values
            scratch["other_values"] = Scratch(self.values, (self.n,))
        room = blocks * min(sorting.ROOM, max(1, self.n))
        scratch["hot_keys"] = Scratch(self.dtype, (room,))
        if self.values is not None:
            scratch["hot_values"] = Scratch(self.values, (room,))
        scratch["counts"] = Scratch(i32, (blocks, 2 * sorting.RADIX))
        scratch["ends"] = Scratch(i32, (sorting.RADIX + 2,))
        scratch["bits"] = Scratch(u64, (blocks, 2))
        kernel = sorting.sort_keys if self.values is None else sorting.sort_pairs
        super().__init__(kernel, data, scratch, {"order": Order(self.dtype, bool(descending))})

    def run(self, keys: Any, values: Any = None) -> None:
        """Sorts keys, and values with them, in place.

        Args:
            keys: a field or array of shape (m,), m at most n, of the sorter's type.
            values: the same of the sorter's type of values; None where it has none.
        Raises RuntimeTypeError_, RuntimeValueError_, RuntimeError_ where they share memory.
        """
        count = self._checked(keys, self.dtype, "keys")
        if (values is None) != (self.values is None):
            expected = "no values" if self.values is None else f"values of {self.values!r}"
            raise RuntimeTypeError_(f"Sorter.run: expected {expected}, as the sorter was made, got {type(values).__name__}")
        if values is None:
            with borrowed(keys) as memory:
                self._launch(memory)
            return
        if self._checked(values, self.values, "values") != count:
            raise RuntimeValueError_(f"Sorter.run: expected as many values as keys, {count}, got {described(values, '')[1]}")
        with borrowed(keys) as memory, borrowed(values) as moved:
            self._launch(memory, moved)

    def _checked(self, thing, dtype, name) -> int:
        found, count = described(thing, f"Sorter.run: {name}")
        if found != dtype:
            raise RuntimeTypeError_(f"Sorter.run: {name}: expected {dtype!r}, got {found!r}")
        if count > self.n:
            raise RuntimeValueError_(f"Sorter.run: {name}: expected at most {self.n} elements, got {count}")
        return count


def parallel_sort(keys: Any, values: Any = None, descending: bool = False) -> None:
    """Sorts keys in place, ascending or descending, and values with them. Stable.

    NaNs stand last (first, where descending), as in numpy.sort; -0.0 and 0.0 are equal. A program that sorts often keeps a
    `Sorter`, which keeps its memory.

    Args:
        keys: a field or array of scalars, of shape (n,).
        values: the same, of any scalar type.
    Raises RuntimeTypeError_, RuntimeValueError_, RuntimeError_ where keys and values share memory.
    """
    dtype, count = described(keys, "parallel_sort: keys")
    kind = None if values is None else described(values, "parallel_sort: values")[0]
    Sorter(dtype, count, kind, descending).run(keys, values)
