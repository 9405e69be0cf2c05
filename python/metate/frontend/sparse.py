"""Cells that can be inactive, in kernels: is_active, activate, deactivate, levels and their coordinates.

What can be asked is a tree, a member or level of one, a field or a level of fields.
"""

from __future__ import annotations

from .. import value_types as _types
from ..tree_type import DENSE, path_extents
from . import field_bodies, handles
from .arguments import Arguments
from .fields import Fields
from .inlining import Inlining
from .levels import levels_above, levels_of, member_below, members_below
from .lists import Lists
from .native import describe
from .values import Values
from .walk import Walk

CELL_CALLS = ("is_active", "activate", "deactivate", "append", "length")
_SLOTTED = ("pointer", "dynamic", "hash")


class SparseCalls:
    """Calls that are about activity."""

    def __init__(self, walk: Walk, values: Values, arguments: Arguments, fields: Fields, lists: Lists, inlining: Inlining):
        self.walk, self.builder = walk, walk.builder
        self.values, self.arguments, self.fields, self.lists, self.inlining = values, arguments, fields, lists, inlining

    #  -- calls: ti.activate(x, I), x.activate(i, j), x[i].append(v) -------------------------------

    def call_sparse(self, name, node):
        """One of CELL_CALLS as a function: of a field, a tree, a member or a level, and indices."""
        wanted = (2, 3) if name == "append" else (2,)
        things, _ = self.arguments.of(node, names=())
        if len(things) not in wanted:
            expected = " or ".join(map(str, wanted))
            raise self.walk.error("type", f"{name}: expected {expected} arguments, got {len(things)}", node)
        where, indices, *value = things
        return self.cell_call(name, where, self.lists.flat_indices([indices], node), node, *value)

    def call_cell_method(self, name, where, node):
        """The same as a method, whose arguments are the indices; append's last one is the value."""
        things, _ = self.arguments.of(node, names=())
        if isinstance(where, handles.ListHandle):
            where, before = where.field, list(where.indices)
        else:
            before = []
        value = things[-1:] if name == "append" else []
        return self.cell_call(
            name, where, before + self.lists.flat_indices(things[: len(things) - len(value)], node), node, *value
        )

    def cell_call(self, name, where, indices, node, *value):
        """One of CELL_CALLS at these indices, values without a shape."""
        if name in ("append", "length"):
            list_call = self.lists.append if name == "append" else self.lists.length
            return list_call(where, indices, node, *value)
        results = [
            self.walk.emit(node, getattr(self.builder, name), tree.native, path, at)
            for tree, path, at in self._cells_of(name, where, indices, node)
        ]
        return results[0]

    def _cells_of(self, name, where, indices, node):
        """(tree, path, coordinates) of what is named: one, but for a field whose parts lie apart."""
        if isinstance(where, handles.TreeHandle):
            where = handles.MemberHandle(where, self.fields.sole_active_set(where, node))
        if isinstance(where, handles.LEVELS):
            path = self.lists.list_of(where) if name == "deactivate" and isinstance(where, handles.MemberHandle) else None
            return [(where.tree, where.name if path is None else path.name, indices)]
        if not isinstance(where, handles.FIELDS):
            raise self.walk.error("type", f"{name}: expected a field, a tree, a member or a level, got {describe(where)}", node)
        found, seen = [], set()
        for field in self.fields.plain_fields(where, node):
            for member in field.placement.members:
                list_ = self.lists.list_of(handles.MemberHandle(field.tree, member)) if name == "deactivate" else None
                at = (
                    self.lists.coordinates_in_list(field, list_, indices, node)
                    if list_
                    else self.fields.coordinates(field, indices, node)
                )
                key = self._activity_of(field.tree, member)
                if key not in seen:
                    seen.add(key)
                    found.append((field.tree, list_.name if list_ else member, at))
        return found

    @staticmethod
    def _activity_of(tree, member):
        """What two members share that are active together: the levels down to the last that is not dense."""
        path = levels_above(tree.type, member)
        while path and path[-1].kind in DENSE:
            path.pop()
        return tree.name, tuple(map(id, path)) or member

    #  -- levels -----------------------------------------------------------------------------------

    def call_deactivate_all(self, level, node):
        """`level.deactivate_all()`: a loop over each sparse level that it is or that is outermost below it."""
        self.arguments.of(node, 0)
        found = list(self._sparse_levels(level))
        if not found:
            text = f"deactivate_all: the cells of {describe(level)} and below it are always active: all levels are dense"
            raise self.walk.error("type", text, node, "make one of them a pointer, bitmasked, dynamic or hash level")
        for one, kind in found:
            above = one.name.partition("@")
            if kind != "dynamic":
                self.inlining.call_source(field_bodies.deactivate_cells.source, node, given=(one,))
            elif int(above[2]) == 0:
                self.inlining.call_source(field_bodies.deactivate_list.source, node, given=(one,))
            else:
                parent = handles.LevelHandle(one.tree, f"{above[0]}@{int(above[2]) - 1}")
                self.inlining.call_source(field_bodies.deactivate_lists.source, node, given=(one, parent))

    def _sparse_levels(self, level):
        """(level, its kind) of the sparse level that it is, or of the outermost ones below; each by a member below it."""
        path = levels_of(level.tree.type, level.name)

        def below(node, depth):
            if not hasattr(node, "children"):
                return
            if node.kind not in DENSE:
                yield handles.LevelHandle(level.tree, f"{member_below(node)}@{depth}"), node.kind
                return
            for child in node.children:
                yield from below(child, depth + 1)

        return below(path[-1], len(path) - 1)

    def level_above(self, handle, n, node):
        """`f.a.parent(n)` of a tree that is an argument."""
        above = levels_of(handle.tree.type, handle.name)
        above = above if isinstance(handle, handles.MemberHandle) else above[:-1]
        if not 1 <= n <= len(above):
            raise self.walk.error("type", f"parent: {describe(handle)} has {len(above)} levels above, got {n}", node)
        leaf = handle.name.split("@")[0] if isinstance(handle, handles.MemberHandle) else member_below(levels_of(
            handle.tree.type, handle.name)[-1])  # fmt: skip
        return handles.LevelHandle(handle.tree, f"{leaf}@{len(above) - n}")

    def call_rescale_index(self, node):
        """rescale_index(a, b, I): the indices I of a, in b's own: multiplied or divided by the cells between them."""
        (a, b, indices), _ = self.arguments.of(node, 3)
        values = self.lists.flat_indices([indices], node)
        from_, to = self._cells_along(a, node), self._cells_along(b, node)
        rescaled = []
        for index, mine, other in zip(values, from_, to):
            if mine > other:
                index = self._by_constant("//", index, mine // other, node)
            elif other > mine:
                index = self._by_constant("*", index, other // mine, node)
            rescaled.append(index)
        rescaled += values[len(rescaled) :]
        return self.walk.emit(node, self.builder.vector, rescaled, None)

    def _by_constant(self, op, index, number, node):
        return self.walk.emit(node, self.builder.binary, op, index, self.values.constants.typed(number, _types.i32, node))

    def _in_levels(self, thing, expected, node):
        """The handle of a member or a level that a call says: of a field its member, of a tree or a struct field its first."""
        if isinstance(thing, handles.StructFieldHandle):
            thing = self.fields.first_field(thing, node)
        if isinstance(thing, handles.FieldHandle):
            thing = self.fields.field_member(thing)
        if isinstance(thing, handles.TreeHandle):
            thing = handles.MemberHandle(thing, self.fields.sole_active_set(thing, node))
        if not isinstance(thing, handles.LEVELS):
            raise self.walk.error("type", f"{expected}, got {describe(thing)}", node)
        return thing

    def _cells_along(self, thing, node):
        """Cells along each axis down to a field's elements or a level's cells; of an unbounded one, those below it."""
        thing = self._in_levels(thing, "rescale_index: expected a field or a level", node)
        path = levels_of(thing.tree.type, thing.name)
        bounded = path_extents(level for level in path if level.kind != "hash")
        return [bounded.get(axis, 1) for axis in sorted(set().union(*(level.axes for level in path)))]

    def call_used(self, node):
        """used(x): slots in use of a level, or of the last level with slots above a field or member; i64."""
        (thing,), _ = self.arguments.of(node, 1)
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
            raise self.walk.error("type", text, node)
        return self.walk.emit(node, self.builder.used, thing.tree.native, name)

    def call_no_activate(self, node):
        """no_activate(x, ...): from here on stores leave inactive cells of these alone."""
        things, _ = self.arguments.of(node, names=())
        for thing in things:
            for tree, member in self._members_of(thing, node):
                self.builder.no_activate(tree.native, member)

    def _members_of(self, thing, node):
        if isinstance(thing, handles.FIELDS):
            return [(f.tree, member) for f in self.fields.plain_fields(thing, node) for member in f.placement.members]
        if isinstance(thing, handles.TreeHandle):
            return [(thing, member) for member in thing.type.members]
        if isinstance(thing, handles.MemberHandle):
            return [(thing.tree, thing.name)]
        if isinstance(thing, handles.LevelHandle):
            return [(thing.tree, member) for member in members_below(levels_of(thing.tree.type, thing.name)[-1])]
        raise self.walk.error("type", f"no_activate: expected a field or a level, got {describe(thing)}", node)
