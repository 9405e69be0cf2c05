"""Values made by calls of types: casts, vectors and matrices of given components, of zeros, of rows."""

from __future__ import annotations

import numpy as np

from .. import value_types as _types
from .arguments import Arguments
from .evaluator import Evaluator
from .native import native_type
from .static import Reference, Value
from .structs import StructValue
from .values import Values
from .walk import Walk


class Construction:
    """Makes scalars, vectors and matrices."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, arguments: Arguments):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.values, self.arguments = evaluator, values, arguments

    #  -- types ------------------------------------------------------------------------------------

    def call_cast(self, dtype, node):
        """f32(x)"""
        (thing,), _ = self.arguments.of(node, 1)
        return self.values.cast_to(thing, dtype, node)

    def call_type(self, type_, node):
        """vec3(x, y, z), vec3(x), mat2([[a, b], [c, d]])."""
        arguments, _ = self.arguments.of(node, names=())
        values = self._flat_values(arguments, node, type_.dtype)
        wanted = int(np.prod(type_.shape))
        counts = [int(np.prod(v.type.shape)) if v.type.shape else 1 for v in values]
        if len(values) == 1 and (counts[0] == 1 or list(values[0].type.shape) == list(type_.shape)):
            return self.walk.emit(node, self.builder.convert, values[0], native_type(type_), repr(type_))
        if sum(counts) != wanted:
            raise self.walk.error("type", f"{type_!r}: expected 1 or {wanted} scalars, got {sum(counts)}", node)
        if isinstance(type_, _types.MatrixType):
            return self.walk.emit(node, self.builder.matrix, values, type_.n, type_.dtype.code)
        return self.walk.emit(node, self.builder.vector, values, type_.dtype.code)

    def _flat_values(self, things, node, dtype):
        found = []
        for thing in things:
            if isinstance(thing, (tuple, list)):
                found.extend(self._flat_values(thing, node, dtype))
            else:
                found.append(self.values.to_value(thing, node, dtype))
        return found

    def call_converted(self, node):
        """cast(x, f32)"""
        (thing, dtype), _ = self.arguments.of(node, 2)
        return self.values.cast_to(thing, self.values.scalar_type(dtype, node.args[1]), node)

    def call_bit_cast(self, node):
        """bit_cast(x, f32)"""
        (thing, dtype), _ = self.arguments.of(node, 2)
        return self.walk.emit(
            node,
            self.builder.bit_cast,
            self.values.to_value(thing, node.args[0]),
            self.values.scalar_type(dtype, node.args[1]).code,
        )

    #  -- vectors and matrices ---------------------------------------------------------------------

    def call_Vector(self, node):
        """Vector([x, y, z], dt)"""
        elements, dtype = self._elements_and_type("Vector", node)
        code = None if dtype is None else dtype.code
        if isinstance(elements, (Value, Reference)):
            value = self.values.to_value(elements, node)
            return value if code is None else self.walk.emit(node, self.builder.cast, value, code)
        values = [self.values.to_value(element, node, dtype) for element in self.values.unpacked(elements, node.args[0])]
        return self.walk.emit(node, self.builder.vector, values, code)

    def call_Matrix(self, node):
        """Matrix([[a, b], [c, d]], dt)"""
        rows, dtype = self._elements_and_type("Matrix", node)
        code = None if dtype is None else dtype.code
        rows = self.values.unpacked(rows, node.args[0])
        if rows and not isinstance(rows[0], (tuple, list, np.ndarray)) and not self._is_vector(rows[0]):
            return self.walk.emit(node, self.builder.vector, [self.values.to_value(one, node, dtype) for one in rows], code)
        flat = [[self.values.to_value(one, node, dtype) for one in self.values.unpacked(row, node.args[0])] for row in rows]
        if len({len(row) for row in flat}) != 1:
            raise self.walk.error(
                "type", f"matrix: expected rows of equal length, got {', '.join(str(len(row)) for row in flat)}", node
            )
        return self.walk.emit(node, self.builder.matrix, [element for row in flat for element in row], len(flat), code)

    @staticmethod
    def _is_vector(thing):
        return isinstance(thing, (Value, Reference)) and len(thing.type.shape) == 1

    def _elements_and_type(self, name, node):
        """The arguments of Vector(elements, dtype=None): the elements, and the type or None."""
        things, keywords = self.arguments.of(node, names=("dt", "dtype"))
        types = [*things[1:], *keywords.values()]
        if not things or len(types) > 1:
            raise self.walk.error(
                "type", f"{name}: expected elements and perhaps a type, got {len(things) + len(keywords)} arguments", node
            )
        return things[0], self.values.scalar_type(types[0], node) if types else None

    def call_zero(self, node):
        """zero(dtype, n, m)"""
        return self._filled(node, 0)

    def call_one(self, node):
        """one(dtype, n, m)"""
        return self._filled(node, 1)

    def _filled(self, node, number):
        """zero(dtype, n) and zero(dtype, n, m), also zero(dt=dtype, n=n, m=m)."""
        things, keywords = self.arguments.of(node, names=("dt", "n", "m"))
        things = [*things, *(keywords[name] for name in ("dt", "n", "m")[len(things) :] if name in keywords)]
        if len(things) not in (2, 3):
            raise self.walk.error("type", f"expected a type and 1 or 2 extents, got {len(things)} arguments", node)
        dtype = self.values.scalar_type(things[0], node)
        extents = [self.values.known_integer(extent, node, "extent") for extent in things[1:]]
        parts = [self.values.constants.typed(number, dtype, node)] * int(np.prod(extents))
        if len(extents) == 1:
            return self.walk.emit(node, self.builder.vector, parts, dtype.code)
        return self.walk.emit(node, self.builder.matrix, parts, extents[0], dtype.code)

    def call_unit(self, node):
        """unit(n, i, dtype): a vector that is 1 at i and 0 elsewhere."""
        things, keywords = self.arguments.of(node, names=("dt", "dtype"))
        if len(things) not in (2, 3):
            raise self.walk.error("type", f"unit: expected n, i and perhaps a type, got {len(things)} arguments", node)
        n, i = (self.values.known_integer(thing, node, "unit") for thing in things[:2])
        dtype = things[2] if len(things) > 2 else keywords.get("dt", keywords.get("dtype", self.walk.options.default_ip))
        dtype = self.values.scalar_type(dtype, node)
        return self.walk.emit(
            node, self.builder.vector, [self.values.constants.typed(k == i, dtype, node) for k in range(n)], dtype.code
        )

    def call_identity(self, node):
        """identity(dtype, n)"""
        (dtype, n), _ = self.arguments.of(node, 2)
        dtype, n = self.values.scalar_type(dtype, node.args[0]), self.evaluator.integer(node.args[1], "identity")
        parts = [self.values.constants.typed(i == j, dtype, node) for i in range(n) for j in range(n)]
        return self.walk.emit(node, self.builder.matrix, parts, n, dtype.code)

    def call_rows(self, node):
        """rows([v, w, ...])"""
        (vectors,), _ = self.arguments.of(node, 1)
        return self._stacked(vectors, "rows", node)

    def call_cols(self, node):
        """cols([v, w, ...])"""
        (vectors,), _ = self.arguments.of(node, 1)
        return self.walk.emit(node, self.builder.linear, "transpose", self._stacked(vectors, "cols", node))

    def _stacked(self, vectors, name, node):
        rows = [self.values.shaped_value(row, (1,), node) for row in self.values.unpacked(vectors, node)]
        shapes = {tuple(row.type.shape) for row in rows}
        if len(shapes) != 1 or len(*shapes) != 1:
            got = ", ".join(row.type.name for row in rows) or "none"
            raise self.walk.error("type", f"{name}: expected vectors of one length, got {got}", node)
        return self.walk.emit(node, self.builder.matrix, rows, len(rows), None)

    def call_diag(self, node):
        """diag(n, x)"""
        (n, number), _ = self.arguments.named(node, "diag", ("dim", "val"))
        n, value = self.values.known_integer(n, node, "diag"), self.values.to_value(number, node)
        zero = self.values.constants.typed(0, _types.dtype(value.type.code), node)
        return self.walk.emit(node, self.builder.matrix, [value if i == j else zero for i in range(n) for j in range(n)], n, None)

    #  -- alike ------------------------------------------------------------------------------------

    def call_zero_like(self, node):
        """zero(x): zeros of the shape and type of x"""
        return self._like(node, 0)

    def call_one_like(self, node):
        """one(x): ones of the shape and type of x"""
        return self._like(node, 1)

    def _like(self, node, number):
        (thing,), _ = self.arguments.of(node, 1)
        if isinstance(thing, StructValue):
            return thing.map(lambda part: self._constant_like(part, number, node))
        return self._constant_like(self.values.to_value(thing, node.args[0]), number, node)

    def _constant_like(self, value, number, node):
        constant = self.values.constants.typed(number, _types.dtype(value.type.code), node)
        return self.walk.emit(node, self.builder.convert, constant, value.type, "constant")
