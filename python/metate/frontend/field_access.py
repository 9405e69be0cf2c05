"""Fields in kernels: elements, shapes, loops over them. What a field is comes from capture.py; here it is used."""

from __future__ import annotations

import ast
import dataclasses
import math

from .. import types as _types
from ..tree_type import path_extents
from . import field_bodies, handles, keys, structs
from .expressions import Expressions
from .sparse import CELLS, levels_of


class FieldAccess(Expressions):
    """The part of the walker that knows fields."""

    def from_outside(self, thing, node):
        """What an object from outside the kernel stands for in it: fields and levels become handles."""
        kind = keys.kind_of(thing)
        if kind is None:
            if isinstance(thing, (list, dict, set)) and _makes_container(node):
                self.containers[id(thing)] = thing
            return thing
        name = _name_of(node)
        if kind == "struct":
            return handles.StructFieldHandle(thing, getattr(thing, "name", None) or name or "field")
        return self.compute(node, self.captures.level if kind == "level" else self.captures.field, thing, name, node)

    def is_made_here(self, thing) -> bool:
        """Is it a list, dict or set that the kernel made, so that it may change?"""
        return self.containers.get(id(thing)) is thing

    def field_element(self, field, node):
        """`x[i, j]`: a place, or one for each component where they lie apart."""
        indices = self.index_values(node.slice)
        list_ = self.list_at(field, indices, node)
        if list_ is not None:
            return list_
        element = self._struct_element if isinstance(field, handles.StructFieldHandle) else self._element
        return element(field, indices, node)

    def _struct_element(self, field, indices, node):
        parts = {}
        for name in field.field._members:
            member = self.member_field(field, name, node)
            is_struct = isinstance(member, handles.StructFieldHandle)
            parts[name] = (self._struct_element if is_struct else self._element)(member, indices, node)
        return structs.StructValue(self._struct_type(field), parts)

    def _struct_type(self, field):
        """The type of a struct field's elements; one that was put together from fields has no methods."""
        given = getattr(field.field, "type", None)
        if given is not None:
            return given
        members = {}
        for name, member in field.field._members.items():
            is_struct = keys.is_struct_field(member)
            members[name] = self._struct_type(handles.StructFieldHandle(member, name)) if is_struct else member.element
        return _types.struct(members)

    def member_field(self, field, name, node):
        """The field of one member of a struct field."""
        inner, outer = field.field._members[name], field.outer or field
        if keys.is_struct_field(inner):
            return handles.StructFieldHandle(inner, f"{field.name}.{name}", outer)
        return self.compute(node, self.captures.field, inner, f"{field.name}.{name}", node, outer)

    def _element(self, field, indices, node):
        coordinates = self._coordinates(field, indices, node)
        places = [self.emit(node, self.builder.member, field.tree.native, name, coordinates) for name in field.placement.members]
        if len(places) == 1 and list(places[0].type.shape) == list(getattr(field.element, "shape", ())):
            return places[0]
        return structs.Components(tuple(places), tuple(field.element.shape))

    def _coordinates(self, field, indices, node):
        """The tree's coordinates of the field's indices."""
        rank = len(field.shape)
        count = sum(math.prod(index.type.shape) for index in indices)
        if count != rank:
            plural = "index" if rank == 1 else "indices"
            raise self.error(
                "type",
                f"wrong number of indices: expected {rank} {plural} for {field.describe()} of shape {field.shape}, got {count}",
                node,
                f"an element is {field.name}[None]" if rank == 0 else None,
            )
        if not any(field.placement.offset):
            return indices
        flat = []
        for index in indices:
            flat.extend(self.unpacked(index, node) if index.type.shape else [index])
        return [self.shifted(index, -offset, node) for index, offset in zip(flat, field.placement.offset)]

    def shifted(self, index, offset, node):
        if not offset:
            return index
        return self.emit(node, self.builder.binary, "+", index, self.typed_constant(offset, _types.i32, node))

    def field_attribute(self, field, name, node):
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
        if name == "fill" or name in CELLS:
            return handles.BoundMethod(field, name)
        return self._level_attribute(field, field.field, name, node, [*known, "fill", "parent", "snode", *CELLS])

    def level_attribute(self, level, name, node):
        """Of a level of a tree that is an argument, or of a tree of fields."""
        if name == "shape":
            extents = path_extents(levels_of(level.tree.type, level.name))
            return tuple(extents[axis] for axis in sorted(extents))
        if name in (*CELLS, "deactivate_all"):
            return handles.BoundMethod(level, name)
        if level.level is None and name == "parent":
            return handles.BoundMethod(level, name)
        if level.level is None:
            raise self.unknown_attribute(level, name, node, ["shape", "parent", "deactivate_all", *CELLS])
        return self._level_attribute(level, level.level, name, node, ["shape", "parent", "snode", "deactivate_all", *CELLS])

    def _level_attribute(self, handle, thing, name, node, known):
        if name == "parent":
            return handles.BoundMethod(handle, name)
        if name == "snode":
            return self._place_of(thing, node) if keys.is_field(thing) else handle
        raise self.unknown_attribute(handle, name, node, known)

    def call_parent(self, handle, node):
        """`x.parent(n=1)`: the level above a field's elements or a level's cells."""
        positional, keywords = self.arguments(node, names=("n",))
        given = [*positional, *keywords.values()]
        n = self.known_integer(given[0], node, "parent") if given else 1
        if isinstance(handle, (handles.MemberHandle, handles.LevelHandle)) and getattr(handle, "level", None) is None:
            return self.level_above(handle, n, node)
        is_level = isinstance(handle, handles.LevelHandle)
        if is_level and handle.place is not None:
            return self._parent(handle.place, n, node)
        return self._parent(handle.level if is_level else self.first_field(handle, node).field, n, node)

    def _place_of(self, field, node):
        """`x.snode`: the level that holds x, but its parent is that level itself."""
        level = self._parent(field, 1, node)
        return dataclasses.replace(level, place=field) if isinstance(level, handles.LevelHandle) else level

    def _parent(self, thing, n, node):
        above = self.compute(node, thing.parent, n)
        self.captures.parent(thing, n, above)
        return self.from_outside(above, node)

    def _struct_field_attribute(self, field, name, node):
        members = list(field.field._members)
        if name in members:
            return self.member_field(field, name, node)
        if name in ("shape", "keys"):
            return getattr(field.field, name)
        if name == "fill" or name in CELLS:
            return handles.BoundMethod(field, name)
        return self._level_attribute(
            field, self.first_field(field, node).field, name, node, [*members, "shape", "fill", "parent", *CELLS]
        )

    def call_fill(self, field, node):
        """`x.fill(value)`: a loop over the active elements, for each member of a struct field."""
        (value,), _ = self.arguments(node, 1)
        value = self.to_value(value, node)
        for member in self._plain_fields(field, node):
            is_number = not value.type.shape
            has_components = bool(getattr(member.element, "shape", ()))
            body = field_bodies.fill_components if is_number and has_components else field_bodies.fill
            self.call_source(body.source, node, given=(member, value))

    def _plain_fields(self, field, node):
        if not isinstance(field, handles.StructFieldHandle):
            return [field]
        members = [self.member_field(field, name, node) for name in field.field._members]
        return [plain for member in members for plain in self._plain_fields(member, node)]

    def first_field(self, field, node):
        """The field whose active cells stand for a struct field's: the first one."""
        while isinstance(field, handles.StructFieldHandle):
            field = self.member_field(field, next(iter(field.field._members)), node)
        return field

    def field_member(self, field):
        """The member that a loop over a field walks."""
        return handles.MemberHandle(field.tree, field.placement.members[0])


def _name_of(node):
    """The variable that a field is taken from, as the source says it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name_of(node.value)
    return node.arg if isinstance(node, ast.arg) else None


def _makes_container(node):
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.BinOp)
    makers = ("list", "dict", "set", "sorted")
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers
    return is_call or isinstance(node, displays)
