"""return, break, continue."""

from __future__ import annotations

import ast

from . import handles
from .evaluator import Evaluator
from .flags import Flags, StaticJump, StaticReturn
from .interface import Interface
from .results import Results
from .values import Values
from .walk import Walk


class Jumps:
    """Leaves functions and loops."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, flags: Flags, interface: Interface, results: Results):
        self.walk, self.evaluator, self.values, self.flags, self.interface = walk, evaluator, values, flags, interface
        self.results = results

    def statement_Return(self, node):
        if self.walk.frame.is_kernel:
            self._return_from_kernel(node)
            return
        self.results.return_from_function(node)

    def _return_from_kernel(self, node):
        if self.walk.depth or not all(loop.is_static for loop in self.walk.frame.loops):
            raise self.walk.error(
                "syntax",
                "return from a kernel inside a loop or a branch",
                node,
                "assign the result to a variable and return it at the end",
            )
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        returned = None if is_none and self.interface.result is None else node.value
        if (returned is None) != (self.interface.result is None):
            if returned is None:
                raise self.walk.error("syntax", "expected a value, as the annotation says, got an empty return", node)
            raise self.walk.error(
                "type",
                "a kernel that returns a value needs a return annotation",
                node,
                f"def {self.walk.frame.source.name}(...) -> ti.f32:",
            )
        binding = self.walk.frame.scope.lookup(returned.id) if isinstance(returned, ast.Name) else None
        is_in_place = isinstance(binding, handles.Local) and binding.reference is self.interface.result
        if returned is not None and not is_in_place:
            self.interface.write_result(self.interface.result, self.values.settled(self.evaluator.expr(returned), returned), node)
        raise StaticReturn  # nothing after it is ever reached

    def statement_Break(self, node):
        self._jump(node, True)

    def statement_Continue(self, node):
        self._jump(node, False)

    def _jump(self, node, is_break):
        word = "break" if is_break else "continue"
        if not self.walk.frame.loops:
            raise self.walk.error("syntax", f"'{word}' outside a loop", node)
        loop = self.walk.frame.loops[-1]
        if loop.is_static:
            if self.walk.depth != loop.depth:
                raise self.walk.error(
                    "syntax",
                    f"'{word}' of an unrolled loop under a condition known only at run time",
                    node,
                    "make the condition static, or do not unroll the loop",
                )
            raise StaticJump(is_break)
        if is_break and loop.is_parallel:
            raise self.walk.error(
                "syntax",
                "break in a parallel loop",
                node,
                "iterations of the outermost loop are unordered: use ti.loop_config(serialize=True) before it, or while",
            )
        self.flags.clear(loop.active, node)
        if is_break:
            self.flags.clear(loop.going, node)
