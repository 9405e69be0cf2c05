"""Calls: the functions of the language, methods of values, casts, and @func, which is inlined."""

from __future__ import annotations

import ast
import builtins
import inspect
import math

import numpy as np

from .. import intrinsics
from .. import types as _types
from . import analysis, handles
from .diagnostics import suggestion
from .expressions import Reference, Value, is_static
from .function import Function, Template
from .intrinsic_calls import IntrinsicCalls
from .native import describe, native_type

# Python's own functions that mean something in a kernel.
_MATH = {
    getattr(math, name): name
    for name in (
        "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10",
        "floor", "ceil", "trunc", "isnan", "isinf", "pow", "atan2",
    )
}  # fmt: skip
_BUILTINS = {abs: "abs", builtins.min: "min", builtins.max: "max", round: "round", pow: "pow"}
_STATIC_BUILTINS = (
    len,
    range,
    zip,
    enumerate,
    sum,
    isinstance,
    getattr,
    hasattr,
    reversed,
    sorted,
    tuple,
    list,
    str,
    type,
    any,
    all,
)

_LINEAR = ("norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse", "trace", "sum", "max", "min", "any", "all")
_LINEAR_PAIRS = ("dot", "cross", "outer_product")


class Calls(IntrinsicCalls):
    """The part of the walker that evaluates calls."""

    methods = (*_LINEAR, *_LINEAR_PAIRS, "norm_inv", "cast")

    def expr_Call(self, node):
        callee = self.expr(node.func)
        if isinstance(callee, handles.BoundMethod):
            return self.call_method(callee, node)
        if isinstance(callee, intrinsics.Intrinsic):
            return self.call_intrinsic(callee.name, node)
        if isinstance(callee, Function):
            return self.call_function(callee, node)
        if isinstance(callee, _types.DType):
            return self.call_cast(callee, node)
        if isinstance(callee, (_types.VectorType, _types.MatrixType)):
            return self.call_type(callee, node)
        if isinstance(callee, Template):
            raise self.error("syntax", "template() stands in annotations only", node)
        return self.call_python(callee, node)

    def call_python(self, callee, node):
        """What is neither the language's nor a @func."""
        try:
            name = _BUILTINS.get(callee) or _MATH.get(callee)
        except TypeError:
            name = None
        if self.static_depth:
            arguments, keywords = self.arguments(node)
            if all(is_static(a) for a in (*arguments, *keywords.values())):
                return self.compute(node, lambda: callee(*arguments, **keywords))
        if name is not None:
            return self.call_intrinsic(name, node)
        if _types.is_python_scalar(callee):
            scalar = {int: self.options.default_ip, float: self.options.default_fp, bool: _types.u1}[callee]
            return self.call_cast(scalar, node)
        if callee is print:
            return self.call_print(node)
        if callee is _types.vector or callee is _types.matrix:
            arguments, keywords = self.arguments(node)
            if len(arguments) == 1 and not keywords.keys() - {"dt", "dtype"}:
                return self.call_intrinsic("Vector" if callee is _types.vector else "Matrix", node)
            return self.compute(node, lambda: callee(*arguments, **keywords))
        if callee is len:
            return self._length(node)
        if isinstance(callee, type) and issubclass(callee, np.generic):
            return self.call_cast(_types.dtype(callee), node)
        if any(callee is function for function in _STATIC_BUILTINS):
            arguments, keywords = self.arguments(node)
            if callee is sum and 1 <= len(arguments) <= 2 and not is_static(arguments[0]):
                start = arguments[1:] or [thing for name, thing in keywords.items() if name == "start"]
                return self._sum([*start, *self.unpacked(arguments[0], node)], node)
            if callee is range and not is_static(arguments):
                raise self.error("type", "range: expected integers known while compiling here, got values of the kernel", node)
            return self.compute(node, lambda: callee(*arguments, **keywords))
        raise self.error("type", f"{describe(callee)} cannot be called in a kernel", node.func, self._call_hint(callee))

    @staticmethod
    def _call_hint(callee):
        if hasattr(callee, "__metate_kernel__"):
            return "a kernel is launched from Python; make the common part a @func"
        if inspect.isfunction(callee):
            return f"decorate '{callee.__name__}' with @func, or compute it before: ti.static({callee.__name__}(...))"
        if isinstance(callee, np.ufunc):
            return f"NumPy's functions run in Python only: ti.{callee.__name__}(...) where there is one"
        return None

    def _sum(self, parts, node):
        total = parts[0]
        for part in parts[1:]:
            total = self.binary("+", total, part, node)
        return total

    def _length(self, node):
        (thing,), _ = self.arguments(node, 1)
        if isinstance(thing, (Value, Reference)) and thing.type.shape:
            return thing.type.shape[0]
        if isinstance(thing, handles.ShapeHandle):
            return thing.array.ndim
        if isinstance(thing, handles.ArrayHandle):
            if thing.ndim == 0:
                raise self.error("type", f"len: expected at least one dimension, got {describe(thing)}", node)
            return self.unpacked(handles.ShapeHandle(thing), node)[0]
        return self.compute(node, lambda: len(thing))

    def arguments(self, node, count=None, names=None, places=()):
        """(positional, keywords) of a call, as what they stand for.

        With `count` exactly that many positional arguments are expected, with `names` only those keywords;
        with `count` alone none.
        A place is read before the next argument, which may write to it, unless its position or keyword is
        one of `places`.
        """
        positional, keywords = [], {}
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                positional.extend(self.unpacked(self.expr(argument.value), argument))
            else:
                thing = self.expr(argument)
                positional.append(thing if len(positional) in places else self.settled(thing, argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error("syntax", "kernels have no ** arguments", keyword.value)
            thing = self.expr(keyword.value)
            keywords[keyword.arg] = thing if keyword.arg in places else self.settled(thing, keyword.value)
        if count is not None and len(positional) != count:
            plural = "s" * (count != 1)
            raise self.error("type", f"{ast.unparse(node.func)}: expected {count} argument{plural}, got {len(positional)}", node)
        if count is not None or names is not None:
            for keyword in node.keywords:
                if keyword.arg not in (names or ()):
                    text = f"{ast.unparse(node.func)} has no parameter '{keyword.arg}'"
                    raise self.error("type", text, keyword.value, suggestion(keyword.arg, names or ()))
        return positional, keywords

    @staticmethod
    def spots(node, things):
        """Where each positional argument of a call stands; a starred one's are the call's."""
        return node.args if len(node.args) == len(things) else [node] * len(things)

    #  -- casts, types ---------------------------------------------------------------------------------

    def call_cast(self, dtype, node):
        (thing,), _ = self.arguments(node, 1)
        return self.cast_to(thing, dtype, node)

    def cast_to(self, thing, dtype, node):
        if isinstance(thing, (bool, int, float)):  # not through default_ip: ti.i64(1 << 40) is what it says
            if not dtype.is_float and isinstance(thing, float) and not math.isfinite(thing):
                raise self.error("type", f"cast to {dtype!r}: expected a finite number, got {thing!r}", node)
            return self.typed_constant(self.compute(node, dtype, thing), dtype, node)
        return self.emit(node, self.builder.cast, self.to_value(thing, node), dtype.code)

    def call_type(self, type_, node):
        """vec3(x, y, z), vec3(x), mat2([[a, b], [c, d]])."""
        arguments, _ = self.arguments(node, names=())
        values = self._flat_values(arguments, node)
        wanted = int(np.prod(type_.shape))
        counts = [int(np.prod(v.type.shape)) if v.type.shape else 1 for v in values]
        if len(values) == 1 and (counts[0] == 1 or list(values[0].type.shape) == list(type_.shape)):
            return self.emit(node, self.builder.convert, values[0], native_type(type_), repr(type_))
        if sum(counts) != wanted:
            raise self.error("type", f"{type_!r}: expected 1 or {wanted} scalars, got {sum(counts)}", node)
        if isinstance(type_, _types.MatrixType):
            return self.emit(node, self.builder.matrix, values, type_.n, type_.dtype.code)
        return self.emit(node, self.builder.vector, values, type_.dtype.code)

    def _flat_values(self, things, node):
        found = []
        for thing in things:
            if isinstance(thing, (tuple, list)):
                found.extend(self._flat_values(thing, node))
            else:
                found.append(self.to_value(thing, node))
        return found

    #  -- methods ---------------------------------------------------------------------------------------

    def call_method(self, method, node):
        name, receiver = method.name, method.receiver
        if isinstance(receiver, handles.TreeHandle):
            arguments, _ = self.arguments(node)
            return self.call_cell(name, receiver, self._indices(arguments, node), node)
        value = self.to_value(receiver, node.func)
        if name in _LINEAR_PAIRS:
            (other,), _ = self.arguments(node, 1)
            return self.emit(node, self.builder.linear_pair, name, value, self.to_value(other, node.args[0]))
        if name == "cast":
            (dtype,), _ = self.arguments(node, 1)
            return self.emit(node, self.builder.cast, value, self.scalar_type(dtype, node.args[0]).code)
        positional, keywords = self.arguments(node, names=("eps",) if name in ("norm", "normalized", "norm_inv") else ())
        epsilon = [*positional, *keywords.values()]
        if epsilon and name in ("norm", "normalized", "norm_inv"):
            return self._norm_with(name, value, epsilon[0], node)
        if epsilon:
            raise self.error("type", f"{name}: expected no arguments, got {len(epsilon)}", node)
        if name == "norm_inv":
            return self.emit(node, self.builder.function, "rsqrt", self.emit(node, self.builder.linear, "norm_sqr", value))
        return self.emit(node, self.builder.linear, name, value)

    def _norm_with(self, name, value, epsilon, node):
        """norm(eps) = sqrt(norm_sqr + eps), which has a derivative at zero."""
        square = self.emit(node, self.builder.linear, "norm_sqr", value)
        square = self.emit(node, self.builder.binary, "+", square, self.to_value(epsilon, node))
        norm = self.emit(node, self.builder.function, "rsqrt" if name == "norm_inv" else "sqrt", square)
        return self.emit(node, self.builder.binary, "/", value, norm) if name == "normalized" else norm

    def scalar_type(self, thing, node):
        if isinstance(thing, _types.DType):
            return thing
        if _types.is_python_scalar(thing):
            return {int: self.options.default_ip, float: self.options.default_fp, bool: _types.u1}[thing]
        raise self.error("type", f"expected a scalar type such as ti.f32, got {describe(thing)}", node)

    #  -- @func ------------------------------------------------------------------------------------------

    def call_function(self, function, node):
        source = function.source
        frame = self.frame
        while frame is not None:
            if frame.source is source:
                raise self.error("syntax", f"'{source.name}' calls itself: a @func is inlined and cannot be recursive", node)
            frame = frame.caller
        bound = self._bind_arguments(source, node)
        statements = source.tree.body
        frame = handles.Frame(source, handles.Scope("function"), self.frame, node, self.builder.scope)
        assigned = analysis.assigned_names(statements)
        self.locate(node)
        initial = {name: self._parameter(source, name, thing, name in assigned, node) for name, thing in bound.items()}
        self.builder.enter_call()
        outer, self.frame = self.frame, frame
        static_depth, self.static_depth = self.static_depth, 0
        try:
            frame.scope.names.update(initial)
            self.walk_function_body(statements)
        finally:
            self.frame = outer
            self.static_depth = static_depth
            self.builder.leave_call()
        return self.result_of(frame, node)

    def _bind_arguments(self, source, node):
        """Argument objects by parameter name."""
        templates = set()
        for k, (name, parameter) in enumerate(source.parameters.items()):
            if isinstance(parameter.annotation, Template) or parameter.annotation is Template:
                templates |= {k, name}
        positional, keywords = self.arguments(node, places=templates)
        signature = inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in source.parameters.values()])
        try:
            bound = signature.bind(*positional, **keywords)
        except TypeError as error:
            raise self.error("type", f"'{source.name}': {error}", node, f"it is defined as {source.name}{signature}") from None
        bound.apply_defaults()
        return bound.arguments

    def _parameter(self, source, name, thing, is_assigned, node):
        """What a parameter's name is bound to: by value, unless it is a template or a handle."""
        annotation = source.parameters[name].annotation
        if isinstance(annotation, Template) or annotation is Template:
            return handles.Local(thing, node) if isinstance(thing, Reference) else handles.Constant(thing)
        if isinstance(thing, handles.CellHandle) and len(thing.tree.type.members) != 1:
            return handles.Constant(thing)
        if isinstance(thing, (Reference, handles.CellHandle)):
            thing = self.to_value(thing, node)
        if isinstance(annotation, (_types.DType, _types.VectorType, _types.MatrixType)) or _types.is_python_scalar(annotation):
            type_ = annotation if not isinstance(annotation, type) else self.scalar_type(annotation, node)
            thing = self.emit(
                node,
                self.builder.convert,
                self.to_value(thing, node),
                native_type(type_),
                f"argument '{name}' of '{source.name}'",
            )
        if is_assigned and (isinstance(thing, Value) or isinstance(thing, (bool, int, float))):
            value = self.to_value(thing, node)
            local = self.emit(node, self.builder.declare_local, value.type)
            self.write(node, local, value, name)
            return handles.Local(local, node)
        return handles.Constant(thing)
