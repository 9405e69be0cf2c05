"""`stop_grad`: values, and elements of fields in the rest of a loop, that derivatives take for constants."""

from __future__ import annotations

import ast

from . import handles
from .arguments import Arguments
from .static import Reference, is_static
from .structs import Components
from .values import Values
from .walk import Walk


class ConstantReads:
    """Knows which fields are constants where the walk stands (Walk.constant_fields)."""

    def __init__(self, walk: Walk, values: Values, arguments: Arguments):
        self.walk, self.values, self.arguments = walk, values, arguments

    def call_stop_grad(self, node):
        """stop_grad(x): of a field what it means for the rest of the loop, else the value"""
        (thing,), _ = self.arguments.of(node, 1)
        if isinstance(thing, handles.FieldHandle):
            self.walk.constant_fields |= {id(thing.field)}
            return None
        if is_static(thing):
            return thing
        return self._constant(thing, node.args[0])

    def element(self, field, element, node):
        """An element of a field: where that is a constant and the element is read, its value."""
        is_constant = isinstance(field, handles.FieldHandle) and id(field.field) in self.walk.constant_fields
        if not is_constant or not isinstance(node.ctx, ast.Load) or not isinstance(element, (Reference, Components)):
            return element
        return self._constant(element, node)

    def _constant(self, thing, node):
        return self.walk.emit(node, self.walk.builder.stop_gradient, self.values.to_value(thing, node))
