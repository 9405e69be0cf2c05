"""Windows and pictures: `GUI`, reading and writing images, videos of frames.

Everything here is loaded with its first use, and draws with libraries that are optional: pygame-ce
and Pillow (``pip install metate[gui]``). Nothing here knows kernels or the runtime; fields and arrays
come in through their ``to_numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .colors import hex_to_rgb, rgb_to_hex
    from .gui import GUI, imshow
    from .image import imread, imresize, imwrite
    from .video import VideoManager

_HOMES = {
    "GUI": "gui",
    "imread": "image",
    "imwrite": "image",
    "imresize": "image",
    "imshow": "gui",
    "VideoManager": "video",
    "rgb_to_hex": "colors",
    "hex_to_rgb": "colors",
}
_GGUI = ("Window", "Canvas", "Scene", "Camera", "make_camera", "Gui")

__all__ = ["GUI", "VideoManager", "hex_to_rgb", "imread", "imresize", "imshow", "imwrite", "rgb_to_hex"]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _GGUI:
        raise AttributeError(
            f"metate has no ui.{name}, Taichi's window over Vulkan; use mt.GUI: set_image, circles, lines, triangles, text"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
