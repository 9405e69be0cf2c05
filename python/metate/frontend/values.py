"""Values: what an expression stands for as a Value of the KernelBuilder, and what of it is known while compiling."""

from __future__ import annotations

import numpy as np

from .. import value_types as _types
from ..dtypes import scalar_of
from ..matrix_value import MatrixValue
from ..tree_type import TreeType
from . import handles
from .components import ComponentGroups
from .constants import Constants, is_number
from .native import describe
from .static import RUNTIME, Reference, Value
from .structs import Components, StructValue
from .walk import Walk

_MOST_CONSTANTS = 64  # elements of a captured array that become constants; a larger one is data


class Values:
    """Makes Values. What operations mean is the builder's."""

    def __init__(self, walk: Walk, groups: ComponentGroups, constants: Constants):
        self.walk, self.builder = walk, walk.builder
        self.groups, self.constants = groups, constants

    #  -- from things to values --------------------------------------------------------------------

    def to_value(self, thing, node, dtype=None):
        """A Value of what an expression stands for; dtype: the type that a number known while compiling is given."""
        if isinstance(thing, Value):
            return thing
        if isinstance(thing, Reference):
            return self.walk.emit(node, self.builder.load, thing)
        if isinstance(thing, Components):
            return self.groups.gathered(thing, node)
        if isinstance(thing, np.bool_):
            thing = bool(thing)
        if is_number(thing):
            if dtype is None or self._is_converted(thing, dtype):
                return self.constants.literal(thing, node)
            return self.constants.given(thing, dtype, node)
        if isinstance(thing, np.generic):
            return self.constants.typed(thing.item(), _types.dtype(thing.dtype), node)
        if isinstance(thing, MatrixValue) and thing.is_untyped:  # ti.Vector([1, 2]) outside: literals
            return self.shaped_value(thing.tolist(), thing.shape, node)
        if isinstance(thing, np.ndarray) and thing.ndim == 0:
            return self.to_value(thing.item(), node)
        if isinstance(thing, np.ndarray) and thing.ndim in (1, 2) and thing.size <= _MOST_CONSTANTS:
            return self.array_constant(thing, node)
        if isinstance(thing, handles.CellHandle):
            return self.to_value(self.sole_member(thing, node), node)
        raise self.walk.error("type", f"expected a value, got {describe(thing)}", node, self._value_hint(thing))

    @staticmethod
    def _is_converted(number, dtype):
        """Does a place of that type take the literal's value by a conversion, which may lose some of it?"""
        return isinstance(number, bool) or dtype.kind == "bool" or (isinstance(number, float) and not dtype.is_float)

    def stored_value(self, thing, type_, node):
        """A Value for a place of a native type: integers known while compiling take the type, floats are literals."""
        return self.shaped_value(thing, type_.shape, node, _types.dtype(type_.code), is_stored=True)

    def settled(self, thing, node):
        """What a place holds now, so that later assignments do not change it; anything else as it is."""
        if isinstance(thing, StructValue):
            return thing.map(lambda part: self.settled(part, node))
        is_whole = isinstance(thing, handles.CellHandle) and len(thing.tree.type.members) == 1
        return self.to_value(thing, node) if is_whole or isinstance(thing, (Reference, Components)) else thing

    def shaped_value(self, thing, shape, node, dtype=None, is_stored=False):
        """A Value; where a vector or matrix is wanted, also from a list (of lists) of its components.

        dtype: the type that numbers known while compiling are given; is_stored: integers only.
        """
        make = lambda one: self.to_value(one, node, None if is_stored and isinstance(one, float) else dtype)
        if not isinstance(thing, (tuple, list)) or not shape:
            return make(thing)
        rows = [list(row) if isinstance(row, (tuple, list)) else row for row in thing]
        if len(shape) == 1 or not all(isinstance(row, list) for row in rows):
            return self.walk.emit(node, self.builder.vector, [make(element) for element in rows], None)
        flat = [make(element) for row in rows for element in row]
        return self.walk.emit(node, self.builder.matrix, flat, len(rows), None)

    def _value_hint(self, thing):
        if isinstance(thing, handles.EntryHandle):
            return "+= and -= are all that a kernel can do with it; build() gives a matrix"
        if isinstance(thing, StructValue):
            return f"take a member: {', '.join('.' + name for name in thing.parts)}"
        if isinstance(thing, handles.TreeHandle):
            return f"take a member of a cell: {thing.name}[i, j].{next(iter(thing.type.members))}"
        if isinstance(thing, handles.MemberHandle):
            return f"take a cell: {thing.tree.name}.{thing.name}[...]"
        if isinstance(thing, (tuple, list)):
            return "make a vector of it: ti.Vector([...])"
        if isinstance(thing, np.ndarray) or isinstance(getattr(thing, "type", None), TreeType):
            return "pass it to the kernel as an argument"
        if isinstance(thing, (handles.ArrayHandle, handles.StructArrayHandle)):
            return f"take an element: {thing.name}[...]"
        return None

    def unpacked(self, thing, node):
        """The elements of a tuple, list, shape or vector."""
        if isinstance(thing, handles.ShapeHandle):
            return [self.walk.emit(node, self.builder.dimension, thing.array.native, k) for k in range(thing.array.ndim)]
        if isinstance(thing, (Value, Reference, Components)) and thing.type.shape:
            whole, (rows, *columns) = self.to_value(thing, node), thing.type.shape
            if columns:  # of a matrix, its rows
                return [self.groups.group(whole, [(i, j) for j in range(*columns)], columns, node) for i in range(rows)]
            return [self.groups.component(whole, [k], node) for k in range(rows)]
        if isinstance(thing, np.ndarray):
            self.walk.captures.whole(thing)
            return list(thing)
        if isinstance(thing, (tuple, list, range, dict, set, str)):
            return list(thing)
        raise self.walk.error("type", f"expected a tuple, a list or a vector, got {describe(thing)}", node)

    def truth(self, thing, node, what="condition"):
        """A u1 of what an expression stands for."""
        return self.walk.emit(node, self.builder.truth, self.to_value(thing, node), what)

    def sole_member(self, cell, node):
        """The member of a cell that has one only."""
        members = list(cell.tree.type.members)
        if len(members) != 1:
            raise self.walk.error(
                "type",
                f"expected one member of the cell of '{cell.tree.name}', got the whole cell",
                node,
                "take one of its members: " + ", ".join(f".{name}" for name in members),
            )
        return self.member(cell, members[0], node)

    def member(self, cell, name, node):
        """The place of a member of a cell."""
        return self.walk.emit(node, self.builder.member, cell.tree.native, name, list(cell.indices))

    #  -- constants --------------------------------------------------------------------------------

    def array_constant(self, array, node):
        """A NumPy array from outside the kernel, of one or two dimensions, as a vector or matrix."""
        dtype = _types.dtype(array.dtype)
        parts = [self.constants.typed(number, dtype, node) for number in array.ravel().tolist()]
        if array.ndim == 1:
            return self.walk.emit(node, self.builder.vector, parts, dtype.code)
        return self.walk.emit(node, self.builder.matrix, parts, array.shape[0], dtype.code)

    def cast_to(self, thing, dtype, node):
        """A thing cast to a scalar type."""
        if is_number(thing):  # not through default_ip: ti.i64(1 << 40) is what it says
            return self.constants.given(thing, dtype, node)
        return self.walk.emit(node, self.builder.cast, self.to_value(thing, node), dtype.code)

    #  -- what is known while compiling ------------------------------------------------------------

    def known_integer(self, thing, node, what):
        """An int, of what stands for one that is known while compiling."""
        if isinstance(thing, (int, np.integer)) and not isinstance(thing, bool):
            return int(thing)
        known = self.builder.known_integer(self.to_value(thing, node)) if isinstance(thing, RUNTIME) else None
        if known is None:
            raise self.walk.error("type", f"{what}: expected an integer known while compiling, got {describe(thing)}", node)
        return known

    def static_bool(self, thing, node):
        """Python's truth of something known while compiling; an array of several elements has none."""
        if not is_number(thing):
            self.walk.captures.whole(thing)
        return self.walk.compute(node, bool, thing)

    def scalar_type(self, thing, node):
        """The scalar type that a thing is; int, float and bool are the kernel's default types."""
        if isinstance(thing, _types.DType):
            return thing
        if _types.is_python_scalar(thing):
            return scalar_of(thing, self.walk.options)
        raise self.walk.error("type", f"expected a scalar type such as ti.f32, got {describe(thing)}", node)

    def text(self, thing, node):
        """A str that the compiler can take: Python's may hold halves of surrogate pairs, which no UTF-8 spells."""
        try:
            thing.encode()
        except UnicodeEncodeError:
            raise self.walk.error("type", f"expected text that UTF-8 can spell, got {thing!r}", node) from None
        return thing
