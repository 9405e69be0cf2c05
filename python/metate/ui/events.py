"""`Events`: keys, mouse and the window's close button, as a queue and as a state.

They are read from pygame-ce's event queue, which all windows of a process share: what belongs to
another window is put back. Positions are from 0 to 1, y up. Nothing here draws.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field


class EventType(enum.StrEnum):
    """What happened: `GUI.MOTION`, `GUI.PRESS`, `GUI.RELEASE`; `ui.PRESS` and `ui.RELEASE` equal Taichi's strings."""

    MOTION = "Move"
    PRESS = "Press"
    RELEASE = "Release"


@dataclass
class Event:
    """One event.

    Attributes:
        type: GUI.PRESS, GUI.RELEASE or GUI.MOTION.
        key: a letter, digit or sign as a string of one character, or one of GUI's names (GUI.ESCAPE, GUI.LMB, ...).
        pos: where the mouse was, (x, y).
        modifier: which of GUI.SHIFT, GUI.ALT, GUI.CTRL were held.
        delta: of GUI.WHEEL how far the wheel turned, (x, y), 120 for one notch; of GUI.MOVE the way, in pixels.
    """

    type: EventType
    key: str
    pos: tuple[float, float] = (0.0, 0.0)
    modifier: list[str] = field(default_factory=list)
    delta: tuple[float, float] = (0.0, 0.0)


class Events:
    """What a window reports; mixed into GUI. Expects `res`, `_pygame`, `_window` (or None) and `_take_press`."""

    SHIFT, ALT, CTRL = "Shift", "Alt", "Control"
    ESCAPE, RETURN, TAB, BACKSPACE, SPACE = "Escape", "Return", "Tab", "BackSpace", " "
    UP, DOWN, LEFT, RIGHT, CAPSLOCK = "Up", "Down", "Left", "Right", "Caps_Lock"
    LMB, MMB, RMB = "LMB", "MMB", "RMB"
    EXIT, WHEEL, MOVE = "WMClose", "Wheel", "Motion"
    MOTION, PRESS, RELEASE = EventType.MOTION, EventType.PRESS, EventType.RELEASE
    Event = Event

    def _start_events(self) -> None:
        self.event: Event | None = None  # the last one that get_event or get_events gave
        self.key_pressed: set[str] = set()
        self._queue: collections.deque[Event] = collections.deque()
        self._cursor = (0.0, 0.0)
        self._closed = False
        self._key_names = _key_names(self._pygame)

    def get_event(self, *e_filter: EventType | str | tuple[EventType, str]) -> bool:
        """Takes the next event that fits into `gui.event`; False when there is none. Others are dropped.

        Args:
            e_filter: types (GUI.PRESS), keys (GUI.ESCAPE, 'a') or pairs (GUI.PRESS, GUI.LMB); none: any event.
        """
        return next(self.get_events(*e_filter), None) is not None

    def get_events(self, *e_filter: EventType | str | tuple[EventType, str]) -> Iterator[Event]:
        """Takes all events that have arrived and gives the ones that fit; see `get_event`."""
        wanted = {tuple(one) if isinstance(one, list) else one for one in e_filter}
        self._pump()
        while self._queue:
            event = self._queue.popleft()
            if not wanted or wanted & {event.type, event.key, (event.type, event.key)}:
                self.event = event
                yield event

    def get_key_event(self) -> Event:
        """The next event; waits for one."""
        while not self.has_key_event():
            self._pygame.time.wait(5)
        return next(self.get_events())

    def has_key_event(self) -> bool:
        """Whether an event waits."""
        self._pump()
        return bool(self._queue)

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of the keys or mouse buttons is held."""
        self._pump()
        return not self.key_pressed.isdisjoint(keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Where the mouse is, (x, y) from 0 to 1, y up."""
        self._pump()
        return self._cursor

    def _pump(self) -> None:
        """Moves what has arrived in the library's queue into this window's."""
        others = []
        for raw in self._pygame.event.get():
            window = getattr(raw, "window", None)
            if window is not None and self._window is not None and window is not self._window:
                others.append(raw)
            else:
                self._translate(raw)
        for raw in others:
            self._pygame.event.post(raw)

    def _translate(self, raw) -> None:
        library = self._pygame
        if hasattr(raw, "pos") and raw.type in (library.MOUSEMOTION, library.MOUSEBUTTONDOWN, library.MOUSEBUTTONUP):
            self._cursor = self._position(raw.pos)
        if raw.type in (library.KEYDOWN, library.KEYUP):
            self._change(raw.type == library.KEYDOWN, self._key_name(raw.key))
        elif raw.type in (library.MOUSEBUTTONDOWN, library.MOUSEBUTTONUP) and raw.button in (1, 2, 3):
            self._change(raw.type == library.MOUSEBUTTONDOWN, (self.LMB, self.MMB, self.RMB)[raw.button - 1])
        elif raw.type == library.MOUSEWHEEL:
            self._add(self.PRESS, self.WHEEL, (120.0 * raw.x, 120.0 * raw.y))
        elif raw.type == library.MOUSEMOTION:
            right, down = getattr(raw, "rel", (0, 0))
            self._drag_widgets()
            self._add(self.MOTION, self.MOVE, (float(right), float(-down)))
        elif raw.type in (library.QUIT, library.WINDOWCLOSE) and not self._closed:
            self._closed = True  # the last window's button makes both of them
            self._add(self.PRESS, self.EXIT)

    def _change(self, down: bool, key: str) -> None:
        (self.key_pressed.add if down else self.key_pressed.discard)(key)
        if key == self.LMB and self._take_press(down):
            return
        self._add(self.PRESS if down else self.RELEASE, key)

    def _add(self, kind: EventType, key: str, delta: tuple[float, float] = (0.0, 0.0)) -> None:
        modifier = [name for name in (self.SHIFT, self.ALT, self.CTRL) if name in self.key_pressed]
        self._queue.append(Event(kind, key, self._cursor, modifier, delta))

    def _position(self, pixel) -> tuple[float, float]:
        width, height = self._window.size if self._window is not None else self.res
        return (pixel[0] + 0.5) / width, 1 - (pixel[1] + 0.5) / height

    def _key_name(self, key: int) -> str:
        return self._key_names.get(key) or (chr(key) if 32 <= key < 127 else self._pygame.key.name(key))


def _key_names(library) -> dict[int, str]:
    """Taichi's names of the keys that have no character of their own."""
    names = {
        "LSHIFT": "Shift", "RSHIFT": "Shift", "LALT": "Alt", "RALT": "Alt", "LCTRL": "Control", "RCTRL": "Control",
        "ESCAPE": "Escape", "RETURN": "Return", "KP_ENTER": "Return", "TAB": "Tab", "BACKSPACE": "BackSpace", "UP": "Up",
        "DOWN": "Down", "LEFT": "Left", "RIGHT": "Right", "CAPSLOCK": "Caps_Lock", "DELETE": "Delete", "HOME": "Home",
        "END": "End", "PAGEUP": "Page_Up", "PAGEDOWN": "Page_Down", "INSERT": "Insert",
    }  # fmt: skip
    names.update({f"F{number}": f"F{number}" for number in range(1, 13)})
    return {getattr(library, f"K_{key}"): name for key, name in names.items()}
