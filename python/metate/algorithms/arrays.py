"""What algorithms are given, fields and arrays, as arrays that their kernels take."""

from __future__ import annotations

import contextlib
from typing import Any

from ..argument_kinds import describe_array
from ..errors import RuntimeTypeError_, RuntimeValueError_, TreeError
from ..fields import Field
from ..ndarray import ndarray
from ..value_types import DType
from .plan import MOST


def described(thing: Any, what: str) -> tuple[DType, int]:
    """(scalar type, length) of a one-dimensional field or array of scalars; anything else is an error."""
    expected = f"{what}: expected a one-dimensional field or array of scalars"
    if isinstance(thing, Field):
        if not isinstance(thing.element, DType) or len(thing.shape) != 1 or thing.shape[0] is None:
            raise RuntimeTypeError_(f"{expected}, got a field of {thing.element!r} and shape {thing.shape}")
        return thing.element, thing.shape[0]
    found = describe_array(thing)
    if found is None or not isinstance(found[0], DType):
        raise RuntimeTypeError_(f"{expected}, got {type(thing).__name__}")
    dtype, shape, _ = found
    if len(shape) != 1:
        raise RuntimeTypeError_(f"{expected}, got shape {tuple(shape)}")
    if shape[0] > MOST:
        raise RuntimeValueError_(f"{what}: expected at most {MOST} elements, got {shape[0]}")
    return dtype, shape[0]


@contextlib.contextmanager
def borrowed(thing: Any, *, written: bool = True):
    """The memory of a field or array, for kernels. A field that is no strided array (bf16 in NumPy) is copied, and written back.

    Raises TreeError for a field with cells that may be inactive: a copy would not reach them.
    """
    if not isinstance(thing, Field):
        yield thing
        return
    try:
        memory = thing.numpy_view()
    except TreeError:
        if not thing.is_dense:
            raise
        memory = ndarray(thing.dtype, thing.shape)
        memory.from_numpy(thing.to_numpy())
        yield memory
        if written:
            thing.from_numpy(memory.to_numpy())
    else:
        yield memory
