"""Calls of Python functions that nobody made for kernels: Python's operators by name, undecorated functions, other libraries'."""

from __future__ import annotations

import ast
import inspect
import operator
import os
import sysconfig

from .arguments import Arguments
from .function import inlined
from .inlining import Inlining
from .operators import Operators
from .static import is_static
from .walk import Walk

_OWN = __name__.partition(".")[0]
_BINARY = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.lshift: "<<", operator.rshift: ">>", operator.and_: "&",
    operator.or_: "|", operator.xor: "^", operator.matmul: "@",
}  # fmt: skip
_UNARY = {operator.neg: "-", operator.pos: "+", operator.invert: "~", operator.not_: "not"}
_COMPARISONS = {
    operator.eq: ast.Eq, operator.ne: ast.NotEq, operator.lt: ast.Lt, operator.le: ast.LtE, operator.gt: ast.Gt,
    operator.ge: ast.GtE,
}  # fmt: skip
# What answers otherwise at each call: its answer while compiling would stay for ever.
_CHANGING = ("random", "numpy.random", "time", "secrets", "uuid", "datetime", "os", "posix")
_LIBRARIES = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class ForeignCalls:
    """Calls them, where they can be called."""

    def __init__(self, walk: Walk, arguments: Arguments, operators: Operators, inlining: Inlining):
        self.walk, self.builder = walk, walk.builder
        self.arguments, self.operators, self.inlining = arguments, operators, inlining

    def operator_call(self, callee, node):
        """`operator.add(a, b)` and its like as a function that gives the result; None for anything else."""
        if not inspect.isbuiltin(callee) or callee.__module__ != "_operator":
            return None
        if callee in _BINARY:
            return lambda: self._binary(_BINARY[callee], node)
        if callee in _COMPARISONS:
            return lambda: self._compare(_COMPARISONS[callee], node)
        if callee in _UNARY:
            return lambda: self._unary(_UNARY[callee], node)
        return None

    def _binary(self, op, node):
        (a, b), _ = self.arguments.of(node, 2)
        return self.operators.binary(op, a, b, node)

    def _compare(self, op, node):
        (a, b), _ = self.arguments.of(node, 2)
        return self.operators.compare(op(), a, b, node, *node.args)

    def _unary(self, op, node):
        (thing,), _ = self.arguments.of(node, 1)
        return self.operators.unary(op, thing, node, node.args[0])

    def is_inlined(self, callee) -> bool:
        """Is it a function in Python without a decorator? Its body is compiled where it is called."""
        if not inspect.isfunction(callee) or hasattr(callee, "__metate_kernel__") or hasattr(callee, "__wrapped__"):
            return False
        endless = inspect.isgeneratorfunction(callee) or inspect.iscoroutinefunction(callee)
        return not endless and not _is_changing(callee) and _package_of(callee) != _OWN

    def inline(self, callee, node):
        """Its body at the call."""
        return self.inlining.call_function(inlined(callee), node)

    def constants_of(self, callee, node):
        """(positional, keywords) of a call whose result is known while compiling, of NumPy's say; None of any other."""
        if not callable(callee) or hasattr(callee, "__metate_kernel__") or _is_changing(callee):
            return None
        positional, keywords = self.arguments.of(node)
        return (positional, keywords) if is_static((*positional, *keywords.values())) else None


def is_of_a_library(callee) -> bool:
    """Does its code stand where Python keeps its own and installed modules, or here? Built-in functions' does."""
    code = getattr(callee, "__code__", None)
    if code is None or _package_of(callee) == _OWN:
        return True
    return code.co_filename.startswith("<frozen ") or os.path.realpath(code.co_filename).startswith(_LIBRARIES)


def _package_of(function) -> str:
    """Of the module that it was defined in; "" where that has no name, as in `exec`."""
    return (function.__module__ or "").partition(".")[0]


def _is_changing(callee) -> bool:
    owner = getattr(callee, "__self__", None)
    owner = owner if isinstance(owner, type) else type(owner)  # of a class method its class
    modules = (getattr(callee, "__module__", None) or "", owner.__module__)
    return any(module == name or module.startswith(name + ".") for module in modules for name in _CHANGING)
