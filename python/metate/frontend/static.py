"""What is known while compiling, and what only when the kernel runs."""

from __future__ import annotations

from metate_native import _compiler

from . import handles
from .structs import Components, StructValue

Value, Reference = _compiler.Value, _compiler.Reference

RUNTIME = (Value, Reference, handles.CellHandle, StructValue, Components)
HANDLES = (
    handles.TreeHandle, handles.MemberHandle, handles.LevelHandle, handles.CellHandle, handles.ArrayHandle,
    handles.StructArrayHandle, handles.ShapeHandle, handles.TextParts, handles.BoundMethod, handles.FieldHandle,
    handles.StructFieldHandle, handles.ListHandle, handles.BuilderHandle, handles.EntryHandle,
    handles.PackHandle,
)  # fmt: skip


def is_static(value) -> bool:
    """Known while compiling, with everything in it."""
    if isinstance(value, (tuple, list)):
        return all(is_static(v) for v in value)
    if isinstance(value, dict):
        return all(is_static(v) for v in value.values())
    return not isinstance(value, (*RUNTIME, *HANDLES))


def shape_of(thing) -> tuple[int, ...]:
    """Of a vector or matrix of the kernel its extents; () of anything else."""
    return tuple(thing.type.shape) if isinstance(thing, (Value, Reference, Components)) else ()
