"""`GUI`: a window to draw into, and without a display a picture to write to files.

It joins the canvas (plots.py), the events and the widgets, and adds frames: showing, counting, pacing.
Must not compute anything about pictures itself.
"""

from __future__ import annotations

from ..errors import RuntimeValueError_
from . import arrays, frames, image, libraries
from .arrays import Path, Values
from .events import Events
from .plots import Plots
from .widgets import Widgets


class GUI(Plots, Events, Widgets):
    """A window with shapes, events and widgets. Coordinates are from 0 to 1, y up; colours 0xRRGGBB.

    Without a display (or with ``show_gui=False``) it draws off-screen, and ``show(file)`` writes pictures. When the
    environment has METATE_GUI_FRAMES=N, the window is closed after N frames, as a user would: `running` is False, Escape
    was pressed (GUI.ESCAPE, GUI.EXIT), and a program that shows one more frame is ended by SystemExit.

    Args:
        name: the window's title.
        res: width and height in pixels, or one number for both.
        background_color: 0xRRGGBB; each frame begins with it.
        show_gui: False never opens a window.
        fullscreen: the window fills the screen; the picture is scaled.
        fast_gui: accepted for Taichi's programs; pictures need no faster way here.
    Raises RuntimeValueError_, RuntimeImportError_ (no pygame-ce: ``pip install metate[gui]``).
    """

    def __init__(
        self,
        name: str = "Metate",
        res: int | tuple[int, int] = 512,
        background_color: int = 0x000000,
        show_gui: bool = True,
        fullscreen: bool = False,
        fast_gui: bool = False,
    ):
        super().__init__(res, background_color)
        self.name = str(name)
        self.fast_gui = bool(fast_gui)
        self.frame = 0
        self._last_frame = frames.last_frame()
        self._fps_limit: int | None = 60
        self._clock = self._pygame.time.Clock()
        self._window = None
        if show_gui and libraries.shows_windows(self._pygame):
            self._window = self._pygame.Window(self.name, self.res, fullscreen_desktop=bool(fullscreen))
        self._start_events()
        self._start_widgets()

    @property
    def running(self) -> bool:
        """Whether to go on: not closed, and not after the last frame (METATE_GUI_FRAMES). May be set."""
        self._pump()
        return not self._closed and (self._last_frame is None or self.frame < self._last_frame)

    @running.setter
    def running(self, value: bool) -> None:
        self._closed = not value

    @property
    def fps_limit(self) -> int | None:
        """Frames a second that a window shows at most, 60 at first; None: as many as come. Off-screen nothing waits."""
        return self._fps_limit

    @fps_limit.setter
    def fps_limit(self, value: int | None) -> None:
        if value is not None and not value > 0:
            raise RuntimeValueError_(f"fps_limit: expected frames a second, or None, got {value!r}")
        self._fps_limit = value

    def show(self, file: Path | None = None) -> None:
        """Ends the frame: shows it, and begins the next one with the background.

        Args:
            file: a path to write the picture to (.png, .jpg, ...), widgets included.
        Raises as `imwrite`; SystemExit after the last frame (METATE_GUI_FRAMES).
        """
        if self._last_frame is not None and self.frame >= self._last_frame:
            raise SystemExit(0)
        shown = self._with_widgets(self._surface)
        if file is not None:
            pixels = self._pygame.surfarray.pixels2d(shown)[:, ::-1]
            image.imwrite(arrays.unpacked(pixels), file)
        if self._window is not None:
            screen = self._window.get_surface()
            if screen.get_size() == self.res:
                screen.blit(shown, (0, 0))
            else:
                self._pygame.transform.scale(shown, screen.get_size(), screen)
            self._window.flip()
            if self._fps_limit:
                self._clock.tick(self._fps_limit)
        self._pump()
        self.frame += 1
        if self.frame == self._last_frame:
            self._add(self.PRESS, self.ESCAPE)
            self._add(self.PRESS, self.EXIT)
        self.clear()

    def close(self) -> None:
        """Closes the window; the picture stays."""
        self._closed = True
        if self._window is not None:
            self._window.destroy()
            self._window = None

    def __enter__(self) -> GUI:
        return self

    def __exit__(self, *_) -> None:
        self.close()


def imshow(img: Values, title: str = "imshow") -> None:
    """Shows a picture in a window until that is closed, or Escape is pressed.

    Without a display it draws off-screen and returns after one frame, or METATE_GUI_FRAMES.

    Args:
        img: as `imwrite` takes it.
        title: the window's.
    """
    picture = arrays.picture_bytes("imshow: img", img)
    with GUI(title, picture.shape[:2]) as gui:
        while gui.running and not gui.get_event(GUI.ESCAPE):
            gui.set_image(picture)
            gui.show()
            if gui._window is None and gui._last_frame is None:
                return
