"""`Device`: an OpenGL context without a window, the picture that it draws into, and what is to be drawn.

The context is one of EGL on Linux (with Mesa no graphics card is needed) and the system's own elsewhere. Must
not know scenes, cameras or windows: a `Draw` says everything.
"""

from __future__ import annotations

import collections
import contextlib
import sys
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import RuntimeValueError_
from .. import libraries
from . import shaders

BY_VERTEX, BY_INSTANCE, ONCE = "", "/i", "/r"
_KEPT_IMAGES = 4
_LEFT: list[Device] = []  # devices that nobody has any more and nobody released


@dataclass(frozen=True)
class Attribute:
    """An array of vertices' values.

    Attributes:
        values: rows; one for each vertex (BY_VERTEX), for each instance (BY_INSTANCE) or a single one (ONCE).
        format: what a row is, in moderngl's words: "3f", "2f 2f 4f1".
        names: the shader's inputs that it feeds.
        step: BY_VERTEX, BY_INSTANCE or ONCE.
    """

    values: np.ndarray
    format: str
    names: tuple[str, ...]
    step: str = BY_VERTEX


@dataclass(frozen=True)
class Draw:
    """One call that draws.

    Attributes:
        program: a name of shaders.PROGRAMS.
        count: how many vertices, or indices, an instance has.
        strip: whether they are a strip of triangles instead of single ones.
        indices: u32, or None.
        image: (rows, columns, 1 to 4) of u8 or f32, for programs that read one; a place in it is (column, row) from 0 to 1.
        box: (x, y, width, height) in pixels from the lower left corner: what lies outside stays as it is.
        depth: whether nearer pixels stay.
    """

    program: str
    attributes: tuple[Attribute, ...] = ()
    count: int = 4
    strip: bool = True
    instances: int = 1
    uniforms: dict[str, Any] = field(default_factory=dict)
    indices: np.ndarray | None = None
    image: np.ndarray | None = None
    box: tuple[int, int, int, int] | None = None
    depth: bool = False
    wireframe: bool = False

    def with_uniforms(self, **uniforms) -> Draw:
        """The same with more uniforms."""
        return replace(self, uniforms={**self.uniforms, **uniforms})


class Device:
    """A context and a picture of `size` (width, height). Raises RuntimeImportError_, RuntimeValueError_ (no OpenGL 3.3)."""

    def __init__(self, size: tuple[int, int], what: str):
        self._moderngl = libraries.moderngl(what)
        while _LEFT:
            with contextlib.suppress(Exception):  # of another thread: its memory goes with the process
                _LEFT.pop().release()
        options = {"backend": "egl"} if sys.platform.startswith("linux") else {}
        try:
            self._context = self._moderngl.create_context(standalone=True, require=330, **options)
        except Exception as error:  # glcontext raises plain Exception
            hint = "; install libegl1 and libgl1-mesa-dri, or a graphics driver" if options else ""
            raise RuntimeValueError_(f"{what}: expected OpenGL 3.3, got: {error}{hint}") from None
        self._alive = True
        self._programs: dict[str, Any] = {}
        self._images: collections.deque[tuple[np.ndarray, Any]] = collections.deque()  # the last ones, with their textures
        self._picture: Any = None
        self._limit = int(self._context.info["GL_MAX_TEXTURE_SIZE"])
        self.name = str(self._context.info["GL_RENDERER"])
        self.size = (0, 0)
        self.resize(size)

    def resize(self, size: tuple[int, int]) -> None:
        """Makes the picture anew, when its size changed."""
        if size == self.size:
            return
        if max(size) > self._limit:
            raise RuntimeValueError_(f"ui.Window: res: expected at most {self._limit} pixels a side here, got {size}")
        with self._context as context:
            self._release_picture()
            self._picture = context.framebuffer([context.texture(size, 4)], context.depth_texture(size))
        self.size = size

    def render(self, background: tuple[float, ...], draws: list[Draw]) -> None:
        """Draws a whole picture."""
        with self._context as context:
            self._picture.use()
            self._picture.clear(*background, 1.0, depth=0.0)
            context.enable(context.BLEND)
            context.blend_func = context.SRC_ALPHA, context.ONE_MINUS_SRC_ALPHA, context.ONE, context.ONE_MINUS_SRC_ALPHA
            for draw in draws:
                if draw.count and draw.instances:
                    self._draw(context, draw)
            context.wireframe = False
            self._picture.scissor = None

    def read_color(self) -> np.ndarray:
        """The picture, (height, width, 4) of u8, rows from below."""
        width, height = self.size
        with self._context:
            return np.frombuffer(self._picture.read(components=4, alignment=1), np.uint8).reshape(height, width, 4)

    def read_depth(self) -> np.ndarray:
        """Depths, (height, width) of f32, rows from below: 1 at the near plane, 0 at the far one and where nothing is."""
        width, height = self.size
        with self._context:
            data = self._picture.read(attachment=-1, components=1, dtype="f4", alignment=1)
        return np.frombuffer(data, np.float32).reshape(height, width)

    def release(self) -> None:
        """Gives the memory and the context back; once."""
        if self._alive:
            self._alive = False
            with self._context:
                self._release_picture()
            self._context.release()

    def __del__(self):
        # Now another context may be drawing, or this is another thread: the next device releases this one.
        if getattr(self, "_alive", False) and not sys.is_finalizing():
            _LEFT.append(self)

    def _release_picture(self) -> None:
        if self._picture is not None:
            for part in (*self._picture.color_attachments, self._picture.depth_attachment, self._picture):
                part.release()
            self._picture = None

    def _draw(self, context, draw: Draw) -> None:
        program = self._program(context, draw.program)
        made = [context.buffer(np.ascontiguousarray(one.values)) for one in draw.attributes]
        content = [(buffer, one.format + one.step, *one.names) for buffer, one in zip(made, draw.attributes)]
        indices = None
        if draw.indices is not None:
            indices = context.buffer(np.ascontiguousarray(draw.indices, np.uint32))
            made.append(indices)
        if draw.image is not None:
            self._image(context, draw.image).use(0)
        vertices = context.vertex_array(program, content, index_buffer=indices, index_element_size=4)
        made.append(vertices)
        self._set(program, draw.uniforms)
        (context.enable if draw.depth else context.disable)(context.DEPTH_TEST)
        context.depth_func = ">="
        context.wireframe = draw.wireframe
        self._picture.scissor = draw.box
        mode = context.TRIANGLE_STRIP if draw.strip else context.TRIANGLES
        vertices.render(mode, vertices=draw.count, instances=draw.instances)
        for one in reversed(made):
            one.release()

    def _program(self, context, name: str):
        if name not in self._programs:
            vertex, fragment = shaders.PROGRAMS[name]
            self._programs[name] = context.program(vertex_shader=vertex, fragment_shader=fragment)
        return self._programs[name]

    def _image(self, context, pixels: np.ndarray):
        for known, texture in self._images:
            if known is pixels:
                return texture
        height, width = pixels.shape[:2]
        if max(height, width) > self._limit:
            raise RuntimeValueError_(f"set_image: img: expected at most {self._limit} pixels a side here, got {(width, height)}")
        kind, channels = "f1" if pixels.dtype == np.uint8 else "f4", pixels.shape[2]
        texture = context.texture((width, height), channels, np.ascontiguousarray(pixels), alignment=1, dtype=kind)
        texture.swizzle = ("RRR1", "RG01", "RGB1", "RGBA")[channels - 1]
        texture.repeat_x = texture.repeat_y = False
        texture.filter = context.LINEAR, context.LINEAR
        if len(self._images) == _KEPT_IMAGES:
            self._images.popleft()[1].release()
        self._images.append((pixels, texture))
        return texture

    def _set(self, program, uniforms: dict[str, Any]) -> None:
        """Sets the uniforms that the program has; a compiler leaves out those that its shaders do not use."""
        for name, value in {"size": self.size, **uniforms}.items():
            uniform = program.get(name, None)
            if uniform is None:
                continue
            if isinstance(value, np.ndarray):
                uniform.write(np.ascontiguousarray(value, np.float32))
            else:
                uniform.value = value
