"""What Python writes to fields while a tape with validation is open: it has numbers as what kernels write has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import recording
from .. import value_types as _types
from ..array_object import NDArray
from ..errors import RuntimeTypeError_
from ..fields.field import Field
from ..fields.new_field import new_field
from ..fields.placement import Placement
from ..frontend.function import template
from ..intrinsics import grouped
from ..kernel import kernel
from ..lazy_numpy import np
from ..remembered_call import SITES_PER_CALL, RememberedCall
from ..write_numbers import element_of_numbers


def numbers_of(field: Field) -> Field:
    """The field of the numbers of a field's last writes."""
    memory: Any = field._tree
    tree, placement = memory._numbers, field._placement
    made = new_field(element_of_numbers(field.element), f"{field.name}.numbers")
    made._lay_over(tree, Placement(tree.type, placement.members, made.element, placement.shape, placement.offset))
    return made


class WatchedElements:
    """A field's elements; what is written is noted.

    Args:
        field: it has these elements until `leave`.
        remember: is told of each write.
    """

    def __init__(self, field: Field, remember: Callable[[RememberedCall], None]):
        self._own, self._field, self._remember = field._elements, field, remember
        self._numbers = numbers_of(field)
        field._elements = self

    def leave(self) -> None:
        """Gives the field its own elements back, unless it has lost them with its tree."""
        if self._field._has_memory and self._field._elements is self:
            self._field._elements = self._own

    def __getattr__(self, name):
        return getattr(self._own, name)

    def __getitem__(self, key):
        return self._own[key]

    def __setitem__(self, key, value):
        self._own[key] = value
        number = self._next()
        shape = getattr(self._field.element, "shape", ())
        self._numbers[key] = np.full(shape, number) if shape else number

    def take(self, array: Any) -> bool:
        """As of elements."""
        taken = self._own.take(array)
        if taken:
            self.was_written()
        return taken

    def fill(self, value: Any) -> None:
        """As of elements."""
        self._own.fill(value)
        self.was_written()

    def was_written(self) -> None:
        """All active cells were written."""
        if self._field.is_dense:
            self._numbers.fill(self._next())
            return
        with recording.watching(None):
            _note(self._field, self._numbers, self._next())

    def _next(self):
        made = RememberedCall("Python", [_place()])
        self._remember(made)
        return made.number * SITES_PER_CALL


@kernel
def _note(field: template(), numbers: template(), number: _types.i64):
    for cell in grouped(field):
        numbers[cell] = number


def _place():
    """The line of the program that is at work: (file, line, column), the last one 0: it is not known."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("metate."):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, 0


def write_numbers(of: Any) -> Any:
    """The numbers of the last writes of a field's or array's scalars, as Tape(validation=True) has them: of i64.

    A number is that of a call, which rises from call to call, times 1024, and that of the write in its kernel; 0: it was
    not written under such a tape. Raises RuntimeTypeError_ for what is no field of scalars, vectors or matrices, and no
    array.
    """
    if isinstance(of, NDArray):
        return of._numbers
    if isinstance(of, Field):
        return numbers_of(of)
    raise RuntimeTypeError_(f"write_numbers: expected a field or an array, got {of!r}")
