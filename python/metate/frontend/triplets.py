"""Sparse matrix builders in kernels: `K[i, j] += v` and `K[i, j] -= v`."""

from __future__ import annotations

from .. import value_types as _types
from . import handles
from .evaluator import Evaluator
from .inlining import Inlining
from .triplet_bodies import append
from .values import Values
from .walk import Walk


class Triplets:
    """Appends to builders."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, inlining: Inlining):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.values, self.inlining = evaluator, values, inlining

    def append(self, entry, op, node):
        """`K[i, j] += v`, where `entry` is the target and `op` is + or -."""
        if op not in ("+", "-"):
            raise self.misused(entry, f"'{op}='", node.target)
        arrays = entry.builder.arrays
        element = arrays["value"].native.element
        value = self.values.stored_value(self.values.settled(self.evaluator.expr(node.value), node.value), element, node.value)
        if value.type.shape:
            text = f"{entry.describe()}: expected a number to add, got {value.type.name}"
            raise self.walk.error("type", text, node.value)
        value = self.walk.emit(node, self.builder.cast, value, element.code)  # before it is negated: unsigned ones wrap
        if op == "-":
            value = self.walk.emit(node, self.builder.unary, "-", value)
        self.inlining.call_source(append.source, node, given=(*arrays.values(), *entry.indices, value))

    def entry(self, builder, indices, node):
        """`K[i, j]`, before anything is done with it."""
        flat = []
        for index in indices:
            flat.extend(self.values.unpacked(index, node) if index.type.shape else [index])
        if len(flat) != 2:
            raise self.walk.error("form", f"{builder.describe()}: expected a row and a column, got {len(flat)}", node)
        for index in flat:
            if _types.dtype(index.type.code).is_float:
                raise self.walk.error("type", f"{builder.describe()}: expected integers, got {index.type.name}", node)
        return handles.EntryHandle(builder, tuple(flat))

    def misused(self, entry, what, node):
        """The exception where something else than += and -= is done with an entry."""
        text = f"{entry.describe()}: expected += or -=, got {what}"
        return self.walk.error("type", text, node, "build() gives a matrix, whose entries can be assigned outside of kernels")
