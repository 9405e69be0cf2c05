"""Colours as numbers 0xRRGGBB and as three parts from 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np


def rgb_to_hex(color: Any) -> Any:
    """0xRRGGBB of three parts from 0 to 1 (clamped): a number, or an array of them for three arrays."""
    red, green, blue = (np.clip(np.asarray(part) * 255, 0, 255).astype(np.int64) for part in color)
    packed = (red << 16) + (green << 8) + blue
    return packed if packed.ndim else int(packed)


def hex_to_rgb(color: int) -> tuple[float, float, float]:
    """Three parts from 0 to 1 of a number 0xRRGGBB."""
    return tuple((int(color) >> shift & 255) / 255 for shift in (16, 8, 0))
