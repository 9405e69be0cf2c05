"""Containers known while compiling: tuples, lists, dicts, sets, comprehensions, generator expressions.

Their elements may be values of the kernel; how many there are, and the keys, are known.
"""

from __future__ import annotations

import ast

from .evaluator import Evaluator
from .native import describe
from .static import is_static
from .unrolling import Unrolling
from .values import Values
from .walk import Walk


class Containers:
    """Makes containers."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, unrolling: Unrolling):
        self.walk, self.evaluator, self.values, self.unrolling = walk, evaluator, values, unrolling

    #  -- displays ---------------------------------------------------------------------------------

    def expr_Tuple(self, node):
        return tuple(self.elements(node))

    def expr_List(self, node):
        return self.elements(node)

    def elements(self, node):
        """The elements of a display, as they are now."""
        found = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                found.extend(self.values.unpacked(self.evaluator.expr(element.value), element))
            else:
                found.append(self.values.settled(self.evaluator.expr(element), element))
        return found

    def expr_Dict(self, node):
        found = {}
        for key, value in zip(node.keys, node.values):
            if key is None:  # **other
                other = self.evaluator.expr(value)
                if not isinstance(other, dict):
                    raise self.walk.error("type", f"expected a dict after **, got {describe(other)}", value)
                found.update(other)
            else:
                found[self._key(key)] = self.values.settled(self.evaluator.expr(value), value)
        return found

    def _key(self, node, what="key of a dict"):
        key = self.evaluator.expr(node)
        if not is_static(key):
            key = self.values.known_integer(key, node, what)
        self.walk.compute(node, hash, key)
        return key

    def expr_Set(self, node):
        return {self._key(element, "element of a set") for element in node.elts}

    #  -- comprehensions ---------------------------------------------------------------------------

    def expr_ListComp(self, node):
        results = []
        self.comprehend(node.generators, lambda: results.append(self.values.settled(self.evaluator.expr(node.elt), node.elt)))
        return results

    def expr_DictComp(self, node):
        found = {}

        def add():
            key = self._key(node.key)
            found[key] = self.values.settled(self.evaluator.expr(node.value), node.value)

        self.comprehend(node.generators, add)
        return found

    def expr_SetComp(self, node):
        found = set()
        self.comprehend(node.generators, lambda: found.add(self._key(node.elt, "element of a set")))
        return found

    def expr_GeneratorExp(self, node):
        return self.expr_ListComp(node)

    def comprehend(self, generators, action):
        """Runs `action` for each combination of items that the conditions let through."""
        if not generators:
            action()
            return
        first, *rest = generators
        for item in self.unrolling.static_items(first.iter):
            self.walk.push_scope("static")
            self.unrolling.bind_static_target(first.target, item)
            if all(self.evaluator.static_truth(condition) for condition in first.ifs):
                self.comprehend(rest, action)
            self.walk.pop_scope()
