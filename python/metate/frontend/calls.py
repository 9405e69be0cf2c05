"""Calls: whose call it is. Functions, methods, types, Python's own: each is another part's."""

from __future__ import annotations

import types as python_types

from .. import intrinsics
from .. import value_types as _types
from ..linalg.composite import Composite
from ..struct_types import Struct
from . import handles
from .arguments import Arguments
from .closures import Closure
from .construction import Construction
from .evaluator import Evaluator
from .function import Function, RealFunction, Template
from .inlining import Inlining
from .intrinsic_calls import IntrinsicCalls
from .method_calls import MethodCalls
from .python_calls import PythonCalls
from .real_calls import RealCalls
from .struct_ops import StructOperations
from .walk import Walk


class Calls:
    """Evaluates calls."""

    def __init__(
        self,
        walk: Walk,
        evaluator: Evaluator,
        arguments: Arguments,
        structs: StructOperations,
        inlining: Inlining,
        construction: Construction,
        intrinsics: IntrinsicCalls,
        methods: MethodCalls,
        python_calls: PythonCalls,
        real_calls: RealCalls,
    ):
        self.walk, self.evaluator, self.arguments, self.structs = walk, evaluator, arguments, structs
        self.inlining, self.construction = inlining, construction
        self.intrinsics, self.methods, self.python_calls = intrinsics, methods, python_calls
        self.real_calls = real_calls

    def _call_function(self, function, node, receivers=()):
        calls = self.real_calls if isinstance(function, RealFunction) else self.inlining
        return calls.call_function(function, node, receivers)

    def _call_composite(self, composite, node):
        """Inlined, but in a kernel that is to be differentiated a function with a derivative of its own."""
        body, rule, arguments = self.inlining.body_of(composite, node)
        kind = self.walk.captures.derivative
        if rule is None or kind is None:
            return self.inlining.call_source(body.source, node, given=arguments)
        return self.real_calls.call_with_rule(body, rule, kind, arguments, node)

    def expr_Call(self, node):
        callee = self.evaluator.expr(node.func)
        if isinstance(callee, Composite):
            return self._call_composite(callee, node)
        if isinstance(callee, handles.BoundMethod):
            return self.methods.call_method(callee, node)
        if isinstance(callee, handles.ElementShape):
            self.arguments.of(node, 0)
            return list(callee)
        if isinstance(callee, intrinsics.Intrinsic):
            return self.intrinsics.call_intrinsic(callee.name, node)
        if isinstance(callee, Function):
            return self._call_function(callee, node)
        if isinstance(callee, python_types.MethodType) and isinstance(callee.__func__, Function):
            return self._call_function(callee.__func__, node, (callee.__self__,))
        if callee is super:
            return self.python_calls.call_super(node)
        if isinstance(callee, _types.DType):
            return self.construction.call_cast(callee, node)
        if isinstance(callee, Closure):
            return self.inlining.call_closure(callee, node)
        if isinstance(callee, (_types.VectorType, _types.MatrixType)):
            return self.construction.call_type(callee, node)
        if isinstance(callee, _types.StructType):
            return self.structs.call_struct(callee, node)
        if callee is Struct:
            return self.structs.call_Struct(node)
        if isinstance(callee, Template):
            raise self.walk.error("syntax", "template() stands in annotations only", node)
        return self.python_calls.call_python(callee, node)
