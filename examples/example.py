"""What the example programs share: `--frames`, `--out`, `--size`, and a window that ends and writes by itself.

A program stays a plain Taichi program: it makes a Window in place of ti.GUI, draws while it runs, and calls
show(). Nothing here computes.
"""

import argparse
import pathlib
import sys

import metate as ti
from metate.tools import write_gif


def options(description: str, *, size: int, frames: int, size_help: str) -> argparse.Namespace:
    """Reads the command line: `size`, `frames`, `out` and `threads`.

    Args:
        description: the program's docstring.
        size: the default of --size; size_help says what it counts.
        frames: how many frames there are when no window is shown.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=size, metavar="N", help=f"{size_help} (default {size})")
    parser.add_argument(
        "--frames", type=int, metavar="N", help=f"how many frames (default {frames}; in a window, until it is closed)"
    )
    parser.add_argument(
        "--out", type=pathlib.Path, metavar="FILE", help="write the frames as FILE.gif, or the last one as FILE.png or FILE.jpg"
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="how many threads (default: all)")
    parsed = parser.parse_args()
    if parsed.size < 1 or (parsed.frames is not None and parsed.frames < 1):
        parser.error("--size and --frames: expected at least 1")
    if parsed.out is not None and parsed.out.suffix.lower() not in (".gif", ".png", ".jpg"):
        parser.error(f"--out: expected a file ending in .gif, .png or .jpg, got {parsed.out}")
    parsed.default_frames = frames
    return parsed


class Window(ti.GUI):
    """A GUI that runs for the frames asked for, and then writes them.

    Args:
        name, res, background_color: as ti.GUI takes them.
        chosen: what `options` gave.
    """

    def __init__(self, name, res, chosen, background_color=0x000000):
        super().__init__(name, res, background_color)
        self._chosen = chosen
        shown = self._window is not None and chosen.out is None
        self._frames = chosen.frames or (None if shown else chosen.default_frames)
        self._written = []
        if self._window is None and chosen.out is None:
            text = "no display here, so nothing is seen; --out FILE.gif or FILE.png writes what would be"
            print(f"{name}: {text}", file=sys.stderr)

    @property
    def running(self) -> bool:
        return super().running and (self._frames is None or self.frame < self._frames)

    @running.setter
    def running(self, value: bool) -> None:
        ti.GUI.running.fset(self, value)

    def show(self, file=None) -> None:
        out, last = self._chosen.out, self._frames is not None and self.frame + 1 == self._frames
        if out is not None and out.suffix.lower() == ".gif":
            self._written.append((self.get_image()[..., :3] * 255).round().astype("uint8"))
        elif out is not None and last:
            file = out
        super().show(file)
        if self.get_event(ti.GUI.ESCAPE):
            self.running = False
        if last and self._written:
            write_gif(self._written, out, framerate=25)
        if last and out is not None:
            print(f"{out}: {self._frames} frames of {self.res[0]} x {self.res[1]}", file=sys.stderr)
