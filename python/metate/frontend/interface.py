"""What a kernel takes and gives: its parameters and its result as arguments of the kernel in the IR.

A struct is one argument for each scalar, vector and matrix in it (`s.a`, `s.inner.b`), a result likewise
(`return.a`, of a tuple `return.0`). Calls hand over the parts: kernel_values.py does that outside.
"""

from __future__ import annotations

import ast
import dataclasses

from .. import value_types as _types
from ..argument_packs import ArgPackType
from ..dim import native_shape
from ..triplets import TripletsType
from . import handles, structs
from .annotations import is_tuple_annotation, tuple_annotation
from .native import describe, native_type
from .outside import Outside
from .specialize import ArrayParameter, StaticParameter, StructArrayParameter, TreeParameter
from .struct_ops import StructOperations
from .values import Values
from .walk import Walk

_LEAVES = (_types.DType, _types.VectorType, _types.MatrixType)


class Interface:
    """Declares arguments and results, and writes results."""

    def __init__(self, walk: Walk, values: Values, structs: StructOperations, outside: Outside):
        self.walk, self.builder = walk, walk.builder
        self.values, self.structs, self.outside = values, structs, outside
        self._parameters = {}  # name -> what it is bound to
        self.result = None  # places, as `_result_places` gives them; None where the kernel returns nothing
        self.result_name = None  # the variable that is returned, which lives in the result
        self._accumulators = {}  # (nesting of calls, name, type's name) -> a place, as `accumulator` gives it

    #  -- parameters -------------------------------------------------------------------------------

    def declare_parameter(self, name, parameter, node, number):
        """Binds a kernel's parameter to an argument of the kernel in the IR, or to what is known of it while compiling."""
        bound = handles.Constant(self._argument(name, parameter, node, number))
        self.walk.frame.scope.names[name] = self._parameters[name] = bound

    def declare_derivative(self, name, node):
        """Of a parameter that is an array or tree with a gradient (or dual): tells the builder of it, which is an argument as
        well."""
        thing, captures = self._parameters[name].value, self.walk.captures
        arrays = thing.arrays.values() if isinstance(thing, handles.StructArrayHandle) else (thing,)
        for array in arrays if isinstance(thing, handles.ARRAYS) else ():
            partner = captures.array_partner(array, captures.derivative, node)
            if partner is not None:
                self.walk.emit(node, self.builder.array_derivative, array.native, partner.native)
        if isinstance(thing, handles.TreeHandle):
            partner = captures.tree_partner(thing, captures.derivative, node)
            for member in partner.type.members if partner is not None else ():
                self.walk.emit(node, self.builder.tree_derivative, thing.native, member, partner.native, member)

    def declare_numbers(self, name, parameter, number, node):
        """Of a parameter that is a tree or an array: declares the numbers of its writes, which are an argument as well."""
        self.walk.captures.numbering.argument(self._parameters[name].value, parameter, number, node)

    def declare_pack(self, name, type_):
        """Binds a parameter that is an argument pack to its members, which are declared."""
        self.walk.frame.scope.names[name] = self._parameters[name] = handles.Constant(self._pack(name, type_))

    def _pack(self, path, type_):
        members = {}
        for name, member in type_.members.items():
            part = f"{path}.{name}"
            is_pack = isinstance(member, ArgPackType)
            members[name] = self._pack(part, member) if is_pack else self._parameters[part].value
        return handles.PackHandle(type_, members, path)

    def _argument(self, name, parameter, node, number):
        if isinstance(parameter, StaticParameter):
            return self.outside.handle_of(parameter.value, node)
        if isinstance(parameter, TreeParameter):
            native = self.walk.emit(node, self.builder.tree_argument, name, str(parameter.type))
            return handles.TreeHandle(native, parameter.type, name, number, parameter.partners)
        if isinstance(parameter, ArrayParameter):
            element = native_type(parameter.element)
            array = self._array(name, element, parameter.ndim, parameter.contiguous, parameter, node)
            return dataclasses.replace(array, argument=number, partners=parameter.partners)
        if isinstance(parameter, StructArrayParameter):
            return self._struct_array(name, parameter, node, number)
        leaf = lambda path, type_: self.walk.emit(node, self.builder.value_argument, path, native_type(type_))
        if isinstance(parameter.type, _types.StructType):
            return structs.from_leaves(parameter.type, leaf, f"{name}.")
        return leaf(name, parameter.type)

    def _array(self, name, element, ndim, contiguous, parameter, node, is_beside_member=False):
        given = native_shape(parameter.shape), is_beside_member
        native = self.walk.emit(node, self.builder.array_argument, name, element, ndim, contiguous, *given)
        return handles.ArrayHandle(native, name, parameter.boundary == "clamp")

    def _struct_array(self, name, parameter, node, number):
        """An array for each leaf of the struct, named `x.pos`; of triplets, a builder."""
        arrays = {}
        for part, ((path, leaf), contiguous) in enumerate(zip(structs.leaf_types(parameter.type), parameter.contiguous)):
            beside = bool(arrays) and not isinstance(parameter.type, TripletsType)  # hosts see to it that both have one shape
            array = self._array(f"{name}.{path}", native_type(leaf), parameter.ndim, contiguous, parameter, node, beside)
            partners = parameter.partners[part] if parameter.partners else ()
            arrays[path] = dataclasses.replace(array, argument=number, part=part, partners=partners)
        if isinstance(parameter.type, TripletsType):
            return handles.BuilderHandle(arrays, parameter.type, name)
        return handles.StructArrayHandle(parameter.type, arrays, name)

    def is_parameter(self, name, binding):
        """Is it what a parameter of the kernel is bound to?"""
        return self.walk.frame.is_kernel and self._parameters.get(name) is binding

    def read_only(self, name, node):
        """The exception where a parameter is assigned."""
        hint = f"assign it to a variable of another name first: {name}_ = {name}"
        return self.walk.error("form", f"kernel argument '{name}' is read-only", node, hint)

    #  -- results ----------------------------------------------------------------------------------

    def declare_result(self, definition):
        """The places that receive what the kernel returns: a Reference, a StructValue of them, or a tuple of such."""
        annotation = self.walk.frame.source.returns
        if annotation is None:
            return
        captures = self.walk.captures
        # A gradient has no result: what the kernel would return is written where callers do not see it.
        path = captures.unique("local.return") if captures.derivative == "grad" else "return"
        self.result = self._result_places(annotation, path, definition)
        if captures.derivative is not None:
            return  # a variable that is returned has a derivative, the result has none: each has a place of its own
        last = definition.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and not isinstance(self.result, tuple):
            self.result_name = last.value.id

    def _result_places(self, annotation, path, definition):
        if _types.is_python_scalar(annotation):
            annotation = self.values.scalar_type(annotation, definition.returns)
        if is_tuple_annotation(annotation):
            parts = tuple_annotation(annotation)
            return tuple(self._result_places(part, f"{path}.{k}", definition) for k, part in enumerate(parts))
        place = lambda name, type_: self.walk.emit(definition, self.builder.result_argument, native_type(type_), name)
        if isinstance(annotation, _types.StructType) and annotation.has_values:
            return structs.from_leaves(annotation, place, f"{path}.")
        if isinstance(annotation, _LEAVES):
            return place(path, annotation)
        text = "return annotation: expected a scalar, vector, matrix or struct type with members or a tuple of them"
        raise self.walk.error("type", f"{text}, got {annotation!r}", definition.returns)

    def write_result(self, place, thing, node, what="return value"):
        """Stores what is returned."""
        if isinstance(place, tuple):
            if not isinstance(thing, (tuple, list)) or len(thing) != len(place):
                got = f"{len(thing)} values" if isinstance(thing, (tuple, list)) else describe(thing)
                raise self.walk.error(
                    "type", f"{what}: expected {len(place)} values, as the annotation says, got {got}", node.value
                )
            for k, (part, one) in enumerate(zip(place, thing)):
                self.write_result(part, one, node, f"{what} {k}")
        elif isinstance(place, structs.StructValue):
            thing = self.structs.struct_of(place.type, thing, node.value, what)
            for (path, part), (_, value) in zip(place.leaves(), thing.leaves()):
                self.walk.write(node, part, self.values.stored_value(value, part.type, node.value), f"{what}.{path}")
        else:
            self.walk.write(node, place, self.values.stored_value(thing, place.type, node.value), what)

    def accumulator(self, name, type_, node):
        """The place of a variable of the kernel that its parallel loops change in place: a result that callers do not see."""
        key = self.walk.frame.nesting, name, type_.name
        found = self._accumulators.get(key)
        if found is None:
            unique = self.walk.captures.unique(f"local.{name}")  # by this the runtime tells them from what is returned
            found = self._accumulators[key] = self.walk.emit(node, self.builder.result_argument, type_, unique)
        return found
