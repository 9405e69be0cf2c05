"""From a node of the syntax tree to what it stands for: which rule says it, and the forms in which others ask for it.

Rules belong to the parts of the front end (names.py, operators.py, calls.py, ...); the walker hands them over.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import handles
from .native import describe
from .outside import Outside
from .static import RUNTIME, is_static
from .values import Values
from .walk import Walk


class Evaluator:
    """Evaluates expressions.

    `expr` gives what a node stands for: a Python object known while compiling, a handle, a Reference or a
    Value. `value` makes a Value of it.

    Attributes:
        rules: class of ast -> the function that says what a node of it stands for.
        truths: class of ast -> the function that says it where only its truth counts.
    """

    def __init__(self, walk: Walk, values: Values, outside: Outside):
        self.walk, self.values, self.outside = walk, values, outside
        self.rules: dict[type[ast.AST], Callable[[Any], Any]] = {}
        self.truths: dict[type[ast.AST], Callable[[Any], Any]] = {}

    def expr(self, node):
        """What a node stands for."""
        rule = self.rules.get(type(node))
        if rule is None:
            raise self.walk.error("syntax", f"kernels have no {_spelling(node)}", node)
        return self.outside.handle_of(rule(node), node)

    def value(self, node):
        """A Value of what a node stands for."""
        return self.values.to_value(self.expr(node), node)

    def integer(self, node, what):
        """An int known while compiling."""
        return self.values.known_integer(self.expr(node), node, what)

    def known_text(self, node, what):
        """A str known while compiling, also as an f-string without values of the kernel."""
        given = self.expr(node)
        if isinstance(given, handles.TextParts) and all(isinstance(part, str) for part in given.parts):
            given = "".join(given.parts)
        if not isinstance(given, str):
            raise self.walk.error("type", f"{what}: expected a text known while compiling, got {describe(given)}", node)
        return self.values.text(given, node)

    def condition(self, node, what="condition"):
        """What a node stands for where only its truth counts: True or False if it is known while compiling, else a u1."""
        return self.decided(self.tested(node), node, what)

    def tested(self, node):
        """What a node stands for where only its truth counts, before it is asked."""
        return self.truths.get(type(node), self.expr)(node)

    def decided(self, thing, node, what="condition"):
        """The truth of a thing: True, False or a u1."""
        return self.values.static_bool(thing, node) if is_static(thing) else self.values.truth(thing, node, what)

    def static_truth(self, node):
        """Python's truth of what must be known while compiling."""
        thing = self.expr(node)
        if isinstance(thing, RUNTIME):
            raise self.walk.error("type", "expected a condition known while compiling", node)
        return self.values.static_bool(thing, node)

    def index_values(self, node):
        """The values between the brackets, vectors among them as they are."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        found = []
        for part in parts:
            if isinstance(part, (ast.Slice, ast.Starred)):
                raise self.walk.error("syntax", "kernels have no slices", part, "loop over the elements")
            thing = self.expr(part)
            if isinstance(thing, (tuple, list)):
                found.extend(self.values.to_value(element, part) for element in thing)
            elif thing is not None:  # x[None] is the element of an array without dimensions
                found.append(self.values.to_value(thing, part))
        return found


def _spelling(node):
    names = {
        "Await": "await", "Yield": "yield", "Starred": "starred expressions here", "YieldFrom": "yield from",
    }  # fmt: skip
    return names.get(type(node).__name__, type(node).__name__)
