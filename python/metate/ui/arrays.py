"""What a caller may hand to `metate.ui`, as NumPy arrays: pictures, points, colours.

Pictures are (width, height[, channels]), the first axis to the right and the second one up, as in
Taichi; colours are 0xRRGGBB. Nothing here draws.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np

from ..errors import RuntimeTypeError_, RuntimeValueError_

# What every function here takes: a field, an ndarray, a NumPy or DLPack array, numbers in lists or tuples.
Values: TypeAlias = Any
Path: TypeAlias = str | os.PathLike[str]

FARTHEST = 1e4  # pixels; SDL's coordinates are 16 bits wide in places


def to_numpy(name: str, value) -> np.ndarray:
    """The values of a field, ndarray, NumPy or DLPack array, list or number. Raises RuntimeTypeError_."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    try:
        if hasattr(value, "detach"):  # a torch tensor, perhaps one with gradients or on another device
            value = value.detach().cpu()
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise RuntimeTypeError_(f"{name}: expected a field, an array or numbers, got {type(value).__name__}: {error}") from None
    if array.dtype.kind not in "biuf":
        raise RuntimeTypeError_(f"{name}: expected a field, an array or numbers, got {type(value).__name__}")
    return array


def points(name: str, value) -> np.ndarray:
    """Points as float64 of shape (n, 2); one point gives n = 1. Raises RuntimeTypeError_, RuntimeValueError_."""
    array = to_numpy(name, value).astype(np.float64)
    if array.shape == (2,):
        array = array[None]
    if array.ndim != 2 or array.shape[1] != 2:
        raise RuntimeValueError_(f"{name}: expected points of shape (n, 2), got {array.shape}")
    return array


def per_point(name: str, value, count: int, dtype) -> np.ndarray:
    """One value for each of `count` points; a single one holds for all. Raises as `points`."""
    array = to_numpy(name, value)
    if array.ndim == 0:
        return np.full(count, array, dtype)
    array = array.reshape(-1)
    if len(array) != count:
        raise RuntimeValueError_(f"{name}: expected one value, or one for each of {count} points, got {len(array)}")
    return array.astype(dtype)


def color(name: str, value) -> int:
    """A colour as an int 0xRRGGBB. Raises RuntimeValueError_."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value.__index__() <= 0xFFFFFF:
        raise RuntimeValueError_(f"{name}: expected a colour such as 0xRRGGBB, got {value!r}")
    return value.__index__()


def picture_bytes(name: str, value) -> np.ndarray:
    """A picture as u8 of shape (width, height, channels), 1 to 4 channels.

    Floats are 0 to 1 and are clamped; unsigned integers use their whole range; booleans are 0 and 1.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """
    array = to_numpy(name, value)
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3 or not 1 <= array.shape[2] <= 4:
        raise RuntimeValueError_(f"{name}: expected shape (width, height) or (width, height, 1 to 4), got {array.shape}")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype.kind == "u":
        return (array >> np.array(8 * (array.dtype.itemsize - 1), array.dtype)).astype(np.uint8)
    if array.dtype.kind == "f":
        scaled = np.nan_to_num(array.astype(np.float32, copy=False), copy=True, nan=0.0) * np.float32(255)
        scaled += np.float32(0.5)
        return np.clip(scaled, 0, 255, out=scaled).astype(np.uint8)
    raise RuntimeTypeError_(
        f"{name}: expected floats from 0 to 1 or unsigned integers, got {array.dtype}; convert it, e.g. .astype(np.float32)"
    )


def packed(image: np.ndarray) -> np.ndarray:
    """A picture of `picture_bytes` as 0xRRGGBB of shape (width, height): one channel is grey, a fourth one is left out."""
    channels = image.astype(np.uint32)
    if image.shape[2] == 1:
        return channels[..., 0] * np.uint32(0x010101)
    red_green = channels[..., 0] << np.uint32(16) | channels[..., 1] << np.uint32(8)
    return red_green if image.shape[2] == 2 else red_green | channels[..., 2]


def unpacked(pixels: np.ndarray) -> np.ndarray:
    """0xRRGGBB of shape (width, height) as u8 of shape (width, height, 3)."""
    return np.stack([(pixels >> np.uint32(shift) & np.uint32(255)).astype(np.uint8) for shift in (16, 8, 0)], axis=-1)
