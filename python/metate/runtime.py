"""The default context: the device on which this process' trees live and its kernels run.

It is made when it is first needed, and made once; `init` changes what may change (threads). The
runtime extension is imported then, not before. Nothing here knows the compiler.
"""

from __future__ import annotations

import os

from .errors import RuntimeValueError_

_default: list = []  # the default device, once there is one


def device():
    """The default context's device (`_runtime.Device`), made at the first call."""
    if not _default:
        from metate_native import _runtime

        _default.append(_runtime.Device(_threads(int(os.environ.get("METATE_NUM_THREADS", "0")))))
    return _default[0]


def _threads(count) -> int:
    if isinstance(count, bool) or not hasattr(count, "__index__") or count.__index__() < 0:
        raise RuntimeValueError_(f"threads: expected a number of threads, or 0 for all of the machine, got {count!r}")
    return count.__index__()


def set_threads(count: int) -> None:
    """Sets how many threads kernels may use at once; 0 = as many as the machine has.

    Raises RuntimeValueError_.
    """
    number = _threads(count)
    device().threads = number


def threads() -> int:
    """How many threads kernels may use at once."""
    return device().threads
