"""What a call of a kernel had that its derivative needs again: its number, and the key of its random numbers.

Launches ask for both (frontend/providers.py). While a call is at hand in a thread, what is launched there is that call, or its
derivative.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import RuntimeError_

SITES_PER_CALL = 1024  # WriteNumbers.h: numbers of writes are those of calls times this, and the write's number in its kernel

_numbers = itertools.count(1)
_at_hand: contextvars.ContextVar[RememberedCall | None] = contextvars.ContextVar("metate_call_at_hand", default=None)


class RememberedCall:
    """One call of a kernel, or one write of Python's.

    Attributes:
        name: what was called.
        number: of the call: later ones have greater numbers, whatever context they are of.
        key: of its random numbers; None: it drew none.
        sites: where its writes stand, by their numbers: (file, line, column).
        asked: what it asked of trees; cells: what it found then, numbers (active_cells.py) by keys.
    """

    __slots__ = ("asked", "cells", "key", "name", "number", "sites")

    def __init__(self, name: str, sites: list[tuple[str, int, int]] | None = None):
        self.name, self.number, self.key, self.sites = name, next(_numbers), None, sites
        self.asked: list[Asked] = []
        self.cells: dict[tuple[Any, str], tuple[int, int]] = {}


@contextlib.contextmanager
def at_hand(call: RememberedCall | None):
    """In the block this call, or its derivative, is launched; None: what is launched is none that is remembered."""
    token = _at_hand.set(call)
    try:
        yield call
    finally:
        _at_hand.reset(token)


class DrawnKeys:
    """Gives the launches of one kernel in one context their keys, and remembers the last one.

    Attributes:
        last: that key; None: there was no launch.
        order: of two kernels, the one that was launched last has the greater number.
    """

    def __init__(self, keys: Any):
        self._keys, self.last, self.order = keys, None, 0

    def next(self) -> int:
        """The key of a launch."""
        self.last, self.order = key, _ = self._keys.next(), next(_numbers)
        call = _at_hand.get()
        if call is not None:
            call.key = key
        return key

    def word(self, launches: int) -> int:
        """As RandomKeys.word: of a graph, whose kernels have keys each."""
        return self._keys.word(launches)


class KeysAgain:
    """Gives the launches of a derivative the keys that the kernel's calls had.

    Args:
        name: of the derivative.
        drawn: gives the DrawnKeys of the kernel in the context, or None where it was not called there.
    """

    def __init__(self, name: str, drawn: Any):
        self._name, self._drawn = name, drawn

    def next(self) -> int:
        """The key of the call at hand, else of the kernel's last call. Raises RuntimeError_: there was none."""
        call = _at_hand.get()
        if call is not None and call.key is not None:
            return call.key
        drawn = self._drawn()
        if drawn is None or drawn.last is None:
            raise RuntimeError_(
                f"{self._name}: it draws the random numbers that the kernel's last call drew, and the kernel was not called in "
                "this context; call it before"
            )
        return drawn.last


class Asked(NamedTuple):
    """A place where a kernel asks which cells of a tree are active, a loop over them as well.

    Attributes:
        tree: a weak reference to the tree; path: of the member or level.
        shown: what users call that; place: (file, line, column).
    """

    tree: Any
    path: str
    shown: str
    place: tuple[str, int, int]

    @property
    def key(self) -> tuple[Any, str]:
        """What is asked about."""
        return self.tree, self.path


class CallNumbers:
    """What gives the launches of one instance the number of the call at hand, times SITES_PER_CALL.

    Attributes:
        sites: where the instance's writes stand.
        made: what was made last for a set of arguments.
    """

    def __init__(self) -> None:
        self.sites: list[tuple[str, int, int]] = []
        self.asked: list[tuple[str, str, str, tuple[str, int, int]]] = []
        self.made: Launches | None = None

    def __call__(self, holdings: Any) -> Launches:
        """As a provider (frontend/providers.py)."""
        self.made = Launches(self)
        return self.made


class Launches:
    """Those of one instance with one set of arguments.

    Attributes:
        asked: what the instance asks of its trees.
        look: is called with the call at hand before each launch.
    """

    def __init__(self, numbers: CallNumbers):
        self._numbers = numbers
        self.asked: list[Asked] = []
        self.look: Callable[[RememberedCall], None] | None = None

    def __call__(self) -> int:
        """The number for a launch."""
        call = _at_hand.get()
        if call is None:
            raise RuntimeError_("a kernel whose writes have numbers was launched without a call at hand")
        if self.look is not None:
            self.look(call)
        elif call.sites is None:
            call.sites, call.asked = self._numbers.sites, self.asked
        return call.number * SITES_PER_CALL
