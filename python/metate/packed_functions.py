"""Kernels as functions of tvm-ffi, by libmetate_packed: those of this process and of modules that libmetate opened."""

from __future__ import annotations

import ctypes
import functools
import itertools
from typing import Any

from . import native
from .errors import RuntimeImportError_
from .packed_hidden import Argument, HiddenArguments

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GIVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Argument), ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64
)


class Hidden(ctypes.Structure):
    """metate_packed_hidden."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("count", ctypes.c_uint32), ("give", GIVE), ("take_back", RELEASE)]


class Library:
    """libmetate_packed and what its functions need to stay: kernels by a number, until tvm-ffi lets go of them."""

    def __init__(self, tvm_ffi: Any):
        self._library = ctypes.CDLL(str(native.library_directory() / "libmetate_packed.so"))
        self._numbers, self._kept = itertools.count(1), {}
        self._release = RELEASE(lambda number: self._kept.pop(number, None))
        self._give = GIVE(self._give_hidden)
        self._take_back = RELEASE(lambda number: self._kept[number][2].take_back())
        address_of = lambda call: ctypes.cast(call, ctypes.c_void_p).value
        made_by = lambda call: tvm_ffi.core.Function.__from_extern_c__(address_of(call), keep_alive_object=self._library)
        self._call, self._session = made_by(self._library.metate_packed_make), made_by(self._library.metate_packed_make_session)

    def _give_hidden(self, number, arguments, first, count, problem, room):
        """metate_packed_hidden.give"""
        try:
            text = self._kept[number][2].give(arguments[:first], arguments[first : first + count])
        except Exception as error:  # what is raised here would only be printed
            text = f"{type(error).__name__}: {error}"
        if text:
            data = text.encode()[: room - 1] + b"\0"
            ctypes.memmove(problem, data, len(data))
        return bool(text)

    def function(self, kernel: Any, owner: Any, by_steps: bool, hidden: HiddenArguments | None = None) -> Any:
        """A tvm_ffi.Function that calls a kernel of the runtime's; it keeps `owner` and what its hidden arguments are."""
        make = self._session if by_steps else self._call
        number = next(self._numbers)
        self._kept[number] = kernel, owner, hidden
        given = [ctypes.c_void_p(kernel.address), ctypes.cast(self._release, ctypes.c_void_p), ctypes.c_void_p(number)]
        if hidden:
            told = Hidden(ctypes.sizeof(Hidden), len(hidden), self._give, self._take_back)
            given.append(ctypes.cast(ctypes.byref(told), ctypes.c_void_p))
        try:
            return make(*given)
        except BaseException:
            self._kept.pop(number, None)
            raise


@functools.cache
def _library():
    """One of a process: functions that tvm-ffi keeps anywhere tell it when they go."""
    import tvm_ffi

    return Library(tvm_ffi)


def function(kernel: Any, owner: Any = None, by_steps: bool = False, hidden: HiddenArguments | None = None) -> Any:
    """A `tvm_ffi.Function` that calls a kernel of the runtime's (`metate_native._runtime.Kernel`).

    Args:
        owner: what has to stay as long as the function; by_steps: it is a session: metate/metate_packed.h.
        hidden: arguments that callers do not give.
    Raises RuntimeImportError_ where tvm-ffi is not installed.
    """
    try:
        library = _library()
    except ImportError:
        raise RuntimeImportError_("packed: tvm-ffi is not installed: pip install apache-tvm-ffi") from None
    return library.function(kernel, owner, by_steps, hidden)
