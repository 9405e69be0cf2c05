"""What unrolled loops and comprehensions run over: items known while compiling, bound to names."""

from __future__ import annotations

import ast

import numpy as np

from . import handles
from .evaluator import Evaluator
from .native import describe
from .outside import Outside
from .static import Reference, Value
from .values import Values
from .walk import Walk


class Unrolling:
    """Gives the items of iterables, and binds them."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, outside: Outside):
        self.walk, self.evaluator, self.values, self.outside = walk, evaluator, values, outside

    def static_items(self, node):
        """The items of an iterable known while compiling (its elements may be values)."""
        self.walk.static_depth += 1
        try:
            thing = self.evaluator.expr(node)
        finally:
            self.walk.static_depth -= 1
        if isinstance(thing, (Value, Reference, handles.ShapeHandle)):
            return self.values.unpacked(thing, node)
        if isinstance(thing, (handles.TreeHandle, handles.MemberHandle, *handles.ARRAYS, handles.CellHandle)):
            raise self.walk.error("type", f"expected something known while compiling to unroll over, got {describe(thing)}", node)
        self.walk.captures.whole(thing)
        return self.walk.compute(node, lambda: list(thing))

    def bind_static_target(self, target, item):
        """Binds an item to a loop's target, part by part."""
        if isinstance(target, ast.Name):
            if isinstance(item, np.integer):
                item = int(item)
            item = self.outside.handle_of(item, target)
            self.walk.frame.scope.names[target.id] = handles.Constant(item)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.walk.error("syntax", "a loop variable must be a name", target)
        parts = self.values.unpacked(item, target)
        if len(parts) != len(target.elts):
            raise self.walk.error("type", f"expected {len(target.elts)} values to unpack, got {len(parts)}", target)
        for part, value in zip(target.elts, parts):
            self.bind_static_target(part, value)
