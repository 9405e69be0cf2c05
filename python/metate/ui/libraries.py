"""The optional libraries of `metate.ui`, loaded when something is drawn, read or written.

Must not be imported for its side effects: each function loads one library and says what to install
when it is not there.
"""

from __future__ import annotations

import importlib
import os
import sys

from ..errors import RuntimeImportError_

INSTALL = "pip install 'metate[gui]'"


def pygame(what: str = "mt.GUI"):
    """pygame-ce with its window system and fonts started.

    On a machine without a display SDL's `dummy` driver takes part: events can be posted, nothing is shown.

    Args:
        what: who asks, for the error's text.
    Raises RuntimeImportError_ when it is not installed.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        library = importlib.import_module("pygame")
    except ImportError as error:
        raise RuntimeImportError_(f"{what}: expected pygame-ce to be installed, got {error}; {INSTALL}") from None
    if not hasattr(library, "Window"):
        raise RuntimeImportError_(
            f"{what}: expected pygame-ce 2.5 or newer, got pygame {library.version.ver}; pip uninstall pygame, then {INSTALL}"
        )
    if not library.display.get_init():
        _start_display(library)
    if not library.font.get_init():
        library.font.init()
    return library


def pillow(what: str):
    """Pillow's module `Image`. Raises RuntimeImportError_ when it is not installed."""
    return _load("PIL.Image", "Pillow", what)


def moderngl(what: str):
    """ModernGL. Raises RuntimeImportError_ when it is not installed."""
    return _load("moderngl", "moderngl", what)


def imgui(what: str):
    """Dear ImGui, as slimgui has it. Raises RuntimeImportError_ when it is not installed."""
    return _load("slimgui.imgui", "slimgui", what)


def has_display() -> bool:
    """Whether this process can open windows, as far as its environment says."""
    if os.environ.get("SDL_VIDEODRIVER", "") == "dummy":
        return False
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def shows_windows(library) -> bool:
    """Whether the started window system shows anything."""
    return library.display.get_driver() != "dummy"


def _start_display(library) -> None:
    chosen = os.environ.get("SDL_VIDEODRIVER")
    if has_display():
        try:
            library.display.init()
            if library.display.get_driver() == "x11":
                # Else SDL shows surfaces through a GLX context of its own, and ours of EGL cannot be current beside it.
                os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
            return
        except library.error as error:
            print(f"metate: no window could be opened ({error}); drawing off-screen", file=sys.stderr)
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    try:
        library.display.init()
    finally:  # programs that this one starts choose for themselves
        if chosen is None:
            del os.environ["SDL_VIDEODRIVER"]
        else:
            os.environ["SDL_VIDEODRIVER"] = chosen


def _load(module: str, library: str, what: str):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RuntimeImportError_(f"{what}: expected {library} to be installed, got {error}; {INSTALL}") from None
