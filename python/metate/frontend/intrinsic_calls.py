"""Calls of the language's own functions (metate.intrinsics), one method each or one table for many."""

from __future__ import annotations

import ast

import numpy as np

from metate_native import _compiler

from .. import types as _types
from ..intrinsics import Box
from . import handles
from .diagnostics import suggestion
from .expressions import Reference, Value, is_static
from .native import describe
from .random_calls import RandomCalls
from .sparse import CELLS, SparseCalls
from .structs import Components, StructValue
from .texts import Texts

_FUNCTIONS = frozenset(_compiler.KernelBuilder.function_names())
_ATOMICS = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
_LINEAR = ("norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse", "trace")
_LINEAR_PAIRS = ("dot", "cross", "outer_product")
_BINARY = ("atan2", "pow", "raw_div", "raw_mod", "bit_shr")


class IntrinsicCalls(Texts, RandomCalls, SparseCalls):
    """The part of the walker that knows the language's functions by name."""

    def call_intrinsic(self, name, node):
        if name in ("floor", "ceil", "round", "trunc") and node.args and len(node.args) + len(node.keywords) == 2:
            (thing, *rest), keywords = self.arguments(node, names=("dtype",))
            dtype = self.scalar_type(rest[0] if rest else keywords.get("dtype"), node)
            whole = self.emit(node, self.builder.function, name, self.to_value(thing, node.args[0]))
            return self.emit(node, self.builder.cast, whole, dtype.code)
        if name in _FUNCTIONS:
            (thing,), _ = self.arguments(node, 1)
            return self.emit(node, self.builder.function, name, self.to_value(thing, node.args[0]))
        if name in ("min", "max"):
            return self._extremum(name, node)
        if name in _BINARY:
            (a, b), _ = self.arguments(node, 2)
            return self.binary(name, a, b, node) if name != "pow" else self.binary("**", a, b, node)
        if name in _LINEAR:
            (thing,), _ = self.arguments(node, 1)
            return self.emit(node, self.builder.linear, name, self.to_value(thing, node.args[0]))
        if name in _LINEAR_PAIRS:
            (a, b), _ = self.arguments(node, 2)
            return self.emit(node, self.builder.linear_pair, name, self.to_value(a, node.args[0]), self.to_value(b, node.args[1]))
        if name.startswith("atomic_"):
            return self._atomic(name.removeprefix("atomic_"), node)
        if name in CELLS:
            return self.call_sparse(name, node)
        return self.call_converted(node) if name == "cast" else getattr(self, "call_" + name)(node)

    def _extremum(self, name, node):
        arguments, _ = self.arguments(node, names=())
        if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
            arguments = list(arguments[0])
        if not arguments:
            raise self.error("type", f"{name}: expected at least one argument, got none", node)
        if self.static_depth and is_static(arguments):
            return self.compute(node, lambda: (min if name == "min" else max)(arguments))
        result = self.to_value(arguments[0], node)
        if len(arguments) == 1:
            return self.emit(node, self.builder.linear, name, result)
        for argument in arguments[1:]:
            result = self.emit(node, self.builder.binary, name, result, self.to_value(argument, node))
        return result

    def call_select(self, node):
        (condition, yes, no), _ = self.arguments(node, 3)
        if isinstance(yes, StructValue) or isinstance(no, StructValue):
            return self.select_struct(condition, yes, no, node)
        values = [self.to_value(thing, at) for thing, at in zip((condition, yes, no), self.spots(node, (condition, yes, no)))]
        return self.emit(node, self.builder.select, *values)

    def call_converted(self, node):
        (thing, dtype), _ = self.arguments(node, 2)
        return self.cast_to(thing, self.scalar_type(dtype, node.args[1]), node)

    def call_bit_cast(self, node):
        (thing, dtype), _ = self.arguments(node, 2)
        return self.emit(
            node, self.builder.bit_cast, self.to_value(thing, node.args[0]), self.scalar_type(dtype, node.args[1]).code
        )

    #  -- vectors -----------------------------------------------------------------------------------------

    def call_Vector(self, node):
        elements, code = self._elements_and_code("Vector", node)
        if isinstance(elements, (Value, Reference)):
            value = self.to_value(elements, node)
            return value if code is None else self.emit(node, self.builder.cast, value, code)
        values = [self.to_value(element, node) for element in self.unpacked(elements, node.args[0])]
        return self.emit(node, self.builder.vector, values, code)

    def call_Matrix(self, node):
        rows, code = self._elements_and_code("Matrix", node)
        rows = self.unpacked(rows, node.args[0])
        if rows and not isinstance(rows[0], (tuple, list, np.ndarray)) and not self._is_vector(rows[0]):
            return self.emit(node, self.builder.vector, [self.to_value(element, node) for element in rows], code)
        flat = [[self.to_value(element, node) for element in self.unpacked(row, node.args[0])] for row in rows]
        if len({len(row) for row in flat}) != 1:
            raise self.error(
                "type", f"matrix: expected rows of equal length, got {', '.join(str(len(row)) for row in flat)}", node
            )
        return self.emit(node, self.builder.matrix, [element for row in flat for element in row], len(flat), code)

    def call_zero(self, node):
        return self._filled(node, 0)

    def call_one(self, node):
        return self._filled(node, 1)

    def call_unit(self, node):
        """unit(n, i, dtype): a vector that is 1 at i and 0 elsewhere."""
        things, keywords = self.arguments(node, names=("dt", "dtype"))
        if len(things) not in (2, 3):
            raise self.error("type", f"unit: expected n, i and perhaps a type, got {len(things)} arguments", node)
        n, i = (self.known_integer(thing, node, "unit") for thing in things[:2])
        dtype = things[2] if len(things) > 2 else keywords.get("dt", keywords.get("dtype", self.options.default_ip))
        dtype = self.scalar_type(dtype, node)
        return self.emit(node, self.builder.vector, [self.typed_constant(k == i, dtype, node) for k in range(n)], dtype.code)

    def call_identity(self, node):
        (dtype, n), _ = self.arguments(node, 2)
        dtype, n = self.scalar_type(dtype, node.args[0]), self.integer(node.args[1], "identity")
        parts = [self.typed_constant(i == j, dtype, node) for i in range(n) for j in range(n)]
        return self.emit(node, self.builder.matrix, parts, n, dtype.code)

    def call_rows(self, node):
        """rows([v, w, ...])"""
        (vectors,), _ = self.arguments(node, 1)
        return self._stacked(vectors, "rows", node)

    def call_cols(self, node):
        """cols([v, w, ...])"""
        (vectors,), _ = self.arguments(node, 1)
        return self.emit(node, self.builder.linear, "transpose", self._stacked(vectors, "cols", node))

    def _stacked(self, vectors, name, node):
        rows = [self.shaped_value(row, (1,), node) for row in self.unpacked(vectors, node)]
        shapes = {tuple(row.type.shape) for row in rows}
        if len(shapes) != 1 or len(*shapes) != 1:
            got = ", ".join(row.type.name for row in rows) or "none"
            raise self.error("type", f"{name}: expected vectors of one length, got {got}", node)
        return self.emit(node, self.builder.matrix, rows, len(rows), None)

    def call_diag(self, node):
        """diag(n, x)"""
        (n, number), _ = self._named_arguments(node, "diag", ("dim", "val"))
        n, value = self.known_integer(n, node, "diag"), self.to_value(number, node)
        zero = self.typed_constant(0, _types.dtype(value.type.code), node)
        return self.emit(node, self.builder.matrix, [value if i == j else zero for i in range(n) for j in range(n)], n, None)

    def _named_arguments(self, node, name, names):
        """Exactly these arguments, by position or by name."""
        positional, keywords = self.arguments(node, names=names)
        given = [*positional, *[keywords[n] for n in names[len(positional) :] if n in keywords]]
        if len(given) != len(names) or len(positional) + len(keywords) != len(names):
            raise self.error(
                "type", f"{name}: expected {', '.join(names)}, got {len(positional) + len(keywords)} arguments", node
            )
        return given, keywords

    def call_zero_like(self, node):
        return self._like(node, 0)

    def call_one_like(self, node):
        return self._like(node, 1)

    def _like(self, node, number):
        (thing,), _ = self.arguments(node, 1)
        if isinstance(thing, StructValue):
            return thing.map(lambda part: self._constant_like(part, number, node))
        return self._constant_like(self.to_value(thing, node.args[0]), number, node)

    def _constant_like(self, value, number, node):
        constant = self.typed_constant(number, _types.dtype(value.type.code), node)
        return self.emit(node, self.builder.convert, constant, value.type, "constant")

    def _filled(self, node, number):
        """zero(dtype, n) and zero(dtype, n, m)."""
        things, _ = self.arguments(node, names=())
        if len(things) not in (2, 3):
            raise self.error("type", f"expected a type and 1 or 2 extents, got {len(things)} arguments", node)
        dtype = self.scalar_type(things[0], node.args[0])
        extents = [self.known_integer(extent, node, "extent") for extent in things[1:]]
        parts = [self.typed_constant(number, dtype, node)] * int(np.prod(extents))
        if len(extents) == 1:
            return self.emit(node, self.builder.vector, parts, dtype.code)
        return self.emit(node, self.builder.matrix, parts, extents[0], dtype.code)

    @staticmethod
    def _is_vector(thing):
        return isinstance(thing, (Value, Reference)) and len(thing.type.shape) == 1

    def _elements_and_code(self, name, node):
        """The arguments of Vector(elements, dtype=None): the elements, and the type's number or None."""
        things, keywords = self.arguments(node, names=("dt", "dtype"))
        types = [*things[1:], *keywords.values()]
        if not things or len(types) > 1:
            raise self.error(
                "type", f"{name}: expected elements and perhaps a type, got {len(things) + len(keywords)} arguments", node
            )
        return things[0], self.scalar_type(types[0], node).code if types else None

    #  -- memory -------------------------------------------------------------------------------------------

    def _atomic(self, op, node):
        (place, operand), _ = self.arguments(node, 2, places={0})
        if isinstance(place, handles.CellHandle):
            place = self.sole_member(place, node.args[0])
        if not isinstance(place, (Reference, Components)):
            raise self.error(
                "type",
                f"atomic_{op}: expected a place such as x[i], f.a[i, j] or a variable, got {describe(place)}",
                node.args[0],
            )
        return self.atomic(op, place, operand, node.args[1])

    #  -- compile time ----------------------------------------------------------------------------------------

    def call_static(self, node):
        self.static_depth += 1
        try:
            things, _ = self.arguments(node)
        finally:
            self.static_depth -= 1
        for thing, at in zip(things, node.args):
            if isinstance(thing, (Value, Reference, handles.ShapeHandle)):
                raise self.error("type", f"static: expected what is known while compiling, got {describe(thing)}", at)
        return things[0] if len(things) == 1 else tuple(things)

    def call_static_print(self, node):
        self.static_depth += 1
        things, _ = self.arguments(node)
        self.static_depth -= 1
        print(*(thing if is_static(thing) else describe(thing) for thing in things))

    def call_static_assert(self, node):
        if not node.args:
            raise self.error("type", "static_assert: expected a condition, got none", node)
        condition, *message = node.args
        self.static_depth += 1
        holds = self.static_truth(condition)
        text = self.known_text(message[0], "static_assert") if message else ast.unparse(condition)
        self.static_depth -= 1
        if not holds:
            raise self.error("type", f"static assertion failed: {text}", node)

    def call_loop_config(self, node):
        _, keywords = self.arguments(node)
        known = ("serialize", "parallelize", "block_dim", "block_dim_adaptive", "bit_vectorize")
        for keyword in keywords:
            if keyword not in known:
                raise self.error("type", f"loop_config has no parameter '{keyword}'", node, suggestion(keyword, known))
        self.serialize_next = bool(keywords.get("serialize", False))

    def call_block_local(self, node):
        """A hint that has no meaning here; its arguments are looked at all the same."""
        if not self.arguments(node)[0]:
            raise self.error("type", "expected at least one field, got none", node)

    call_cache_read_only = call_block_local

    def call_assume_in_range(self, node):
        (thing, *_), _ = self.arguments(node, 4)
        return thing

    def call_ndrange(self, node):
        things, _ = self.arguments(node)
        if self.static_depth or is_static(things):
            return self.compute(node, Box, *things)
        raise self.error("syntax", "ndrange of values of the kernel stands after 'in' of a for loop only", node)

    def call_grouped(self, node):
        if self.static_depth:
            (thing,), _ = self.arguments(node, 1)
            return self.compute(node, lambda: [np.asarray(item, np.int32) for item in thing])
        raise self.error("syntax", "grouped stands after 'in' of a for loop only", node)
