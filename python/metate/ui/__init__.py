"""Windows and pictures: `GUI`, `Window` with scenes in three dimensions, images, videos of frames.

Everything here is loaded with its first use, and draws with libraries that are optional: pygame-ce, Pillow,
ModernGL and slimgui (``pip install metate[gui]``). Nothing here knows kernels or the runtime; fields and arrays
come in through their ``to_numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .colors import hex_to_rgb, rgb_to_hex
    from .events import EventType
    from .ggui.camera import Camera, ProjectionMode, make_camera
    from .ggui.canvas import Canvas
    from .ggui.controls import Gui
    from .ggui.scene import Scene
    from .ggui.window import Window
    from .gui import GUI, imshow
    from .image import imread, imresize, imwrite
    from .video import VideoManager

    PRESS, RELEASE = EventType.PRESS, EventType.RELEASE

_HOMES = {
    "GUI": "gui",
    "imread": "image",
    "imwrite": "image",
    "imresize": "image",
    "imshow": "gui",
    "VideoManager": "video",
    "rgb_to_hex": "colors",
    "hex_to_rgb": "colors",
    "Window": "ggui.window",
    "Canvas": "ggui.canvas",
    "Scene": "ggui.scene",
    "Camera": "ggui.camera",
    "ProjectionMode": "ggui.camera",
    "make_camera": "ggui.camera",
    "Gui": "ggui.controls",
}
# Keys, mouse buttons and what happened to them, as `Window` names them.
SHIFT, ALT, CTRL = "Shift", "Alt", "Control"
ESCAPE, RETURN, TAB, BACKSPACE, SPACE = "Escape", "Return", "Tab", "BackSpace", " "
UP, DOWN, LEFT, RIGHT, CAPSLOCK = "Up", "Down", "Left", "Right", "CapsLock"
LMB, MMB, RMB = "LMB", "MMB", "RMB"
_KINDS = ("PRESS", "RELEASE")
# What `metate` itself offers as well.
OF_PACKAGE = ("GUI", "VideoManager", "hex_to_rgb", "imread", "imresize", "imshow", "imwrite", "rgb_to_hex")
__all__ = [
    "ALT", "BACKSPACE", "CAPSLOCK", "CTRL", "DOWN", "ESCAPE", "GUI", "LEFT", "LMB", "MMB", "PRESS", "RELEASE", "RETURN", "RIGHT",
    "RMB", "SHIFT", "SPACE", "TAB", "UP", "Camera", "Canvas", "Gui", "ProjectionMode", "Scene", "VideoManager", "Window",
    "hex_to_rgb", "imread", "imresize", "imshow", "imwrite", "make_camera", "rgb_to_hex",
]  # fmt: skip


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _KINDS:
        return importlib.import_module(f"{__name__}.events").EventType[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
