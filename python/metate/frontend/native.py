"""Between the package's types and the compiler's, and how error texts call things."""

from __future__ import annotations

import types as python_types

from metate_native import _compiler

from .. import value_types as _types
from ..intrinsics import Intrinsic


def native_type(type_) -> _compiler.DataType:
    """A scalar, vector or matrix type as the KernelBuilder takes it."""
    if isinstance(type_, (_types.VectorType, _types.MatrixType)):
        return _compiler.DataType(type_.dtype.code, list(type_.shape))
    return _compiler.DataType(type_.code, [])


def python_name(function) -> str:
    return getattr(function, "__name__", None) or repr(function)


def describe(thing) -> str:
    """What an error text calls something: "an i32", "array 'x' of 2 dimensions", "module 'math'"."""
    if hasattr(thing, "describe"):
        return thing.describe()
    if isinstance(thing, (_compiler.Value, _compiler.Reference)):
        return f"a value of type {thing.type.name}"
    if isinstance(thing, python_types.ModuleType):
        return f"module '{thing.__name__}'"
    if isinstance(thing, Intrinsic):
        return f"function '{thing.name}'"
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return repr(thing)
    if isinstance(thing, (tuple, list)):
        return f"a {type(thing).__name__} of {len(thing)}"
    if callable(thing) and hasattr(thing, "__name__"):
        return f"'{thing.__name__}'"
    return f"an object of type '{type(thing).__name__}'"
