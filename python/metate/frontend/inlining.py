"""@func, methods, closures and lambdas: bodies that are walked where they are called.

Arguments are passed by value, as copies where the body may change them; a `template()` parameter and a
struct method's `self` stand for the argument itself. What is returned may be a tuple, a struct or any
nesting of them; an early return goes through variables.
"""

from __future__ import annotations

import ast
import inspect
import typing
from dataclasses import dataclass, field
from typing import Any

from .. import types as _types
from ..struct_object import Struct
from . import analysis, handles
from .diagnostics import located, warn
from .expressions import Reference, Value, is_static
from .function import Template
from .native import describe, native_type
from .statements import StaticReturn
from .structs import Components, StructValue

_MOST_NESTED = 64  # calls of one function inside one another, each with other values known while compiling
_PLAIN = (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType)


@dataclass(frozen=True)
class Closure:
    """A lambda, or a def inside a kernel: what it sees is what was visible where it stands.

    Attributes:
        node: the ast.Lambda or ast.FunctionDef.
        signature: an inspect.Signature whose annotations are evaluated.
    """

    node: Any
    source: Any
    signature: inspect.Signature
    names: dict = field(repr=False)

    @property
    def name(self):
        return getattr(self.node, "name", "lambda")

    def describe(self):
        return f"function '{self.name}'"


@dataclass(frozen=True)
class _Callee:
    """What is inlined, however it was written."""

    name: str
    source: Any
    identity: Any
    signature: inspect.Signature
    body: list
    returns: Any
    names: dict


def is_template(annotation) -> bool:
    return isinstance(annotation, Template) or annotation is Template


class Inlining:
    """The part of the walker that walks functions where they are called."""

    #  -- what can be called ---------------------------------------------------------------------------

    def call_function(self, function, node, receivers=()):
        """A @func; `receivers` are arguments before those of the call, passed by reference."""
        return self.call_source(function.source, node, receivers)

    def call_source(self, source, node, receivers=(), given=None):
        """`given`: the arguments, where they were evaluated already."""
        if isinstance(source.tree, ast.Lambda):
            body = [self._return_of(source.tree)]
        else:
            body = source.tree.body
        signature = inspect.Signature(list(source.parameters.values()))
        callee = _Callee(source.name, source, source, signature, body, source.returns, {})
        return self._inline(callee, node, receivers, given)

    def call_closure(self, closure, node):
        body = [self._return_of(closure.node)] if isinstance(closure.node, ast.Lambda) else closure.node.body
        returns = closure.signature.return_annotation
        returns = None if returns is inspect.Signature.empty else returns
        callee = _Callee(closure.name, closure.source, closure.node, closure.signature, body, returns, closure.names)
        return self._inline(callee, node, ())

    def call_composite(self, composite, node):
        """A function with a body for each shape of its operands."""
        names = (*composite.operands, "dt")
        positional, keywords = self.arguments(node, names=names)
        given = {**dict(zip(names, positional)), **keywords}
        if len(positional) > len(names) or not set(composite.operands) <= given.keys():
            text = f"{composite.name}: expected {', '.join(composite.operands)} and perhaps dt, got {len(given)} arguments"
            raise self.error("type", text, node)
        values = [self.untyped_part(given[name], node) for name in composite.operands]
        body = composite.bodies.get(tuple(tuple(value.type.shape) for value in values))
        if body is None:
            got = " and ".join(value.type.name for value in values)
            raise self.error("type", f"{composite.name}: expected {composite.expected}, got {got}", node)
        dtype = given.get("dt")
        dtype = self._common_float(values) if dtype is None else self.scalar_type(dtype, node)
        if not dtype.is_float:
            raise self.error("type", f"{composite.name}: expected a float type to compute in, got {dtype!r}", node)
        values = [self.emit(node, self.builder.cast, value, dtype.code) for value in values]
        return self.call_source(body.source, node, given=(*values, dtype))

    def _common_float(self, values):
        types = [_types.dtype(value.type.code) for value in values]
        floats = [t for t in types if t.is_float]
        return max(floats, key=lambda t: t.bits) if floats else self.options.default_fp

    @staticmethod
    def _return_of(node):
        return ast.copy_location(ast.Return(node.body), node.body)

    def expr_Lambda(self, node):
        return self._closure(node, node.args)

    def statement_FunctionDef(self, node):
        """A function inside the kernel: inlined where it is called, with what is visible here."""
        for decorator in node.decorator_list:
            if getattr(self.expr(decorator), "__name__", None) not in ("func", "pyfunc"):
                raise self.error("syntax", "a def inside a kernel: expected no decorator but @func", decorator)
        closure = self._closure(node, node.args, node.returns)
        self.frame.scope.names[node.name] = handles.Constant(closure)

    def _closure(self, node, args, returns=None):
        names = {}
        for name, binding in self.frame.scope.visible().items():
            names[name] = handles.Constant(binding.reference if isinstance(binding, handles.Local) else binding.value)
        annotation = self._annotation_of
        plain = [*args.posonlyargs, *args.args]
        defaults = [inspect.Parameter.empty] * (len(plain) - len(args.defaults)) + [self._default(d) for d in args.defaults]
        P = inspect.Parameter
        found = [
            P(a.arg, P.POSITIONAL_OR_KEYWORD, default=d, annotation=annotation(a.annotation)) for a, d in zip(plain, defaults)
        ]
        if args.vararg is not None:
            found.append(P(args.vararg.arg, P.VAR_POSITIONAL))
        for a, d in zip(args.kwonlyargs, args.kw_defaults):
            default = P.empty if d is None else self._default(d)
            found.append(P(a.arg, P.KEYWORD_ONLY, default=default, annotation=annotation(a.annotation)))
        if args.kwarg is not None:
            raise self.error("syntax", "functions in kernels have no ** parameters", node)
        return_annotation = inspect.Signature.empty if returns is None else self.expr(returns)
        signature = self.compute(node, lambda: inspect.Signature(found, return_annotation=return_annotation))
        return Closure(node, self.frame.source, signature, names)

    def _annotation_of(self, node):
        if node is None:
            return inspect.Parameter.empty
        if isinstance(node, ast.Call) and is_template(callee := self.expr(node.func)):
            return callee
        return self.expr(node)

    def _default(self, node):
        return self.settled(self.expr(node), node)

    #  -- the call -------------------------------------------------------------------------------------

    def _inline(self, callee, node, receivers, given=None):
        bound = self._bind_arguments(callee, node, receivers, given)
        self._check_recursion(callee, bound, node)
        frame = handles.Frame(callee.source, handles.Scope("function"), self.frame, node, self.builder.scope)
        changed = analysis.facts_of(callee.body).changed
        self.locate(node)
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
        frame.annotation, frame.depth = callee.returns, self.depth
        return self._walk_body(callee, frame, bound, node)

    def _walk_body(self, callee, frame, bound, node):
        self.builder.enter_call()
        outer, self.frame = self.frame, frame
        static_depth, self.static_depth = self.static_depth, 0
        self.inlined.append((callee.identity, self._static_arguments(bound, callee)))
        try:
            facts = analysis.facts_of(callee.body)
            if facts.returns_early:
                frame.live = self._new_flag(callee.body[0])
            elif self.depth == 0:
                frame.accumulated = facts.accumulated
            self.block(callee.body)
        except StaticReturn:
            pass
        finally:
            self.inlined.pop()
            self.frame = outer
            self.static_depth = static_depth
            self.builder.leave_call()
        return self._result_of(callee, frame, node)

    def _check_recursion(self, callee, bound, node):
        """A function may call itself as long as something known while compiling changes from call to call."""
        static = self._static_arguments(bound, callee)
        others = [arguments for identity, arguments in self.inlined if identity is callee.identity]
        if any(all(_are_equal(thing, other[name]) for name, thing in static.items()) for other in others):
            raise self.error("syntax", f"'{callee.name}' calls itself: a @func is inlined and cannot be recursive", node)
        if len(others) >= _MOST_NESTED:
            text = f"'{callee.name}' calls itself {len(others)} deep: expected a recursion that ends while compiling"
            raise self.error("syntax", text, node, "end it with if ti.static(...), on an argument known while compiling")

    def _static_arguments(self, bound, callee):
        """What is known of each argument while compiling."""
        found = {}
        for name, thing in bound.items():
            if isinstance(thing, Value) and is_template(callee.signature.parameters[name].annotation):
                known = None if thing.type.shape else self.builder.known_integer(thing)
                thing = thing if known is None else known
            found[name] = _known(thing)
        return found

    def _bind_arguments(self, callee, node, receivers, given):
        """Argument objects by parameter name."""
        templates = set()
        for k, (name, parameter) in enumerate(callee.signature.parameters.items()):
            if is_template(parameter.annotation):
                templates |= {k - len(receivers), name}
        positional, keywords = self.arguments(node, places=templates) if given is None else (given, {})
        signature = callee.signature.replace(
            parameters=[p.replace(annotation=inspect.Parameter.empty) for p in callee.signature.parameters.values()],
            return_annotation=inspect.Signature.empty,
        )
        try:
            bound = signature.bind(*receivers, *positional, **keywords)
        except TypeError as error:
            raise self.error("type", f"'{callee.name}': {error}", node, f"it is defined as {callee.name}{signature}") from None
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
            raise self.error("type", text, node, f"assign it to a variable first: {function.id}_ = {function.id}")
        return self._copied(thing, node)

    def _copied(self, thing, node):
        local = self.struct_local(thing, node)
        for (_, part), (path, value) in zip(local.leaves(), thing.leaves()):
            self.write(node, part, self.to_value(value, node), path)
        return handles.Local(local, node)

    def _parameter(self, function, name, thing, annotation, is_changed, node):
        """What a parameter's name is bound to: by value, unless it is a template or a handle."""
        if is_template(annotation):
            return self._template_parameter(thing, node)
        if isinstance(thing, handles.CellHandle) and len(thing.tree.type.members) != 1:
            return handles.Constant(thing)
        thing = self.settled(thing, node)
        if annotation is not inspect.Parameter.empty and annotation is not None:
            thing = self._annotated(annotation, thing, f"argument '{name}' of '{function}'", node)
        if isinstance(thing, StructValue):
            return self._copied(self.settled(thing, node), node) if is_changed else handles.Constant(thing)
        if is_changed and isinstance(thing, (Value, bool, int, float)):
            value = self.to_value(thing, node)
            local = self.emit(node, self.builder.declare_local, value.type)
            self.write(node, local, value, name)
            return handles.Local(local, node)
        return handles.Constant(thing)

    def _template_parameter(self, thing, node):
        """The argument itself; of integers that are known, the number: f(n - 1) passes what ti.static can ask."""
        if isinstance(thing, (Reference, Components)) or (isinstance(thing, StructValue) and thing.is_place):
            return handles.Local(thing, node)
        if isinstance(thing, Value) and not thing.type.shape and thing.type.code == self.options.default_ip.code:
            known = self.builder.known_integer(thing)
            thing = thing if known is None else known
        return handles.Constant(thing)

    #  -- annotations ----------------------------------------------------------------------------------

    def _annotated(self, annotation, thing, what, node):
        """An argument or a result as its annotation wants it."""
        if _types.is_python_scalar(annotation):
            annotation = self.scalar_type(annotation, node)
        if isinstance(annotation, _types.StructType):
            return self.struct_of(annotation, thing, node, what)
        if isinstance(annotation, _PLAIN):
            value = self.shaped_value(thing, getattr(annotation, "shape", ()), node)
            return self.emit(node, self.builder.convert, value, native_type(annotation), what)
        parts = _tuple_annotation(annotation)
        if parts is not None:
            if not isinstance(thing, (tuple, list)) or len(thing) != len(parts):
                got = f"{len(thing)} values" if isinstance(thing, (tuple, list)) else describe(thing)
                raise self.error("type", f"{what}: expected {len(parts)} values, got {got}", node)
            return tuple(self._annotated(part, one, what, node) for part, one in zip(parts, thing))
        if isinstance(annotation, _types.NDArrayType) or annotation is _types.ndarray:
            return self._checked_array(annotation, thing, what, node)
        if isinstance(annotation, _types.TreeType):
            if not isinstance(thing, handles.TreeHandle) or thing.type != annotation:
                raise self.error("type", f"{what}: expected a tree of the annotated type, got {describe(thing)}", node)
            return thing
        if is_template(annotation):
            return thing
        text = f"{what}: expected a scalar, vector, matrix, struct, ndarray or tree type or template() as annotation"
        raise self.error("type", f"{text}, got {annotation!r}", node)

    def _checked_array(self, annotation, thing, what, node):
        if not isinstance(thing, handles.ArrayHandle):
            raise self.error("type", f"{what}: expected an array, got {describe(thing)}", node)
        ndim = getattr(annotation, "ndim", None)
        if ndim is not None and thing.ndim != ndim:
            raise self.error("type", f"{what}: expected an array of {ndim} dimensions, got {thing.ndim}", node)
        element = getattr(annotation, "dtype", None)
        if isinstance(element, _PLAIN[:3]) and thing.native.element != native_type(element):
            raise self.error("type", f"{what}: expected elements of {element!r}, got {thing.native.element.name}", node)
        return thing

    #  -- results --------------------------------------------------------------------------------------

    def return_from_function(self, node):
        frame = self.frame
        thing = None if node.value is None else self.settled(self.expr(node.value), node.value)
        if frame.annotation is not None:
            if node.value is None:
                raise self.error("type", f"'{frame.source.name}': expected a value, as its annotation says, got none", node)
            thing = self._annotated_result(frame, thing, node)
        if frame.live is None:
            frame.result = thing
            return
        if self.depth == frame.depth and not frame.has_returned:  # every path comes here: what follows is never reached
            frame.result = thing
            raise StaticReturn
        frame.has_returned = True
        if node.value is not None:
            self._store_results(frame, thing, node)
        for loop in frame.loops:
            self._clear(loop.active, node)
            self._clear(loop.going, node)
        self._clear(frame.live, node)

    def _annotated_result(self, frame, thing, node):
        what, annotation = f"result of '{frame.source.name}'", frame.annotation
        is_scalar = isinstance(annotation, _types.DType) or _types.is_python_scalar(annotation)
        if is_scalar and isinstance(thing, Value) and thing.type.shape:  # Taichi does not look: the program is not wrong
            dtype = self.scalar_type(annotation, node)
            warn(f"{what}: its annotation says {dtype!r}, got {thing.type.name}", self.frame.source, node)
            return self.emit(node, self.builder.cast, thing, dtype.code)
        return self._annotated(annotation, thing, what, node.value)

    def _store_results(self, frame, thing, node):
        """An early return: the values go to variables of the function, one set for each combination of types."""
        values = [self.to_value(part, node.value) for part in _leaves(thing)]
        structure = _structure(thing)
        if not frame.returns:
            frame.structure = thing
        elif structure != _structure(frame.structure):
            self._refuse_structure(frame, thing, values, node)
        places = next((p for p in frame.returns if all(a.type == b.type for a, b in zip(p, values))), None)
        if places is None:
            places = [self.emit(node, self.builder.declare_local, value.type, frame.entry) for value in values]
            frame.returns.append(places)
        for place, value in zip(places, values):
            self.write(node, place, value, "return value")
        number = self.typed_constant(frame.returns.index(places), _types.i32, node)
        if frame.which is None:
            frame.which = self.emit(node, self.builder.declare_local, number.type, frame.entry)
        self.write(node, frame.which, number, "return value")

    def _refuse_structure(self, frame, thing, values, node):
        if len(values) != len(frame.returns[0]):
            raise self.error(
                "type", f"expected {len(frame.returns[0])} results as in the returns before, got {len(values)}", node
            )
        raise self.error("type", f"expected {describe(frame.structure)} as in the returns before, got {describe(thing)}", node)

    def _result_of(self, callee, frame, node):
        """What a call of the function that `frame` walked stands for."""
        if not frame.returns:
            if frame.annotation is not None and frame.result is None:
                text = f"'{callee.name}': expected a return statement, as its annotation says"
                raise located("type", text, callee.source, self._definition(callee))
            return frame.result
        if not analysis.facts_of(callee.body).always_returns:
            text = f"'{callee.name}' returns a value on some paths and none on others"
            raise located("type", text, callee.source, self._definition(callee))
        values = [self.emit(node, self.builder.load, place) for place in frame.returns[0]]
        for number, places in enumerate(frame.returns[1:], 1):  # returns of other types: the one that was taken
            which = self.emit(node, self.builder.load, frame.which)
            is_it = self.emit(node, self.builder.compare, "==", which, self.typed_constant(number, _types.i32, node))
            others = [self.emit(node, self.builder.load, place) for place in places]
            values = [self.emit(node, self.builder.select, is_it, b, a) for a, b in zip(values, others)]
        return _rebuilt(frame.structure, iter(values))

    @staticmethod
    def _definition(callee):
        return callee.identity if isinstance(callee.identity, ast.AST) else callee.source.tree


def _tuple_annotation(annotation):
    """The annotations of the parts of a tuple: `(a, b)`, `tuple[a, b]`, `typing.Tuple[a, b]`; None if it is none."""
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    return typing.get_args(annotation) if typing.get_origin(annotation) is tuple else None


def _leaves(thing):
    if isinstance(thing, (tuple, list)):
        for part in thing:
            yield from _leaves(part)
    elif isinstance(thing, StructValue):
        for _, part in thing.leaves():
            yield part
    else:
        yield thing


def _structure(thing):
    """What returns must have in common: how values are nested, not their types."""
    if isinstance(thing, (tuple, list)):
        return tuple(_structure(part) for part in thing)
    return thing.type if isinstance(thing, (StructValue, Struct)) else None


def _rebuilt(thing, values):
    """The thing with its leaves replaced by values."""
    if isinstance(thing, (tuple, list)):
        return tuple(_rebuilt(part, values) for part in thing)
    return thing.map(lambda _: next(values)) if isinstance(thing, StructValue) else next(values)


def _known(thing):
    """A thing as far as it is known while compiling: of containers also how many there are."""
    if isinstance(thing, (tuple, list)):
        return tuple(_known(part) for part in thing)
    return thing if is_static(thing) else None


def _are_equal(one, other):
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return one is other or (type(one) is type(other) and isinstance(one, (bool, int, float, str)) and one == other)
