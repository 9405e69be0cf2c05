"""Lists in kernels: append, length, and which list an index names.

A list is a dynamic level with the coordinates of the cell that it is in: `x[i]` of a field whose last index is the list's.
"""

from __future__ import annotations

import math

from ..tree_type import DENSE
from . import handles
from .fields import Fields
from .levels import levels_above, levels_of
from .native import describe
from .places import Places
from .structs import Components, StructValue
from .values import Values
from .walk import Walk


class Lists:
    """Knows dynamic levels as lists."""

    def __init__(self, walk: Walk, values: Values, places: Places, fields: Fields):
        self.walk, self.builder = walk, walk.builder
        self.values, self.places, self.fields = values, places, fields

    #  -- which list -------------------------------------------------------------------------------

    def list_of(self, member):
        """The handle of the dynamic level that is the last sparse level above a member; None where it is another kind."""
        path = levels_above(member.tree.type, member.name)
        while path and path[-1].kind in DENSE:
            path.pop()
        return handles.LevelHandle(member.tree, f"{member.name}@{len(path) - 1}") if path and path[-1].kind == "dynamic" else None

    def list_at(self, whole, indices, node):
        """`x[i]` with one index less than the field or member has, where that is a list; else None."""
        field = self.fields.first_field(whole, node) if isinstance(whole, handles.FIELDS) else whole
        member = self.fields.field_member(field) if isinstance(field, handles.FieldHandle) else field
        list_ = self.list_of(member)
        flat = sum(math.prod(index.type.shape) for index in indices)
        if list_ is None or flat != list_rank(list_):
            return None
        return handles.ListHandle(whole, tuple(self.flat_indices(indices, node)))

    def coordinates_in_list(self, field, list_, indices, node):
        """Coordinates of the cell that a field's list is in."""
        axis, rank = list_axis(list_), list_rank(list_)
        if len(indices) != rank:
            plural = "index" if rank == 1 else "indices"
            text = f"wrong number of indices: expected {rank} {plural} of a list of {field.describe()}, got {len(indices)}"
            raise self.walk.error("type", text, node)
        offsets = list(field.placement.offset)
        del offsets[axis]
        return [self.fields.shifted(index, -offset, node) for index, offset in zip(indices, offsets)]

    def _list(self, name, where, indices, node):
        """(dynamic level, coordinates of the cell that it is in)"""
        if isinstance(where, handles.TreeHandle):
            where = handles.MemberHandle(where, self.fields.sole_active_set(where, node))
        if isinstance(where, handles.LevelHandle):
            kind = levels_of(where.tree.type, where.name)[-1].kind
            if kind != "dynamic":
                raise self.walk.error("type", f"{name}: expected a dynamic level, got {describe(where)}, a {kind} level", node)
            return where, indices
        field = self.fields.first_field(where, node) if isinstance(where, handles.FIELDS) else where
        if not isinstance(field, (handles.FieldHandle, handles.MemberHandle)):
            raise self.walk.error("type", f"{name}: expected a field or a dynamic level, got {describe(where)}", node)
        is_field = isinstance(field, handles.FieldHandle)
        list_ = self.list_of(self.fields.field_member(field) if is_field else field)
        if list_ is None:
            hint = "put it below a dynamic level: ti.root.dynamic(ti.i, 1024).place(x)"
            raise self.walk.error("type", f"{name}: expected {describe(where)} below a dynamic level", node, hint)
        return list_, self.coordinates_in_list(field, list_, indices, node) if is_field else indices

    def flat_indices(self, things, node):
        """Scalar Values of indices that are vectors, tuples or lists as well."""
        found = []
        for thing in things:
            if isinstance(thing, (tuple, list)):
                found.extend(self.flat_indices(thing, node))
            elif thing is not None:
                value = self.values.to_value(thing, node)
                found.extend(self.values.unpacked(value, node) if value.type.shape else [value])
        return found

    #  -- calls ------------------------------------------------------------------------------------

    def length(self, where, indices, node):
        """How long a list is."""
        list_, at = self._list("length", where, indices, node)
        return self.walk.emit(node, self.builder.length, list_.tree.native, list_.name, at)

    def append(self, where, indices, node, *value):
        """Reserves the next cell and, given a value, stores it there. The index, as the field's indices count, or -1."""
        list_, at = self._list("append", where, indices, node)
        place = self._appended_place(where, list_, node) if value else None
        index = self.walk.emit(node, self.builder.append, list_.tree.native, list_.name, at)
        field = self.fields.first_field(where, node) if isinstance(where, handles.FIELDS) else None
        offset = field.placement.offset[list_axis(list_)] if field else 0
        is_there = None
        if value or offset:
            is_there = self.walk.emit(node, self.builder.compare, ">=", index, self.values.to_value(0, node))
        if value:
            self.walk.emit(node, self.builder.begin_if, is_there)
            self.places.store(place([*at[: list_axis(list_)], index, *at[list_axis(list_) :]]), value[0], node.func, node)
            self.builder.end_if()
        if not offset:
            return index
        return self.walk.emit(node, self.builder.select, is_there, self.fields.shifted(index, offset, node), index)

    def _appended_place(self, where, list_, node):
        """A function from the new cell's coordinates to the place of a value in it."""
        activity = {}

        def place_of(tree, members, shape, what):
            for member in members:
                path = levels_above(tree.type, member)
                activity[id(path[-1]) if path[-1].kind == "dynamic" else member] = what
                if len(activity) > 1 or path[-1].kind != "dynamic":
                    text = f"append: expected a value for the elements of one list, got {what} elsewhere"
                    raise self.walk.error("type", text, node, "append without a value, and assign to what is at the index")

            def place(at):
                parts = [self.walk.emit(node, self.builder.member, tree.native, member, at) for member in members]
                parts = [self.builder.activated(part) for part in parts]
                return parts[0] if len(parts) == 1 and not _is_apart(parts[0], shape) else Components(tuple(parts), shape)

            return place

        def of(thing):
            if isinstance(thing, handles.StructFieldHandle):
                inner = {name: of(self.fields.member_field(thing, name, node)) for name in thing.field._members}
                type_ = self.fields.struct_type(thing)
                return lambda at: StructValue(type_, {name: place(at) for name, place in inner.items()})
            if isinstance(thing, handles.FieldHandle):
                shape = tuple(getattr(thing.element, "shape", ()))
                return place_of(thing.tree, thing.placement.members, shape, describe(thing))
            shape = tuple(getattr(thing.tree.type.members[thing.name].type, "shape", ()))
            return place_of(thing.tree, (thing.name,), shape, describe(thing))

        if isinstance(where, (handles.TreeHandle, handles.LevelHandle)):
            below = levels_of(list_.tree.type, list_.name)[-1].members
            members = [child.name for child in below if not hasattr(child, "children")]
            if len(members) != 1 or len(below) != 1:
                text = f"append: expected one member in the cells of {describe(list_)}, got {len(below)}"
                raise self.walk.error("type", text, node, "append to the field, or assign to what is at the index")
            where = handles.MemberHandle(list_.tree, members[0])
        return of(where)


def list_rank(list_):
    """How many coordinates the cell has that a list is in."""
    return len(set().union(*(level.axes for level in levels_of(list_.tree.type, list_.name)[:-1])))


def list_axis(list_):
    """The position of a list's own axis among the coordinates of its cells."""
    path = levels_of(list_.tree.type, list_.name)
    return sorted(set().union(*(level.axes for level in path))).index(path[-1].axes[0])


def _is_apart(place, shape):
    return tuple(place.type.shape) != tuple(shape)
