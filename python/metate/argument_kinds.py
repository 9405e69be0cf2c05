"""What an argument of a kernel is, asked of the object itself: a tree, an array and of what."""

from __future__ import annotations

from . import value_types as _types
from .lazy_numpy import is_array, np, numpy_class
from .tree_type import TreeType

_CUDA = (2, 13)  # DLPack's kDLCUDA, kDLCUDAManaged


def tree_type_of(argument) -> TreeType | None:
    """The type of a tree; None of anything else."""
    type_ = getattr(argument, "type", None)
    return type_ if isinstance(type_, TreeType) and not hasattr(argument, "_metate_data_oriented") else None


def is_own_array(argument) -> bool:
    """Is it an array of the package, which knows its elements?"""
    return hasattr(argument, "_describe")


def same_memory(arguments) -> tuple[int, int] | None:
    """The numbers of the first two arguments that are one array, or one tree."""
    first = {}
    for number, argument in enumerate(arguments):
        before = first.setdefault(id(argument), number)
        if before != number and (is_own_array(argument) or is_array(argument) or tree_type_of(argument) is not None):
            return before, number
    return None


def lies_on_cuda(argument) -> bool:
    """Is it an array in the memory of a CUDA device?"""
    try:
        ask = getattr(argument, "__dlpack_device__", None)
        return ask()[0] in _CUDA if ask is not None else hasattr(argument, "__cuda_array_interface__")
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return False


def describe_array(argument):
    """(dtype, shape, has no gaps) of anything that is an array, else None.

    Arrays of the package give the element's type and the shape without the element's dimensions; one of structs says of
    each member whether it has no gaps.
    """
    if hasattr(argument, "_describe"):
        return argument._describe()
    if is_array(argument):
        array = argument
    elif isinstance(argument, numpy_class("generic")):
        return None
    elif hasattr(argument, "__dlpack__"):
        try:
            array = np.from_dlpack(argument.detach() if hasattr(argument, "detach") else argument)
        except (BufferError, RuntimeError, TypeError, ValueError):  # memory of another device, a type NumPy lacks
            return None
    elif isinstance(argument, (memoryview, bytearray)) or hasattr(argument, "__array_interface__"):
        array = np.asarray(argument)
    else:
        return None
    try:
        dtype = _types.dtype(array.dtype)
    except TypeError:
        return None
    return dtype, array.shape, array.flags.c_contiguous
