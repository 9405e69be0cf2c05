"""How many frames a program shows when nobody closes its windows: METATE_GUI_FRAMES. Must not draw."""

from __future__ import annotations

import os

from ..errors import RuntimeValueError_

FRAMES = "METATE_GUI_FRAMES"


def last_frame() -> int | None:
    """How many frames the environment asks for; None: windows stay. Raises RuntimeValueError_."""
    text = os.environ.get(FRAMES, "")
    if text and not text.isdecimal():
        raise RuntimeValueError_(f"{FRAMES}: expected a number of frames, got {text!r}")
    return int(text) if text else None
