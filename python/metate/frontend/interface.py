"""What a kernel takes and gives: its parameters and its result as arguments of the kernel in the IR.

A struct is one argument for each scalar, vector and matrix in it (`s.a`, `s.inner.b`), a result likewise
(`return.a`, of a tuple `return.0`). Calls hand over the parts: kernel_values.py does that outside.
"""

from __future__ import annotations

import ast

from .. import types as _types
from . import handles, structs
from .annotations import is_tuple_annotation, tuple_annotation
from .inlining import Inlining
from .native import describe, native_type
from .specialize import ArrayParameter, StaticParameter, StructArrayParameter, TreeParameter

_LEAVES = (_types.DType, _types.VectorType, _types.MatrixType)


class Interface(Inlining):
    """The part of the walker that declares arguments and results."""

    def declare_parameter(self, name, parameter, node):
        """What a kernel's parameter is bound to."""
        if isinstance(parameter, StaticParameter):
            return handles.Constant(self.from_outside(parameter.value, node))
        if isinstance(parameter, TreeParameter):
            native = self.emit(node, self.builder.tree_argument, name, str(parameter.type))
            return handles.Constant(handles.TreeHandle(native, parameter.type, name))
        if isinstance(parameter, ArrayParameter):
            element = native_type(parameter.element)
            return handles.Constant(self._array(name, element, parameter.ndim, parameter.contiguous, parameter, node))
        if isinstance(parameter, StructArrayParameter):
            return handles.Constant(self._struct_array(name, parameter, node))
        leaf = lambda path, type_: self.emit(node, self.builder.value_argument, path, native_type(type_))
        if isinstance(parameter.type, _types.StructType):
            return handles.Constant(structs.from_leaves(parameter.type, leaf, f"{name}."))
        return handles.Constant(leaf(name, parameter.type))

    def _array(self, name, element, ndim, contiguous, parameter, node):
        native = self.emit(node, self.builder.array_argument, name, element, ndim, contiguous)
        return handles.ArrayHandle(native, name, parameter.boundary == "clamp")

    def _struct_array(self, name, parameter, node):
        """An array for each leaf of the struct, named `x.pos`."""
        arrays = {}
        for (path, leaf), contiguous in zip(structs.leaf_types(parameter.type), parameter.contiguous):
            arrays[path] = self._array(f"{name}.{path}", native_type(leaf), parameter.ndim, contiguous, parameter, node)
        return handles.StructArrayHandle(parameter.type, arrays, name)

    #  -- results --------------------------------------------------------------------------------------

    def declare_result(self, definition):
        """The places that receive what the kernel returns: a Reference, a StructValue of them, or a tuple of such."""
        annotation = self.frame.source.returns
        if annotation is None:
            return
        self.result = self._result_places(annotation, "return", definition)
        last = definition.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and not isinstance(self.result, tuple):
            self.result_name = last.value.id

    def _result_places(self, annotation, path, definition):
        if _types.is_python_scalar(annotation):
            annotation = self.scalar_type(annotation, definition.returns)
        if is_tuple_annotation(annotation):
            parts = tuple_annotation(annotation)
            return tuple(self._result_places(part, f"{path}.{k}", definition) for k, part in enumerate(parts))
        place = lambda name, type_: self.emit(definition, self.builder.result_argument, native_type(type_), name)
        if isinstance(annotation, _types.StructType):
            return structs.from_leaves(annotation, place, f"{path}.")
        if isinstance(annotation, _LEAVES):
            return place(path, annotation)
        text = "return annotation: expected a scalar, vector, matrix or struct type or a tuple of them"
        raise self.error("type", f"{text}, got {annotation!r}", definition.returns)

    def write_result(self, place, thing, node, what="return value"):
        """Stores what is returned."""
        if isinstance(place, tuple):
            if not isinstance(thing, (tuple, list)) or len(thing) != len(place):
                got = f"{len(thing)} values" if isinstance(thing, (tuple, list)) else describe(thing)
                raise self.error("type", f"{what}: expected {len(place)} values, as the annotation says, got {got}", node.value)
            for k, (part, one) in enumerate(zip(place, thing)):
                self.write_result(part, one, node, f"{what} {k}")
        elif isinstance(place, structs.StructValue):
            thing = self.struct_of(place.type, thing, node.value, what)
            for (path, part), (_, value) in zip(place.leaves(), thing.leaves()):
                self.write(node, part, self.to_value(value, node.value), f"{what}.{path}")
        else:
            self.write(node, place, self.shaped_value(thing, place.type.shape, node.value), what)

    def accumulator(self, name, type_, node):
        """The place of a variable of the kernel that its parallel loops change in place: a result that callers do not see."""
        key = len(self.inlined), name, type_.name
        found = self.accumulators.get(key)
        if found is None:
            unique = self.captures.unique(f"local.{name}")  # by this the runtime tells them from what is returned
            found = self.accumulators[key] = self.emit(node, self.builder.result_argument, type_, unique)
        return found
