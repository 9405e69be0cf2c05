"""`Scene`: particles, lines, meshes and lights in three dimensions, until a canvas takes them.

A call keeps a copy of its data. Must not draw by itself.
"""

from __future__ import annotations

import numpy as np

from ...errors import RuntimeValueError_
from ..arrays import Values, to_numpy
from . import data
from . import normals as normals_
from .camera import Camera
from .device import BY_INSTANCE, ONCE, Attribute, Draw
from .lines import ordered
from .shaders import LIGHTS

GREY = (0.5, 0.5, 0.5)


class Scene:
    """Shapes that a camera sees. `window.get_scene()` gives the window's; another one may be made at any time.

    `canvas.scene(scene)` draws it and empties it; the camera and the ambient light stay.
    """

    def __init__(self):
        self._draws: list[Draw] = []
        self._camera: Camera | None = None
        self._ambient = np.zeros(3)
        self._lights: list[tuple[np.ndarray, np.ndarray]] = []

    def set_camera(self, camera: Camera) -> None:
        """What the scene is seen by. Its place when the canvas takes the scene counts."""
        if not isinstance(camera, Camera):
            raise RuntimeValueError_(f"scene.set_camera: camera: expected a ui.Camera, got {type(camera).__name__}")
        self._camera = camera

    def ambient_light(self, color: Values) -> None:
        """The light that comes from everywhere: red, green and blue."""
        self._ambient = data.vector3("scene.ambient_light: color", color)

    def point_light(self, pos: Values, color: Values) -> None:
        """Adds a light at a place, equally bright from near and far, at most 64 of them."""
        if len(self._lights) == LIGHTS:
            raise RuntimeValueError_(f"scene.point_light: expected at most {LIGHTS} lights, got one more")
        self._lights.append((data.vector3("scene.point_light: pos", pos), data.vector3("scene.point_light: color", color)))

    def particles(
        self,
        centers: Values,
        radius: float,
        color: Values = GREY,
        per_vertex_color: Values = None,
        per_vertex_radius: Values = None,
        index_offset: int = 0,
        index_count: int | None = None,
    ) -> None:
        """Spheres.

        Args:
            centers: n vectors of 3 floats.
            radius: in units of the scene; per_vertex_radius: n of them.
            color: of all; per_vertex_color: n vectors of 3 or 4.
            index_offset, index_count: the first particle that is shown, and how many are.
        """
        name = "scene.particles"
        at = data.vectors(f"{name}: centers", centers, (3,))
        part = data.part(name, len(at), index_offset, index_count, "index")
        if per_vertex_radius is None:
            radii = Attribute(np.array([[data.number(f"{name}: radius", radius)]], np.float32), "1f", ("in_radius",), ONCE)
        else:
            each = data.numbers(f"{name}: per_vertex_radius", per_vertex_radius, len(at))
            radii = Attribute(each[part], "1f", ("in_radius",), BY_INSTANCE)
        colors = data.color_attribute(name, color, per_vertex_color, len(at), BY_INSTANCE)
        if colors.step == BY_INSTANCE:
            colors = Attribute(colors.values[part], colors.format, colors.names, BY_INSTANCE)
        attributes = (Attribute(at[part], "3f", ("in_center",), BY_INSTANCE), radii, colors)
        self._draws.append(Draw("particles", attributes, instances=part.stop - part.start, depth=True))

    def lines(
        self,
        vertices: Values,
        width: float,
        indices: Values = None,
        color: Values = GREY,
        per_vertex_color: Values = None,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        index_offset: int = 0,
        index_count: int | None = None,
    ) -> None:
        """Lines between vertices 0 and 1, 2 and 3, ...; light does not change their colour.

        Args:
            vertices: vectors of 3 floats.
            width: in pixels.
            indices: two for each line; none: the vertices in their order.
            color: of all; per_vertex_color: a vector of 3 or 4 for each vertex.
            vertex_offset, vertex_count: without indices the first vertex and how many; with indices the offset is
                added to each.
            index_offset, index_count: the first index and how many.
        """
        name = "scene.lines"
        at = data.vectors(f"{name}: vertices", vertices, (3,))
        order = _order(name, at, indices, 2, vertex_offset, vertex_count, index_offset, index_count)
        wide = data.number(f"{name}: width", width)
        draw = ordered(name, at, wide, order, color, per_vertex_color)
        self._draws.append(Draw(draw.program, draw.attributes, instances=draw.instances, uniforms=draw.uniforms, depth=True))

    def mesh(
        self,
        vertices: Values,
        indices: Values = None,
        normals: Values = None,
        color: Values = GREY,
        per_vertex_color: Values = None,
        two_sided: bool = False,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        index_offset: int = 0,
        index_count: int | None = None,
        show_wireframe: bool = False,
    ) -> None:
        """Triangles of vertices 0, 1 and 2, of 3, 4 and 5, ...

        Args:
            vertices: n vectors of 3 floats.
            indices: three for each triangle; none: the vertices in their order.
            normals: n vectors of 3; none: computed, flat without indices, else smooth.
            color: of all; per_vertex_color: n vectors of 3 or 4.
            two_sided: whether light from behind a triangle lights it as well. Both sides are always seen.
            vertex_offset, vertex_count: without indices the first vertex and how many; with indices the offset is
                added to each.
            index_offset, index_count: the first index and how many.
            show_wireframe: only the triangles' edges.
        """
        self.mesh_instance(
            vertices, indices, normals, color, per_vertex_color, two_sided, None, 0, None, vertex_offset, vertex_count,
            index_offset, index_count, show_wireframe, name="scene.mesh",
        )  # fmt: skip

    def mesh_instance(
        self,
        vertices: Values,
        indices: Values = None,
        normals: Values = None,
        color: Values = GREY,
        per_vertex_color: Values = None,
        two_sided: bool = False,
        transforms: Values = None,
        instance_offset: int = 0,
        instance_count: int | None = None,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        index_offset: int = 0,
        index_count: int | None = None,
        show_wireframe: bool = False,
        *,
        name: str = "scene.mesh_instance",
    ) -> None:
        """A mesh once for each transform; see `mesh`.

        Args:
            transforms: matrices of 4 x 4 floats, `transform @ [x, y, z, 1]`; none: the mesh as it is.
            instance_offset, instance_count: the first transform and how many.
        """
        at = data.vectors(f"{name}: vertices", vertices, (3,))
        used = _order(name, at, indices, 3, vertex_offset, vertex_count, index_offset, index_count)
        if normals is None:
            whole = None if indices is None else data.indices(f"{name}: indices", indices, 3, len(at), vertex_offset)
            up = normals_.of_triangles(at, whole)
        else:
            up = data.vectors(f"{name}: normals", normals, (3,))
            if len(up) != len(at):
                raise RuntimeValueError_(f"{name}: normals: expected one for each of {len(at)} vertices, got {len(up)}")
        placed = _transforms(name, transforms, instance_offset, instance_count)
        attributes = (
            Attribute(at, "3f", ("in_position",)),
            Attribute(up, "3f", ("in_normal",)),
            data.color_attribute(name, color, per_vertex_color, len(at)),
            Attribute(placed, "16f", ("in_transform",), BY_INSTANCE),
        )
        uniforms = {"two_sided": bool(two_sided)}
        self._draws.append(
            Draw("mesh", attributes, len(used), False, len(placed), uniforms, used, depth=True, wireframe=bool(show_wireframe))
        )

    def take(self, aspect: float) -> list[Draw]:
        """What is to be drawn in a picture of that width over height; the scene is empty afterwards."""
        if self._camera is None:
            raise RuntimeValueError_("canvas.scene: scene: expected one with a camera, got none; scene.set_camera(camera) first")
        view = self._camera.get_view_matrix()
        projection = self._camera.get_projection_matrix(aspect)
        places, colors = np.zeros((LIGHTS, 4), np.float32), np.zeros((LIGHTS, 3), np.float32)
        for i, (place, color) in enumerate(self._lights):
            places[i], colors[i] = np.append(place, 1) @ view, color
        common = {
            "view": view,
            "projection": projection,
            "ambient_light": tuple(self._ambient),
            "light_position": places[:, :3],
            "light_color": colors,
            "light_count": len(self._lights),
        }
        draws = [draw.with_uniforms(**common) for draw in self._draws]
        self._draws, self._lights = [], []
        return draws


def _order(
    name: str,
    vertices: np.ndarray,
    indices: Values,
    corners: int,
    vertex_offset: int,
    vertex_count: int | None,
    index_offset: int,
    index_count: int | None,
) -> np.ndarray:
    """The indices of the vertices that are shown, u32."""
    if indices is None:
        part = data.part(name, len(vertices), vertex_offset, vertex_count, "vertex")
        if (part.stop - part.start) % corners:
            raise RuntimeValueError_(f"{name}: expected a multiple of {corners} vertices, got {part.stop - part.start}")
        return np.arange(part.start, part.stop, dtype=np.uint32)
    array = to_numpy(f"{name}: indices", indices).reshape(-1)
    part = data.part(name, len(array), index_offset, index_count, "index")
    return data.indices(f"{name}: indices", array[part], corners, len(vertices), vertex_offset)


def _transforms(name: str, transforms: Values, offset: int, count: int | None) -> np.ndarray:
    """Matrices as rows of 16 f32, column by column as OpenGL reads them."""
    if transforms is None:
        return np.eye(4, dtype=np.float32).reshape(1, 16)
    array = to_numpy(f"{name}: transforms", transforms)
    if array.ndim < 3 or array.shape[-2:] != (4, 4):
        raise RuntimeValueError_(f"{name}: transforms: expected matrices of 4 x 4, shape (n, 4, 4), got {array.shape}")
    array = array.reshape(-1, 4, 4)
    part = data.part(name, len(array), offset, count, "instance")
    return np.ascontiguousarray(array[part].transpose(0, 2, 1), np.float32).reshape(-1, 16)
