"""Python's own functions in kernels: those that mean something at run time, those that are called while compiling."""

from __future__ import annotations

import builtins
import inspect
import math
import types as python_types

import numpy as np

from .. import intrinsics
from .. import value_types as _types
from ..ndarray import MatrixNdarray, ScalarNdarray, VectorNdarray
from ..types import matrix, struct, vector
from . import handles
from .arguments import Arguments
from .constants import is_number
from .construction import Construction
from .foreign_calls import ForeignCalls, is_of_a_library
from .inlining import Inlining
from .intrinsic_calls import IntrinsicCalls
from .native import describe
from .operators import Operators
from .outside import Outside
from .source import lambda_source
from .static import Reference, Value, is_static
from .structs import Components
from .texts import Texts
from .values import Values
from .walk import Walk

# Python's own functions that mean something in a kernel.
_MATH = {
    getattr(math, name): name
    for name in (
        "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10",
        "floor", "ceil", "trunc", "isnan", "isinf", "pow", "atan2",
    )
}  # fmt: skip
_ARRAY_RANKS = {ScalarNdarray: 0, VectorNdarray: 1, MatrixNdarray: 2}
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


class PythonCalls:
    """Calls what is neither the language's nor a @func."""

    def __init__(
        self,
        walk: Walk,
        values: Values,
        arguments: Arguments,
        outside: Outside,
        operators: Operators,
        texts: Texts,
        inlining: Inlining,
        construction: Construction,
        intrinsics: IntrinsicCalls,
        foreign: ForeignCalls,
    ):
        self.walk, self.builder = walk, walk.builder
        self.values, self.arguments, self.outside, self.operators, self.texts = values, arguments, outside, operators, texts
        self.inlining, self.construction, self.intrinsics = inlining, construction, intrinsics
        self.foreign = foreign

    def call_python(self, callee, node):
        """What is neither the language's nor a @func."""
        if (
            isinstance(callee, python_types.BuiltinMethodType)
            and callee.__name__ == "format"
            and isinstance(callee.__self__, str)
        ):
            return self.texts.call_format(callee.__self__, node)
        try:
            name = _BUILTINS.get(callee) or _MATH.get(callee)
        except TypeError:
            name = None
        if self.walk.static_depth:
            arguments, keywords = self.arguments.of(node)
            if all(is_static(a) for a in (*arguments, *keywords.values())):
                return self._call_now(callee, arguments, keywords, node)
        if name is not None:
            return self.intrinsics.call_intrinsic(name, node)
        source = lambda_source(callee)
        if source is not None:
            return self.inlining.call_source(source, node)
        if _types.is_python_scalar(callee):
            return self._converted(callee, node)
        if callee is print:
            return self.texts.call_print(node)
        if callee is vector or callee is matrix:
            arguments, keywords = self.arguments.of(node)
            if len(arguments) == 1 and not keywords.keys() - {"dt", "dtype"}:
                return self.intrinsics.call_intrinsic("Vector" if callee is vector else "Matrix", node)
            return self.walk.compute(node, lambda: callee(*arguments, **keywords))
        if callee is struct:
            arguments, keywords = self.arguments.of(node)
            return self.walk.compute(node, lambda: callee(*arguments, **keywords))
        if callee is len:
            return self._length(node)
        if isinstance(callee, type) and issubclass(callee, np.generic):
            return self.construction.call_cast(_types.dtype(callee), node)
        if any(callee is function for function in _STATIC_BUILTINS):
            return self._builtin(callee, node)
        if isinstance(callee, python_types.BuiltinMethodType) and isinstance(callee.__self__, _CONTAINERS):
            if callee.__name__ in _CHANGES and not self.outside.is_made_here(callee.__self__):
                text = f"'{callee.__name__}' would change a {type(callee.__self__).__name__} from outside the kernel"
                raise self.walk.error("type", text, node.func, f"copy it first: {type(callee.__self__).__name__}(...)")
            arguments, keywords = self.arguments.of(node)
            return self._call_now(callee, arguments, keywords, node)
        by_name = self.foreign.operator_call(callee, node)
        if by_name is not None:
            return by_name()
        constants = self.foreign.constants_of(callee, node) if is_of_a_library(callee) else None
        if constants is not None:
            return self._call_now(callee, *constants, node)
        if self.foreign.is_inlined(callee):
            return self.foreign.inline(callee, node)
        raise self.walk.error("type", f"{describe(callee)} cannot be called in a kernel", node.func, self._call_hint(callee))

    def _converted(self, kind, node):
        """int(x), float(x), bool(x): of a number or a text known while compiling Python's, else a cast to the default type."""
        (thing,), _ = self.arguments.of(node, 1)
        if isinstance(thing, str):  # float("inf")
            return self.walk.compute(node, kind, thing)
        if is_number(thing) and (kind is not int or math.isfinite(thing)):
            return kind(thing)
        return self.values.cast_to(thing, self.values.scalar_type(kind, node), node)

    def _builtin(self, callee, node):
        """One of Python's functions that are called while compiling, and those of them that values have too."""
        arguments, keywords = self.arguments.of(node)
        if callee is sum and 1 <= len(arguments) <= 2 and not is_static(arguments[0]):
            start = arguments[1:] or [thing for name, thing in keywords.items() if name == "start"]
            return self._sum([*start, *self.values.unpacked(arguments[0], node)], node)
        if callee is isinstance and len(arguments) == 2 and not is_static(arguments[0]):
            return self._is_instance(*arguments)
        if callee in (any, all) and not is_static(arguments):
            return self._any_or_all(callee is all, arguments, node)
        if callee is sorted and not is_static(arguments):
            text = "sorted: expected elements known while compiling, got values of the kernel"
            raise self.walk.error("type", text, node)
        if callee is range and not is_static(arguments):
            raise self.walk.error("type", "range: expected integers known while compiling here, got values of the kernel", node)
        return self._call_now(callee, arguments, keywords, node)

    def _call_now(self, callee, arguments, keywords, node):
        """Python's own call, while compiling; what it may have learnt of objects from outside is noted."""
        result = self.walk.compute(node, lambda: _listed(callee(*arguments, **keywords)))
        if callee is getattr or callee is hasattr:
            owner, name = arguments[:2]
            self.walk.captures.has(owner, name)
            if callee is getattr and hasattr(owner, name):
                self.walk.captures.attribute(owner, name, result)
        elif not any(callee is one for one in (isinstance, type, callable)):
            is_deep = not any(callee is one for one in _SHALLOW)
            self.walk.captures.whole(getattr(callee, "__self__", None), *arguments, *keywords.values(), deep=is_deep)
        return result

    @staticmethod
    def _call_hint(callee):
        if hasattr(callee, "__metate_kernel__"):
            return "a kernel is launched from Python; make the common part a @func"
        if inspect.isfunction(callee) or inspect.ismethod(callee):
            return f"compute it before: ti.static({callee.__name__}(...))"
        if isinstance(callee, np.ufunc):
            return f"NumPy's functions run in Python only: ti.{callee.__name__}(...) where there is one"
        return None

    def call_super(self, node):
        """`super()` in a method: Python's own, of the class that the method is written in and its object."""
        source = self.walk.frame.source
        first = self.walk.frame.scope.lookup(next(iter(source.parameters), None))
        owner = source.captured.get("__class__")
        if node.args or node.keywords or owner is None or not isinstance(first, handles.Constant):
            raise self.walk.error("syntax", "expected super() without arguments in a method of a data-oriented class", node)
        return self.walk.compute(node, super, owner, first.value)

    def _sum(self, parts, node):
        total = parts[0]
        for part in parts[1:]:
            total = self.operators.binary("+", total, part, node)
        return total

    def _is_instance(self, thing, kind):
        """isinstance of what a kernel has a value or handle of: by its dimensions, or those of an array's elements."""
        if isinstance(kind, tuple):
            return any(self._is_instance(thing, one) for one in kind)
        if isinstance(thing, (Value, Reference, Components)) and kind in (intrinsics.Vector, intrinsics.Matrix):
            return 1 <= len(thing.type.shape) <= (1 if kind is intrinsics.Vector else 2)
        if isinstance(thing, handles.ArrayHandle) and kind in _ARRAY_RANKS:
            return len(thing.native.element.shape) == _ARRAY_RANKS[kind]
        return isinstance(thing, kind) if isinstance(kind, type) and kind not in _ARRAY_RANKS else False

    def _any_or_all(self, is_all, arguments, node):
        """any([...]) and all([...]) of values; each is computed."""
        sole = arguments[0]
        if len(arguments) == 1 and isinstance(sole, (Value, Reference, Components)) and len(sole.type.shape) == 2:
            name = "all" if is_all else "any"
            return self.walk.emit(node, self.builder.linear, name, self.values.to_value(sole, node))
        result = self.values.truth(is_all, node)
        for part in self.values.unpacked(*arguments, node) if len(arguments) == 1 else arguments:
            result = self.walk.emit(node, self.builder.binary, "&" if is_all else "|", result, self.values.truth(part, node))
        return result

    def _length(self, node):
        (thing,), _ = self.arguments.of(node, 1)
        if isinstance(thing, (Value, Reference)) and thing.type.shape:
            return thing.type.shape[0]
        if isinstance(thing, handles.ShapeHandle):
            return thing.array.ndim
        if isinstance(thing, handles.ARRAYS):
            if thing.ndim == 0:
                raise self.walk.error("type", f"len: expected at least one dimension, got {describe(thing)}", node)
            return self.values.unpacked(handles.ShapeHandle(thing.first), node)[0]
        return self._call_now(len, (thing,), {}, node)


_ITERATORS = (zip, enumerate, reversed, type({}.keys()), type({}.values()), type({}.items()))


def _listed(thing):
    """An iterator's elements, so that what is known of them can be asked more than once."""
    return list(thing) if isinstance(thing, _ITERATORS) else thing
