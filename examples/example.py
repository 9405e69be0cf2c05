"""What the example programs share: `--frames`, `--out`, `--size`, and a window that ends and writes by itself.

A program stays a plain Taichi program: it makes a Window in place of ti.GUI, or a SceneWindow in place of
ti.ui.Window, draws while it runs, and calls show(). Nothing here computes.
"""

import argparse
import pathlib
import sys
from collections.abc import Callable

import metate as ti
from metate.tools import imwrite, write_gif

FILMS = (".gif", ".webp")
FRAME_RATE = 25  # of films


def options(
    description: str, *, size: int, frames: int, size_help: str, more: Callable[[argparse.ArgumentParser], object] | None = None
) -> argparse.Namespace:
    """Reads the command line: `size`, `frames`, `out` and `threads`.

    Args:
        description: the program's docstring.
        size: the default of --size; size_help says what it counts.
        frames: how many frames there are when no window is shown.
        more: adds the program's own arguments.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=size, metavar="N", help=f"{size_help} (default {size})")
    parser.add_argument(
        "--frames", type=int, metavar="N", help=f"how many frames (default {frames}; in a window, until it is closed)"
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        metavar="FILE",
        help="write the frames as FILE.gif or FILE.webp, or the last one as FILE.png or FILE.jpg",
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="how many threads (default: all)")
    if more is not None:
        more(parser)
    parsed = parser.parse_args()
    if parsed.size < 1 or (parsed.frames is not None and parsed.frames < 1):
        parser.error("--size and --frames: expected at least 1")
    if parsed.out is not None and parsed.out.suffix.lower() not in (*FILMS, ".png", ".jpg"):
        parser.error(f"--out: expected a file ending in .gif, .webp, .png or .jpg, got {parsed.out}")
    parsed.default_frames = frames
    return parsed


def write_webp(frames: list, file: pathlib.Path) -> None:
    """Writes pictures as `imwrite` takes them, (width, height, 3) of u8 with y up, as a film that repeats."""
    from PIL import Image

    first, *others = (Image.fromarray(frame.swapaxes(0, 1)[::-1]) for frame in frames)
    first.save(file, save_all=True, append_images=others, duration=1000 // FRAME_RATE, loop=0, quality=90, method=2)


class Frames:
    """How many frames a program shows, and the file that they are written to.

    Args:
        name: the program's.
        chosen: what `options` gave.
        has_window: whether anything is seen.
    """

    def __init__(self, name, chosen, has_window):
        self.out = chosen.out
        shown = has_window and chosen.out is None
        self.number = chosen.frames or (None if shown else chosen.default_frames)
        self._written = []
        if not has_window and chosen.out is None:
            text = "no display here, so nothing is seen; --out FILE.gif or FILE.png writes what would be"
            print(f"{name}: {text}", file=sys.stderr)

    def go_on(self, shown):
        """Whether there is another frame after `shown` ones."""
        return self.number is None or shown < self.number

    def take(self, shown, picture):
        """Keeps, and after the last frame writes, what `picture()` gives: (width, height, channels) from 0 to 1."""
        last = shown + 1 == self.number
        if self.out is None or not (last or self.out.suffix.lower() in FILMS):
            return
        self._written.append((picture()[..., :3] * 255).round().astype("uint8"))
        if not last:
            return
        if self.out.suffix.lower() == ".gif":
            write_gif(self._written, self.out, framerate=FRAME_RATE)
        elif self.out.suffix.lower() == ".webp":
            write_webp(self._written, self.out)
        else:
            imwrite(self._written[-1], self.out)
        width, height = self._written[-1].shape[:2]
        print(f"{self.out}: {self.number} frames of {width} x {height}", file=sys.stderr)


class Window(ti.GUI):
    """A GUI that runs for the frames asked for, and then writes them.

    Args:
        name, res, background_color: as ti.GUI takes them.
        chosen: what `options` gave.
    """

    def __init__(self, name, res, chosen, background_color=0x000000):
        super().__init__(name, res, background_color)
        self._frames = Frames(name, chosen, self._window is not None)

    @property
    def running(self) -> bool:
        return super().running and self._frames.go_on(self.frame)

    @running.setter
    def running(self, value: bool) -> None:
        ti.GUI.running.fset(self, value)

    def show(self, file=None) -> None:
        self._frames.take(self.frame, self.get_image)
        super().show(file)
        if self.get_event(ti.GUI.ESCAPE):
            self.running = False


class SceneWindow(ti.ui.Window):
    """The same of ti.ui.Window, for scenes in three dimensions. Its camera looks at a point, and the right mouse button turns it.

    Args:
        name, res: as ti.ui.Window takes them.
        chosen: what `options` gave.
        position, lookat: the camera's, at first.
    """

    def __init__(self, name, res, chosen, position, lookat):
        super().__init__(name, res)
        self._frames = Frames(name, chosen, self._window is not None)
        self.camera = ti.ui.Camera()
        self.camera.position(*position)
        self.camera.lookat(*lookat)

    @property
    def running(self) -> bool:
        return super().running and self._frames.go_on(self.frame)

    @running.setter
    def running(self, value: bool) -> None:
        ti.ui.Window.running.fset(self, value)

    def show(self) -> None:
        self._frames.take(self.frame, self.get_image_buffer_as_numpy)
        super().show()
        self.camera.track_user_inputs(self, movement_speed=0.03, hold_key=ti.ui.RMB)
        if any(event.key == ti.ui.ESCAPE for event in self.get_events(ti.ui.PRESS)):
            self.running = False
