"""`Window`: a picture drawn by the graphics device, shown in a window where there is a display; its events.

It joins the canvas, the device, the events of mt.GUI and the controls, and counts and paces frames. Must not know
what shapes are.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from ...errors import RuntimeTypeError_, RuntimeValueError_
from .. import frames, image, libraries
from ..arrays import Path, Values
from ..events import Event, Events, EventType
from .canvas import Canvas
from .controls import Gui
from .device import Device
from .scene import Scene

_KEPT_EVENTS = 4096  # of those that a program does not ask for, the last ones


class Window(Events):
    """A window, or without a display (or with ``show_window=False``) a picture in memory.

    `get_canvas`, `get_scene` and `get_gui` give what is drawn into; `show` ends a frame. With METATE_GUI_FRAMES=N in the
    environment `running` is False after N frames, and a program that shows one more frame is ended by SystemExit.

    Args:
        name: the window's title.
        res: width and height in pixels, or one number for both.
        vsync: whether frames come as fast as the display shows them.
        show_window: False never opens a window.
        fps_limit: frames a second that a window shows at most; pictures in memory do not wait.
        pos: where the window's upper left corner is on the screen, in pixels.
    Raises RuntimeValueError_ (also where there is no OpenGL 3.3), RuntimeImportError_ (a library is missing: ``pip install
    'metate[gui]'``).
    """

    CAPSLOCK = "CapsLock"
    Event = Event

    def __init__(
        self,
        name: str,
        res: int | tuple[int, int],
        vsync: bool = False,
        show_window: bool = True,
        fps_limit: int = 1000,
        pos: tuple[int, int] = (100, 100),
    ):
        self._pygame = libraries.pygame("ui.Window")
        self.name = str(name)
        self.res = _size(res)
        self.frame = 0
        self._last_frame = frames.last_frame()
        self._fps_limit = _frames_a_second(fps_limit)
        self._destroyed = False
        place = _place(pos)
        self._device = Device(self.res, "ui.Window")
        self._clock = self._pygame.time.Clock()
        self._window: Any = None
        if show_window and libraries.shows_windows(self._pygame):
            self._window = self._pygame.Window(self.name, self.res, position=place, resizable=True)
        if vsync and self._window is not None:
            self._fps_limit = min(self._fps_limit, max(self._pygame.display.get_desktop_refresh_rates(), default=60) or 60)
        self._canvas = Canvas(self)
        self._scene = Scene()
        self._gui: Gui | None = None
        self._changed = True  # since the picture was drawn
        self._over = False  # whether the frame was shown, and no other one has begun
        self._start_events()
        self._queue: collections.deque[Event] = collections.deque(maxlen=_KEPT_EVENTS)
        self._key_names[self._pygame.K_CAPSLOCK] = self.CAPSLOCK

    def get_canvas(self) -> Canvas:
        """What the window shows."""
        return self._canvas

    def get_scene(self) -> Scene:
        """A scene of the window's own, the same one each time."""
        return self._scene

    def get_gui(self) -> Gui:
        """The window's controls. Raises RuntimeImportError_ when slimgui is not installed."""
        if self._gui is None:
            self._gui = Gui(self)
        return self._gui

    @property
    def GUI(self) -> Gui:
        """As `get_gui`."""
        return self.get_gui()

    @property
    def running(self) -> bool:
        """Whether to go on: not closed, and not after the last frame (METATE_GUI_FRAMES). May be set."""
        self._pump()
        return not self._closed and (self._last_frame is None or self.frame < self._last_frame)

    @running.setter
    def running(self, value: bool) -> None:
        self._closed = not value

    def get_events(self, tag: EventType | None = None) -> list[Event]:
        """Takes the events that have arrived, of keys and mouse buttons.

        Args:
            tag: ui.PRESS or ui.RELEASE; the others stay. None: all.
        """
        wanted = _kind(tag)
        self._pump()
        taken = [one for one in self._queue if wanted in (None, one.type)]
        rest = [one for one in self._queue if wanted not in (None, one.type)]
        self._queue.clear()
        self._queue.extend(rest)
        return taken

    def get_event(self, tag: EventType | None = None) -> bool:
        """Takes the first event that fits into `window.event`; False when there is none. See `get_events`."""
        wanted = _kind(tag)
        self._pump()
        for one in self._queue:
            if wanted in (None, one.type):
                self._queue.remove(one)
                self.event = one
                return True
        return False

    def show(self) -> None:
        """Ends the frame, and shows it in the window. Without one it is drawn when its picture is asked for.

        Raises SystemExit after the last frame (METATE_GUI_FRAMES).
        """
        if self._last_frame is not None and self.frame >= self._last_frame:
            raise SystemExit(0)
        if self._over:
            self._begin_frame()  # one that shows the background
        self._open()
        if self._window is not None:
            self._render()
            self._present()
            self._clock.tick(self._fps_limit)
        elif self._gui is not None:
            self._gui._draws()
        self._over = True
        self.frame += 1
        self._pump()
        if self._window is not None and tuple(self._window.size) != self.res:
            self.res = tuple(self._window.size)
            self._device.resize(self.res)
            self._changed = True

    def _begin_frame(self) -> None:
        """Called by what adds to the picture: a frame that was shown is cleared away."""
        if self._over:
            self._over = False
            self._canvas._draws = []
            if self._gui is not None:
                self._gui._begin_frame()
        self._changed = True

    def get_window_shape(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.res

    def save_image(self, filename: Path) -> None:
        """Writes the picture (.png, .jpg, ...): of this frame, or after `show` of the one that was shown."""
        self._render()
        image.imwrite(self._device.read_color()[..., :3].transpose(1, 0, 2), filename)

    def get_image_buffer_as_numpy(self) -> np.ndarray:
        """The picture as f32 from 0 to 1, (width, height, 4), y up: of this frame, or after `show` of the one that was shown."""
        self._render()
        return np.divide(self._device.read_color().transpose(1, 0, 2), np.float32(255), dtype=np.float32)

    def get_depth_buffer_as_numpy(self) -> np.ndarray:
        """How near each pixel of scenes is, f32 (width, height), y up: 1 at the near plane, 0 at the far one and elsewhere."""
        self._render()
        return np.ascontiguousarray(self._device.read_depth().T)

    def get_depth_buffer(self, depth: Values) -> None:
        """Fills a field, an ndarray or a NumPy array of f32 and shape (width, height); see `get_depth_buffer_as_numpy`."""
        if tuple(depth.shape) != self.res:
            raise RuntimeValueError_(f"get_depth_buffer: depth: expected shape {self.res}, got {tuple(depth.shape)}")
        found = self.get_depth_buffer_as_numpy()
        if isinstance(depth, np.ndarray):
            depth[...] = found
        else:
            depth.from_numpy(found)

    def destroy(self) -> None:
        """Closes the window and gives its memory back; the window cannot be used afterwards."""
        if self._destroyed:
            return
        self._closed = self._destroyed = True
        if self._gui is not None:
            self._gui._release()
        if self._window is not None:
            self._window.destroy()
            self._window = None
        self._device.release()

    def _open(self) -> None:
        if self._destroyed:
            raise RuntimeValueError_("ui.Window: expected a window that is open, got one after destroy()")

    def _render(self) -> None:
        self._open()
        controls = [] if self._gui is None else self._gui._draws()
        if self._changed:
            self._device.render(self._canvas._background, [*self._canvas._draws, *controls])
        self._changed = False

    def _present(self) -> None:
        pixels = np.ascontiguousarray(self._device.read_color()[::-1])
        picture = self._pygame.image.frombuffer(pixels, self.res, "RGBX")
        self._window.get_surface().blit(picture, (0, 0))
        self._window.flip()

    def _translate(self, raw) -> None:
        super()._translate(raw)
        if self._gui is not None:
            self._gui._event(raw)

    def _add(self, kind: EventType, key: str, delta: tuple[float, float] = (0.0, 0.0)) -> None:
        if key not in (self.MOVE, self.WHEEL, self.EXIT):
            super()._add(kind, key, delta)

    def _take_press(self, down: bool) -> bool:
        return False

    def _drag_widgets(self) -> None:
        pass


def _size(res) -> tuple[int, int]:
    size = (res, res) if hasattr(res, "__index__") else res
    try:
        width, height = (one.__index__() for one in size)
    except (TypeError, ValueError, AttributeError):
        raise RuntimeTypeError_(f"ui.Window: res: expected width and height in pixels, got {res!r}") from None
    if width < 1 or height < 1:
        raise RuntimeValueError_(f"ui.Window: res: expected width and height of at least 1, got {res!r}")
    return width, height


def _place(pos) -> tuple[int, int]:
    try:
        x, y = (one.__index__() for one in pos)
    except (TypeError, ValueError, AttributeError):
        raise RuntimeTypeError_(f"ui.Window: pos: expected x and y in pixels, got {pos!r}") from None
    return x, y


def _frames_a_second(value) -> int:
    if not hasattr(value, "__index__") or value < 1:
        raise RuntimeValueError_(f"ui.Window: fps_limit: expected frames a second, at least 1, got {value!r}")
    return value.__index__()


def _kind(tag) -> EventType | None:
    if tag is None or tag in (EventType.PRESS, EventType.RELEASE):
        return None if tag is None else EventType(tag)
    raise RuntimeValueError_(f"window events: tag: expected ui.PRESS, ui.RELEASE or None, got {tag!r}")
