"""Python's int, float and bool as scalar types: a context says which."""

from __future__ import annotations

from typing import Any

from .context import current
from .dtypes import DType, dtype, is_python_scalar, scalar_of


def scalar_type(value: Any) -> DType:
    """As dtype(), and Python's `int`, `float` and `bool` for the current context's default types. Raises TypeError."""
    return dtype(scalar_of(value, current().options) if is_python_scalar(value) else value)
