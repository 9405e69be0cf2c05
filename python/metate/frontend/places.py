"""Places: what can be assigned, and stores into it. Names are variables.py's."""

from __future__ import annotations

import ast

from . import handles
from .components import ComponentGroups
from .evaluator import Evaluator
from .native import describe
from .static import Reference, is_static
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .values import Values
from .walk import Walk


class Places:
    """Finds places and writes to them; a place of several components or members is written one by one."""

    def __init__(self, walk: Walk, groups: ComponentGroups, values: Values, evaluator: Evaluator, structs: StructOperations):
        self.walk, self.builder = walk, walk.builder
        self.groups, self.values, self.evaluator, self.structs = groups, values, evaluator, structs

    def place(self, target):
        """The place that a target names."""
        place = self.evaluator.expr(target)
        if isinstance(place, handles.CellHandle):
            place = self.values.sole_member(place, target)
        if isinstance(place, handles.EntryHandle):
            return place
        if not isinstance(place, (Reference, Components)) and not (isinstance(place, StructValue) and place.is_place):
            if isinstance(target, ast.Attribute) and is_static(place):
                text = f"attribute '{target.attr}' is known while compiling, and no kernel can assign to it"
                raise self.walk.error(
                    "type", text, target, f"make it a field of shape (), and assign {ast.unparse(target)}[None]"
                )
            raise self.walk.error(
                "type", f"expected a place that can be assigned, got {describe(place)}", target, self._place_hint(place, target)
            )
        return place

    def _place_hint(self, place, target):
        if isinstance(place, handles.MemberHandle):
            return f"take a cell: {ast.unparse(target)}[...]"
        base = target
        while isinstance(base, (ast.Subscript, ast.Attribute)):
            base = base.value
        bound = self.walk.frame.scope.lookup(base.id) if isinstance(base, ast.Name) else None
        if not isinstance(bound, handles.Constant):
            return None
        what = ast.unparse(target) if isinstance(bound.value, handles.PackHandle) else base.id
        return f"arguments are read-only: assign '{what}' to a variable first"

    def store(self, place, thing, target, node):
        """Stores a thing into a place; what it does not fit is an error at `node`."""
        if isinstance(place, StructValue):
            self.store_struct(place, thing, target, node)
            return
        value = self.values.stored_value(thing, place.type, getattr(node, "value", node))
        what = f"variable '{target.id}'" if isinstance(target, ast.Name) else ast.unparse(target)
        self.write_part(node, place, value, what)

    def store_struct(self, place, thing, target, node):
        """Every leaf of a place; the value was computed before."""
        what = f"variable '{target.id}'" if isinstance(target, ast.Name) else ast.unparse(target)
        value = self.values.settled(self.structs.struct_of(place.type, thing, getattr(node, "value", node), what), node)
        for (path, part), (_, leaf) in zip(place.leaves(), value.leaves()):
            self.write_part(target, part, leaf, f"{what}.{path}")

    def write_part(self, node, part, value, what):
        """Stores a value into a place that is no struct."""
        if isinstance(part, Components):
            self.groups.write_components(node, part, value, what)
        elif isinstance(part, Reference):
            self.walk.write(node, part, value, what)
        else:
            raise self.walk.error("type", f"expected a place that can be assigned, got {describe(part)}", node)

    def atomic(self, op, place, operand, node):
        """Indivisible for each component; the old value."""
        value = self.values.stored_value(operand, place.type, node)
        if isinstance(place, Reference):
            return self.walk.emit(node, self.builder.atomic, op, place, value)
        return self.groups.atomic_components(op, place, value, node)

    def compare_exchange(self, place, expected, desired, node):
        """Indivisible; the old value."""
        if not isinstance(place, Reference):
            shape = " x ".join(map(str, place.shape))
            text = f"expected a place that holds one number, got one of {shape} components; name a component, as in x[i][0]"
            raise self.walk.error("type", f"atomic_compare_exchange: {text}", node.args[0])
        values = [self.values.stored_value(thing, place.type, node) for thing in (expected, desired)]
        return self.walk.emit(node, self.builder.compare_exchange, place, *values)

    def is_shared(self, place):
        """May other iterations change the place at once?"""
        return self.builder.is_shared(place.parts[0] if isinstance(place, Components) else place)
