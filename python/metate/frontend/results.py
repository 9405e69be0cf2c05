"""What functions take and return, as their annotations say: a value, a tuple, a struct or any nesting of them.

An early return goes through variables, one set for each combination of types.
"""

from __future__ import annotations

import ast
import typing

from .. import value_types as _types
from ..argument_packs import ArgPackType
from ..struct_types import Struct
from ..tree_type import TreeType
from ..triplets import SparseMatrixBuilderType
from . import analysis, handles
from .diagnostics import located
from .evaluator import Evaluator
from .flags import Flags, StaticReturn
from .function import is_template
from .native import describe, native_type
from .static import Reference, Value
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .values import Values
from .walk import Walk

_PLAIN = (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType)


class Results:
    """Fits arguments and results to annotations; returns."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, structs: StructOperations, flags: Flags):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.values, self.structs, self.flags = evaluator, values, structs, flags

    #  -- annotations ------------------------------------------------------------------------------

    def annotated(self, annotation, thing, what, node):
        """An argument or a result as its annotation wants it."""
        if _types.is_python_scalar(annotation):
            annotation = self.values.scalar_type(annotation, node)
        if isinstance(annotation, _types.StructType):
            return self.structs.struct_of(annotation, thing, node, what)
        if isinstance(annotation, _PLAIN):
            kind = native_type(annotation)
            value = self.values.stored_value(thing, kind, node)
            if value.type.shape and tuple(value.type.shape) != tuple(kind.shape):
                raise self.walk.error("form", f"{what}: expected {kind.name}, got {value.type.name}", node)
            return self.walk.emit(node, self.builder.convert, value, kind, what)
        parts = _tuple_annotation(annotation)
        if parts is not None:
            if not isinstance(thing, (tuple, list)) or len(thing) != len(parts):
                got = f"{len(thing)} values" if isinstance(thing, (tuple, list)) else describe(thing)
                raise self.walk.error("type", f"{what}: expected {len(parts)} values, got {got}", node)
            return tuple(self.annotated(part, one, what, node) for part, one in zip(parts, thing))
        if isinstance(annotation, _types.NDArrayType) or annotation is _types.ndarray:
            return self._checked_array(annotation, thing, what, node)
        if isinstance(annotation, TreeType):
            if not isinstance(thing, handles.TreeHandle) or thing.type != annotation:
                raise self.walk.error("type", f"{what}: expected a tree of the annotated type, got {describe(thing)}", node)
            return thing
        if isinstance(annotation, ArgPackType):
            if not isinstance(thing, handles.PackHandle) or thing.type != annotation:
                raise self.walk.error("type", f"{what}: expected a pack of {annotation!r}, got {describe(thing)}", node)
            return thing
        if is_template(annotation):
            return thing
        text = f"{what}: expected a scalar, vector, matrix, struct, ndarray or tree type or template() as annotation"
        raise self.walk.error("type", f"{text}, got {annotation!r}", node)

    def referred(self, annotation, thing, what, node):
        """The place that an argument annotated `ref(type)` is."""
        is_place = isinstance(thing, (Reference, Components)) or (isinstance(thing, StructValue) and thing.is_place)
        if isinstance(thing, handles.CellHandle) and len(thing.tree.type.members) == 1:
            thing, is_place = self.values.sole_member(thing, node), True
        if not is_place:
            hint = "give a variable, or assign the value to one first"
            raise self.walk.error("type", f"{what}: expected a variable or an element, got {describe(thing)}", node, hint)
        wanted = annotation.dtype
        if _types.is_python_scalar(wanted):
            wanted = self.values.scalar_type(wanted, node)
        is_struct = isinstance(wanted, _types.StructType)
        fits = thing.type == (wanted if is_struct else native_type(wanted))
        if not fits:
            name = repr(wanted) if is_struct else native_type(wanted).name
            text = f"{what}: expected a place of type {name}, got {describe(thing)}"
            raise self.walk.error("type", text, node, "by reference the types must be the same")
        return thing

    def _checked_array(self, annotation, thing, what, node):
        if isinstance(annotation, SparseMatrixBuilderType):
            if not isinstance(thing, handles.BuilderHandle) or annotation.dtype not in (None, thing.type):
                raise self.walk.error("type", f"{what}: expected a {annotation!r}, got {describe(thing)}", node)
            return thing
        if not isinstance(thing, handles.ArrayHandle):
            raise self.walk.error("type", f"{what}: expected an array, got {describe(thing)}", node)
        ndim = getattr(annotation, "ndim", None)
        if ndim is not None and thing.ndim != ndim:
            raise self.walk.error("type", f"{what}: expected an array of {ndim} dimensions, got {thing.ndim}", node)
        element = getattr(annotation, "dtype", None)
        if isinstance(element, _PLAIN[:3]) and thing.native.element != native_type(element):
            raise self.walk.error("type", f"{what}: expected elements of {element!r}, got {thing.native.element.name}", node)
        return thing

    #  -- results ----------------------------------------------------------------------------------

    def return_from_function(self, node):
        """A return statement of a function that is inlined."""
        frame = self.walk.frame
        thing = None if node.value is None else self.values.settled(self.evaluator.expr(node.value), node.value)
        if frame.annotation is not None:
            if node.value is None:
                raise self.walk.error("type", f"'{frame.source.name}': expected a value, as its annotation says, got none", node)
            thing = self._annotated_result(frame, thing, node)
        if frame.live is None:
            frame.result = thing
            return
        if self.walk.depth == frame.depth and not frame.has_returned:  # every path comes here: what follows is never reached
            frame.result = thing
            raise StaticReturn
        frame.has_returned = True
        if node.value is not None:
            self._store_results(frame, thing, node)
        for loop in frame.loops:
            self.flags.clear(loop.active, node)
            self.flags.clear(loop.going, node)
        self.flags.clear(frame.live, node)

    def _annotated_result(self, frame, thing, node):
        what, annotation = f"result of '{frame.source.name}'", frame.annotation
        is_scalar = isinstance(annotation, _types.DType) or _types.is_python_scalar(annotation)
        if is_scalar and isinstance(thing, Value) and thing.type.shape:  # Taichi does not look: the program is not wrong
            dtype = self.values.scalar_type(annotation, node)
            self.walk.warn(f"{what}: its annotation says {dtype!r}, got {thing.type.name}", node)
            return self.walk.emit(node, self.builder.cast, thing, dtype.code)
        return self.annotated(annotation, thing, what, node.value)

    def _store_results(self, frame, thing, node):
        """An early return: the values go to variables of the function, one set for each combination of types."""
        values = [self.values.to_value(part, node.value) for part in leaves_of(thing)]
        structure = structure_of(thing)
        if not frame.returns:
            frame.structure = thing
        elif structure != structure_of(frame.structure):
            self._refuse_structure(frame, thing, values, node)
        places = next((p for p in frame.returns if all(a.type == b.type for a, b in zip(p, values))), None)
        if places is None:
            places = [self.walk.emit(node, self.builder.declare_local, value.type, frame.entry) for value in values]
            frame.returns.append(places)
        for place, value in zip(places, values):
            self.walk.write(node, place, value, "return value")
        number = self.values.constants.typed(frame.returns.index(places), _types.i32, node)
        if frame.which is None:
            frame.which = self.walk.emit(node, self.builder.declare_local, number.type, frame.entry)
        self.walk.write(node, frame.which, number, "return value")

    def _refuse_structure(self, frame, thing, values, node):
        if len(values) != len(frame.returns[0]):
            raise self.walk.error(
                "type", f"expected {len(frame.returns[0])} results as in the returns before, got {len(values)}", node
            )
        raise self.walk.error(
            "type", f"expected {describe(frame.structure)} as in the returns before, got {describe(thing)}", node
        )

    def result_of(self, callee, frame, node):
        """What a call of the function that `frame` walked stands for."""
        if not frame.returns:
            if frame.annotation is not None and frame.result is None:
                text = f"'{callee.name}': expected a return statement, as its annotation says"
                raise located("type", text, callee.source, self._definition(callee))
            return frame.result
        if not analysis.facts_of(callee.body).always_returns and not frame.may_end:
            text = f"'{callee.name}' returns a value on some paths and none on others"
            raise located("type", text, callee.source, self._definition(callee))
        values = [self.walk.emit(node, self.builder.load, place) for place in frame.returns[0]]
        for number, places in enumerate(frame.returns[1:], 1):  # returns of other types: the one that was taken
            which = self.walk.emit(node, self.builder.load, frame.which)
            is_it = self.walk.emit(node, self.builder.compare, "==", which, self.values.constants.typed(number, _types.i32, node))
            others = [self.walk.emit(node, self.builder.load, place) for place in places]
            values = [self.walk.emit(node, self.builder.select, is_it, b, a) for a, b in zip(values, others)]
        return rebuilt(frame.structure, iter(values))

    @staticmethod
    def _definition(callee):
        return callee.identity if isinstance(callee.identity, ast.AST) else callee.source.tree


def _tuple_annotation(annotation):
    """The annotations of the parts of a tuple: `(a, b)`, `tuple[a, b]`, `typing.Tuple[a, b]`; None if it is none."""
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    return typing.get_args(annotation) if typing.get_origin(annotation) is tuple else None


def leaves_of(thing):
    """What stands at the leaves of a value, a tuple or a struct."""
    if isinstance(thing, (tuple, list)):
        for part in thing:
            yield from leaves_of(part)
    elif isinstance(thing, StructValue):
        for _, part in thing.leaves():
            yield part
    else:
        yield thing


def structure_of(thing):
    """What returns must have in common: how values are nested, not their types."""
    if isinstance(thing, (tuple, list)):
        return tuple(structure_of(part) for part in thing)
    return thing.type if isinstance(thing, (StructValue, Struct)) else None


def rebuilt(thing, values):
    """The thing with its leaves replaced by values."""
    if isinstance(thing, (tuple, list)):
        return tuple(rebuilt(part, values) for part in thing)
    return thing.map(lambda _: next(values)) if isinstance(thing, StructValue) else next(values)
