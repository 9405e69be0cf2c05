"""`mt.sparse`: grids whose cells are active one by one, as Taichi makes them in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import types as _types
from .errors import RuntimeTypeError_, RuntimeValueError_
from .fields import StructField, root
from .fields.make import struct_field
from .frontend.function import template
from .intrinsics import grouped
from .kernel import kernel

__all__ = ["grid", "usage"]


def grid(field_dict: dict[str, Any], shape: Any) -> StructField:
    """A field of structs whose cells are active where they have been written.

    Args:
        field_dict: member names to scalar, vector or matrix types.
        shape: extents, one for each dimension; at most eight.
    Returns the field; ``g[i, j].m`` is a cell's member, a loop over `g` visits active cells. Raises as `Struct.field` and
    `root.bitmasked` do.
    """
    extents = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    made = struct_field(dict(field_dict))
    root.bitmasked(_types.axes(*range(len(extents))), extents).place(made)
    return made


def usage(x: StructField) -> float:
    """How much of a grid is active, 0 to 1: cells that a loop over it visits.

    Raises RuntimeTypeError_ for what is no field of structs, RuntimeValueError_ for a grid without cells.
    """
    if not isinstance(x, StructField):
        raise RuntimeTypeError_(f"usage: expected a field of sparse.grid, got {x!r}")
    cells = float(np.prod(x.shape, dtype=float))
    if cells == 0:
        raise RuntimeValueError_("usage: expected a grid of at least one cell")
    return _active_cells(x) / cells


@kernel
def _active_cells(x: template()) -> _types.i64:
    count = _types.i64(0)
    for _ in grouped(x):
        count += 1
    return count
