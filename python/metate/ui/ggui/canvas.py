"""`Canvas`: what a frame of a window shows, in the order of its calls.

Places are from 0 to 1, y up. A call keeps a copy of its data; the window draws all of them when it is shown or its
picture is asked for. Must not draw by itself.
"""

from __future__ import annotations

import importlib

import numpy as np

from ...errors import RuntimeImportError_, RuntimeValueError_
from ..arrays import Values, to_numpy
from . import data
from .device import BY_INSTANCE, ONCE, Attribute, Draw
from .host import Host
from .lines import segments
from .scene import Scene

GREY = (0.5, 0.5, 0.5)
# Places from 0 to 1 in the picture, as a projection; a third component has no effect.
_FLAT = np.array([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [-1, -1, 0.5, 1]], np.float32)


class Canvas:
    """The picture of a window; `window.get_canvas()` gives it. A frame begins empty after `window.show()`."""

    def __init__(self, window: Host):
        self._window = window
        self._draws: list[Draw] = []
        self._background = (0.0, 0.0, 0.0)

    def set_background_color(self, color: Values) -> None:
        """What every frame begins with: red, green and blue from 0 to 1."""
        self._background = tuple(map(float, data.color("canvas.set_background_color: color", color)[0, :3]))
        self._window._begin_frame()

    def set_image(self, img: Values) -> None:
        """Covers the canvas with a picture.

        Args:
            img: (width, height) or (width, height, 1 to 4), or a field of vectors; y up. Floats from 0 to 1, or
                unsigned integers that use their whole range. Of another size than the window it is scaled.
        """
        pixels = data.picture("canvas.set_image: img", img)
        self._add(Draw("image", image=pixels, uniforms={"image": 0}))

    def contour(self, scalar_field: Values, cmap_name: str = "plasma", normalize: bool = False) -> None:
        """Covers the canvas with a scalar field in the colours of one of Matplotlib's colour maps.

        Args:
            scalar_field: shape (width, height); the map goes from 0 to 1.
            cmap_name: the map's name.
            normalize: whether the map goes from the least to the greatest value instead.
        Raises RuntimeImportError_ when Matplotlib is not installed.
        """
        values = to_numpy("canvas.contour: scalar_field", scalar_field)
        if values.ndim != 2:
            raise RuntimeValueError_(f"canvas.contour: scalar_field: expected two dimensions, got shape {values.shape}")
        try:
            maps = importlib.import_module("matplotlib").colormaps
        except ImportError as error:
            raise RuntimeImportError_(
                f"canvas.contour: expected Matplotlib to be installed, got {error}; pip install matplotlib"
            ) from None
        if cmap_name not in maps:
            raise RuntimeValueError_(
                f"canvas.contour: cmap_name: expected a map of Matplotlib such as 'plasma', got {cmap_name!r}"
            )
        values = values.astype(np.float64)
        if normalize and values.size:
            low, high = values.min(), values.max()
            values = (values - low) / (high - low if high > low else 1.0)
        self.set_image(maps[cmap_name](values)[..., :3].astype(np.float32))

    def circles(
        self,
        centers: Values,
        radius: float,
        color: Values = GREY,
        per_vertex_color: Values = None,
        per_vertex_radius: Values = None,
    ) -> None:
        """Circles.

        Args:
            centers: n vectors of 2 floats (a third one has no effect).
            radius: in heights of the window; per_vertex_radius: n of them.
            color: of all; per_vertex_color: n vectors of 3 or 4.
        """
        name = "canvas.circles"
        at = data.vectors(f"{name}: centers", centers, (2, 3))
        count = len(at)
        if per_vertex_radius is None:
            radii = Attribute(np.array([[data.number(f"{name}: radius", radius)]], np.float32), "1f", ("in_radius",), ONCE)
        else:
            each = data.numbers(f"{name}: per_vertex_radius", per_vertex_radius, count)
            radii = Attribute(each, "1f", ("in_radius",), BY_INSTANCE)
        self._add(
            Draw(
                "circles",
                (
                    Attribute(at[:, :2], "2f", ("in_center",), BY_INSTANCE),
                    radii,
                    data.color_attribute(name, color, per_vertex_color, count, BY_INSTANCE),
                ),
                instances=count,
            )
        )

    def lines(
        self, vertices: Values, width: float, indices: Values = None, color: Values = GREY, per_vertex_color: Values = None
    ) -> None:
        """Lines between vertices 0 and 1, 2 and 3, ...

        Args:
            vertices: vectors of 2 floats (a third one has no effect).
            width: in heights of the window.
            indices: two for each line; none: the vertices in their order.
            color: of all; per_vertex_color: a vector of 3 or 4 for each vertex.
        """
        name = "canvas.lines"
        at = data.vectors(f"{name}: vertices", vertices, (2, 3))
        at = np.concatenate([at[:, :2], np.zeros((len(at), 1), np.float32)], axis=1)
        wide = data.number(f"{name}: width", width) * self._window.get_window_shape()[1]
        draw = segments(name, at, wide, indices, color, per_vertex_color)
        self._add(draw.with_uniforms(view=np.eye(4, dtype=np.float32), projection=_FLAT))

    def triangles(self, vertices: Values, color: Values = GREY, indices: Values = None, per_vertex_color: Values = None) -> None:
        """Triangles of vertices 0, 1 and 2, of 3, 4 and 5, ...

        Args:
            vertices: vectors of 2 floats (a third one has no effect).
            indices: three for each triangle; none: the vertices in their order.
            color: of all; per_vertex_color: a vector of 3 or 4 for each vertex.
        """
        name = "canvas.triangles"
        at = data.vectors(f"{name}: vertices", vertices, (2, 3))
        order = None if indices is None else data.indices(f"{name}: indices", indices, 3, len(at))
        if order is None and len(at) % 3:
            raise RuntimeValueError_(f"{name}: vertices: expected a multiple of 3 without indices, got {len(at)}")
        attributes = (
            Attribute(at[:, :2], "2f", ("in_position",)),
            data.color_attribute(name, color, per_vertex_color, len(at)),
        )
        self._add(Draw("triangles", attributes, len(at) if order is None else len(order), strip=False, indices=order))

    def vector_field(
        self,
        vector_field: Values,
        arrow_spacing: int = 5,
        scale: float = 0.1,
        width: float = 0.002,
        color: Values = (0, 0, 0),
    ) -> None:
        """Arrows of a field of vectors, which covers the canvas.

        Args:
            vector_field: shape (width, height) of vectors of 2 floats.
            arrow_spacing: every so many cells there is an arrow, and at the last ones.
            scale: how long the longest arrow is, in widths of the canvas.
            width: of the lines, in heights of the window.
            color: red, green and blue from 0 to 1.
        """
        vectors = to_numpy("canvas.vector_field: vector_field", vector_field)
        if vectors.ndim != 3 or vectors.shape[2] != 2 or not vectors.size:
            raise RuntimeValueError_(
                f"canvas.vector_field: vector_field: expected shape (width, height) of vectors of 2, got {vectors.shape}"
            )
        if arrow_spacing < 1:
            raise RuntimeValueError_(f"canvas.vector_field: arrow_spacing: expected at least 1, got {arrow_spacing!r}")
        at = [np.unique(np.append(np.arange(0, n - 1, arrow_spacing), n - 1)) for n in vectors.shape[:2]]
        chosen = vectors[np.ix_(*at)].reshape(-1, 2).astype(np.float64)
        begin = np.stack(np.meshgrid(*(i / max(n - 1, 1) for i, n in zip(at, vectors.shape)), indexing="ij"), -1).reshape(-1, 2)
        longest = np.linalg.norm(vectors, axis=-1).max()
        way = chosen * (scale / longest if longest > 0 else 0.0)
        tip = begin + way
        lines = [begin, tip]
        for angle in (np.radians(150), np.radians(-150)):
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            lines += [tip, tip + 0.2 * way @ turn]
        self.lines(np.stack(lines, axis=1).reshape(-1, 2), width, color=color)

    def scene(self, scene: Scene) -> None:
        """Draws what a scene has, and empties it: its shapes and point lights are given anew in each frame."""
        if not isinstance(scene, Scene):
            raise RuntimeValueError_(f"canvas.scene: scene: expected a ui.Scene, got {type(scene).__name__}")
        width, height = self._window.get_window_shape()
        self._window._begin_frame()
        for draw in scene.take(width / height):
            self._add(draw)

    def _add(self, draw: Draw) -> None:
        self._window._begin_frame()
        self._draws.append(draw)
