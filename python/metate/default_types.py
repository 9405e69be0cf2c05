"""Python's int, float and bool as scalar types: a context says which."""

from __future__ import annotations

from typing import Any

from .context import current
from .dtypes import DType, dtype, is_python_scalar, u1


def scalar_type(value: Any) -> DType:
    """As dtype(), and Python's `int`, `float` and `bool` for the current context's default types. Raises TypeError."""
    if is_python_scalar(value):
        options = current().options
        return {int: options.default_ip, float: options.default_fp, bool: u1}[value]
    return dtype(value)
