"""`Gui`: controls over a window's picture, by Dear ImGui: buttons, sliders, text.

Dear ImGui keeps what they are; this file gives it the window's events and hands its triangles on as draws. Must not
call OpenGL.
"""

from __future__ import annotations

import contextlib
import ctypes
import operator
import time
from collections.abc import Iterator

import numpy as np

from ...errors import RuntimeTypeError_, RuntimeValueError_
from .. import libraries
from ..arrays import Values
from . import data
from .device import Attribute, Draw
from .host import Host

_MOST = 2**30  # a slider's range must be less than half of an i32's
_KEYS = {
    "TAB": "KEY_TAB", "LEFT": "KEY_LEFT_ARROW", "RIGHT": "KEY_RIGHT_ARROW", "UP": "KEY_UP_ARROW", "DOWN": "KEY_DOWN_ARROW",
    "HOME": "KEY_HOME", "END": "KEY_END", "DELETE": "KEY_DELETE", "BACKSPACE": "KEY_BACKSPACE", "RETURN": "KEY_ENTER",
    "ESCAPE": "KEY_ESCAPE", "LCTRL": "MOD_CTRL", "RCTRL": "MOD_CTRL", "LSHIFT": "MOD_SHIFT", "RSHIFT": "MOD_SHIFT",
}  # fmt: skip


class Gui:
    """The controls of a window; `window.get_gui()` gives it.

    A frame's controls are asked for again in each frame, between `begin` and `end` (or in `sub_window`), and give what the
    user made of them. Raises RuntimeImportError_ when slimgui is not installed.
    """

    def __init__(self, window: Host):
        self._window = window
        self._library = imgui = libraries.imgui("window.get_gui")
        self._context = imgui.create_context()
        imgui.set_current_context(self._context)
        self._io = imgui.get_io()
        self._io.ini_filename = None
        self._io.backend_flags |= imgui.BackendFlags.RENDERER_HAS_VTX_OFFSET | imgui.BackendFlags.RENDERER_HAS_TEXTURES
        self._keys = {getattr(window._pygame, f"K_{key}"): getattr(imgui.Key, name) for key, name in _KEYS.items()}
        self._images: dict[int, np.ndarray] = {}
        self._kept: list[Draw] = []  # of the controls that are complete
        self._open = False  # whether a frame of Dear ImGui's has begun
        self._begun = 0
        self._last_time = time.perf_counter()

    @contextlib.contextmanager
    def sub_window(self, name: str, x: float, y: float, width: float, height: float) -> Iterator[Gui]:
        """`begin` and `end` around the statements of a `with`."""
        self.begin(name, x, y, width, height)
        try:
            yield self
        finally:
            self.end()

    def begin(self, name: str, x: float, y: float, width: float, height: float) -> None:
        """A box for the controls that follow; the user may move it.

        Args:
            name: its title; boxes are told apart by it.
            x, y: where its upper left corner is at first, from 0 to 1, from the window's upper left corner.
            width, height: at first, in widths and heights of the window.
        """
        imgui = self._frame()
        wide, high = self._window.get_window_shape()
        place = [
            data.number(f"gui.begin: {what}", value) for what, value in zip(("x", "y", "width", "height"), (x, y, width, height))
        ]
        imgui.set_next_window_pos((place[0] * wide, place[1] * high), imgui.Cond.ONCE)
        imgui.set_next_window_size((place[2] * wide, place[3] * high), imgui.Cond.ONCE)
        imgui.begin(_label("gui.begin: name", name))
        self._begun += 1

    def end(self) -> None:
        """Ends the box of the last `begin`."""
        if not self._begun:
            raise RuntimeValueError_("gui.end: expected a gui.begin before it")
        self._frame().end()
        self._begun -= 1

    def text(self, text: str, color: Values = None) -> None:
        """A line of text, in a colour (red, green and blue from 0 to 1) or the usual one."""
        imgui = self._frame()
        if color is None:
            imgui.text(str(text))
        else:
            imgui.text_colored(tuple(map(float, data.color("gui.text: color", color)[0])), str(text))

    def checkbox(self, text: str, old_value: bool) -> bool:
        """A box to be ticked: whether it is."""
        return self._frame().checkbox(_label("gui.checkbox: text", text), bool(old_value))[1]

    def slider_int(self, text: str, old_value: int, minimum: int, maximum: int) -> int:
        """A slider for whole numbers: its value."""
        imgui = self._frame()
        low, high = _integer("gui.slider_int: minimum", minimum), _integer("gui.slider_int: maximum", maximum)
        old = _integer("gui.slider_int: old_value", old_value)
        return imgui.slider_int(_label("gui.slider_int: text", text), old, low, high)[1]

    def slider_float(self, text: str, old_value: float, minimum: float, maximum: float) -> float:
        """A slider: its value, which is an f32."""
        imgui = self._frame()
        low, high = data.number("gui.slider_float: minimum", minimum), data.number("gui.slider_float: maximum", maximum)
        old = data.number("gui.slider_float: old_value", old_value)
        changed, value = imgui.slider_float(_label("gui.slider_float: text", text), old, low, high)
        return value if changed else old

    def color_edit_3(self, text: str, old_value: Values) -> tuple[float, float, float]:
        """A colour to be edited: red, green and blue from 0 to 1."""
        imgui = self._frame()
        red, green, blue = map(float, data.vector3("gui.color_edit_3: old_value", old_value))
        changed, value = imgui.color_edit3(_label("gui.color_edit_3: text", text), (red, green, blue))
        return value if changed else (red, green, blue)

    def button(self, text: str) -> bool:
        """A button: whether it was pressed just now."""
        return self._frame().button(_label("gui.button: text", text))

    def _frame(self):
        """The library, in a frame of this window's."""
        self._window._begin_frame()
        imgui = self._library
        imgui.set_current_context(self._context)
        if not self._open:
            now = time.perf_counter()
            self._io.display_size = tuple(map(float, self._window.get_window_shape()))
            self._io.delta_time = min(max(now - self._last_time, 1e-4), 1.0)
            self._last_time = now
            imgui.new_frame()
            self._open = True
        return imgui

    def _draws(self) -> list[Draw]:
        """The draws of the frame's controls; what is asked for after that is another set of them."""
        if self._begun:
            raise RuntimeValueError_(
                f"gui: expected gui.end() for each gui.begin() before the frame ends, got {self._begun} without"
            )
        if self._open:
            self._library.set_current_context(self._context)
            self._library.render()
            self._open = False
            self._kept = list(self._taken(self._library.get_draw_data()))
        return self._kept

    def _begin_frame(self) -> None:
        self._kept = []

    def _taken(self, drawn) -> Iterator[Draw]:
        for texture in drawn.textures or ():
            self._update(texture)
        high = self._window.get_window_shape()[1]
        vertex_size, index_type = self._library.VERTEX_SIZE, np.dtype(f"u{self._library.INDEX_SIZE}")
        for one in drawn.commands_lists:
            vertices = _memory(one.vtx_buffer_data, one.vtx_buffer_size * vertex_size, np.dtype(np.uint8)).reshape(
                -1, vertex_size
            )
            indices = _memory(one.idx_buffer_data, one.idx_buffer_size * index_type.itemsize, index_type)
            attributes = (Attribute(vertices, "2f 2f 4f1", ("in_position", "in_place", "in_color")),)
            for command in one.commands:
                left, top, right, bottom = (round(side) for side in command.clip_rect)
                if right <= left or bottom <= top or not command.elem_count:
                    continue
                part = indices[command.idx_offset : command.idx_offset + command.elem_count].astype(np.uint32)
                yield Draw(
                    "widgets", attributes, len(part), False, 1, {"image": 0}, part + np.uint32(command.vtx_offset),
                    self._images[command.tex_ref.get_tex_id()], (max(left, 0), max(high - bottom, 0), right - left, bottom - top),
                )  # fmt: skip

    def _update(self, texture) -> None:
        """Does what Dear ImGui asks of one of its textures."""
        status = self._library.TextureStatus
        if texture.status in (status.WANT_CREATE, status.WANT_UPDATES):
            name = texture.get_tex_id() or max(self._images, default=0) + 1
            pixels = np.array(texture.get_pixels(), np.uint8).reshape(texture.height, texture.width, 4)
            self._images[name] = pixels
            texture.set_tex_id(name)
            texture.set_status(status.OK)
        elif texture.status == status.WANT_DESTROY and texture.unused_frames > 0:
            self._images.pop(texture.get_tex_id(), None)
            texture.set_tex_id(0)
            texture.set_status(status.DESTROYED)

    def _event(self, raw) -> None:
        """Passes one of pygame's events on."""
        library, io = self._window._pygame, self._io
        if raw.type in (library.MOUSEMOTION, library.MOUSEBUTTONDOWN, library.MOUSEBUTTONUP):
            io.add_mouse_pos_event(*map(float, raw.pos))
        if raw.type in (library.MOUSEBUTTONDOWN, library.MOUSEBUTTONUP) and raw.button in (1, 2, 3):
            io.add_mouse_button_event((0, 2, 1)[raw.button - 1], raw.type == library.MOUSEBUTTONDOWN)
        elif raw.type == library.MOUSEWHEEL:
            io.add_mouse_wheel_event(float(raw.x), float(raw.y))
        elif raw.type in (library.KEYDOWN, library.KEYUP) and raw.key in self._keys:
            io.add_key_event(self._keys[raw.key], raw.type == library.KEYDOWN)
        elif raw.type == library.TEXTINPUT:
            io.add_input_characters_utf8(raw.text)

    def _release(self) -> None:
        self._library.destroy_context(self._context)


def _label(name: str, value) -> str:
    if not isinstance(value, str) or not value:
        raise RuntimeTypeError_(f"{name}: expected a string that is not empty, got {value!r}")
    return value


def _integer(name: str, value) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        raise RuntimeTypeError_(f"{name}: expected an integer, got {value!r}") from None
    if abs(found) > _MOST:
        raise RuntimeValueError_(f"{name}: expected -2**30 to 2**30, got {value!r}")
    return found


def _memory(address: int, size: int, dtype: np.dtype) -> np.ndarray:
    """A copy of memory that the library keeps until its next frame."""
    if not size:
        return np.zeros(0, dtype)
    return np.frombuffer(ctypes.string_at(address, size), dtype)
