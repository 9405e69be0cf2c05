"""`VideoManager`: frames of a program in a folder, and a GIF or MP4 of them at the end.

Frames are PNG files written as they come; the GIF is Pillow's, the MP4 the program ffmpeg's.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

from ..errors import RuntimeIOError_, RuntimeValueError_
from . import arrays, image, libraries
from .arrays import Path, Values


class VideoManager:
    """Collects frames.

    Args:
        output_dir: the folder; made if need be. Frames stand in its subfolder ``frames``.
        width, height: resize frames to this; default: as they come.
        post_processor: an object whose ``process(img)`` each frame goes through.
        framerate: frames a second.
        automatic_build: leaving the `with` makes the video.
        video_filename: name of the video without its ending; default ``video``.
    """

    def __init__(
        self,
        output_dir: Path,
        width: int | None = None,
        height: int | None = None,
        post_processor: Any = None,
        framerate: int = 24,
        automatic_build: bool = True,
        video_filename: str | None = None,
    ):
        if not framerate > 0:
            raise RuntimeValueError_(f"framerate: expected frames a second, got {framerate!r}")
        if (width is None) != (height is None):
            raise RuntimeValueError_(f"width, height: expected both or none, got {width!r} and {height!r}")
        self.directory = pathlib.Path(os.fspath(output_dir))
        self.frame_directory = self.directory / "frames"
        self.frame_directory.mkdir(parents=True, exist_ok=True)
        self.size = None if width is None else (width, height)
        self.post_processor = post_processor
        self.framerate = framerate
        self.automatic_build = automatic_build
        self.video_filename = video_filename or "video"
        self.frame_counter = 0
        self.frame_fns: list[pathlib.Path] = []

    def get_output_filename(self, suffix: str) -> str:
        """The video's path with an ending such as ``.gif``."""
        return str(self.directory / (self.video_filename + suffix))

    def get_frame_directory(self) -> str:
        """The folder of the frames."""
        return str(self.frame_directory)

    def write_frame(self, img: Values) -> None:
        """Adds a frame: a field or an array as `imwrite` takes it. Raises as that."""
        if self.post_processor is not None:
            img = self.post_processor.process(img)
        if self.size is not None:
            img = image.imresize(img, *self.size)
        file = self.frame_directory / f"{self.frame_counter:06d}.png"
        image.imwrite(img, file)
        self.frame_fns.append(file)
        self.frame_counter += 1

    def write_frames(self, images: Iterable[Values]) -> None:
        """Adds several frames."""
        for img in images:
            self.write_frame(img)

    def clean_frames(self) -> None:
        """Deletes the frames' files; the next frame is the first one again."""
        for file in self.frame_fns:
            file.unlink(missing_ok=True)
        self.frame_fns, self.frame_counter = [], 0

    def make_video(self, mp4: bool = True, gif: bool = True) -> None:
        """Writes the video: ``video.gif`` with Pillow, ``video.mp4`` with the program ffmpeg.

        Raises RuntimeValueError_ (no frames), RuntimeIOError_ (no ffmpeg, or it failed), RuntimeImportError_.
        """
        if not self.frame_fns:
            raise RuntimeValueError_("make_video: expected at least one frame; call write_frame first")
        if gif:
            write_gif((image.imread(file, 3) for file in self.frame_fns), self.get_output_filename(".gif"), self.framerate)
        if mp4:
            self._make_mp4()

    def _make_mp4(self) -> None:
        program = shutil.which("ffmpeg")
        if program is None:
            raise RuntimeIOError_("make_video: mp4: expected the program ffmpeg, which is not installed; use mp4=False")
        command = [program, "-y", "-loglevel", "error", "-framerate", str(self.framerate)]
        command += ["-i", str(self.frame_directory / "%06d.png"), "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"]
        done = subprocess.run([*command, self.get_output_filename(".mp4")], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeIOError_(f"make_video: mp4: ffmpeg failed: {done.stderr.strip()}")

    def __enter__(self) -> VideoManager:
        return self

    def __exit__(self, kind, *_) -> None:
        if self.automatic_build and kind is None:
            self.make_video(mp4=shutil.which("ffmpeg") is not None)


def write_gif(frames: Iterable[Values], filename: Path, framerate: float = 24) -> None:
    """Writes pictures, as `imwrite` takes them, as a GIF that repeats; times are multiples of 10 ms.

    Raises RuntimeValueError_ (no frames), RuntimeIOError_, RuntimeImportError_ (no Pillow).
    """
    library = libraries.pillow("write_gif")
    pictures = [image.to_pillow(library, arrays.picture_bytes("write_gif: frames", frame)).convert("RGB") for frame in frames]
    if not pictures:
        raise RuntimeValueError_("write_gif: frames: expected at least one, got none")
    ways = {"method": library.Quantize.FASTOCTREE, "dither": library.Dither.NONE}  # a hundredth of the default's time
    first, *others = [picture.quantize(256, **ways) for picture in pictures]
    try:
        duration = max(round(100 / framerate), 2) * 10
        first.save(os.fspath(filename), format="GIF", save_all=True, append_images=others, duration=duration, loop=0)
    except OSError as error:
        raise RuntimeIOError_(f"write_gif: {filename}: expected a file that can be written, got: {error}") from None
