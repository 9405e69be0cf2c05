"""@func, methods, closures and lambdas: bodies that are walked where they are called.

Arguments are passed by value, as copies where the body may change them; a `template()` parameter and a
struct method's `self` stand for the argument itself. What comes back is results.py's.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any

from .. import value_types as _types
from ..parameters import signature_of
from . import analysis, handles
from .arguments import Arguments
from .blocks import Blocks
from .flags import Flags, StaticReturn
from .function import Ref, is_template, takes_place
from .results import Results
from .static import Reference, Value, is_static
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .values import Values
from .walk import Walk

_MOST_NESTED = 64  # calls of one function inside one another, each with other values known while compiling


@dataclass(frozen=True)
class Callee:
    """What is called, however it was written."""

    name: str
    source: Any
    identity: Any
    signature: inspect.Signature
    body: list
    returns: Any
    names: dict


class Inlining:
    """Walks functions where they are called."""

    def __init__(
        self,
        walk: Walk,
        arguments: Arguments,
        values: Values,
        structs: StructOperations,
        blocks: Blocks,
        flags: Flags,
        results: Results,
    ):
        self.walk, self.builder = walk, walk.builder
        self.arguments, self.values, self.structs, self.blocks, self.flags = arguments, values, structs, blocks, flags
        self.results = results
        self._inlined = []  # (function, its arguments known while compiling) of each call being walked

    #  -- what can be called -----------------------------------------------------------------------

    def call_function(self, function, node, receivers=()):
        """A @func; `receivers` are arguments before those of the call, passed by reference."""
        return self.call_source(function.source, node, receivers)

    def call_source(self, source, node, receivers=(), given=None):
        """`given`: the arguments, where they were evaluated already."""
        if isinstance(source.tree, ast.Lambda):
            body = [self._return_of(source.tree)]
        else:
            body = source.tree.body
        signature = signature_of(source.parameters)
        callee = Callee(source.name, source, source, signature, body, source.returns, {})
        return self._inline(callee, node, receivers, given)

    def call_closure(self, closure, node):
        """A lambda, or a def inside the kernel."""
        body = [self._return_of(closure.node)] if isinstance(closure.node, ast.Lambda) else closure.node.body
        returns = closure.signature.return_annotation
        returns = None if returns is inspect.Signature.empty else returns
        callee = Callee(closure.name, closure.source, closure.node, closure.signature, body, returns, closure.names)
        return self._inline(callee, node, ())

    def body_of(self, composite, node):
        """Of a call of a function with a body for each shape of its operands: (body, its Rule or None, its arguments)."""
        names = (*composite.operands, "dt")
        positional, keywords = self.arguments.of(node, names=names)
        given = {**dict(zip(names, positional)), **keywords}
        if len(positional) > len(names) or not set(composite.operands) <= given.keys():
            text = f"{composite.name}: expected {', '.join(composite.operands)} and perhaps dt, got {len(given)} arguments"
            raise self.walk.error("type", text, node)
        values = [self.structs.untyped_part(given[name], node) for name in composite.operands]
        body, rule = composite.bodies.get(tuple(tuple(value.type.shape) for value in values), (None, None))
        if body is None:
            got = " and ".join(value.type.name for value in values)
            raise self.walk.error("type", f"{composite.name}: expected {composite.expected}, got {got}", node)
        dtype = given.get("dt")
        dtype = self._common_float(values) if dtype is None else self.values.scalar_type(dtype, node)
        if not dtype.is_float:
            raise self.walk.error("type", f"{composite.name}: expected a float type to compute in, got {dtype!r}", node)
        values = [self.walk.emit(node, self.builder.cast, value, dtype.code) for value in values]
        return body, rule, (*values, dtype)

    def _common_float(self, values):
        types = [_types.dtype(value.type.code) for value in values]
        floats = [t for t in types if t.is_float]
        return max(floats, key=lambda t: t.bits) if floats else self.walk.options.default_fp

    @staticmethod
    def _return_of(node):
        return ast.copy_location(ast.Return(node.body), node.body)

    #  -- the call ---------------------------------------------------------------------------------

    def _inline(self, callee, node, receivers, given=None):
        bound = self.bind_arguments(callee, node, receivers, given)
        self._check_recursion(callee, bound, node)
        scope = handles.Scope("function")
        frame = handles.Frame(callee.source, scope, callee.names, self.walk.frame, node, self.builder.scope)
        changed = analysis.facts_of(callee.body).changed
        self.walk.locate(node)
        first = next(iter(bound), None) if receivers else None
        initial = {}
        for name, thing in bound.items():
            annotation = callee.signature.parameters[name].annotation
            if name == first:
                initial[name] = self._receiver(thing, name in changed, node)
            elif callee.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                initial[name] = handles.Constant(thing)
            else:
                initial[name] = self._parameter(callee.name, name, thing, annotation, name in changed, node)
        frame.scope.names.update({**callee.names, **initial})
        frame.annotation, frame.depth = callee.returns, self.walk.depth
        return self._walk_body(callee, frame, bound, node)

    def _walk_body(self, callee, frame, bound, node):
        self.builder.enter_call()
        outer, self.walk.frame = self.walk.frame, frame
        static_depth, self.walk.static_depth = self.walk.static_depth, 0
        self._inlined.append((callee.identity, self._static_arguments(bound, callee)))
        try:
            facts = analysis.facts_of(callee.body)
            if facts.returns_early:
                frame.live = self.flags.make(callee.body[0])
            elif self.walk.depth == 0:
                frame.accumulated = facts.accumulated
            self.blocks.block(callee.body)
        except StaticReturn:
            pass
        finally:
            self._inlined.pop()
            self.walk.frame = outer
            self.walk.static_depth = static_depth
            self.builder.leave_call()
        return self.results.result_of(callee, frame, node)

    def _check_recursion(self, callee, bound, node):
        """A function may call itself as long as something known while compiling changes from call to call."""
        static = self._static_arguments(bound, callee)
        others = [arguments for identity, arguments in self._inlined if identity is callee.identity]
        if any(all(_are_equal(thing, other[name]) for name, thing in static.items()) for other in others):
            raise self.walk.error("syntax", f"'{callee.name}' calls itself: a @func is inlined and cannot be recursive", node)
        if len(others) >= _MOST_NESTED:
            text = f"'{callee.name}' calls itself {len(others)} deep: expected a recursion that ends while compiling"
            raise self.walk.error("syntax", text, node, "end it with if ti.static(...), on an argument known while compiling")

    def _static_arguments(self, bound, callee):
        """What is known of each argument while compiling."""
        found = {}
        for name, thing in bound.items():
            found[name] = _known(thing)
        return found

    #  -- arguments --------------------------------------------------------------------------------

    def bind_arguments(self, callee, node, receivers, given):
        """Argument objects by parameter name."""
        templates = set()
        for k, (name, parameter) in enumerate(callee.signature.parameters.items()):
            if takes_place(parameter.annotation):
                templates |= {k - len(receivers), name}
        positional, keywords = self.arguments.of(node, places=templates) if given is None else (given, {})
        signature = callee.signature.replace(
            parameters=[p.replace(annotation=inspect.Parameter.empty) for p in callee.signature.parameters.values()],
            return_annotation=inspect.Signature.empty,
        )
        try:
            bound = signature.bind(*receivers, *positional, **keywords)
        except TypeError as error:
            raise self.walk.error(
                "form", f"'{callee.name}': {error}", node, f"it is defined as {callee.name}{signature}"
            ) from None
        bound.apply_defaults()
        return bound.arguments

    def _receiver(self, thing, is_changed, node):
        """`self` of a method: the struct itself, or a Python object."""
        if not isinstance(thing, StructValue):
            return handles.Constant(thing)
        if thing.is_place:
            return handles.Local(thing, node)
        if not is_changed:
            return handles.Constant(thing)
        function = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(function, ast.Name):
            text = f"the method changes '{function.id}', which cannot be assigned"
            raise self.walk.error("type", text, node, f"assign it to a variable first: {function.id}_ = {function.id}")
        return self._copied(thing, node)

    def _copied(self, thing, node):
        local = self.structs.struct_local(thing, node)
        for (_, part), (path, value) in zip(local.leaves(), thing.leaves()):
            self.walk.write(node, part, self.values.to_value(value, node), path)
        return handles.Local(local, node)

    def _parameter(self, function, name, thing, annotation, is_changed, node):
        """What a parameter's name is bound to: by value, unless it is a template or a handle."""
        if is_template(annotation):
            return self._template_parameter(thing, node)
        if isinstance(annotation, Ref):
            return handles.Local(self.results.referred(annotation, thing, f"argument '{name}' of '{function}'", node), node)
        if isinstance(thing, handles.CellHandle) and len(thing.tree.type.members) != 1:
            return handles.Constant(thing)
        thing = self.values.settled(thing, node)
        if annotation is not inspect.Parameter.empty and annotation is not None:
            thing = self.results.annotated(annotation, thing, f"argument '{name}' of '{function}'", node)
        if isinstance(thing, StructValue):
            return self._copied(self.values.settled(thing, node), node) if is_changed else handles.Constant(thing)
        if is_changed and isinstance(thing, (Value, bool, int, float)):
            value = self.values.to_value(thing, node)
            local = self.walk.emit(node, self.builder.declare_local, value.type)
            self.walk.write(node, local, value, name)
            return handles.Local(local, node)
        return handles.Constant(thing)

    def _template_parameter(self, thing, node):
        """The argument itself: a place, a value with its type, or what is known while compiling."""
        if isinstance(thing, (Reference, Components)) or (isinstance(thing, StructValue) and thing.is_place):
            return handles.Local(thing, node)
        return handles.Constant(thing)


def _known(thing):
    """A thing as far as it is known while compiling: of containers also how many there are."""
    if isinstance(thing, (tuple, list)):
        return tuple(_known(part) for part in thing)
    return thing if is_static(thing) else None


def _are_equal(one, other):
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return one is other or (type(one) is type(other) and isinstance(one, (bool, int, float, str)) and one == other)
