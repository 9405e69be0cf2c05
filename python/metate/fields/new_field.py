"""Fields that have no place yet, and fields over members of instances, which have one from the start.

make.py and place.py give the first ones a place; here nothing draws trees, so that tree.py can use it.
"""

from __future__ import annotations

import sys
from typing import Any

from ..quant_types import QuantType, computed
from ..value_types import DType
from .field import Field, MatrixField, ScalarField
from .placement import Placement


def new_field(type_: Any, name: str = "", offset: Any = None, needs: tuple[str, ...] = (), stored: Any = None) -> Field:
    """A field of a scalar, vector or matrix type that has no place yet.

    Args:
        needs: partners that it is not used without.
        stored: the types in which its components are stored, where they are quantised; else None.
    """
    kind = ScalarField if isinstance(type_, DType) else MatrixField
    return kind(type_, name, offset, caller(), needs, stored)


def field_over(tree: Any, member: str) -> Field:
    """A field whose elements are those of a member of a tree's instance, which it keeps alive; see Member.field."""
    info = tree.type.members[member]
    element, stored = computed(info.type), (info.type,) if isinstance(info.type, QuantType) else None
    made = new_field(element, member, stored=stored)
    made._lay_over(tree, Placement(tree.type, (member,), element, info.shape, (0,) * len(info.shape)))
    return made


def caller() -> str | None:
    """FILE:LINE of the code that made the field, for messages."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("metate."):
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
