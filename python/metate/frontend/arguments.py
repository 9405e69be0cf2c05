"""Arguments of calls: evaluated in order, counted, by position and by name."""

from __future__ import annotations

import ast

from .diagnostics import suggestion
from .evaluator import Evaluator
from .native import describe
from .values import Values
from .walk import Walk


class Arguments:
    """Evaluates the arguments of calls."""

    def __init__(self, walk: Walk, values: Values, evaluator: Evaluator):
        self.walk, self.values, self.evaluator = walk, values, evaluator

    def of(self, node, count=None, names=None, places=()):
        """(positional, keywords) of a call, as what they stand for.

        With `count` exactly that many positional arguments are expected, with `names` only those keywords;
        with `count` alone none.
        A place is read before the next argument, which may write to it, unless its position or keyword is
        one of `places`.
        """
        positional, keywords = [], {}
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                positional.extend(self.values.unpacked(self.evaluator.expr(argument.value), argument))
            else:
                thing = self.evaluator.expr(argument)
                positional.append(thing if len(positional) in places else self.values.settled(thing, argument))
        for keyword in node.keywords:
            thing = self.evaluator.expr(keyword.value)
            if keyword.arg is None:
                if not isinstance(thing, dict):
                    raise self.walk.error("type", f"expected a dict after **, got {describe(thing)}", keyword.value)
                keywords.update(thing)
                continue
            keywords[keyword.arg] = thing if keyword.arg in places else self.values.settled(thing, keyword.value)
        if count is not None and len(positional) != count:
            plural = "s" * (count != 1)
            raise self.walk.error(
                "form", f"{ast.unparse(node.func)}: expected {count} argument{plural}, got {len(positional)}", node
            )
        if count is not None or names is not None:
            for keyword in node.keywords:
                if keyword.arg not in (names or ()):
                    text = f"{ast.unparse(node.func)} has no parameter '{keyword.arg}'"
                    raise self.walk.error("form", text, keyword.value, suggestion(keyword.arg, names or ()))
        return positional, keywords

    def named(self, node, name, names):
        """Exactly these arguments, by position or by name."""
        positional, keywords = self.of(node, names=names)
        given = [*positional, *[keywords[n] for n in names[len(positional) :] if n in keywords]]
        if len(given) != len(names) or len(positional) + len(keywords) != len(names):
            raise self.walk.error(
                "form", f"{name}: expected {', '.join(names)}, got {len(positional) + len(keywords)} arguments", node
            )
        return given, keywords

    @staticmethod
    def spots(node, things):
        """The nodes of a call's positional arguments, for places; the call itself for each where one is starred."""
        return node.args if len(node.args) == len(things) else [node] * len(things)
