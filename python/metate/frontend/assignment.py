"""Assignments: targets of every kind, unpacking, augmented ones, the walrus."""

from __future__ import annotations

import ast

from .. import value_types as _types
from . import handles, structs
from .evaluator import Evaluator
from .interface import Interface
from .names import Names
from .native import describe
from .operators import BINARY, Operators
from .outside import Outside
from .places import Places
from .static import Reference
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .triplets import Triplets
from .values import Values
from .variables import Variables
from .walk import Walk

# Augmented assignments that are indivisible on arrays and trees.
_ATOMIC = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class Assignment:
    """Assigns things to targets."""

    def __init__(
        self,
        walk: Walk,
        evaluator: Evaluator,
        names: Names,
        values: Values,
        outside: Outside,
        structs: StructOperations,
        places: Places,
        operators: Operators,
        interface: Interface,
        variables: Variables,
        triplets: Triplets,
    ):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.names, self.values, self.outside, self.structs = evaluator, names, values, outside, structs
        self.places, self.operators, self.interface, self.variables = places, operators, interface, variables
        self.triplets = triplets

    def statement_Assign(self, node):
        thing = self.values.settled(self.evaluator.expr(node.value), node.value)
        if isinstance(thing, handles.CellHandle) and len(node.targets) > 1:
            thing = self.values.to_value(thing, node.value)
        for target in node.targets:
            self.assign(target, thing, node)

    def statement_AnnAssign(self, node):
        if node.value is None:
            raise self.walk.error("syntax", "a declaration needs a value", node)
        annotation = self.evaluator.expr(node.annotation)
        if _types.is_python_scalar(annotation):
            annotation = self.values.scalar_type(annotation, node.annotation)
        if not isinstance(annotation, (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType)):
            message = f"expected a scalar, vector, matrix or struct type, got {describe(annotation)}"
            raise self.walk.error("type", message, node.annotation)
        binding = self.walk.frame.scope.lookup(node.target.id) if isinstance(node.target, ast.Name) else None
        if isinstance(binding, handles.Local) and structs.type_of(binding.reference) != annotation:
            held = structs.type_of(binding.reference)
            text = f"variable '{node.target.id}' has the type {held!r} since its first assignment, got {annotation!r}"
            raise self.walk.error("syntax", text, node.annotation, "use another name for it")
        value = self.structs.fitted_part(
            annotation, self.values.settled(self.evaluator.expr(node.value), node.value), node, "assignment"
        )
        self.assign(node.target, value, node)

    def expr_NamedExpr(self, node):
        self.assign(node.target, self.evaluator.expr(node.value), node)
        return self.names.expr_Name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))

    def assign(self, target, thing, node):
        """Assigns a thing to a target of any kind."""
        if isinstance(target, ast.Name):
            self.variables.assign_name(target, thing, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, thing, node)
        elif self._is_static_item(target):
            container, key = self.evaluator.expr(target.value), self.evaluator.expr(target.slice)
            self.walk.compute(target, container.__setitem__, key, thing)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            place = self.places.place(target)
            if isinstance(place, handles.EntryHandle):
                raise self.triplets.misused(place, "an assignment", target)
            self.places.store(place, thing, target, node)
        else:
            raise self.walk.error("syntax", f"cannot assign to {type(target).__name__.lower()}", target)

    def _is_static_item(self, target):
        """`d[k]` of a list or dict that the kernel made: known while compiling, its items may be values."""
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return False
        binding = self.walk.frame.scope.lookup(target.value.id)
        if not isinstance(binding, handles.Constant) or not isinstance(binding.value, (list, dict)):
            return False
        if not self.outside.is_made_here(binding.value):
            text = f"this would change a {type(binding.value).__name__} from outside the kernel"
            raise self.walk.error("type", text, target, f"copy it first: {type(binding.value).__name__}({target.value.id})")
        return True

    def _unpack(self, target, thing, node):
        things = self.values.unpacked(thing, node.value)
        starred = [k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
        if starred:
            self._unpack_starred(target, things, starred[0], node)
            return
        if len(things) != len(target.elts):
            raise self.walk.error("type", f"expected {len(target.elts)} values to unpack, got {len(things)}", target)
        for part, value in zip(target.elts, things):
            self.assign(part, value, node)

    def _unpack_starred(self, target, things, star, node):
        """`a, *b, c = ...`: b is a list known while compiling, of values."""
        after = len(target.elts) - star - 1
        if len(things) < star + after:
            raise self.walk.error("type", f"expected at least {star + after} values to unpack, got {len(things)}", target)
        ends = len(things) - after
        for part, value in zip((*target.elts[:star], *target.elts[star + 1 :]), (*things[:star], *things[ends:])):
            self.assign(part, value, node)
        self.assign(target.elts[star].value, things[star:ends], node)

    #  -- augmented assignment ---------------------------------------------------------------------

    def statement_AugAssign(self, node):
        op = BINARY[type(node.op)]
        place = self.places.place(node.target) if not isinstance(node.target, ast.Name) else self._named_place(node)
        if isinstance(place, handles.EntryHandle):
            self.triplets.append(place, op, node)
            return
        if isinstance(place, StructValue):
            hint = "assign its members one by one"
            raise self.walk.error("type", f"no operator '{op}=' for {place.describe()}", node.target, hint)
        if self.walk.static_depth or not isinstance(place, (Reference, Components)):
            self.assign(node.target, self.operators.binary(op, place, self.evaluator.expr(node.value), node), node)
            return
        is_local = isinstance(node.target, ast.Name) or self._is_local_part(node.target)
        if op in _ATOMIC and (not is_local or self.places.is_shared(place)):
            self.places.atomic(_ATOMIC[op], place, self.values.settled(self.evaluator.expr(node.value), node.value), node)
            return
        old = self.values.to_value(place, node)  # before the operand, as Python does
        operand = self.evaluator.expr(node.value)
        self.places.store(place, self.operators.binary(op, old, operand, node), node.target, node)

    def _named_place(self, node):
        name = node.target.id
        binding = self.walk.frame.scope.lookup(name)
        if isinstance(binding, handles.Constant) and self.interface.is_parameter(name, binding):
            raise self.interface.read_only(name, node.target)
        return self.names.expr_Name(ast.copy_location(ast.Name(name, ast.Load()), node.target))

    def _is_local_part(self, target):
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        binding = self.walk.frame.scope.lookup(target.id) if isinstance(target, ast.Name) else None
        return isinstance(binding, handles.Local)
