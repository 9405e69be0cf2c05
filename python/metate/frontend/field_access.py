"""Fields and levels in expressions: subscripts, attributes, methods."""

from __future__ import annotations

import dataclasses

from ..tree_type import path_extents
from . import field_bodies, handles, keys
from .arguments import Arguments
from .evaluator import Evaluator
from .fields import Fields
from .inlining import Inlining
from .levels import levels_of
from .lists import Lists
from .outside import Outside
from .sparse import CELL_CALLS, SparseCalls
from .values import Values
from .walk import Walk, attribute_name

PARTNERS = {"grad": "gradient", "dual": "dual"}


class FieldAccess:
    """What fields and levels of fields say."""

    def __init__(
        self,
        walk: Walk,
        evaluator: Evaluator,
        values: Values,
        outside: Outside,
        arguments: Arguments,
        fields: Fields,
        lists: Lists,
        sparse: SparseCalls,
        inlining: Inlining,
    ):
        self.walk, self.evaluator, self.values, self.outside, self.arguments = walk, evaluator, values, outside, arguments
        self.fields, self.lists, self.sparse, self.inlining = fields, lists, sparse, inlining

    def field_element(self, field, node):
        """`x[i, j]`: a place, or one for each component where they lie apart."""
        indices = self.evaluator.index_values(node.slice)
        list_ = self.lists.list_at(field, indices, node)
        if list_ is not None:
            return list_
        return self.fields.element(field, indices, node)

    def field_attribute(self, field, name, node):
        """What a field or struct field says of itself."""
        if isinstance(field, handles.StructFieldHandle):
            return self._struct_field_attribute(field, name, node)
        element = field.element
        shape = tuple(getattr(element, "shape", ()))
        known = {
            "shape": field.shape,
            "dtype": getattr(element, "dtype", element),
            "n": ([*shape, 1, 1])[0],
            "m": ([*shape, 1, 1])[1],
            "ndim": len(shape),
        }
        if name in known:
            return known[name]
        if name == "fill" or name in CELL_CALLS:
            return handles.BoundMethod(field, name)
        if name in PARTNERS:
            return self._partner(field, name, node)
        return self._level_attribute(field, field.field, name, node, [*known, "fill", "parent", "snode", *CELL_CALLS])

    def _struct_field_attribute(self, field, name, node):
        members = list(field.field._members)
        if name in members:
            return self.fields.member_field(field, name, node)
        if name in ("shape", "keys"):
            return getattr(field.field, name)
        if name in PARTNERS:
            return self._struct_partner(field, name, node)
        if name == "fill" or name in CELL_CALLS:
            return handles.BoundMethod(field, name)
        return self._level_attribute(
            field, self.fields.first_field(field, node).field, name, node, [*members, "shape", "fill", "parent", *CELL_CALLS]
        )

    def _partner(self, field, kind, node):
        """`x.grad`, `x.dual`: the field, which must have a place."""
        partner = field.field._partner(kind) if hasattr(field.field, "_partner") else None
        if partner is None:
            hint = f"give it one: needs_{kind}=True, or mt.root.lazy_{kind}() before its first use"
            raise self.walk.error("name", f"{field.describe()} has no {PARTNERS[kind]}", attribute_name(node), hint)
        captures = self.walk.captures
        captures.attribute(field.field, kind, partner)
        return self.walk.compute(node, captures.field, partner, f"{field.name}.{kind}", node)

    def _struct_partner(self, field, kind, node):
        """`s.grad`: the struct field of the gradients of those members that can have one."""
        partner = getattr(field.field, kind, None)
        if partner is None:
            raise self.walk.error("name", f"{field.describe()} has no {PARTNERS[kind]}", attribute_name(node))
        self.walk.captures.attribute(field.field, kind, partner)
        return handles.StructFieldHandle(partner, f"{field.name}.{kind}")

    def level_attribute(self, level, name, node):
        """What a level says of itself, of a tree that is an argument or of a tree of fields."""
        if name == "shape":
            extents = path_extents(levels_of(level.tree.type, level.name))
            return tuple(extents[axis] for axis in sorted(extents))
        if name in (*CELL_CALLS, "deactivate_all"):
            return handles.BoundMethod(level, name)
        if level.level is None and name == "parent":
            return handles.BoundMethod(level, name)
        if level.level is None:
            raise self.walk.unknown_attribute(level, name, node, ["shape", "parent", "deactivate_all", *CELL_CALLS])
        return self._level_attribute(level, level.level, name, node, ["shape", "parent", "snode", "deactivate_all", *CELL_CALLS])

    def _level_attribute(self, handle, thing, name, node, known):
        if name == "parent":
            return handles.BoundMethod(handle, name)
        if name == "snode":
            return self._place_of(thing, node) if keys.is_field(thing) else handle
        raise self.walk.unknown_attribute(handle, name, node, known)

    #  -- methods ----------------------------------------------------------------------------------

    def call_parent(self, handle, node):
        """`x.parent(n=1)`: the level above a field's elements or a level's cells."""
        positional, keywords = self.arguments.of(node, names=("n",))
        given = [*positional, *keywords.values()]
        n = self.values.known_integer(given[0], node, "parent") if given else 1
        if isinstance(handle, (handles.MemberHandle, handles.LevelHandle)) and getattr(handle, "level", None) is None:
            return self.sparse.level_above(handle, n, node)
        is_level = isinstance(handle, handles.LevelHandle)
        if is_level and handle.place is not None:
            return self._parent(handle.place, n, node)
        return self._parent(handle.level if is_level else self.fields.first_field(handle, node).field, n, node)

    def _place_of(self, field, node):
        """`x.snode`: the level that holds x, but its parent is that level itself."""
        level = self._parent(field, 1, node)
        return dataclasses.replace(level, place=field) if isinstance(level, handles.LevelHandle) else level

    def _parent(self, thing, n, node):
        above = self.walk.compute(node, thing.parent, n)
        self.walk.captures.parent(thing, n, above)
        return self.outside.handle_of(above, node)

    def call_fill(self, field, node):
        """`x.fill(value)`: a loop over the active elements, for each member of a struct field."""
        (value,), _ = self.arguments.of(node, 1)
        value = self.values.to_value(value, node)
        for member in self.fields.plain_fields(field, node):
            is_number = not value.type.shape
            has_components = bool(getattr(member.element, "shape", ()))
            body = field_bodies.fill_components if is_number and has_components else field_bodies.fill
            self.inlining.call_source(body.source, node, given=(member, value))
