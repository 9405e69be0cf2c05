"""@real_func: functions that a kernel calls.

A function is walked once for each kernel and for what stands for its parameters that are no values: arrays, trees and things
known while compiling. Values are parameters in the IR; a variable given by reference goes in and comes back with the results,
an element is the same element inside.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import value_types as _types
from ..parameters import signature_of
from . import analysis, handles, structs
from .annotations import is_tuple_annotation, tuple_annotation
from .blocks import Blocks
from .diagnostics import located
from .flags import Flags, FunctionDraws, StaticReturn
from .function import Ref, is_template
from .inlining import Callee, Inlining
from .native import describe, native_type
from .results import Results, leaves_of, rebuilt, structure_of
from .static import Reference, Value
from .structs import Components, StructValue
from .values import Values
from .walk import Walk

_MOST_OPEN = 64  # functions made of one source, each while another one is being made


@dataclass
class _Argument:
    """An argument: what the call hands over, and what the parameter is inside."""

    key: tuple = ()  # functions with equal keys are one
    operands: list = field(default_factory=list)  # Values, and References of elements
    inside: Callable[[], Any] = lambda: None  # declares parameters, gives what the name is bound to
    variables: list = field(default_factory=list)  # given by reference


@dataclass
class _Made:
    """A function of the kernel."""

    source: Any
    keys: tuple
    draws: bool  # random numbers
    name: str = ""
    frame: Any = None  # while it is walked
    structure: Any = None  # of what it returns, with a DataType at each leaf; of no results None
    types: list | None = None  # of these leaves; None: not known yet
    has_result: bool = True


class RealCalls:
    """Makes functions and calls them."""

    def __init__(self, walk: Walk, inlining: Inlining, values: Values, blocks: Blocks, flags: Flags, results: Results):
        self.walk, self.builder = walk, walk.builder
        self.inlining, self.values, self.blocks, self.flags, self.results = inlining, values, blocks, flags, results
        self._made: list[_Made] = []
        self._draws = False  # functions that are made from now on can draw random numbers

    def call_function(self, function, node, receivers=()):
        """What a call stands for."""
        source = function.source
        self._check_parameters(source, receivers)
        signature = signature_of(source.parameters)
        callee = Callee(source.name, source, source, signature, source.tree.body, source.returns, {})
        bound = self.inlining.bind_arguments(callee, node, receivers, None)
        changed = analysis.facts_of(callee.body).changed
        arguments = {}
        for k, (name, thing) in enumerate(bound.items()):
            annotation = signature.parameters[name].annotation
            if k < len(receivers):
                arguments[name] = self._receiver(thing, name, annotation, changed, source, node)
            else:
                arguments[name] = self._argument(source, name, thing, annotation, name in changed, node)
        self._check_apart(source, arguments, node)
        keys = tuple(argument.key for argument in arguments.values())
        made = next((one for one in self._made if one.source is source and _same(one.keys, keys)), None)
        if made is None:
            made = self._make(callee, arguments, keys, node)
        return self._call(made, arguments, node)

    #  -- arguments --------------------------------------------------------------------------------

    def _check_parameters(self, source, receivers):
        nodes = {one.arg: one for one in ast.walk(source.tree.args) if isinstance(one, ast.arg)}
        for name, parameter in list(source.parameters.items())[len(receivers) :]:
            if parameter.takes_several:
                text = f"a real_func has no * parameters, got '{name}'"
                raise located("syntax", text, source, nodes[name], "make it a @func, which is inlined")
            if parameter.annotation is parameter.empty:
                text = f"parameter '{name}' of real_func '{source.name}' has no annotation: expected a type"
                hint = f"write {name}: ti.f32, {name}: ti.ref(ti.f32), {name}: ti.types.ndarray() or {name}: ti.template()"
                raise located("type", text, source, nodes[name], hint)

    def _receiver(self, thing, name, annotation, changed, source, node):
        if isinstance(thing, StructValue):
            return self._argument(source, name, thing, Ref(thing.type) if thing.is_place else thing.type, name in changed, node)
        return _Argument(("known", thing), [], lambda: handles.Constant(thing))

    def _argument(self, source, name, thing, annotation, is_changed, node):
        what = f"argument '{name}' of '{source.name}'"
        if isinstance(annotation, Ref):
            return self._reference(self.results.referred(annotation, thing, what, node), node)
        if is_template(annotation):
            if isinstance(thing, (Reference, Components)) or (isinstance(thing, StructValue) and thing.is_place):
                return self._reference(thing, node)
            if isinstance(thing, Value) and not thing.type.shape:
                known = self.builder.known_integer(thing)
                thing = thing if known is None else known
        else:
            thing = self.values.settled(thing, node)
            thing = self.results.annotated(annotation, thing, what, node)
        if isinstance(thing, (Value, StructValue)) or is_tuple_annotation(annotation):
            return self._value(thing, is_changed, node)
        return _Argument(("known", thing), [], lambda: handles.Constant(thing))

    def _value(self, thing, is_changed, node):
        values = [self.values.to_value(leaf, node) for leaf in leaves_of(thing)]
        types = [value.type for value in values]

        def inside():
            parameters = [self.builder.parameter(type_) for type_ in types]
            if not is_changed:
                return handles.Constant(rebuilt(thing, iter(parameters)))
            if isinstance(thing, tuple):
                return handles.Constant(rebuilt(thing, iter(parameters)))
            return handles.Local(rebuilt(thing, iter([self._variable(one, node) for one in parameters])), node)

        return _Argument(("value", structure_of(thing), *types), values, inside)

    def _variable(self, value, node):
        variable = self.walk.emit(node, self.builder.declare_local, value.type)
        self.walk.write(node, variable, value, "parameter")
        return variable

    def _reference(self, thing, node):
        """A place: its variables go by value and come back, its elements are passed by their indices."""
        places = list(_places(thing))
        operands = [self.walk.emit(node, self.builder.load, one) if one.is_local else one for one in places]
        key = ("place", type(thing), getattr(thing, "shape", None), structure_of(thing), *map(_place_key, places))

        def inside():
            made = []
            for place in places:
                if place.is_local:
                    made.append(self._variable(self.builder.parameter(place.type), node))
                else:
                    made.append(self.builder.reference_parameter(place))
            argument.inner = [one for one, place in zip(made, places) if place.is_local]
            return handles.Local(_with_places(thing, iter(made)), node)

        argument = _Argument(key, operands, inside, [place for place in places if place.is_local])
        return argument

    def _check_apart(self, source, arguments, node):
        """One variable twice: what the two parameters leave in it is not one value."""
        seen = []
        for name, argument in arguments.items():
            for variable in argument.variables:
                if any(variable.is_same_base(other) for other in seen):
                    text = (
                        f"argument '{name}' of '{source.name}': the variable is given to another parameter by reference already"
                    )
                    raise self.walk.error("type", text, node, "give a copy of it: b = a")
                seen.append(variable)

    #  -- functions --------------------------------------------------------------------------------

    def _make(self, callee, arguments, keys, node):
        """Whether a function draws random numbers is known when it was walked: then all that was made for it is made anew."""
        first = len(self._made)
        try:
            return self._make_once(callee, arguments, keys, node)
        except FunctionDraws:
            if any(one.frame is not None for one in self._made[:first]):
                raise
            self.builder.drop_functions([one.name for one in self._made[first:]])
            del self._made[first:]
            self._draws = True
            return self._make_once(callee, arguments, keys, node)

    def _make_once(self, callee, arguments, keys, node):
        source = callee.source
        opened = sum(one.source is source and one.frame is not None for one in self._made)
        if opened >= _MOST_OPEN:
            text = f"'{source.name}' calls itself {opened} deep, each time for other arguments that are known while compiling"
            raise self.walk.error("syntax", text, node, "make the argument that changes a value: annotate it with its type")
        made = _Made(source, keys, self._draws)
        self._announce_result(made, node)
        self._made.append(made)
        definition = source.tree
        made.name = self.builder.begin_function(source.name, source.file, definition.lineno, definition.col_offset + 1)
        walk = self.walk
        outer = walk.frame, walk.depth, walk.static_depth, walk.serialize_next, walk.constant_branches, walk.current
        try:
            # As in a branch: loops are not the kernel's.
            walk.depth, walk.static_depth, walk.serialize_next, walk.constant_branches = 1, 0, False, 0
            self._walk_body(made, callee, arguments, node)
        except BaseException:
            self.builder.abandon_function()
            raise
        finally:
            walk.frame, walk.depth, walk.static_depth, walk.serialize_next, walk.constant_branches, walk.current = outer
            made.frame = None
        return made

    def _walk_body(self, made, callee, arguments, node):
        definition, walk = callee.source.tree, self.walk
        frame = handles.Frame(callee.source, handles.Scope("function"), {}, walk.frame, node, self.builder.scope)
        frame.annotation, frame.depth, frame.may_end = callee.returns, walk.depth, True
        walk.frame = made.frame = frame
        if made.draws:
            self.builder.begin_stream()
        names = {name: argument.inside() for name, argument in arguments.items()}
        frame.scope.names.update(names)
        facts = analysis.facts_of(callee.body)
        if facts.returns_early:
            frame.live = self.flags.make(definition)
        try:
            self.blocks.block(callee.body)
        except StaticReturn:
            pass
        thing = self.results.result_of(callee, frame, definition)
        if frame.returns and not facts.always_returns:
            self._check_returned(made, frame, definition)
        values = self._results(made, thing, definition)
        for argument in arguments.values():
            if argument.variables:
                values += [walk.emit(definition, self.builder.load, inner) for inner in argument.inner]
        if made.draws:
            values.append(walk.emit(definition, self.builder.stream_state)[-1])
        self.builder.end_function(values)

    def _check_returned(self, made, frame, definition):
        """In debug mode; else what is given then is zero."""
        has = self.walk.emit(definition, self.builder.load, frame.live)
        ended = self.walk.emit(definition, self.builder.unary, "not", has)
        self.walk.emit(definition, self.builder.assert_that, ended, f"'{made.source.name}' ended without a return statement")

    #  -- results ----------------------------------------------------------------------------------

    def _announce_result(self, made, node):
        """What an annotation says, so that a call inside the function knows it."""
        source = made.source
        made.has_result = any(
            isinstance(one, ast.Return) and one.value is not None for one in analysis.statements_of(source.tree.body)
        )
        if source.returns is not None:
            made.structure = self._announced(source.returns, source)
            made.types = list(leaves_of(made.structure))
            made.has_result = True
        elif not made.has_result:
            made.types = []

    def _announced(self, annotation, source):
        if is_tuple_annotation(annotation):
            return tuple(self._announced(part, source) for part in tuple_annotation(annotation))
        if _types.is_python_scalar(annotation):
            annotation = self.values.scalar_type(annotation, source.tree.returns)
        if isinstance(annotation, _types.StructType) and annotation.has_values:
            return structs.from_leaves(annotation, lambda _, leaf: native_type(leaf))
        if isinstance(annotation, (_types.DType, _types.VectorType, _types.MatrixType)):
            return native_type(annotation)
        text = f"result of '{source.name}': expected a scalar, vector, matrix or struct type or a tuple of them as annotation"
        raise located("type", f"{text}, got {annotation!r}", source, source.tree.returns)

    def _results(self, made, thing, definition):
        """The values that the function gives; their types are the function's from here on."""
        if not made.has_result:
            return []
        if thing is None:
            text = f"'{made.source.name}': expected a value in its return statements"
            raise located("type", text, made.source, definition)
        leaves = list(leaves_of(thing))
        for leaf in leaves:
            if isinstance(leaf, handles.ARRAYS + handles.FIELDS + (handles.TreeHandle,)):
                text = f"result of '{made.source.name}': expected values, got {describe(leaf)}"
                raise located("type", text, made.source, definition)
        values = [self.values.to_value(leaf, definition) for leaf in leaves]
        types = [value.type for value in values]
        if made.types is None:
            made.structure, made.types = rebuilt(thing, iter(types)), types
        elif made.types != types:
            text = f"'{made.source.name}' calls itself, and its returns are of several types"
            raise located("type", text, made.source, definition, f"annotate the result: def {made.source.name}(...) -> ti.f32:")
        return values

    def _call(self, made, arguments, node):
        if made.types is None:
            self._guess_result(made, node)
        variables = [variable for argument in arguments.values() for variable in argument.variables]
        operands = [operand for argument in arguments.values() for operand in argument.operands]
        types = [*(made.types or ()), *(variable.type for variable in variables)]
        if made.draws:
            state = self.walk.emit(node, self.builder.stream_state)
            operands, types = [*state, *operands], [*types, state[-1].type]
        results = iter(self.walk.emit(node, self.builder.call, made.name, operands, types))
        thing = rebuilt(made.structure, results) if made.has_result else None
        for variable in variables:
            self.walk.write(node, variable, next(results), "argument by reference")
        if made.draws:
            self.walk.emit(node, self.builder.continue_stream, next(results))
        return thing

    def _guess_result(self, made, node):
        """A call in the function itself, which has no annotation: as the first return that was walked."""
        frame = made.frame
        if frame is None or not frame.returns:
            text = f"'{made.source.name}' calls itself before a return statement says what it gives"
            raise self.walk.error("type", text, node, f"annotate its result: def {made.source.name}(...) -> ti.f32:")
        made.types = [place.type for place in frame.returns[0]]
        made.structure = rebuilt(frame.structure, iter(made.types))


def _places(thing):
    if isinstance(thing, StructValue):
        for _, part in thing.leaves():
            yield from _places(part)
    elif isinstance(thing, Components):
        yield from thing.parts
    else:
        yield thing


def _with_places(thing, places):
    if isinstance(thing, StructValue):
        return thing.map(lambda part: _with_places(part, places))
    if isinstance(thing, Components):
        return Components(tuple(next(places) for _ in thing.parts), thing.shape)
    return next(places)


def _place_key(place):
    return ("variable", place.type) if place.is_local else ("element", place)


def _same(one, other):
    """Do two keys, or what stands in them, mean the same?"""
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Reference):
        return one.is_same_base(other)
    if isinstance(one, (bool, int, float, str)):
        return one == other
    if isinstance(one, (handles.ArrayHandle, handles.TreeHandle)):
        return one.native is other.native
    if isinstance(one, handles.FieldHandle):
        return one.field is other.field
    return isinstance(one, (native_type(_types.i32).__class__, *_TYPES)) and one == other


_TYPES = (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType)
