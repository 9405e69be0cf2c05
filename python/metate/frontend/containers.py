"""Containers known while compiling: dicts, sets, comprehensions, generator expressions.

Their elements may be values of the kernel; how many there are, and the keys, are known.
"""

from __future__ import annotations

from .expressions import is_static
from .native import describe


class Containers:
    """The part of the walker that makes dicts, sets and comprehensions."""

    def expr_Dict(self, node):
        found = {}
        for key, value in zip(node.keys, node.values):
            if key is None:  # **other
                other = self.expr(value)
                if not isinstance(other, dict):
                    raise self.error("type", f"expected a dict after **, got {describe(other)}", value)
                found.update(other)
            else:
                found[self._key(key)] = self.settled(self.expr(value), value)
        return found

    def _key(self, node, what="key of a dict"):
        key = self.expr(node)
        if not is_static(key):
            key = self.known_integer(key, node, what)
        self.compute(node, hash, key)
        return key

    def expr_Set(self, node):
        return {self._key(element, "element of a set") for element in node.elts}

    def expr_DictComp(self, node):
        found = {}

        def add():
            key = self._key(node.key)
            found[key] = self.settled(self.expr(node.value), node.value)

        self.comprehend(node.generators, add)
        return found

    def expr_SetComp(self, node):
        found = set()
        self.comprehend(node.generators, lambda: found.add(self._key(node.elt, "element of a set")))
        return found

    def expr_GeneratorExp(self, node):
        return self.expr_ListComp(node)
