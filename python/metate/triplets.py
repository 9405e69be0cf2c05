"""Triplets of a sparse matrix while it is built: what a kernel's builder parameter is made of.

A builder goes to a kernel as four arrays: `counts`, and for each triplet its `row`, `column` and `value`. `K[i, j] += v`
appends one (frontend/triplet_bodies.py), so that a kernel's code is for any number of rows, columns and triplets.
linalg/sparse_builder.py owns the memory.
"""

from __future__ import annotations

from typing import Any

from .default_types import scalar_type
from .dtypes import f32, f64, i32, i64
from .struct_types import StructType
from .value_types import NDArrayType

# Numbers in `counts`, a cache line apart: every triplet changes the first, each reads the extents.
APPENDED = 0  # triplets, with those that found no room
ROWS, COLUMNS = 8, 9
OUTSIDE, OUTSIDE_ROW, OUTSIDE_COLUMN = 16, 17, 18  # entries outside of the matrix: how many, and the first of them
COUNTS = 24
VALUE_TYPES = (f32, f64)


class TripletsType(StructType):
    """The type of a builder's arrays, by the type of its values."""

    __slots__ = ()

    def __init__(self, dtype: Any):
        super().__init__({"counts": i64, "row": i32, "column": i32, "value": dtype})

    @property
    def dtype(self) -> Any:
        """Scalar type of the values."""
        return self.members["value"]

    def __eq__(self, other):
        return isinstance(other, TripletsType) and super().__eq__(other)

    def __hash__(self):
        return hash((TripletsType, super().__hash__()))

    def __reduce__(self):
        return TripletsType, (self.dtype,)

    def __repr__(self):
        return f"sparse_matrix_builder({self.dtype!r})"


class SparseMatrixBuilderType(NDArrayType):
    """Annotation of a kernel's parameter that is a sparse matrix builder."""

    def __repr__(self) -> str:
        return f"sparse_matrix_builder({'' if self.dtype is None else self.dtype.dtype})"


def sparse_matrix_builder(dtype: Any = None) -> SparseMatrixBuilderType:
    """The type of parameters that are an `mt.linalg.SparseMatrixBuilder`: in the kernel ``K[i, j] += v`` and ``-= v``.

    Args:
        dtype: of the values, f32 or f64; None: as the argument's. Ahead-of-time kernels need it.
    Raises TypeError.
    """
    return SparseMatrixBuilderType(None if dtype is None else TripletsType(value_type(dtype, "sparse_matrix_builder")), 1)


def value_type(dtype: Any, what: str) -> Any:
    """The scalar type that a sparse matrix's values have. Raises TypeError."""
    found = scalar_type(dtype)
    if found not in VALUE_TYPES:
        raise TypeError(f"{what}: dtype: expected f32 or f64, got {dtype!r}")
    return found
