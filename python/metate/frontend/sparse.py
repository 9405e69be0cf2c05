"""Cells that can be inactive, in kernels: is_active, activate, deactivate, lists, levels and their coordinates.

What can be asked is a tree, a member or level of one, a field or a level of fields; a list is a dynamic level with the
coordinates of the cell that it is in: `x[i]` of a field whose last index is the list's.
"""

from __future__ import annotations

import math

from .. import types as _types
from ..tree_type import path_extents
from . import field_bodies, handles
from .native import describe
from .structs import Components, StructValue

CELLS = ("is_active", "activate", "deactivate", "append", "length")
_FIELDS = (handles.FieldHandle, handles.StructFieldHandle)
_SLOTTED = ("pointer", "dynamic", "hash")
_LEVELS = (handles.MemberHandle, handles.LevelHandle)


class SparseCalls:
    """The part of the walker that knows activity."""

    #  -- calls: ti.activate(x, I), x.activate(i, j), x[i].append(v) ------------------------------------

    def call_sparse(self, name, node):
        """One of CELLS as a function: of a field, a tree, a member or a level, and indices."""
        wanted = (2, 3) if name == "append" else (2,)
        things, _ = self.arguments(node, names=())
        if len(things) not in wanted:
            expected = " or ".join(map(str, wanted))
            raise self.error("type", f"{name}: expected {expected} arguments, got {len(things)}", node)
        where, indices, *value = things
        return self.cell_call(name, where, self._indices([indices], node), node, *value)

    def call_cell_method(self, name, where, node):
        """The same as a method, whose arguments are the indices; append's last one is the value."""
        things, _ = self.arguments(node, names=())
        if isinstance(where, handles.ListHandle):
            where, before = where.field, list(where.indices)
        else:
            before = []
        value = things[-1:] if name == "append" else []
        return self.cell_call(name, where, before + self._indices(things[: len(things) - len(value)], node), node, *value)

    def _indices(self, things, node):
        found = []
        for thing in things:
            if isinstance(thing, (tuple, list)):
                found.extend(self._indices(thing, node))
            elif thing is not None:
                value = self.to_value(thing, node)
                found.extend(self.unpacked(value, node) if value.type.shape else [value])
        return found

    def cell_call(self, name, where, indices, node, *value):
        """One of CELLS at these indices, values without a shape."""
        if name in ("append", "length"):
            list_call = self._list_append if name == "append" else self._list_length
            return list_call(where, indices, node, *value)
        results = [
            self.emit(node, getattr(self.builder, name), tree.native, path, at)
            for tree, path, at in self._cells_of(name, where, indices, node)
        ]
        return results[0]

    def _cells_of(self, name, where, indices, node):
        """(tree, path, coordinates) of what is named: one, but for a field whose parts lie apart."""
        if isinstance(where, handles.TreeHandle):
            where = handles.MemberHandle(where, self.sole_active_set(where, node))
        if isinstance(where, _LEVELS):
            path = self._list_of(where) if name == "deactivate" and isinstance(where, handles.MemberHandle) else None
            return [(where.tree, where.name if path is None else path.name, indices)]
        if not isinstance(where, _FIELDS):
            raise self.error("type", f"{name}: expected a field, a tree, a member or a level, got {describe(where)}", node)
        found, seen = [], set()
        for field in self._plain_fields(where, node):
            for member in field.placement.members:
                list_ = self._list_of(handles.MemberHandle(field.tree, member)) if name == "deactivate" else None
                at = self.coordinates_in_list(field, list_, indices, node) if list_ else self._coordinates(field, indices, node)
                key = self._activity_of(field.tree, member)
                if key not in seen:
                    seen.add(key)
                    found.append((field.tree, list_.name if list_ else member, at))
        return found

    @staticmethod
    def _activity_of(tree, member):
        """What two members share that are active together: the levels down to the last that is not dense."""
        path = levels_above(tree.type, member)
        while path and path[-1].kind == "dense":
            path.pop()
        return tree.name, tuple(map(id, path)) or member

    #  -- lists -----------------------------------------------------------------------------------------

    def _list_of(self, member):
        """The handle of the dynamic level that is the last sparse level above a member; None where it is another kind."""
        path = levels_above(member.tree.type, member.name)
        while path and path[-1].kind == "dense":
            path.pop()
        return handles.LevelHandle(member.tree, f"{member.name}@{len(path) - 1}") if path and path[-1].kind == "dynamic" else None

    def list_at(self, whole, indices, node):
        """`x[i]` with one index less than the field or member has, where that is a list; else None."""
        field = self.first_field(whole, node) if isinstance(whole, _FIELDS) else whole
        member = self.field_member(field) if isinstance(field, handles.FieldHandle) else field
        list_ = self._list_of(member)
        flat = sum(math.prod(index.type.shape) for index in indices)
        if list_ is None or flat != list_rank(list_):
            return None
        return handles.ListHandle(whole, tuple(self._indices(indices, node)))

    def coordinates_in_list(self, field, list_, indices, node):
        """Coordinates of the cell that a field's list is in."""
        axis, rank = list_axis(list_), list_rank(list_)
        if len(indices) != rank:
            plural = "index" if rank == 1 else "indices"
            text = f"wrong number of indices: expected {rank} {plural} of a list of {field.describe()}, got {len(indices)}"
            raise self.error("type", text, node)
        offsets = list(field.placement.offset)
        del offsets[axis]
        return [self.shifted(index, -offset, node) for index, offset in zip(indices, offsets)]

    def _list(self, name, where, indices, node):
        """(dynamic level, coordinates of the cell that it is in)"""
        if isinstance(where, handles.TreeHandle):
            where = handles.MemberHandle(where, self.sole_active_set(where, node))
        if isinstance(where, handles.LevelHandle):
            kind = levels_of(where.tree.type, where.name)[-1].kind
            if kind != "dynamic":
                raise self.error("type", f"{name}: expected a dynamic level, got {describe(where)}, a {kind} level", node)
            return where, indices
        field = self.first_field(where, node) if isinstance(where, _FIELDS) else where
        if not isinstance(field, (handles.FieldHandle, handles.MemberHandle)):
            raise self.error("type", f"{name}: expected a field or a dynamic level, got {describe(where)}", node)
        is_field = isinstance(field, handles.FieldHandle)
        list_ = self._list_of(self.field_member(field) if is_field else field)
        if list_ is None:
            hint = "put it below a dynamic level: ti.root.dynamic(ti.i, 1024).place(x)"
            raise self.error("type", f"{name}: expected {describe(where)} below a dynamic level", node, hint)
        return list_, self.coordinates_in_list(field, list_, indices, node) if is_field else indices

    def _list_length(self, where, indices, node):
        list_, at = self._list("length", where, indices, node)
        return self.emit(node, self.builder.length, list_.tree.native, list_.name, at)

    def _list_append(self, where, indices, node, *value):
        """Reserves the next cell and, given a value, stores it there. The index, as the field's indices count."""
        list_, at = self._list("append", where, indices, node)
        place = self._appended_place(where, list_, node) if value else None
        index = self.emit(node, self.builder.append, list_.tree.native, list_.name, at)
        if value:
            zero = self.to_value(0, node)
            self.emit(node, self.builder.begin_if, self.emit(node, self.builder.compare, ">=", index, zero))
            self.store(place([*at[: list_axis(list_)], index, *at[list_axis(list_) :]]), value[0], node.func, node)
            self.builder.end_if()
        field = self.first_field(where, node) if isinstance(where, _FIELDS) else None
        return self.shifted(index, field.placement.offset[list_axis(list_)] if field else 0, node)

    def _appended_place(self, where, list_, node):
        """A function from the new cell's coordinates to the place of a value in it."""
        activity = {}

        def place_of(tree, members, shape, what):
            for member in members:
                path = levels_above(tree.type, member)
                activity[id(path[-1]) if path[-1].kind == "dynamic" else member] = what
                if len(activity) > 1 or path[-1].kind != "dynamic":
                    text = f"append: expected a value for the elements of one list, got {what} elsewhere"
                    raise self.error("type", text, node, "append without a value, and assign to what is at the index")

            def place(at):
                parts = [self.emit(node, self.builder.member, tree.native, member, at) for member in members]
                parts = [self.builder.activated(part) for part in parts]
                return parts[0] if len(parts) == 1 and not _is_apart(parts[0], shape) else Components(tuple(parts), shape)

            return place

        def of(thing):
            if isinstance(thing, handles.StructFieldHandle):
                inner = {name: of(self.member_field(thing, name, node)) for name in thing.field._members}
                type_ = self._struct_type(thing)
                return lambda at: StructValue(type_, {name: place(at) for name, place in inner.items()})
            if isinstance(thing, handles.FieldHandle):
                shape = tuple(getattr(thing.element, "shape", ()))
                return place_of(thing.tree, thing.placement.members, shape, describe(thing))
            shape = tuple(getattr(thing.tree.type.members[thing.name].type, "shape", ()))
            return place_of(thing.tree, (thing.name,), shape, describe(thing))

        if isinstance(where, (handles.TreeHandle, handles.LevelHandle)):
            below = levels_of(list_.tree.type, list_.name)[-1].children
            members = [child.name for child in below if not hasattr(child, "children")]
            if len(members) != 1 or len(below) != 1:
                text = f"append: expected one member in the cells of {describe(list_)}, got {len(below)}"
                raise self.error("type", text, node, "append to the field, or assign to what is at the index")
            where = handles.MemberHandle(list_.tree, members[0])
        return of(where)

    #  -- levels ----------------------------------------------------------------------------------------

    def call_deactivate_all(self, level, node):
        """`level.deactivate_all()`: a loop over each sparse level that it is or that is outermost below it."""
        self.arguments(node, 0)
        found = list(self._sparse_levels(level))
        if not found:
            text = f"deactivate_all: the cells of {describe(level)} and below it are always active: all levels are dense"
            raise self.error("type", text, node, "make one of them a pointer, bitmasked, dynamic or hash level")
        for one, kind in found:
            above = one.name.partition("@")
            if kind != "dynamic":
                self.call_source(field_bodies.deactivate_cells.source, node, given=(one,))
            elif int(above[2]) == 0:
                self.call_source(field_bodies.deactivate_list.source, node, given=(one,))
            else:
                parent = handles.LevelHandle(one.tree, f"{above[0]}@{int(above[2]) - 1}")
                self.call_source(field_bodies.deactivate_lists.source, node, given=(one, parent))

    def _sparse_levels(self, level):
        """(level, its kind) of the sparse level that it is, or of the outermost ones below; each by a member below it."""
        path = levels_of(level.tree.type, level.name)

        def below(node, depth):
            if not hasattr(node, "children"):
                return
            if node.kind != "dense":
                yield handles.LevelHandle(level.tree, f"{_member_below(node)}@{depth}"), node.kind
                return
            for child in node.children:
                yield from below(child, depth + 1)

        return below(path[-1], len(path) - 1)

    def level_above(self, handle, n, node):
        """`f.a.parent(n)` of a tree that is an argument."""
        above = levels_of(handle.tree.type, handle.name)
        above = above if isinstance(handle, handles.MemberHandle) else above[:-1]
        if not 1 <= n <= len(above):
            raise self.error("type", f"parent: {describe(handle)} has {len(above)} levels above, got {n}", node)
        leaf = handle.name.split("@")[0] if isinstance(handle, handles.MemberHandle) else _member_below(levels_of(
            handle.tree.type, handle.name)[-1])  # fmt: skip
        return handles.LevelHandle(handle.tree, f"{leaf}@{len(above) - n}")

    def call_rescale_index(self, node):
        """rescale_index(a, b, I): the indices I of a, in b's own: multiplied or divided by the cells between them."""
        (a, b, indices), _ = self.arguments(node, 3)
        values = self._indices([indices], node)
        from_, to = self._cells_along(a, node), self._cells_along(b, node)
        rescaled = []
        for index, mine, other in zip(values, from_, to):
            if mine > other:
                index = self._by_constant("//", index, mine // other, node)
            elif other > mine:
                index = self._by_constant("*", index, other // mine, node)
            rescaled.append(index)
        rescaled += values[len(rescaled) :]
        return self.emit(node, self.builder.vector, rescaled, None)

    def _by_constant(self, op, index, number, node):
        return self.emit(node, self.builder.binary, op, index, self.typed_constant(number, _types.i32, node))

    def _in_levels(self, thing, expected, node):
        """The handle of a member or a level that a call says: of a field its member, of a tree or a struct field its first."""
        if isinstance(thing, handles.StructFieldHandle):
            thing = self.first_field(thing, node)
        if isinstance(thing, handles.FieldHandle):
            thing = self.field_member(thing)
        if isinstance(thing, handles.TreeHandle):
            thing = handles.MemberHandle(thing, self.sole_active_set(thing, node))
        if not isinstance(thing, _LEVELS):
            raise self.error("type", f"{expected}, got {describe(thing)}", node)
        return thing

    def _cells_along(self, thing, node):
        """Cells along each axis down to a field's elements or a level's cells; of an unbounded one, those below it."""
        thing = self._in_levels(thing, "rescale_index: expected a field or a level", node)
        path = levels_of(thing.tree.type, thing.name)
        bounded = path_extents(level for level in path if level.kind != "hash")
        return [bounded.get(axis, 1) for axis in sorted(set().union(*(level.axes for level in path)))]

    def call_used(self, node):
        """used(x): slots in use of a level, or of the last level with slots above a field or member; i64."""
        (thing,), _ = self.arguments(node, 1)
        thing = self._in_levels(thing, "used: expected a field, a member or a level", node)
        path = levels_of(thing.tree.type, thing.name)
        name = thing.name
        if isinstance(thing, handles.MemberHandle):
            while path and path[-1].kind not in _SLOTTED:
                path.pop()
            name = f"{name}@{len(path) - 1}"
        if not path or path[-1].kind not in _SLOTTED:
            kind = "" if isinstance(thing, handles.MemberHandle) else f", a {path[-1].kind} level"
            text = f"used: expected a level with slots (pointer, dynamic, hash), got {describe(thing)}{kind}"
            raise self.error("type", text, node)
        return self.emit(node, self.builder.used, thing.tree.native, name)

    def call_no_activate(self, node):
        """no_activate(x, ...): from here on stores leave inactive cells of these alone."""
        things, _ = self.arguments(node, names=())
        for thing in things:
            for tree, member in self._members_of(thing, node):
                self.builder.no_activate(tree.native, member)

    def _members_of(self, thing, node):
        if isinstance(thing, _FIELDS):
            return [(f.tree, member) for f in self._plain_fields(thing, node) for member in f.placement.members]
        if isinstance(thing, handles.TreeHandle):
            return [(thing, member) for member in thing.type.members]
        if isinstance(thing, handles.MemberHandle):
            return [(thing.tree, thing.name)]
        if isinstance(thing, handles.LevelHandle):
            return [(thing.tree, member) for member in _members_below(levels_of(thing.tree.type, thing.name)[-1])]
        raise self.error("type", f"no_activate: expected a field or a level, got {describe(thing)}", node)


def levels_above(type_, member):
    """The LevelNodes from the root down to a member."""
    return list(_search(type_.branches, member, True))


def levels_of(type_, path):
    """The LevelNodes from the root down to a member (`a`), to the level at a depth above it (`a@1`) or to a level."""
    name, _, depth = path.partition("@")
    found = _search(type_.branches, name, True)
    found = list(found if found is not None else _search(type_.branches, name, False))
    return found[: int(depth) + 1] if depth else found


def _search(nodes, name, is_member):
    for node in nodes:
        if not hasattr(node, "children"):
            if is_member and node.name == name:
                return ()
            continue
        if not is_member and node.name == name:
            return (node,)
        below = _search(node.children, name, is_member)
        if below is not None:
            return (node, *below)
    return None


def _members_below(level):
    below = [[child.name] if not hasattr(child, "children") else _members_below(child) for child in level.children]
    return [name for names in below for name in names]


def _member_below(level):
    return _members_below(level)[0]


def list_rank(list_):
    """How many coordinates the cell has that a list is in."""
    return len(set().union(*(level.axes for level in levels_of(list_.tree.type, list_.name)[:-1])))


def list_axis(list_):
    """The position of a list's own axis among the coordinates of its cells."""
    path = levels_of(list_.tree.type, list_.name)
    return sorted(set().union(*(level.axes for level in path))).index(path[-1].axes[0])


def _is_apart(place, shape):
    return tuple(place.type.shape) != tuple(shape)
