"""Kernels as functions of tvm-ffi, by libmetate_packed: those of this process and of modules that libmetate opened."""

from __future__ import annotations

import ctypes
import functools
import itertools
from typing import Any

from . import native
from .errors import RuntimeImportError_

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Library:
    """libmetate_packed and what its functions need to stay: kernels by a number, until tvm-ffi lets go of them."""

    def __init__(self, tvm_ffi: Any):
        self._library = ctypes.CDLL(str(native.library_directory() / "libmetate_packed.so"))
        self._numbers, self._kept = itertools.count(1), {}
        self._release = RELEASE(lambda number: self._kept.pop(number, None))
        address_of = lambda call: ctypes.cast(call, ctypes.c_void_p).value
        made_by = lambda call: tvm_ffi.core.Function.__from_extern_c__(address_of(call), keep_alive_object=self._library)
        self._call, self._session = made_by(self._library.metate_packed_make), made_by(self._library.metate_packed_make_session)

    def function(self, kernel: Any, owner: Any, by_steps: bool) -> Any:
        """A tvm_ffi.Function that calls a kernel of the runtime's; it keeps `owner`."""
        make = self._session if by_steps else self._call
        number = next(self._numbers)
        self._kept[number] = kernel, owner
        release = ctypes.cast(self._release, ctypes.c_void_p)
        try:
            return make(ctypes.c_void_p(kernel.address), release, ctypes.c_void_p(number))
        except BaseException:
            self._kept.pop(number, None)
            raise


@functools.cache
def _library():
    """One of a process: functions that tvm-ffi keeps anywhere tell it when they go."""
    import tvm_ffi

    return Library(tvm_ffi)


def function(kernel: Any, owner: Any = None, by_steps: bool = False) -> Any:
    """A `tvm_ffi.Function` that calls a kernel of the runtime's (`metate_native._runtime.Kernel`).

    Args:
        owner: what has to stay as long as the function; by_steps: it is a session: metate/metate_packed.h.
    Raises RuntimeImportError_ where tvm-ffi is not installed.
    """
    try:
        library = _library()
    except ImportError:
        raise RuntimeImportError_("packed: tvm-ffi is not installed: pip install apache-tvm-ffi") from None
    return library.function(kernel, owner, by_steps)
