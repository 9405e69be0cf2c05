"""`Plots`: arrows, and pictures of whole grids: contour, vector_field, arrow_field, point_field.

All of it is drawn with the shapes of canvas.py.
"""

from __future__ import annotations

import numpy as np

from ..errors import RuntimeValueError_
from . import arrays
from .arrays import Values
from .canvas import Canvas

# The colour map `plasma`, which is even to the eye, at eleven places.
_STOPS = np.linspace(0, 1, 11)
_PLASMA = np.array(
    [
        *((13, 8, 135), (65, 4, 157), (106, 0, 168), (143, 13, 164), (177, 42, 144), (204, 71, 120)),
        *((225, 100, 98), (242, 132, 75), (252, 166, 54), (252, 206, 37), (240, 249, 33)),
    ],
    np.float32,
)


class Plots(Canvas):
    """A canvas that also draws arrows and grids."""

    def arrow(self, orig: Values, direction: Values, radius: float = 1, color: int = 0xFFFFFF, **tip: float) -> None:
        """An arrow from `orig` to `orig + direction`; see `arrows`."""
        self.arrows(arrays.points("arrow: orig", orig), arrays.points("arrow: direction", direction), radius, color, **tip)

    def arrows(
        self,
        orig: Values,
        direction: Values,
        radius: Values = 1,
        color: Values = 0xFFFFFF,
        *,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """Arrows from orig[k] to orig[k] + direction[k], both of shape (n, 2).

        Args:
            radius, color: as `lines` takes them.
            tip_scale: length of the tip's two lines, as a share of the arrow's.
            angle: between these and the arrow, in degrees.
        """
        start, shaft = arrays.points("arrows: orig", orig), arrays.points("arrows: direction", direction)
        if len(start) != len(shaft):
            raise RuntimeValueError_(f"arrows: expected as many directions as origins, got {len(shaft)} and {len(start)}")
        tip = start + shaft
        self.lines(start, tip, radius, color)
        for turn in np.radians([180 - angle, 180 + angle]):
            rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
            self.lines(tip, tip + shaft @ rotation * tip_scale, radius, color)

    def contour(self, scalar_field: Values, normalize: bool = False) -> None:
        """A grid of numbers (width, height) as colours from blue (0) over red to yellow (1), stretched over the window.

        Args:
            scalar_field: a field or an array of rank 2; values from 0 to 1.
            normalize: map the least value to 0 and the greatest one to 1.
        """
        values = arrays.to_numpy("contour: scalar_field", scalar_field).astype(np.float32)
        if values.ndim != 2:
            raise RuntimeValueError_(f"contour: scalar_field: expected rank 2, got shape {values.shape}")
        if normalize:
            low, high = values.min(), values.max()
            values = (values - low) / (high - low) if high > low else np.zeros_like(values)
        values = _stretched(values, self.res)
        self.set_image(np.stack([np.interp(values, _STOPS, channel) for channel in _PLASMA.T], axis=-1) / 255)

    def vector_field(self, vector_field: Values, arrow_spacing: int = 5, color: int = 0xFFFFFF) -> None:
        """A grid of vectors (width, height, 2) as arrows over the window; the longest one is 1/20 of it.

        Args:
            arrow_spacing: draw every so-manieth vector of each axis.
        """
        values = _grid("vector_field: vector_field", vector_field)
        longest = np.linalg.norm(values, axis=-1).max(initial=0)
        step = max(int(arrow_spacing), 1)
        base = _cells(values.shape[0], values.shape[1], 0.0)[::step, ::step].reshape(-1, 2)
        shown = values[::step, ::step].reshape(-1, 2)
        self.arrows(base, shown * (0.05 / longest if longest > 0 else 0.0), 1, color)

    def arrow_field(
        self, direction: Values, radius: Values = 1, color: Values = 0xFFFFFF, bound: float = 0.5, **tip: float
    ) -> None:
        """A grid of arrows (width, height, 2), one in the middle of each cell; directions in units of the window.

        Args:
            bound: how far the outermost arrows are from the border, in cells.
        """
        values = _grid("arrow_field: direction", direction)
        base = _cells(values.shape[0], values.shape[1], bound)
        self.arrows(base.reshape(-1, 2), values.reshape(-1, 2), radius, color, **tip)

    def point_field(self, radius: Values, color: Values = 0xFFFFFF, bound: float = 0.5) -> None:
        """A grid of circles: `radius` (width, height) has their radii in pixels."""
        radii = arrays.to_numpy("point_field: radius", radius)
        if radii.ndim != 2:
            raise RuntimeValueError_(f"point_field: radius: expected rank 2, got shape {radii.shape}")
        self.circles(_cells(radii.shape[0], radii.shape[1], bound).reshape(-1, 2), radii.reshape(-1), color)


def _stretched(values: np.ndarray, res: tuple[int, int]) -> np.ndarray:
    """The values at each pixel, bilinear between those of the grid, whose corners are the window's."""
    for axis in (0, 1):
        at = np.linspace(0, values.shape[axis] - 1, res[axis])
        low = at.astype(np.int64)
        share = np.expand_dims(at - low, 1 - axis)
        upper = values.take(np.minimum(low + 1, values.shape[axis] - 1), axis)
        values = values.take(low, axis) * (1 - share) + upper * share
    return values


def _grid(name: str, value) -> np.ndarray:
    values = arrays.to_numpy(name, value).astype(np.float64)
    if values.ndim != 3 or values.shape[2] != 2:
        raise RuntimeValueError_(f"{name}: expected shape (width, height, 2), got {values.shape}")
    return values


def _cells(width: int, height: int, bound: float) -> np.ndarray:
    """Positions of the cells of a grid, of shape (width, height, 2)."""
    x = np.linspace(bound / width, 1 - bound / width, width)
    y = np.linspace(bound / height, 1 - bound / height, height)
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
