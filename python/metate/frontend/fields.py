"""Fields in kernels: their elements, members and coordinates. What a field is comes from capture.py."""

from __future__ import annotations

import math

from .. import value_types as _types
from ..tree_type import DENSE, flat
from . import handles, keys, structs
from .values import Values
from .walk import Walk


class Fields:
    """Takes fields apart."""

    def __init__(self, walk: Walk, values: Values):
        self.walk, self.builder = walk, walk.builder
        self.values = values

    #  -- members ----------------------------------------------------------------------------------

    def member_field(self, field, name, node):
        """The field of one member of a struct field."""
        inner, outer = field.field._members[name], field.outer or field
        if keys.is_struct_field(inner):
            return handles.StructFieldHandle(inner, f"{field.name}.{name}", outer)
        return self.walk.compute(node, self.walk.captures.field, inner, f"{field.name}.{name}", node, outer)

    def plain_fields(self, field, node):
        """The fields that a field is: itself, or those of a struct field."""
        if not isinstance(field, handles.StructFieldHandle):
            return [field]
        members = [self.member_field(field, name, node) for name in field.field._members]
        return [plain for member in members for plain in self.plain_fields(member, node)]

    def first_field(self, field, node):
        """The field whose active cells stand for a struct field's: the first one."""
        while isinstance(field, handles.StructFieldHandle):
            field = self.member_field(field, next(iter(field.field._members)), node)
        return field

    def field_member(self, field):
        """The member that a loop over a field walks."""
        return handles.MemberHandle(field.tree, field.placement.members[0])

    def sole_active_set(self, tree, node):
        """The member whose active cells stand for the tree's: the first one.

        Branches that are built alike but for their members count as one active set: they are meant to
        be filled together (a struct placed apart, member by member).
        """
        paths = {}
        _collect_paths(tree.type.branches, (), paths)
        first = next(iter(paths))
        for name, path in paths.items():
            if path != paths[first]:
                members = f"'{first}' and '{name}'"
                raise self.walk.error(
                    "type",
                    f"the members of tree '{tree.name}' have different active sets: expected one, got those of {members}",
                    node,
                    f"loop over one of them: {tree.name}.{first}",
                )
        return first

    def struct_type(self, field):
        """The type of a struct field's elements; one that was put together from fields has no methods."""
        given = getattr(field.field, "type", None)
        if given is not None:
            return given
        members = {}
        for name, member in field.field._members.items():
            is_struct = keys.is_struct_field(member)
            members[name] = self.struct_type(handles.StructFieldHandle(member, name)) if is_struct else member.element
        return _types.StructType(members)

    #  -- elements ---------------------------------------------------------------------------------

    def element(self, field, indices, node):
        """A place, or one for each component or member where they lie apart."""
        element = self._struct_element if isinstance(field, handles.StructFieldHandle) else self._element
        return element(field, indices, node)

    def _struct_element(self, field, indices, node):
        parts = {}
        for name in field.field._members:
            parts[name] = self.element(self.member_field(field, name, node), indices, node)
        return structs.StructValue(self.struct_type(field), parts)

    def _element(self, field, indices, node):
        coordinates = self.coordinates(field, indices, node)
        places = [
            self.walk.emit(node, self.builder.member, field.tree.native, name, coordinates) for name in field.placement.members
        ]
        if id(field.field) in self.walk.constants:
            places = list(map(self.builder.constant_to_derivatives, places))
        if len(places) == 1 and list(places[0].type.shape) == list(getattr(field.element, "shape", ())):
            return places[0]
        return structs.Components(tuple(places), tuple(field.element.shape))

    def coordinates(self, field, indices, node):
        """The tree's coordinates of the field's indices."""
        rank = len(field.shape)
        count = sum(math.prod(index.type.shape) for index in indices)
        if count != rank:
            plural = "index" if rank == 1 else "indices"
            raise self.walk.error(
                "type",
                f"wrong number of indices: expected {rank} {plural} for {field.describe()} of shape {field.shape}, got {count}",
                node,
                f"an element is {field.name}[None]" if rank == 0 else None,
            )
        if not any(field.placement.offset):
            return indices
        flat = []
        for index in indices:
            flat.extend(self.values.unpacked(index, node) if index.type.shape else [index])
        return [self.shifted(index, -offset, node) for index, offset in zip(flat, field.placement.offset)]

    def shifted(self, index, offset, node):
        """index + offset."""
        if not offset:
            return index
        return self.walk.emit(node, self.builder.binary, "+", index, self.values.constants.typed(offset, _types.i32, node))


def _collect_paths(nodes, above, paths):
    """For each member the levels above it, without what else stands in them."""
    for node in flat(nodes):
        if hasattr(node, "children"):
            kind = "dense" if node.kind in DENSE else node.kind
            _collect_paths(node.children, (*above, (kind, node.axes, node.extents, node.chunk)), paths)
        else:
            paths[node.name] = above
