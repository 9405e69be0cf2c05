"""Lines as draws, for canvases and scenes."""

from __future__ import annotations

import numpy as np

from ...errors import RuntimeValueError_
from ..arrays import Values
from . import data
from .device import BY_INSTANCE, Attribute, Draw


def segments(name: str, vertices: np.ndarray, width: float, indices: Values, color: Values, per_vertex_color: Values) -> Draw:
    """One instance for each line.

    Args:
        name: the call, for errors.
        vertices: (n, 3) of f32.
        width: in pixels.
        indices, color, per_vertex_color: as the caller gave them.
    """
    count = len(vertices)
    if indices is None:
        if count % 2:
            raise RuntimeValueError_(f"{name}: vertices: expected an even number without indices, got {count}")
        order = np.arange(count, dtype=np.uint32)
    else:
        order = data.indices(f"{name}: indices", indices, 2, count)
    return ordered(name, vertices, width, order, color, per_vertex_color)


def ordered(name: str, vertices: np.ndarray, width: float, order: np.ndarray, color: Values, per_vertex_color: Values) -> Draw:
    """The lines that `order`, two indices a line, makes of the vertices."""
    ends = Attribute(vertices[order].reshape(-1, 6), "3f 3f", ("in_begin", "in_end"), BY_INSTANCE)
    if per_vertex_color is None:
        shade = data.color_attribute(name, color, None, 0).values
        pair = np.broadcast_to(np.tile(shade, 2), (len(order) // 2, 8))
    else:
        pair = data.colors(f"{name}: per_vertex_color", per_vertex_color, len(vertices))[order].reshape(-1, 8)
    colors = Attribute(pair, "4f 4f", ("in_begin_color", "in_end_color"), BY_INSTANCE)
    return Draw("lines", (ends, colors), instances=len(order) // 2, uniforms={"width": float(width)})
