"""What the parts of a window need of it, so that they need not know `Window`. Types alone."""

from __future__ import annotations

from typing import Any, Protocol


class Inputs(Protocol):
    """Where a camera reads keys and the mouse."""

    def is_pressed(self, *keys: str) -> bool: ...

    def get_cursor_pos(self) -> tuple[float, float]: ...


class Host(Protocol):
    """Whose picture a canvas and controls belong to."""

    _pygame: Any

    def get_window_shape(self) -> tuple[int, int]: ...

    def _begin_frame(self) -> None: ...
