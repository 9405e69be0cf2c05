"""Arrays and values of any origin as members of trees hold them. No tree appears here."""

from __future__ import annotations

import math
from typing import Any

from .dtypes import bf16_bits
from .errors import RuntimeTypeError_, RuntimeValueError_
from .lazy_numpy import is_array, np


def to_members(scalar, shape: tuple[int, ...], array: Any, what: str) -> np.ndarray:
    """A contiguous array of this shape with the bytes of scalars of a type.

    Args:
        array: NumPy's, torch's, anything with DLPack or a buffer, nested sequences; numbers are converted as NumPy does.
            A last dimension of 1 too much is taken for none.
        what: whose array it is, for messages.
    Raises RuntimeValueError_ for another shape, RuntimeTypeError_ for what are no numbers.
    """
    array = _as_numpy(array)
    if array.shape not in (shape, (*shape, 1)):
        raise RuntimeValueError_(f"{what}: expected an array of shape {shape}, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise RuntimeTypeError_(f"{what}: expected an array of numbers, got one of {array.dtype}")
    return np.ascontiguousarray(_encoded(scalar, array)).reshape(shape)


def filling(element, value: Any) -> Any:
    """What a member of an element type is filled with: a number stands for all components, floats lose their fraction
    in integers. Whether it fits is the runtime's to say."""
    shape = getattr(element, "shape", ())
    scalar = getattr(element, "dtype", element)
    if isinstance(value, (int, float)):
        value = int(value) if isinstance(value, float) and not scalar.is_float and math.isfinite(value) else value
        for extent in reversed(shape):
            value = [value] * extent
        return value
    if not scalar.is_float and np.asarray(value).dtype.kind == "f" and np.all(np.isfinite(value)):
        value = np.vectorize(int, otypes=[object])(value)[()]
    return np.full(shape, value) if shape and np.ndim(value) == 0 else value


def _as_numpy(array):
    if is_array(array):
        return array
    if hasattr(array, "detach"):
        array = array.detach().cpu()  # a torch tensor: its gradient and its device stay where they are
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array_interface__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def _encoded(scalar, array):
    if scalar.numpy is not None:
        return array.astype(scalar.numpy, copy=False)
    return bf16_bits(array)
