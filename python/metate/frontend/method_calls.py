"""Methods of values in kernels: of vectors, structs, fields, cells."""

from __future__ import annotations

from . import handles
from .arguments import Arguments
from .component_access import LINEAR_PAIRS, WHOLE_METHODS
from .field_access import FieldAccess
from .function import inlined
from .inlining import Inlining
from .native import describe
from .places import Places
from .sparse import CELL_CALLS, SparseCalls
from .static import Reference
from .structs import Components, StructValue
from .values import Values
from .walk import Walk


class MethodCalls:
    """Calls methods."""

    def __init__(
        self,
        walk: Walk,
        values: Values,
        arguments: Arguments,
        places: Places,
        inlining: Inlining,
        field_access: FieldAccess,
        sparse: SparseCalls,
    ):
        self.walk, self.builder = walk, walk.builder
        self.values, self.arguments, self.places = values, arguments, places
        self.inlining, self.field_access = inlining, field_access
        self.sparse = sparse

    def call_method(self, method, node):
        """A method of what a kernel can have a handle or value of."""
        name, receiver = method.name, method.receiver
        if isinstance(receiver, StructValue):  # before what cells can be asked: methods may have any name
            return self.call_struct_method(receiver, name, node)
        if name in CELL_CALLS:
            return self.sparse.call_cell_method(name, receiver, node)
        if isinstance(receiver, (handles.FieldHandle, handles.StructFieldHandle, handles.LevelHandle, handles.MemberHandle)):
            calls = {"fill": self.field_access.call_fill, "deactivate_all": self.sparse.call_deactivate_all}
            return calls.get(name, self.field_access.call_parent)(receiver, node)
        if name in WHOLE_METHODS:
            return self._whole_method(name, receiver, node)
        value = self.values.to_value(receiver, node.func)
        if name in LINEAR_PAIRS:
            (other,), _ = self.arguments.of(node, 1)
            return self.walk.emit(node, self.builder.linear_pair, name, value, self.values.to_value(other, node.args[0]))
        if name == "cast":
            (dtype,), _ = self.arguments.of(node, 1)
            return self.walk.emit(node, self.builder.cast, value, self.values.scalar_type(dtype, node.args[0]).code)
        positional, keywords = self.arguments.of(node, names=("eps",) if name in ("norm", "normalized", "norm_inv") else ())
        epsilon = [*positional, *keywords.values()]
        if epsilon and name in ("norm", "normalized", "norm_inv"):
            return self._norm_with(name, value, epsilon[0], node)
        if epsilon:
            raise self.walk.error("type", f"{name}: expected no arguments, got {len(epsilon)}", node)
        if name == "norm_inv":
            return self.walk.emit(
                node, self.builder.function, "rsqrt", self.walk.emit(node, self.builder.linear, "norm_sqr", value)
            )
        return self.walk.emit(node, self.builder.linear, name, value)

    def call_struct_method(self, receiver, name, node):
        """A method of a struct's type, with the struct as its first argument."""
        method = receiver.type.methods[name]
        function = inlined(method)
        return self.inlining.call_function(function, node, () if isinstance(method, staticmethod) else (receiver,))

    def _whole_method(self, name, receiver, node):
        """Methods that are about the vector or matrix as a whole."""
        if name == "fill":
            (number,), _ = self.arguments.of(node, 1)
            if not isinstance(receiver, (Reference, Components)):
                hint = "assign it to a variable first"
                raise self.walk.error(
                    "type", f"fill: expected a place that can be assigned, got {describe(receiver)}", node, hint
                )
            self.places.store(receiver, number, node.func.value, node)
            return None
        self.arguments.of(node, 0)
        if name == "get_shape":
            return tuple(receiver.type.shape)
        parts = self.values.unpacked(receiver, node)
        return [self.values.unpacked(part, node) for part in parts] if len(receiver.type.shape) == 2 else parts

    def _norm_with(self, name, value, epsilon, node):
        """norm(eps) = sqrt(norm_sqr + eps), which has a derivative at zero."""
        square = self.walk.emit(node, self.builder.linear, "norm_sqr", value)
        square = self.walk.emit(node, self.builder.binary, "+", square, self.values.to_value(epsilon, node))
        norm = self.walk.emit(node, self.builder.function, "rsqrt" if name == "norm_inv" else "sqrt", square)
        return self.walk.emit(node, self.builder.binary, "/", value, norm) if name == "normalized" else norm
