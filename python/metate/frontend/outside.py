"""Objects from outside the kernel, and containers that it makes: what stands for a field, what may be changed.

What a field is comes from capture.py.
"""

from __future__ import annotations

import ast
import itertools
from types import GeneratorType

from . import handles, keys
from .walk import Walk

_MAX_ELEMENTS = 1 << 16  # of an iterator from outside; some have no end
_ITERATORS = (GeneratorType, map, filter, zip, enumerate, reversed)


class Outside:
    """Knows fields from other objects, and the kernel's own containers from those of the program around it."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self._made = {}  # id -> list, dict or set that the kernel made

    def handle_of(self, thing, node):
        """What an object from outside the kernel stands for in it: fields and levels become handles."""
        kind = keys.kind_of(thing)
        if kind is None:
            if isinstance(thing, _ITERATORS) and isinstance(node, (ast.Name, ast.Attribute)):
                return self._elements_of(thing, node)
            if isinstance(thing, (list, dict, set)) and _makes_container(node):
                self._made[id(thing)] = thing
            return thing
        name = _name_of(node)
        if kind == "struct":
            return handles.StructFieldHandle(thing, getattr(thing, "name", None) or name or "field")
        return self.walk.compute(
            node, self.walk.captures.level if kind == "level" else self.walk.captures.field, thing, name, node
        )

    def _elements_of(self, iterator, node):
        """A generator, a map and their like as a tuple: its elements can be had once, and a kernel is compiled several times."""
        kept = self.walk.frame.source.iterators
        if id(iterator) not in kept:
            elements = self.walk.compute(node, lambda: tuple(itertools.islice(iterator, _MAX_ELEMENTS + 1)))
            if len(elements) > _MAX_ELEMENTS:
                text = (
                    f"'{ast.unparse(node)}': expected at most {_MAX_ELEMENTS} elements, got a {type(iterator).__name__} of more"
                )
                raise self.walk.error("type", text, node, "take as many as are needed: tuple(itertools.islice(...))")
            if not elements:
                text = (
                    f"'{ast.unparse(node)}': expected elements, got a {type(iterator).__name__} that has none, or none any more"
                )
                raise self.walk.error("type", text, node, "make a tuple of it where it is made: tuple(...)")
            kept[id(iterator)] = iterator, elements
        return kept[id(iterator)][1]

    def is_made_here(self, thing) -> bool:
        """Is it a list, dict or set that the kernel made, so that it may change?"""
        return self._made.get(id(thing)) is thing


def _name_of(node):
    """The variable that a field is taken from, as the source says it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name_of(node.value)
    return node.arg if isinstance(node, ast.arg) else None


def _makes_container(node):
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.BinOp)
    makers = ("list", "dict", "set", "sorted")
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers
    return is_call or isinstance(node, displays)
