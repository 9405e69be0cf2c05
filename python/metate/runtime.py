"""The run-time side of a context: its device, and tree types opened there.

They are made when they are first needed. Nothing here knows the compiler.
"""

from __future__ import annotations

from . import context as _context
from . import devices


def device(context=None):
    """The device (`_runtime.Device`) of a context, by default the current one; made at the first call."""
    context = context or _context.current()
    return device_of(context.holdings, context.options)


def device_of(holdings, options):
    """The device among a context's holdings, made as its options say."""
    if holdings.device is None:
        with holdings.lock:
            if holdings.device is None:
                holdings.device = devices.open_device(options.arch, options.threads, options.profile, options.launch_timeout)
    return holdings.device


def wait() -> None:
    """Returns when all that was launched in the current context has ended. Raises what went wrong meanwhile."""
    device = _context.current().holdings.device
    if device is not None:
        device.wait()


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
