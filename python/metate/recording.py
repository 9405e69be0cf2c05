"""Who sees calls of kernels: tapes and forward modes that are open in the calling thread (metate.ad).

While one is open anywhere no kernel is called the plain way (bindings/runtime/Callable.cpp); otherwise this costs nothing.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from typing import Any

from metate_native import _runtime

count = 0  # watchers that are open in any thread: while there is none, nobody need be looked for

_lock = threading.Lock()
_watchers: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("metate_watchers", default=())


def innermost() -> Any:
    """What calls of kernels go to, its `call(kernel, arguments, keywords)`; None: nobody sees them.

    Writes of whole fields and arrays are told to its `wrote(write, arguments)` (whole_writes.py).
    """
    watchers = _watchers.get()
    return watchers[-1] if watchers else None


@contextlib.contextmanager
def watching(watcher: Any):
    """A watcher that sees what is called in the block; None: nobody does, whoever watches outside of it."""
    token = _watchers.set((*_watchers.get(), watcher))
    _change(1)
    try:
        yield
    finally:
        _change(-1)
        _watchers.reset(token)


def _change(by):
    global count
    with _lock:
        count += by
        _runtime.Callable._watch(by)
