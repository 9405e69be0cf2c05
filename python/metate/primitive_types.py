"""`mt.types.primitive_types`: the scalar types by name, and lists of them."""

from __future__ import annotations

from typing import Any

from . import dtypes as _dtypes
from .dtypes import *  # noqa: F403  (its __all__: the types by their names)
from .dtypes import DType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from .quant_types import QuantType, computed
from .vector_types import MatrixType, VectorType

real_types = [f16, f32, f64, float]
integer_types = [i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool]
all_types = [*real_types, *integer_types]


def is_real(dtype: Any) -> bool:
    """Is it a floating-point type, `float` included, or a quantised one that is computed with as one?"""
    dtype = computed(dtype)
    return dtype is float or (isinstance(dtype, DType) and dtype.is_float)


def is_integral(dtype: Any) -> bool:
    """Is it an integer type, `int`, `bool` and u1 included, or a quantised one of integers?"""
    dtype = computed(dtype)
    return dtype in (int, bool) or (isinstance(dtype, DType) and not dtype.is_float)


def is_signed(dtype: Any) -> bool:
    """Is it a type of integers that may be negative, `int` included? Raises TypeError for a type that is no integer type."""
    if not is_integral(dtype):
        raise TypeError(f"is_signed: expected an integer type, got {dtype!r}")
    if isinstance(dtype, QuantType):
        return dtype.signed
    return dtype is int or (isinstance(dtype, DType) and dtype.kind == "int")


def is_tensor(type_: Any) -> bool:
    """Is it a vector or matrix type?"""
    return isinstance(type_, (VectorType, MatrixType))


__all__ = ["all_types", "integer_types", "is_integral", "is_real", "is_signed", "is_tensor", "real_types"]
__all__ += _dtypes.__all__
