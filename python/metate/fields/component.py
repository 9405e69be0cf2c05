"""One component of a vector or matrix field, as a field of scalars: to be placed on its own, read and written."""

from __future__ import annotations

from ..errors import TreeError
from ..lazy_numpy import np
from ..whole_writes import FROM_NUMPY
from . import transfer
from .placement import Placement


class Component:
    """``x.get_scalar_field(k)``; made by Field.get_scalar_field."""

    __slots__ = ("_field", "_number")

    def __init__(self, field, number):
        self._field = field
        self._number = number  # row-major

    @property
    def dtype(self):
        """Scalar type of the component."""
        return self._field.dtype

    element = dtype

    @property
    def name(self) -> str:
        return f"{self._field.name}_{self._number}" if self._field.name else ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the field."""
        return self._field.shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each dimension."""
        return self._field.offset

    @property
    def grad(self):
        """The component of the field's gradient; None of integers."""
        return self._of_partner(self._field.grad)

    @property
    def dual(self):
        """The component of the field's dual."""
        return self._of_partner(self._field.dual)

    @property
    def _is_partner(self):
        return self._field._is_partner

    def _partner(self, kind):
        return self._of_partner(self._field._partner(kind))

    def _is_constant_now(self, kind):
        self._field._is_constant_now(kind)

    def _of_partner(self, partner):
        return None if partner is None else Component(partner, self._number)

    def parent(self, n=1):
        """The level n above the field's elements."""
        return self._field.parent(n)

    @property
    def _placement(self) -> Placement:
        whole = self._field._placement
        if not self._field._is_split():
            raise TreeError(
                f"{self._described()}: it lies inside the field's elements: in a kernel write x[i][{self._number}], "
                "or give the field layout=mt.Layout.SOA"
            )
        return Placement(whole.tree, (whole.members[self._number],), self.dtype, whole.shape, whole.offset)

    @property
    def _tree(self):
        return self._field._tree

    def __getitem__(self, key):
        return self.dtype.unpack(self._field._elements[key])[self._number]

    def __setitem__(self, key, value):
        whole = np.array(self._field[key])
        whole.reshape(-1)[self._number] = value
        self._field[key] = whole

    def to_numpy(self, dtype=None) -> np.ndarray:
        """A new array over `shape`."""
        found = np.ascontiguousarray(self._parts(self._field.to_numpy())[..., self._number])
        return found if dtype is None else found.astype(dtype)

    def from_numpy(self, array) -> None:
        """Copies an array of the field's shape into the component of the active cells."""
        whole = self._field.to_numpy()
        self._parts(whole)[..., self._number] = array
        transfer.from_array(self._field, whole)
        FROM_NUMPY.done(self, array)

    def fill(self, value) -> None:
        """Sets the component of every active cell."""
        self.from_numpy(value)

    def _parts(self, array):
        return array.reshape(*self._field.shape, -1)

    def _place_parts(self):
        yield self._field, self._number

    @property
    def _is_placed(self):
        return self._field._is_placed

    def _described(self):
        return f"component {self._number} of {self._field._described()}"

    def __repr__(self):
        return f"<{self._described()}>"
