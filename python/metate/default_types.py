"""Python's int, float and bool as scalar types: a context says which."""

from __future__ import annotations

from typing import Any

from .context import current
from .dtypes import DType, dtype, is_python_scalar, scalar_of

_UNSIGNED = {f"i{bits}": dtype(f"u{bits}") for bits in (8, 16, 32, 64)}


def scalar_type(value: Any) -> DType:
    """As dtype(), and Python's `int`, `float` and `bool` for the current context's default types. Raises TypeError."""
    return dtype(scalar_of(value, current().options) if is_python_scalar(value) else value)


def by_context(type_: Any) -> Any:
    """A type with the current context's default types in place of those that it leaves open; any other as it is."""
    return scalar_of(type_, current().options)


def default_of(kind: str, options: Any) -> DType:
    """The scalar type of ``"float"``, ``"int"`` or ``"uint"``: default_fp, default_ip, and the unsigned one of its width."""
    if kind == "float":
        return options.default_fp
    return options.default_ip if kind == "int" else (_UNSIGNED.get(options.default_ip.name) or options.default_ip)
