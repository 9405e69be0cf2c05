"""Subscripts and attributes: elements, cells, members, components, swizzles, methods."""

from __future__ import annotations

import ast
import operator

import numpy as np

from .. import types as _types
from ..not_here import NotHereError
from . import handles
from .array_access import ARRAYS, ArrayAccess
from .diagnostics import suggestion
from .expressions import HANDLES, RUNTIME, Reference, Value, is_static
from .keys import is_struct
from .native import describe
from .sparse import CELLS
from .structs import Components, StructValue

_COMPONENTS = {letter: k for letters in ("xyzw", "rgba", "stpq") for k, letter in enumerate(letters)}


class Access(ArrayAccess):
    """The part of the walker that takes things apart."""

    def expr_Subscript(self, node):
        whole = self.expr(node.value)
        self._refuse_instances(whole, node.value)
        if isinstance(whole, handles.ShapeHandle):
            axis = self.integer(node.slice, "index of a shape")
            if not -whole.array.ndim <= axis < whole.array.ndim:
                raise self.error("type", f"index of a shape: expected 0 to {whole.array.ndim - 1}, got {axis}", node.slice)
            return self.emit(node, self.builder.dimension, whole.array.native, axis % whole.array.ndim)
        if is_static(whole) or isinstance(whole, (tuple, list, dict)):
            return self._static_subscript(whole, node)
        if isinstance(whole, (handles.FieldHandle, handles.StructFieldHandle)):
            return self.field_element(whole, node)
        if isinstance(whole, handles.TreeHandle):
            return handles.CellHandle(whole, tuple(self.index_values(node.slice)))
        if isinstance(whole, handles.MemberHandle):
            indices = self.index_values(node.slice)
            found = self.list_at(whole, indices, node)
            return found or self.emit(node, self.builder.member, whole.tree.native, whole.name, indices)
        if isinstance(whole, ARRAYS):
            return self.array_element(whole, node)
        if isinstance(whole, handles.CellHandle):
            whole = self.sole_member(whole, node.value)
        if isinstance(whole, StructValue):
            return self.struct_member(whole, node)
        if isinstance(whole, (Value, Reference, Components)):
            return self.component_subscript(whole, node)
        raise self.error("type", f"expected something with elements, got {describe(whole)}", node.value)

    def _refuse_instances(self, thing, node):
        """A tree's instance belongs to a call, not to a kernel."""
        if isinstance(getattr(thing, "type", None), _types.TreeType) and not isinstance(thing, handles.TreeHandle):
            raise self.error(
                "type",
                "a tree from outside the kernel: expected a parameter",
                node,
                "give the kernel a parameter of the tree's type and pass the tree",
            )

    def component(self, value, indices, node):
        return self.emit(node, self.builder.component, value, [self.to_value(k, node) for k in indices])

    def index_values(self, node):
        """The values between the brackets, vectors among them as they are."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        found = []
        for part in parts:
            if isinstance(part, (ast.Slice, ast.Starred)):
                raise self.error("syntax", "kernels have no slices", part, "loop over the elements")
            thing = self.expr(part)
            if isinstance(thing, (tuple, list)):
                found.extend(self.to_value(element, part) for element in thing)
            elif thing is not None:  # x[None] is the element of an array without dimensions
                found.append(self.to_value(thing, part))
        return found

    def _static_subscript(self, whole, node):
        if isinstance(whole, np.ndarray) and self.static_depth == 0 and not isinstance(node.slice, ast.Constant):
            indices = self.index_values(node.slice)
            known = [self.builder.known_integer(k) for k in indices]
            if None in known:
                return self.emit(node, self.builder.component, self.to_value(whole, node.value), indices)
            thing = self.compute(node, operator.getitem, whole, tuple(known))
            self.captures.item(whole, tuple(known), thing)
            return thing
        if not hasattr(type(whole), "__getitem__") and not hasattr(whole, "__class_getitem__"):
            raise self.error("type", f"expected something with elements, got {describe(whole)}", node.value)
        key = self.expr(node.slice)
        if isinstance(key, RUNTIME):
            key = self.known_integer(key, node.slice, f"index of a {type(whole).__name__} known while compiling")
        thing = self.compute(node, operator.getitem, whole, key)
        self.captures.item(whole, key, thing)
        return thing

    def expr_Slice(self, node):
        bounds = [None if part is None else self.expr(part) for part in (node.lower, node.upper, node.step)]
        return slice(*bounds)

    def sole_member(self, cell, node):
        members = list(cell.tree.type.members)
        if len(members) != 1:
            raise self.error(
                "type",
                f"expected one member of the cell of '{cell.tree.name}', got the whole cell",
                node,
                "take one of its members: " + ", ".join(f".{name}" for name in members),
            )
        return self.member(cell, members[0], node)

    def member(self, cell, name, node):
        return self.emit(node, self.builder.member, cell.tree.native, name, list(cell.indices))

    def expr_Attribute(self, node):
        owner = self.expr(node.value)
        self._refuse_instances(owner, node.value)
        name = node.attr
        if isinstance(owner, handles.TreeHandle):
            return self.tree_attribute(owner, name, node)
        if isinstance(owner, (handles.FieldHandle, handles.StructFieldHandle)):
            return self.field_attribute(owner, name, node)
        if isinstance(owner, handles.ListHandle):
            if name in ("append", "length", "deactivate"):
                return handles.BoundMethod(owner, name)
            raise self.unknown_attribute(owner, name, node, ["append", "length", "deactivate"])
        if isinstance(owner, handles.CellHandle):
            if name in owner.tree.type.members:
                list_ = self.list_at(handles.MemberHandle(owner.tree, name), owner.indices, node)
                return list_ or self.member(owner, name, node)
            if len(owner.tree.type.members) == 1:
                return self.value_attribute(self.sole_member(owner, node.value), name, node)
            raise self.unknown_attribute(owner, name, node, list(owner.tree.type.members))
        if isinstance(owner, ARRAYS):
            return self.array_attribute(owner, name, node)
        if isinstance(owner, handles.MemberHandle):
            if name == "shape":
                return owner.shape
            if name in CELLS or name == "parent":
                return handles.BoundMethod(owner, name)
            raise self.unknown_attribute(owner, name, node, ["shape", "parent", *CELLS])
        if isinstance(owner, (Value, Reference, Components)):
            return self.value_attribute(owner, name, node)
        if isinstance(owner, StructValue):
            return self.struct_attribute(owner, name, node)
        if isinstance(owner, handles.LevelHandle):
            return self.level_attribute(owner, name, node)
        if isinstance(owner, HANDLES):
            raise self.unknown_attribute(owner, name, node, [])
        if is_struct(owner) and name in getattr(owner._type, "methods", ()):
            return handles.BoundMethod(self.struct_of(owner._type, owner, node, "struct from outside"), name)
        return self.python_attribute(owner, name, node)

    def python_attribute(self, owner, name, node):
        """An attribute of an object from outside the kernel, as it is while compiling."""
        try:
            thing = getattr(owner, name)
        except AttributeError as error:
            if isinstance(error, NotHereError):
                raise self.error("name", str(error), _attribute_name(node)) from None
            raise self.unknown_attribute(owner, name, node, dir(owner), listed=False) from None
        except Exception as error:  # of a property
            text = f"{type(error).__name__} while reading '{name}' of {describe(owner)}: {error}"
            raise self.error("type", text, _attribute_name(node)) from None
        self.captures.attribute(owner, name, thing)
        return thing

    def call_super(self, node):
        """`super()` in a method: Python's own, of the class that the method is written in and its object."""
        source = self.frame.source
        first = self.frame.scope.lookup(next(iter(source.parameters), None))
        owner = source.captured.get("__class__")
        if node.args or node.keywords or owner is None or not isinstance(first, handles.Constant):
            raise self.error("syntax", "expected super() without arguments in a method of a data-oriented class", node)
        return self.compute(node, super, owner, first.value)

    def unknown_attribute(self, owner, name, node, candidates, listed=True):
        known = f"; it has {', '.join(candidates)}" if listed and candidates else ""
        message = f"{describe(owner)} has no attribute '{name}'{known}"
        return self.error("name", message, _attribute_name(node), suggestion(name, candidates))

    def tree_attribute(self, tree, name, node):
        if name in tree.type.members:
            return handles.MemberHandle(tree, name)
        levels = [level.name for level in tree.type.levels]
        if name in levels:
            return handles.LevelHandle(tree, name)
        if name in CELLS:
            return handles.BoundMethod(tree, name)
        if name == "shape":
            return next(iter(tree.type.members.values())).shape
        raise self.unknown_attribute(tree, name, node, [*tree.type.members, *levels])

    def value_attribute(self, owner, name, node):
        """Swizzles and methods of vectors and matrices."""
        shape = owner.type.shape
        if len(shape) == 1 and set(name) <= set(_COMPONENTS):
            return self.swizzle(owner, name, node)
        if name in self.methods or name in self.whole_methods:
            return handles.BoundMethod(owner, name)
        if name in ("n", "m", "shape"):
            return tuple(shape) if name == "shape" else ([*shape, 1, 1])[0 if name == "n" else 1]
        components = [*"xyzw"[: shape[0]]] if len(shape) == 1 else []
        known = f"; its components are {', '.join(components)}" if components else ""
        hint = suggestion(name, [*components, *self.methods])
        raise self.error("name", f"{describe(owner)} has no attribute '{name}'{known}", _attribute_name(node), hint)

    def swizzle(self, owner, name, node):
        positions = [_COMPONENTS[letter] for letter in name]
        length = owner.type.shape[0]
        if max(positions) >= length:
            raise self.error(
                "name",
                f"{describe(owner)} has no component '{name}'",
                _attribute_name(node),
                f"its components are {', '.join('xyzw'[:length])}",
            )
        if len(positions) == 1:
            return self.part_of(owner, positions, node)
        return self.group(owner, [(k,) for k in positions], [len(positions)], node)


def _attribute_name(node):
    """A node that covers the name after the dot only, for carets."""
    if not isinstance(node, ast.Attribute) or node.end_lineno != node.lineno:
        return node
    place = ast.Name(node.attr, ast.Load())
    place.lineno = place.end_lineno = node.end_lineno
    place.end_col_offset = node.end_col_offset
    place.col_offset = node.end_col_offset - len(node.attr.encode())
    return place
