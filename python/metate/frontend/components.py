"""Several components at once: swizzles, slices, places whose components lie apart.

`v.xy`, `v[1:3]`, `m[0, :]` of a variable or an element are places as well as values; a Components
(structs.py) stands for them.
"""

from __future__ import annotations

import ast

from .expressions import Reference
from .structs import Components


class ComponentGroups:
    """The part of the walker that takes and assigns several components at once."""

    def gathered(self, group, node):
        """The Value of a Components."""
        parts = [self.emit(node, self.builder.load, part) for part in group.parts]
        if len(group.shape) == 2:
            return self.emit(node, self.builder.matrix, parts, group.shape[0], None)
        return self.emit(node, self.builder.vector, parts, None)

    def write_components(self, node, group, value, what):
        """Stores a vector or matrix of the group's shape, or one scalar, into each component."""
        shape = list(value.type.shape)
        if shape and shape != list(group.shape):
            raise self.error("type", f"{what}: expected a value of shape {group.shape}, got {value.type.name}", node)
        for position, part in zip(_positions(group.shape), group.parts):
            scalar = self.component(value, position, node) if shape else value
            self.write(node, part, scalar, what)

    def atomic_components(self, op, group, value, node):
        """The old values of the components, each read and changed at once."""
        shape = list(value.type.shape)
        parts = [self.component(value, position, node) if shape else value for position in _positions(group.shape)]
        old = [self.emit(node, self.builder.atomic, op, place, part) for place, part in zip(group.parts, parts)]
        if len(group.shape) == 2:
            return self.emit(node, self.builder.matrix, old, group.shape[0], None)
        return self.emit(node, self.builder.vector, old, None)

    def part_of(self, owner, position, node):
        """One component; of a place, a place. Those of a Components must be known while compiling."""
        if isinstance(owner, Components):
            known = [self._known_position(k, extent, node) for k, extent in zip(position, owner.shape)]
            return owner.parts[known[0] if len(known) == 1 else known[0] * owner.shape[1] + known[1]]
        index = [self.to_value(k, node) for k in position]
        take = self.builder.reference_component if isinstance(owner, Reference) else self.builder.component
        return self.emit(node, take, owner, index)

    def _known_position(self, index, extent, node):
        known = index if isinstance(index, int) else self.builder.known_integer(index)
        if known is None:
            text = "expected an index known while compiling, got a value of the kernel"
            raise self.error("type", text, node, "copy the whole to a variable first")
        if not 0 <= known < extent:
            raise self.error("type", f"index out of range: expected 0 to {extent - 1}, got {known}", node)
        return known

    def group(self, owner, positions, shape, node):
        """Components at positions, in order: places if `owner` is one."""
        parts = [self.part_of(owner, position, node) for position in positions]
        if isinstance(parts[0], Reference):
            return Components(tuple(parts), tuple(shape))
        if len(shape) == 2:
            return self.emit(node, self.builder.matrix, parts, shape[0], None)
        return self.emit(node, self.builder.vector, parts, None)

    #  -- subscripts -----------------------------------------------------------------------------------

    def component_subscript(self, owner, node):
        """`v[i]`, `m[i, j]`, `m[i]` (a row), and slices of them, of a Value, a Reference or a Components."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        shape = list(owner.type.shape)
        if shape and any(isinstance(part, ast.Slice) for part in parts):
            return self._sliced(owner, parts, shape, node)
        indices = self.index_values(node.slice)
        if len(shape) == 2 and len(indices) == 1 and not indices[0].type.shape:
            return self._sliced(owner, parts, shape, node, indices[0])
        if not isinstance(owner, Components):
            take = self.builder.reference_component if isinstance(owner, Reference) else self.builder.component
            return self.emit(node, take, owner, indices)
        known = [self.builder.known_integer(index) if not index.type.shape else None for index in indices]
        if None in known or len(known) != len(shape):
            return self.emit(node, self.builder.component, self.gathered(owner, node), indices)
        return self.part_of(owner, known, node)

    def _sliced(self, owner, parts, shape, node, row=None):
        """`row`: the only index, of a matrix, when it was evaluated already."""
        if len(parts) > len(shape):
            raise self.error(
                "type", f"wrong number of indices: expected {len(shape)} for {owner.type.name}, got {len(parts)}", node
            )
        if row is not None:
            return self.group(owner, [(row, j) for j in range(shape[1])], shape[1:], node)
        parts = [*parts, *[ast.Slice()] * (len(shape) - len(parts))]
        runs, left = [], []
        for part, extent in zip(parts, shape):
            if isinstance(part, ast.Slice):
                run = self._run(part, extent, node)
                left.append(len(run))
            else:
                run = [self.value(part)]
            runs.append(run)
        positions = [(i,) for i in runs[0]] if len(runs) == 1 else [(i, j) for i in runs[0] for j in runs[1]]
        return self.group(owner, positions, left, node)

    def _run(self, part, extent, node):
        """The positions that a slice names."""
        what = "bound of a slice"
        bounds = [None if bound is None else self.integer(bound, what) for bound in (part.lower, part.upper, part.step)]
        run = self.compute(node, lambda: list(range(extent))[slice(*bounds)])
        if not run:
            raise self.error("type", f"expected a slice with at least one element of {extent}, got none", node)
        return run


def _positions(shape):
    if len(shape) == 1:
        return [(k,) for k in range(shape[0])]
    return [(i, j) for i in range(shape[0]) for j in range(shape[1])]
