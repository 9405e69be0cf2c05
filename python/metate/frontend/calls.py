"""Calls: the functions of the language, methods of values, casts, and @func, which is inlined."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import types as python_types

import numpy as np

from .. import intrinsics
from .. import types as _types
from ..linalg.composite import Composite
from ..struct_object import Struct
from . import handles
from .array_access import ARRAYS
from .diagnostics import suggestion
from .expressions import Reference, Value, is_static
from .function import Function, Template
from .inlining import Closure
from .intrinsic_calls import IntrinsicCalls
from .native import describe, native_type
from .source import lambda_source
from .sparse import CELLS
from .structs import Components, StructValue

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
    set,
    frozenset,
    dict,
    divmod,
    callable,
    repr,
)
_SHALLOW = (len, range, zip, enumerate, reversed, tuple, list)  # they ask the elements nothing
# What is known while compiling though its elements may be values of the kernel.
_CONTAINERS = (str, tuple, list, dict, set, frozenset, range, np.ndarray, np.generic)
# Methods by which containers change: of those that the kernel made only.
_CHANGES = frozenset(
    (
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "popitem",
        "add",
        "discard",
    )
)

_LINEAR = ("norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse", "trace", "sum", "max", "min", "any", "all")
_LINEAR_PAIRS = ("dot", "cross", "outer_product")


class Calls(IntrinsicCalls):
    """The part of the walker that evaluates calls."""

    whole_methods = ("fill", "get_shape", "to_list")
    methods = (*_LINEAR, *_LINEAR_PAIRS, "norm_inv", "cast")

    def expr_Call(self, node):
        callee = self.expr(node.func)
        if isinstance(callee, Composite):
            return self.call_composite(callee, node)
        if isinstance(callee, handles.BoundMethod):
            return self.call_method(callee, node)
        if isinstance(callee, intrinsics.Intrinsic):
            return self.call_intrinsic(callee.name, node)
        if isinstance(callee, Function):
            return self.call_function(callee, node)
        if isinstance(callee, python_types.MethodType) and isinstance(callee.__func__, Function):
            return self.call_function(callee.__func__, node, (callee.__self__,))
        if callee is super:
            return self.call_super(node)
        if isinstance(callee, _types.DType):
            return self.call_cast(callee, node)
        if isinstance(callee, Closure):
            return self.call_closure(callee, node)
        if isinstance(callee, (_types.VectorType, _types.MatrixType)):
            return self.call_type(callee, node)
        if isinstance(callee, _types.StructType):
            return self.call_struct(callee, node)
        if callee is Struct:
            return self.call_Struct(node)
        if isinstance(callee, Template):
            raise self.error("syntax", "template() stands in annotations only", node)
        return self.call_python(callee, node)

    def call_python(self, callee, node):
        """What is neither the language's nor a @func."""
        if (
            isinstance(callee, python_types.BuiltinMethodType)
            and callee.__name__ == "format"
            and isinstance(callee.__self__, str)
        ):
            return self.call_format(callee.__self__, node)
        try:
            name = _BUILTINS.get(callee) or _MATH.get(callee)
        except TypeError:
            name = None
        if self.static_depth:
            arguments, keywords = self.arguments(node)
            if all(is_static(a) for a in (*arguments, *keywords.values())):
                return self._call_now(callee, arguments, keywords, node)
        if name is not None:
            return self.call_intrinsic(name, node)
        source = lambda_source(callee)
        if source is not None:
            return self.call_source(source, node)
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
        if callee is _types.struct:
            arguments, keywords = self.arguments(node)
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
            if callee in (any, all) and not is_static(arguments):
                return self._any_or_all(callee is all, arguments, node)
            if callee is sorted and not is_static(arguments):
                text = "sorted: expected elements known while compiling, got values of the kernel"
                raise self.error("type", text, node)
            if callee is range and not is_static(arguments):
                raise self.error("type", "range: expected integers known while compiling here, got values of the kernel", node)
            return self._call_now(callee, arguments, keywords, node)
        if isinstance(callee, python_types.BuiltinMethodType) and isinstance(callee.__self__, _CONTAINERS):
            if callee.__name__ in _CHANGES and not self.is_made_here(callee.__self__):
                text = f"'{callee.__name__}' would change a {type(callee.__self__).__name__} from outside the kernel"
                raise self.error("type", text, node.func, f"copy it first: {type(callee.__self__).__name__}(...)")
            arguments, keywords = self.arguments(node)
            return self._call_now(callee, arguments, keywords, node)
        raise self.error("type", f"{describe(callee)} cannot be called in a kernel", node.func, self._call_hint(callee))

    def _call_now(self, callee, arguments, keywords, node):
        """Python's own call, while compiling; what it may have learnt of objects from outside is noted."""
        result = self.compute(node, lambda: _listed(callee(*arguments, **keywords)))
        if callee is getattr or callee is hasattr:
            owner, name = arguments[:2]
            self.captures.has(owner, name)
            if callee is getattr and hasattr(owner, name):
                self.captures.attribute(owner, name, result)
        elif not any(callee is one for one in (isinstance, type, callable)):
            is_deep = not any(callee is one for one in _SHALLOW)
            self.captures.whole(getattr(callee, "__self__", None), *arguments, *keywords.values(), deep=is_deep)
        return result

    @staticmethod
    def _call_hint(callee):
        if hasattr(callee, "__metate_kernel__"):
            return "a kernel is launched from Python; make the common part a @func"
        if inspect.isfunction(callee) or inspect.ismethod(callee):
            return f"decorate '{callee.__name__}' with @func, or compute it before: ti.static({callee.__name__}(...))"
        if isinstance(callee, np.ufunc):
            return f"NumPy's functions run in Python only: ti.{callee.__name__}(...) where there is one"
        return None

    def _sum(self, parts, node):
        total = parts[0]
        for part in parts[1:]:
            total = self.binary("+", total, part, node)
        return total

    def _any_or_all(self, is_all, arguments, node):
        """any([...]) and all([...]) of values; each is computed."""
        result = self.truth(is_all, node)
        for part in self.unpacked(*arguments, node) if len(arguments) == 1 else arguments:
            result = self.emit(node, self.builder.binary, "&" if is_all else "|", result, self.truth(part, node))
        return result

    def _length(self, node):
        (thing,), _ = self.arguments(node, 1)
        if isinstance(thing, (Value, Reference)) and thing.type.shape:
            return thing.type.shape[0]
        if isinstance(thing, handles.ShapeHandle):
            return thing.array.ndim
        if isinstance(thing, ARRAYS):
            if thing.ndim == 0:
                raise self.error("type", f"len: expected at least one dimension, got {describe(thing)}", node)
            return self.unpacked(handles.ShapeHandle(thing.first), node)[0]
        return self._call_now(len, (thing,), {}, node)

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
            thing = self.expr(keyword.value)
            if keyword.arg is None:
                if not isinstance(thing, dict):
                    raise self.error("type", f"expected a dict after **, got {describe(thing)}", keyword.value)
                keywords.update(thing)
                continue
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
        if isinstance(receiver, StructValue):  # before what cells can be asked: methods may have any name
            return self.call_struct_method(receiver, name, node)
        if name in CELLS:
            return self.call_cell_method(name, receiver, node)
        if isinstance(receiver, (handles.FieldHandle, handles.StructFieldHandle, handles.LevelHandle, handles.MemberHandle)):
            calls = {"fill": self.call_fill, "deactivate_all": self.call_deactivate_all}
            return calls.get(name, self.call_parent)(receiver, node)
        if name in ("get_shape", "to_list", "fill"):
            return self._whole_method(name, receiver, node)
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

    def _whole_method(self, name, receiver, node):
        """Methods that are about the vector or matrix as a whole."""
        if name == "fill":
            (number,), _ = self.arguments(node, 1)
            if not isinstance(receiver, (Reference, Components)):
                hint = "assign it to a variable first"
                raise self.error("type", f"fill: expected a place that can be assigned, got {describe(receiver)}", node, hint)
            self.store(receiver, number, node.func.value, node)
            return None
        self.arguments(node, 0)
        if name == "get_shape":
            return tuple(receiver.type.shape)
        parts = self.unpacked(receiver, node)
        return [self.unpacked(part, node) for part in parts] if len(receiver.type.shape) == 2 else parts

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


_ITERATORS = (zip, enumerate, reversed, type({}.keys()), type({}.values()), type({}.items()))


def _listed(thing):
    """An iterator's elements, so that what is known of them can be asked more than once."""
    return list(thing) if isinstance(thing, _ITERATORS) else thing
