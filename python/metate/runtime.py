"""The run-time side of a context: its device, and tree types opened there.

They are made when they are first needed. Nothing here knows the compiler.
"""

from __future__ import annotations

import os

from . import context as _context
from .errors import RuntimeValueError_

_THREADS = "METATE_NUM_THREADS"


def device(context=None):
    """The device (`_runtime.Device`) of a context, by default the current one; made at the first call."""
    context = context or _context.current()
    return device_of(context.holdings, context.options)


def device_of(holdings, options):
    """The device among a context's holdings, made as its options say."""
    if holdings.device is None:
        from metate_native import _runtime

        with holdings.lock:
            if holdings.device is None:
                threads = _threads_of_environment() if options.threads is None else options.threads
                holdings.device = _runtime.Device(threads, options.profile)
    return holdings.device


def _threads_of_environment() -> int:
    text = os.environ.get(_THREADS, "0")
    if not text.isdecimal():
        raise RuntimeValueError_(f"{_THREADS}: expected a number of threads, or 0 for all of the machine, got {text!r}")
    return int(text)


def type_handle(type_):
    """The tree type as libmetate knows it, opened on the current context's device."""
    context = _context.current()
    holdings = context.holdings
    found = type_._handles.get(holdings)
    if found is None:
        from metate_native import _runtime

        made = _runtime.TreeType(device_of(holdings, context.options), type_.blob)
        found = type_._handles.setdefault(holdings, made)
    return found


def adopt_type(type_, handle) -> None:
    """Lets the current context know a type as the module that it came from has it."""
    type_._handles[_context.current().holdings] = handle


def threads() -> int:
    """How many threads kernels of the current context may use at once."""
    return device().threads
