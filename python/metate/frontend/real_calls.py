"""@real_func: functions that a kernel calls.

A function is walked once for each kernel and for what stands for its parameters that are no values: arrays, trees and things
known while compiling (real_arguments.py).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from .. import value_types as _types
from ..parameters import signature_of
from . import analysis, handles, structs
from .annotations import is_tuple_annotation, tuple_annotation
from .blocks import Blocks
from .diagnostics import located
from .flags import Flags, FunctionDraws, StaticReturn
from .inlining import Callee, Inlining
from .native import describe, native_type
from .real_arguments import Argument, RealArguments
from .results import Results, leaves_of, rebuilt
from .static import Reference
from .values import Values
from .walk import Walk

_MOST_OPEN = 64  # functions made of one source, each while another one is being made


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
    has_derivative: bool = False  # of its own


class RealCalls:
    """Makes functions and calls them."""

    def __init__(
        self,
        walk: Walk,
        inlining: Inlining,
        values: Values,
        blocks: Blocks,
        flags: Flags,
        results: Results,
        arguments: RealArguments,
    ):
        self.walk, self.builder = walk, walk.builder
        self.inlining, self.values, self.blocks, self.flags, self.results = inlining, values, blocks, flags, results
        self.arguments = arguments
        self._made: list[_Made] = []
        self._draws = False  # functions that are made from now on can draw random numbers

    def call_function(self, function, node, receivers=()):
        """What a call stands for."""
        source = function.source
        self.arguments.check_parameters(source, receivers)
        signature = signature_of(source.parameters)
        callee = Callee(source.name, source, source, signature, source.tree.body, source.returns, {})
        bound = self.inlining.bind_arguments(callee, node, receivers, None)
        changed = analysis.facts_of(callee.body).changed
        arguments = {}
        for k, (name, thing) in enumerate(bound.items()):
            annotation = signature.parameters[name].annotation
            if k < len(receivers):
                arguments[name] = self.arguments.receiver(thing, name, annotation, changed, source, node)
            else:
                arguments[name] = self.arguments.argument(source, name, thing, annotation, name in changed, node)
        self.arguments.check_apart(source, arguments, node)
        return self._call(self._made_for(callee, arguments, node), arguments, node)

    def call_with_rule(self, body, rule, kind, given, node):
        """A function that has a derivative of its own, of values and the type that it computes in; both stand in the kernel."""
        *values, dtype = given
        typed = lambda types: [self.arguments.typed(one) for one in types]
        arguments = typed(value.type for value in values)
        made = self._made_with(body, arguments, dtype, node)
        if not made.has_derivative:
            made.has_derivative = True
            results = made.types or []  # it is walked: they are known
            more = [*results, *results] if kind == "grad" else [value.type for value in values]
            rule_of_kind = rule.reverse if kind == "grad" else rule.forward
            derivative = self._made_with(rule_of_kind, [*arguments, *typed(more)], dtype, node)
            again = self._made_with(rule.again, arguments, dtype, node).name if kind == "grad" and rule.again else ""
            self.builder.give_derivative(made.name, derivative.name, again)
        for argument, value in zip(arguments, values):
            argument.operands = [value]
        return self._call(made, dict(zip(body.source.parameters, arguments)), node)

    def _made_with(self, function, arguments, dtype, node):
        source = function.source
        callee = Callee(source.name, source, source, signature_of(source.parameters), source.tree.body, source.returns, {})
        known = Argument(("known", dtype), [], lambda: handles.Constant(dtype))
        return self._made_for(callee, dict(zip(source.parameters, [*arguments, known], strict=True)), node)

    def _made_for(self, callee, arguments, node):
        """The function for such arguments, which may have been made before."""
        keys = tuple(argument.key for argument in arguments.values())
        made = next((one for one in self._made if one.source is callee.source and _same(one.keys, keys)), None)
        return made or self._make(callee, arguments, keys, node)

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
