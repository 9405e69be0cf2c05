"""`Canvas`: a picture that shapes are drawn on, in coordinates from 0 to 1, y up.

It holds one 32-bit surface of pygame-ce and knows no window: the same pixels are shown or saved.
Drawing is the library's, except for many small circles, which are set with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import RuntimeValueError_
from . import arrays, libraries
from .arrays import Values

_SPLAT_RADIUS = 3.0  # up to this radius many circles are set as whole pixels, all at once
_MANY = 256
_MOST_DISCS = 4096  # soft-edged circles that are kept to be drawn again
_LARGEST_DISC = 400  # quarters of a pixel: larger circles are drawn in place, with hard edges


class Canvas:
    """Shapes over a background.

    Args:
        res: width and height in pixels, or one number for both.
        background_color: 0xRRGGBB.
    Raises RuntimeValueError_, RuntimeImportError_ (no pygame-ce).
    """

    def __init__(self, res: int | tuple[int, int] = 512, background_color: int = 0x000000):
        self.res: tuple[int, int] = _resolution(res)
        self.background_color: int = arrays.color("background_color", background_color)
        self._pygame = libraries.pygame(type(self).__name__)
        self._surface = self._pygame.Surface(self.res, 0, 32, (0xFF0000, 0xFF00, 0xFF, 0))
        self._fonts: dict[int, Any] = {}
        self._discs: dict[tuple[int, ...], Any] = {}
        self.clear()

    def clear(self, color: int | None = None) -> None:
        """Fills the picture with a colour (0xRRGGBB), by default the background's."""
        self._surface.fill(_rgb(self.background_color if color is None else arrays.color("color", color)))

    def set_image(self, img: Values) -> None:
        """Sets every pixel.

        Args:
            img: a field, ndarray, NumPy or DLPack array of shape `res`, or `res` and 1 to 4 channels; a field of
                vectors has its components as channels. Floats from 0 to 1, unsigned integers over their range, or
                booleans. One channel is grey; of four the last one is not used.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        image = arrays.picture_bytes("set_image: img", img)
        if image.shape[:2] != self.res:
            raise RuntimeValueError_(
                f"set_image: img: expected the window's size {self.res}, got {image.shape[:2]}; mt.tools.imresize fits it"
            )
        self._pixels()[...] = arrays.packed(image)

    def get_image(self) -> np.ndarray:
        """The picture as f32 of shape (width, height, 4): red, green, blue from 0 to 1, and 1."""
        image = np.ones((*self.res, 4), np.float32)
        image[..., :3] = self._bytes()
        image[..., :3] /= 255
        return image

    def circle(self, pos: Values, color: int = 0xFFFFFF, radius: float = 1) -> None:
        """A filled circle at `pos`; the radius is in pixels."""
        self.circles(arrays.points("circle: pos", pos), radius, arrays.color("circle: color", color))

    def circles(
        self,
        pos: Values,
        radius: Values = 1,
        color: Values = 0xFFFFFF,
        palette: Sequence[int] | None = None,
        palette_indices: Values = None,
    ) -> None:
        """Filled circles.

        Args:
            pos: points of shape (n, 2), of a field or an array.
            radius: in pixels, to the outer end of the soft edge, so that 1 is one pixel; one, or one for each.
            color: 0xRRGGBB; one, or one for each.
            palette: a list of colours; then `palette_indices` says which one each circle has.
            palette_indices: a list, array or field of n integers.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        at = self._to_pixels("circles: pos", pos)
        if palette is not None:
            color = _of_palette(palette, palette_indices, len(at))
        colors = arrays.per_point("circles: color", color, len(at), np.uint32)
        radii = arrays.per_point("circles: radius", radius, len(at), np.float64)
        inside = np.isfinite(at).all(1) & (np.abs(at) < arrays.FARTHEST).all(1) & (radii > 0)
        at, colors, radii = at[inside], colors[inside], radii[inside]
        if len(at) >= _MANY and radii.max() <= _SPLAT_RADIUS:
            for one in np.unique(radii):
                self._splat(at[radii == one], one, colors[radii == one])
            return
        # A pixel is where its lower left corner is, and the edge is half a pixel further in: so a radius of 1 is one pixel.
        quarters = np.column_stack([at[:, 0] + 0.5, self.res[1] - at[:, 1] - 0.5, np.maximum(radii - 0.5, 0.25)])
        quarters = np.round(quarters * 4).astype(np.int64)
        for one, c in zip(quarters.tolist(), colors.tolist()):
            if one[2] > _LARGEST_DISC:
                self._pygame.draw.circle(self._surface, _rgb(c), (one[0] // 4, one[1] // 4), min(one[2] // 4, arrays.FARTHEST))
            else:
                self._surface.blit(*self._disc(one[0], one[1], one[2], c))

    def triangle(self, a: Values, b: Values, c: Values, color: int = 0xFFFFFF) -> None:
        """A filled triangle of three points."""
        corners = [arrays.points(f"triangle: {name}", value) for name, value in zip("abc", (a, b, c))]
        self.triangles(corners[0], corners[1], corners[2], color)

    def triangles(self, a: Values, b: Values, c: Values, color: Values = 0xFFFFFF) -> None:
        """Filled triangles of the points a[k], b[k], c[k], each of shape (n, 2); one colour, or one for each."""
        corners = [self._to_pixels(f"triangles: {name}", value) for name, value in zip("abc", (a, b, c))]
        _same_count("triangles", corners)
        colors = arrays.per_point("triangles: color", color, len(corners[0]), np.uint32)
        for corner, one in zip(self._drawable(np.stack(corners, axis=1)), colors.tolist()):
            if corner is not None:
                self._pygame.draw.polygon(self._surface, _rgb(one), corner)

    def line(self, begin: Values, end: Values, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """A line between two points; as with circles, a radius of 1 is one pixel, of 2 three pixels across."""
        self.lines(arrays.points("line: begin", begin), arrays.points("line: end", end), radius, color)

    def lines(self, begin: Values, end: Values, radius: Values = 1, color: Values = 0xFFFFFF) -> None:
        """Lines from begin[k] to end[k], both of shape (n, 2); radius (as of `line`) and colour: one or n."""
        ends = [self._to_pixels("lines: begin", begin), self._to_pixels("lines: end", end)]
        _same_count("lines", ends)
        count = len(ends[0])
        colors = arrays.per_point("lines: color", color, count, np.uint32).tolist()
        widths = np.maximum(arrays.per_point("lines: radius", radius, count, np.float64) * 2 - 1, 1).round().astype(int).tolist()
        for pair, width, one in zip(self._drawable(np.stack(ends, axis=1)), widths, colors):
            if pair is not None:
                self._pygame.draw.aaline(self._surface, _rgb(one), *pair, width)

    def rect(self, topleft: Values, bottomright: Values, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """The outline of a rectangle given by two opposite corners."""
        (left, top), (right, bottom) = (
            arrays.points("rect: topleft", topleft)[0],
            arrays.points("rect: bottomright", bottomright)[0],
        )
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
        self.lines(corners, np.roll(corners, -1, axis=0), radius, color)

    def text(self, content: object, pos: Values, font_size: float = 15, color: int = 0xFFFFFF) -> None:
        """Text whose top left corner is at `pos`; the size is in pixels; lines are split at newlines."""
        (x, y), size = self._to_pixels("text: pos", pos)[0], max(int(font_size), 1)
        if size not in self._fonts:
            self._fonts[size] = self._pygame.font.Font(None, round(size * 1.25))  # its letters are smaller than its size
        for number, line in enumerate(str(content).split("\n")):
            drawn = self._fonts[size].render(line, True, _rgb(arrays.color("text: color", color)))
            self._surface.blit(drawn, (round(x), round(self.res[1] - y) + number * size))

    def _pixels(self) -> np.ndarray:
        """The surface's pixels in place, 0xRRGGBB at [x, y], y up. Drawing waits while this view lives."""
        return self._pygame.surfarray.pixels2d(self._surface)[:, ::-1]

    def _bytes(self) -> np.ndarray:
        """The picture as u8 of shape (width, height, 3)."""
        return arrays.unpacked(self._pixels())

    def _to_pixels(self, name: str, pos) -> np.ndarray:
        return arrays.points(name, pos) * self.res

    def _drawable(self, shapes: np.ndarray) -> list:
        """Shapes (n, corners, 2) as the library takes them, y down; None for one that has a corner nowhere near."""
        near = np.abs(np.nan_to_num(shapes, nan=np.inf)).max((1, 2), initial=0) < arrays.FARTHEST
        flipped = np.stack([shapes[..., 0], self.res[1] - 1 - shapes[..., 1]], axis=-1)
        return [corners if good else None for corners, good in zip(flipped.tolist(), near.tolist())]

    def _disc(self, x: int, y: int, radius: int, color: int):
        """A circle as a picture with soft edges, and where its corner goes; all lengths in quarters of a pixel."""
        left, top, reach = x // 4, y // 4, (radius + 3) // 4 + 1
        key = (x % 4, y % 4, radius, color)
        disc = self._discs.get(key)
        if disc is None:
            if len(self._discs) >= _MOST_DISCS:
                self._discs.clear()
            center = np.arange(-reach, reach + 1) + 0.5
            away = np.hypot(center[None, :] - x % 4 / 4, center[:, None] - y % 4 / 4)
            rgba = np.empty((*away.shape, 4), np.uint8)
            rgba[..., :3] = _rgb(color)
            rgba[..., 3] = np.clip(max(radius, 1) / 4 + 0.5 - away, 0, 1) * 255 + 0.5
            disc = self._discs[key] = self._pygame.image.frombytes(rgba.tobytes(), away.shape, "RGBA")
        return disc, (left - reach, top - reach)

    def _splat(self, at: np.ndarray, radius: float, colors: np.ndarray) -> None:
        """Circles of one radius as whole pixels: later ones lie above earlier ones."""
        edge = max(radius - 0.5, 0.0)
        reach = int(edge)
        grid = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1).astype(np.int32)
        stencil = grid[:, (grid**2).sum(0) <= edge * edge].T
        x, y = np.floor(at).astype(np.int32).T
        inside = (x >= reach) & (x < self.res[0] - reach) & (y >= reach) & (y < self.res[1] - reach)
        x, y = x[:, None] + stencil[:, 0], y[:, None] + stencil[:, 1]
        drawn = np.broadcast_to(colors[:, None], x.shape)
        if not inside.all():
            seen = (x >= 0) & (x < self.res[0]) & (y >= 0) & (y < self.res[1])
            x, y, drawn = x[seen], y[seen], drawn[seen]
        self._pixels()[x, y] = drawn


def _resolution(res) -> tuple[int, int]:
    pair = (res, res) if hasattr(res, "__index__") else tuple(res) if isinstance(res, (tuple, list)) else ()
    if len(pair) != 2 or not all(hasattr(side, "__index__") and 0 < side.__index__() <= 16384 for side in pair):
        raise RuntimeValueError_(f"res: expected a size in pixels, one number or (width, height), got {res!r}")
    return pair[0].__index__(), pair[1].__index__()


def _rgb(color: int) -> tuple[int, int, int]:
    return color >> 16 & 255, color >> 8 & 255, color & 255


def _of_palette(palette, indices, count: int) -> np.ndarray:
    if indices is None:
        raise RuntimeValueError_("circles: palette_indices: expected which colour of the palette each circle has, got none")
    colors = np.array([arrays.color("circles: palette", one) for one in palette], np.uint32)
    chosen = arrays.per_point("circles: palette_indices", indices, count, np.int64)
    if count and not (len(colors) and 0 <= chosen.min() and chosen.max() < len(colors)):
        wrong = chosen[(chosen < 0) | (chosen >= len(colors))][0]
        raise RuntimeValueError_(f"circles: palette_indices: expected 0 to {len(colors) - 1}, got {wrong}")
    return colors[chosen]


def _same_count(what: str, groups) -> None:
    counts = [len(group) for group in groups]
    if len(set(counts)) != 1:
        raise RuntimeValueError_(f"{what}: expected equally many points, got {' and '.join(map(str, counts))}")
