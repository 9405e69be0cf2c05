"""Memory of other libraries' arrays as NumPy sees it, without a copy, writable where its owner lets others write.

This module knows nothing of arrays of the package.
"""

from __future__ import annotations

import ctypes

import numpy as np

from . import value_types as _types
from .errors import RuntimeTypeError_

_READ_ONLY = 1  # of the flags
_VERSIONED = b"dltensor_versioned"  # what a capsule of DLPack 1.0 and later is called
_IS_CAPSULE_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_ADDRESS_OF = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class _Versioned(ctypes.Structure):
    """How DLPack's DLManagedTensorVersioned begins."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    ]


class _Writable:
    """The memory of an array that NumPy takes for read-only, and is not."""

    def __init__(self, array):
        self._array = array  # keeps the memory
        shown = array.__array_interface__
        self.__array_interface__ = shown | {"data": (shown["data"][0], False)}


def borrowed(source):
    """(NumPy array over the source's memory, its scalar type). Raises RuntimeTypeError_ for what is no array here."""
    try:
        array = source if isinstance(source, np.ndarray) else _as_numpy(source)
        return array, _types.dtype(array.dtype)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        message = f"from_dlpack: expected an array on the CPU of a type that kernels have, got {type(source).__name__}: {error}"
        raise RuntimeTypeError_(message) from None


def _as_numpy(source):
    if hasattr(source, "__dlpack__"):
        seen = np.from_dlpack(source)
        return seen if seen.flags.writeable or _is_read_only(source) else np.asarray(_Writable(seen))
    if hasattr(source, "__array_interface__") or isinstance(source, (memoryview, bytearray)):
        return np.asarray(source)
    raise TypeError("it offers neither DLPack nor a buffer")


def _is_read_only(source) -> bool:
    """Does the owner say that nobody may write?

    DLPack has a word for it since 1.0. NumPy takes what is of an older version for read-only, and before 2.1 asks for that only.
    """
    try:
        return memoryview(source).readonly
    except (TypeError, BufferError, ValueError):
        pass  # it is no buffer
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # it is of an older version
        return False
    if not _IS_CAPSULE_OF(capsule, _VERSIONED):
        return False
    return bool(_Versioned.from_address(_ADDRESS_OF(capsule, _VERSIONED)).flags & _READ_ONLY)
