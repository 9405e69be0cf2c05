"""Functions inside kernels: lambdas and defs, and what they see."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from typing import Any

from . import handles
from .evaluator import Evaluator
from .function import is_template
from .values import Values
from .walk import Walk


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


class Closures:
    """Makes closures."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values):
        self.walk, self.evaluator, self.values = walk, evaluator, values

    def expr_Lambda(self, node):
        return self._closure(node, node.args)

    def statement_FunctionDef(self, node):
        """A function inside the kernel: inlined where it is called, with what is visible here."""
        for decorator in node.decorator_list:
            if getattr(self.evaluator.expr(decorator), "__name__", None) not in ("func", "pyfunc"):
                raise self.walk.error("syntax", "a def inside a kernel: expected no decorator but @func", decorator)
        closure = self._closure(node, node.args, node.returns)
        self.walk.frame.scope.names[node.name] = handles.Constant(closure)

    def _closure(self, node, args, returns=None):
        names = {}
        for name, binding in self.walk.frame.scope.visible().items():
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
            raise self.walk.error("syntax", "functions in kernels have no ** parameters", node)
        return_annotation = inspect.Signature.empty if returns is None else self.evaluator.expr(returns)
        signature = self.walk.compute(node, lambda: inspect.Signature(found, return_annotation=return_annotation))
        return Closure(node, self.walk.frame.source, signature, names)

    def _annotation_of(self, node):
        if node is None:
            return inspect.Parameter.empty
        if isinstance(node, ast.Call) and is_template(callee := self.evaluator.expr(node.func)):
            return callee
        return self.evaluator.expr(node)

    def _default(self, node):
        return self.values.settled(self.evaluator.expr(node), node)
