"""Subscripts and attributes: elements, cells, members, components, swizzles, methods."""

from __future__ import annotations

import ast
import operator

import numpy as np

from ..not_here import NotHereError
from ..tree_type import TreeType
from . import handles
from .array_access import ArrayAccess
from .component_access import ComponentAccess
from .evaluator import Evaluator
from .field_access import PARTNERS, FieldAccess
from .keys import is_struct
from .lists import Lists
from .native import describe
from .sparse import CELL_CALLS
from .static import HANDLES, RUNTIME, Reference, Value, is_static
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .triplets import Triplets
from .values import Values
from .walk import Walk, attribute_name


class Access:
    """Takes things apart: whose subscript or attribute it is, its part of the front end says."""

    def __init__(
        self,
        walk: Walk,
        evaluator: Evaluator,
        values: Values,
        structs: StructOperations,
        field_access: FieldAccess,
        arrays: ArrayAccess,
        component_access: ComponentAccess,
        lists: Lists,
        triplets: Triplets,
    ):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.values, self.structs = evaluator, values, structs
        self.field_access, self.arrays = field_access, arrays
        self.component_access, self.lists, self.triplets = component_access, lists, triplets

    #  -- subscripts -------------------------------------------------------------------------------

    def expr_Subscript(self, node):
        whole = self.evaluator.expr(node.value)
        self._refuse_instances(whole, node.value)
        if isinstance(whole, handles.ShapeHandle):
            axis = self.evaluator.integer(node.slice, "index of a shape")
            if not -whole.array.ndim <= axis < whole.array.ndim:
                raise self.walk.error("type", f"index of a shape: expected 0 to {whole.array.ndim - 1}, got {axis}", node.slice)
            return self.walk.emit(node, self.builder.dimension, whole.array.native, axis % whole.array.ndim)
        if is_static(whole) or isinstance(whole, (tuple, list, dict)):
            return self._static_subscript(whole, node)
        if isinstance(whole, (handles.FieldHandle, handles.StructFieldHandle)):
            return self.field_access.field_element(whole, node)
        if isinstance(whole, handles.TreeHandle):
            return handles.CellHandle(whole, tuple(self.evaluator.index_values(node.slice)))
        if isinstance(whole, handles.MemberHandle):
            indices = self.evaluator.index_values(node.slice)
            found = self.lists.list_at(whole, indices, node)
            return found or self.walk.emit(node, self.builder.member, whole.tree.native, whole.name, indices)
        if isinstance(whole, handles.ARRAYS):
            return self.arrays.array_element(whole, node)
        if isinstance(whole, handles.BuilderHandle):
            return self.triplets.entry(whole, self.evaluator.index_values(node.slice), node)
        if isinstance(whole, handles.CellHandle):
            whole = self.values.sole_member(whole, node.value)
        if isinstance(whole, StructValue):
            return self.structs.struct_member(whole, node)
        if isinstance(whole, (Value, Reference, Components)):
            return self.component_access.component_subscript(whole, node)
        raise self.walk.error("type", f"expected something with elements, got {describe(whole)}", node.value)

    def _refuse_instances(self, thing, node):
        """A tree's instance belongs to a call, not to a kernel."""
        if isinstance(getattr(thing, "type", None), TreeType) and not isinstance(thing, handles.TreeHandle):
            raise self.walk.error(
                "type",
                "a tree from outside the kernel: expected a parameter",
                node,
                "give the kernel a parameter of the tree's type and pass the tree",
            )

    def _static_subscript(self, whole, node):
        if isinstance(whole, np.ndarray) and self.walk.static_depth == 0 and not isinstance(node.slice, ast.Constant):
            indices = self.evaluator.index_values(node.slice)
            known = [self.builder.known_integer(k) for k in indices]
            if None in known:
                return self.walk.emit(node, self.builder.component, self.values.to_value(whole, node.value), indices)
            thing = self.walk.compute(node, operator.getitem, whole, tuple(known))
            self.walk.captures.item(whole, tuple(known), thing)
            return thing
        if not hasattr(type(whole), "__getitem__") and not hasattr(whole, "__class_getitem__"):
            raise self.walk.error("type", f"expected something with elements, got {describe(whole)}", node.value)
        key = self.evaluator.expr(node.slice)
        if isinstance(key, RUNTIME):
            key = self.values.known_integer(key, node.slice, f"index of a {type(whole).__name__} known while compiling")
        thing = self.walk.compute(node, operator.getitem, whole, key)
        self.walk.captures.item(whole, key, thing)
        return thing

    def expr_Slice(self, node):
        bounds = [None if part is None else self.evaluator.expr(part) for part in (node.lower, node.upper, node.step)]
        return slice(*bounds)

    #  -- attributes -------------------------------------------------------------------------------

    def expr_Attribute(self, node):
        owner = self.evaluator.expr(node.value)
        self._refuse_instances(owner, node.value)
        name = node.attr
        if isinstance(owner, handles.PackHandle):
            if name not in owner.members:
                raise self.walk.unknown_attribute(owner, name, node, list(owner.members))
            return owner.members[name]
        if isinstance(owner, handles.TreeHandle):
            return self.tree_attribute(owner, name, node)
        if isinstance(owner, (handles.FieldHandle, handles.StructFieldHandle)):
            return self.field_access.field_attribute(owner, name, node)
        if isinstance(owner, handles.ListHandle):
            if name in ("append", "length", "deactivate"):
                return handles.BoundMethod(owner, name)
            raise self.walk.unknown_attribute(owner, name, node, ["append", "length", "deactivate"])
        if isinstance(owner, handles.CellHandle):
            if name in owner.tree.type.members:
                list_ = self.lists.list_at(handles.MemberHandle(owner.tree, name), owner.indices, node)
                return list_ or self.values.member(owner, name, node)
            if len(owner.tree.type.members) == 1:
                return self.component_access.value_attribute(self.values.sole_member(owner, node.value), name, node)
            raise self.walk.unknown_attribute(owner, name, node, list(owner.tree.type.members))
        if isinstance(owner, handles.ARRAYS):
            return self.arrays.array_attribute(owner, name, node)
        if isinstance(owner, handles.MemberHandle):
            if name == "shape":
                return owner.shape
            if name in CELL_CALLS or name == "parent":
                return handles.BoundMethod(owner, name)
            raise self.walk.unknown_attribute(owner, name, node, ["shape", "parent", *CELL_CALLS])
        if isinstance(owner, (Value, Reference, Components)):
            return self.component_access.value_attribute(owner, name, node)
        if isinstance(owner, StructValue):
            return self.structs.struct_attribute(owner, name, node)
        if isinstance(owner, handles.LevelHandle):
            return self.field_access.level_attribute(owner, name, node)
        if isinstance(owner, HANDLES):
            raise self.walk.unknown_attribute(owner, name, node, [])
        if is_struct(owner) and name in getattr(owner._type, "methods", ()):
            return handles.BoundMethod(self.structs.struct_of(owner._type, owner, node, "struct from outside"), name)
        return self.python_attribute(owner, name, node)

    def python_attribute(self, owner, name, node):
        """An attribute of an object from outside the kernel, as it is while compiling."""
        try:
            thing = getattr(owner, name)
        except AttributeError as error:
            if isinstance(error, NotHereError):
                raise self.walk.error("name", str(error), attribute_name(node)) from None
            if isinstance(owner, np.ndarray) and owner.ndim in (1, 2):  # an index of an unrolled loop, say
                return self.component_access.value_attribute(self.values.to_value(owner, node.value), name, node)
            raise self.walk.unknown_attribute(owner, name, node, dir(owner), listed=False) from None
        except Exception as error:  # of a property
            text = f"{type(error).__name__} while reading '{name}' of {describe(owner)}: {error}"
            raise self.walk.error("type", text, attribute_name(node)) from None
        self.walk.captures.attribute(owner, name, thing)
        return thing

    def _tree_partner(self, tree, kind, node):
        """`t.grad`, `t.dual` of a tree that is an argument and has one."""
        captures = self.walk.captures
        if captures.derivative is not None:
            text = f"'{tree.name}.{kind}' is used: a kernel that uses a tree's derivatives has none itself"
            raise self.walk.error("derivative", text, node)
        partner = captures.tree_partner(tree, kind, node)
        if partner is None:
            hint = f"make it with one: T.new(needs_{kind}=True)"
            raise self.walk.error("name", f"{tree.describe()} has no {PARTNERS[kind]}", attribute_name(node), hint)
        return partner

    def tree_attribute(self, tree, name, node):
        """A member or level of a tree that is an argument, or what can be asked of all of it."""
        if name in tree.type.members:
            return handles.MemberHandle(tree, name)
        levels = [level.name for level in tree.type.levels]
        if name in levels:
            return handles.LevelHandle(tree, name)
        if name in CELL_CALLS:
            return handles.BoundMethod(tree, name)
        if name == "shape":
            return next(iter(tree.type.members.values())).shape
        if name in PARTNERS:
            return self._tree_partner(tree, name, node)
        raise self.walk.unknown_attribute(tree, name, node, [*tree.type.members, *levels])
