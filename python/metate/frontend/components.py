"""Several components at once: swizzles, slices, places whose components lie apart.

`v.xy`, `v[1:3]`, `m[0, :]` of a variable or an element are places as well as values; a Components
(structs.py) stands for them. Which components a subscript means, component_access.py says.
"""

from __future__ import annotations

from .static import Reference, Value
from .structs import Components
from .walk import Walk


class ComponentGroups:
    """Takes and assigns components of vectors and matrices. A position is a number, or a Value."""

    def __init__(self, walk: Walk):
        self.walk, self.builder = walk, walk.builder

    def component(self, value, indices, node):
        """One component of a Value."""
        return self.walk.emit(node, self.builder.component, value, [self._index(k, node) for k in indices])

    def gathered(self, group, node):
        """The Value of a Components."""
        parts = [self.walk.emit(node, self.builder.load, part) for part in group.parts]
        if len(group.shape) == 2:
            return self.walk.emit(node, self.builder.matrix, parts, group.shape[0], None)
        return self.walk.emit(node, self.builder.vector, parts, None)

    def write_components(self, node, group, value, what):
        """Stores a vector or matrix of the group's shape, or one scalar, into each component."""
        shape = list(value.type.shape)
        if shape and shape != list(group.shape):
            raise self.walk.error("type", f"{what}: expected a value of shape {group.shape}, got {value.type.name}", node)
        positions = _positions(group.shape)
        scalars = [self.component(value, position, node) if shape else value for position in positions]
        self.walk.write_together(node, list(group.parts), scalars, what)

    def atomic_components(self, op, group, value, node):
        """The old values of the components, each read and changed at once."""
        shape = list(value.type.shape)
        parts = [self.component(value, position, node) if shape else value for position in _positions(group.shape)]
        old = [self.walk.emit(node, self.builder.atomic, op, place, part) for place, part in zip(group.parts, parts)]
        if len(group.shape) == 2:
            return self.walk.emit(node, self.builder.matrix, old, group.shape[0], None)
        return self.walk.emit(node, self.builder.vector, old, None)

    def part_of(self, owner, position, node):
        """One component; of a place, a place. Those of a Components must be known while compiling."""
        if isinstance(owner, Components):
            known = [self._known_position(k, extent, node) for k, extent in zip(position, owner.shape)]
            return owner.parts[known[0] if len(known) == 1 else known[0] * owner.shape[1] + known[1]]
        index = [self._index(k, node) for k in position]
        take = self.builder.reference_component if isinstance(owner, Reference) else self.builder.component
        return self.walk.emit(node, take, owner, index)

    def _index(self, k, node):
        return k if isinstance(k, Value) else self.walk.emit(node, self.builder.integer_literal, k)

    def _known_position(self, index, extent, node):
        known = index if isinstance(index, int) else self.builder.known_integer(index)
        if known is None:
            text = "expected an index known while compiling, got a value of the kernel"
            raise self.walk.error("type", text, node, "copy the whole to a variable first")
        if not 0 <= known < extent:
            raise self.walk.error("type", f"index out of range: expected 0 to {extent - 1}, got {known}", node)
        return known

    def group(self, owner, positions, shape, node):
        """Components at positions, in order: places if `owner` is one."""
        parts = [self.part_of(owner, position, node) for position in positions]
        if isinstance(parts[0], Reference):
            return Components(tuple(parts), tuple(shape))
        if len(shape) == 2:
            return self.walk.emit(node, self.builder.matrix, parts, shape[0], None)
        return self.walk.emit(node, self.builder.vector, parts, None)


def _positions(shape):
    if len(shape) == 1:
        return [(k,) for k in range(shape[0])]
    return [(i, j) for i in range(shape[0]) for j in range(shape[1])]
