"""Calls of Python functions that nobody made for kernels: Python's operators by name, undecorated functions, other libraries'."""

from __future__ import annotations

import ast
import inspect
import operator

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
_CHANGING = ("random", "numpy.random", "time", "secrets", "uuid", "datetime")


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
        """Is it a function in Python without a decorator of ours? Its body is compiled where it is called."""
        is_plain = inspect.isfunction(callee) and not hasattr(callee, "__metate_kernel__")
        is_plain = is_plain and callee.__module__.partition(".")[0] != _OWN
        endless = inspect.isgeneratorfunction(callee) or inspect.iscoroutinefunction(callee)
        return is_plain and not endless and not self._is_changing(callee)

    def inline(self, callee, node):
        """Its body at the call."""
        return self.inlining.call_function(inlined(callee), node)

    def constants_of(self, callee, node):
        """(positional, keywords) of a call whose result is known while compiling, of NumPy's say; None of any other."""
        if not callable(callee) or hasattr(callee, "__metate_kernel__") or self._is_changing(callee):
            return None
        positional, keywords = self.arguments.of(node)
        return (positional, keywords) if is_static((*positional, *keywords.values())) else None

    @staticmethod
    def _is_changing(callee) -> bool:
        owner = getattr(callee, "__self__", None)
        module = getattr(callee, "__module__", None) or getattr(type(owner), "__module__", "") or ""
        return any(module == name or module.startswith(name + ".") for name in _CHANGING)
