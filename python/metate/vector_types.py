"""Vector and matrix types as values; calling one makes a MatrixValue. Programs' own are those of types.py, equal to these."""

from __future__ import annotations

from typing import Any

from .dtypes import DType
from .lazy_numpy import np
from .record import Record

_MOST_SCALARS = 65536  # of a vector or matrix: it is a value, which kernels pass and unroll


def extent_of(value, what: str) -> int:
    """`value` as a number of components. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}: expected an integer, got {value!r}")
    number = value.__index__()
    if number < 1:
        raise ValueError(f"{what}: expected at least 1, got {number}")
    if number > _MOST_SCALARS:
        raise ValueError(f"{what}: expected at most {_MOST_SCALARS}, got {number}: use an array")
    return number


class VectorType(Record):
    """A vector of `n` scalars of one type; calling it makes a MatrixValue, a NumPy array of shape (n,)."""

    n: int
    dtype: DType

    def __post_init__(self):
        object.__setattr__(self, "n", extent_of(self.n, "vector length"))

    def __eq__(self, other):
        return isinstance(other, VectorType) and (self.n, self.dtype) == (other.n, other.dtype)

    def __hash__(self):
        return hash((self.n, "vector"))  # not of the scalar type, which a context may choose

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,)"""
        return (self.n,)

    def __call__(self, *values):
        return _fill(self, values)

    def __str__(self) -> str:
        return f"vector<{self.n}x{self.dtype}>"

    def __repr__(self) -> str:
        return f"vector({self.n}, {self.dtype!r})"


class MatrixType(Record):
    """An `n` by `m` matrix (n rows) of scalars; calling it makes a MatrixValue of shape (n, m)."""

    n: int
    m: int
    dtype: DType

    def __post_init__(self):
        object.__setattr__(self, "n", extent_of(self.n, "matrix rows"))
        object.__setattr__(self, "m", extent_of(self.m, "matrix columns"))
        extent_of(self.n * self.m, "matrix elements")

    def __eq__(self, other):
        return isinstance(other, MatrixType) and (self.n, self.m, self.dtype) == (other.n, other.m, other.dtype)

    def __hash__(self):
        return hash((self.n, self.m, "matrix"))

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, m)"""
        return (self.n, self.m)

    def __call__(self, *values):
        return _fill(self, values)

    def __str__(self) -> str:
        return f"vector<{self.n}x{self.m}x{self.dtype}>"

    def __repr__(self) -> str:
        return f"matrix({self.n}, {self.m}, {self.dtype!r})"


def _fill(type_, values):
    """A MatrixValue of a vector or matrix type from numbers and arrays, read in order; one number fills it."""
    from .matrix_value import MatrixValue

    numpy = type_.dtype.numpy or np.dtype(np.float32)
    parts = [np.asarray(v).ravel() for v in values]
    flat = np.concatenate(parts) if parts else np.zeros(1)
    count = int(np.prod(type_.shape))
    if flat.size == 1:
        flat = np.repeat(flat, count)
    if flat.size != count:
        raise ValueError(f"{type_!r}: expected 1 or {count} numbers, got {flat.size}")
    return flat.astype(numpy).reshape(type_.shape).view(MatrixValue)


def array_reader(type_: VectorType | MatrixType) -> Any:
    """`type_(array)` as a function of NumPy arrays that have the type's shape: a copy."""
    from .matrix_value import MatrixValue

    fallback = np.dtype(np.float32)
    return lambda array: array.astype(type_.dtype.numpy or fallback).view(MatrixValue)


def element_of(scalar: DType, shape: Any) -> Any:
    """The type of elements of a shape: the scalar itself, a vector or a matrix."""
    if len(shape) == 0:
        return scalar
    return VectorType(shape[0], scalar) if len(shape) == 1 else MatrixType(*shape, scalar)
