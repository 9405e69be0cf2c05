"""`stop_grad`: values, and elements of fields and arrays in the rest of a loop, that derivatives take for constants."""

from __future__ import annotations

from . import handles
from .arguments import Arguments
from .fields import Fields
from .static import is_static
from .structs import StructValue
from .values import Values
from .walk import Walk


class ConstantReads:
    """Says which fields and arrays are constants where the walk stands (Walk.constants)."""

    def __init__(self, walk: Walk, values: Values, fields: Fields, arguments: Arguments):
        self.walk, self.values, self.fields, self.arguments = walk, values, fields, arguments

    def call_stop_grad(self, node):
        """stop_grad(x): of a field or an array what it means for the rest of the loop, else the value"""
        (thing,), _ = self.arguments.of(node, 1)
        if isinstance(thing, (handles.FieldHandle, handles.StructFieldHandle)):
            self.walk.constants |= {id(plain.field) for plain in self.fields.plain_fields(thing, node)}
            return None
        if isinstance(thing, handles.ARRAYS):
            arrays = [thing] if isinstance(thing, handles.ArrayHandle) else thing.arrays.values()
            self.walk.constants |= {id(array.native) for array in arrays}
            return None
        if is_static(thing):
            return thing
        if isinstance(thing, StructValue):
            return thing.map(lambda part: self._constant(part, node.args[0]))
        return self._constant(thing, node.args[0])

    def _constant(self, thing, node):
        return self.walk.emit(node, self.walk.builder.stop_gradient, self.values.to_value(thing, node))
