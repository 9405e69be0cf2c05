"""What a caller may hand to a canvas or a scene, as arrays of f32 and u32 that are ready to be drawn.

Vectors come as a field or ndarray of vectors, or as an array whose last axis is the vector; the axes before it are
one list, in the order of memory. What does not fit is an error that names the argument. Nothing here draws.
"""

from __future__ import annotations

import numpy as np

from ...errors import RuntimeTypeError_, RuntimeValueError_
from ..arrays import Values, picture_bytes, to_numpy
from .device import BY_VERTEX, ONCE, Attribute


def picture(name: str, value: Values) -> np.ndarray:
    """A picture, (width, height, 1 to 4): f32 of floats, else u8 of unsigned integers over their range, or of booleans."""
    array = to_numpy(name, value)
    if array.dtype.kind == "f" and (array.ndim == 2 or (array.ndim == 3 and 1 <= array.shape[2] <= 4)):
        array = _own(value, array, np.float32).reshape(*array.shape[:2], -1 if array.size else 1)
    else:
        array = _own(value, picture_bytes(name, array), np.uint8)
    if not array.size:
        raise RuntimeValueError_(f"{name}: expected a picture with pixels, got shape {array.shape[:2]}")
    return array


def vectors(name: str, value: Values, sizes: tuple[int, ...]) -> np.ndarray:
    """Vectors of floats, (n, size) of f32.

    Args:
        name: the call and the argument, for errors.
        sizes: how many components a vector may have.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """
    array = to_numpy(name, value)
    if array.ndim < 2 or array.shape[-1] not in sizes:
        expected = " or ".join(map(str, sizes))
        raise RuntimeValueError_(f"{name}: expected vectors of {expected} components, shape (n, {expected}), got {array.shape}")
    if array.dtype.kind != "f":
        raise RuntimeTypeError_(f"{name}: expected vectors of floats, got {array.dtype}; convert it, e.g. .astype(np.float32)")
    return _own(value, array, np.float32).reshape(-1, array.shape[-1])


def colors(name: str, value: Values, count: int) -> np.ndarray:
    """A colour for each of `count` vertices: (count, 4) of f32, from 3 or 4 floats or bytes each."""
    array = to_numpy(name, value)
    if array.dtype == np.uint8:
        array = array.astype(np.float32) / 255
    array = vectors(name, array, (3, 4))
    if len(array) != count:
        raise RuntimeValueError_(f"{name}: expected one colour for each of {count} vertices, got {len(array)}")
    if array.shape[1] == 4:
        return array
    return np.concatenate([array, np.ones((count, 1), np.float32)], axis=1)


def color(name: str, value: Values) -> np.ndarray:
    """One colour, red, green and blue from 0 to 1 and perhaps how opaque it is: (1, 4) of f32."""
    array = to_numpy(name, value).reshape(-1)
    if array.size not in (3, 4):
        raise RuntimeValueError_(f"{name}: expected red, green and blue from 0 to 1, got {value!r}")
    return np.append(array.astype(np.float32), np.float32(1))[None, :4]


def numbers(name: str, value: Values, count: int) -> np.ndarray:
    """A float for each of `count` vertices: (count,) of f32."""
    array = to_numpy(name, value)
    if array.dtype.kind != "f":
        raise RuntimeTypeError_(f"{name}: expected floats, got {array.dtype}; convert it, e.g. .astype(np.float32)")
    if array.size != count:
        raise RuntimeValueError_(f"{name}: expected one number for each of {count} vertices, got shape {array.shape}")
    return _own(value, array, np.float32).reshape(-1)


def number(name: str, value, *, above: float = -np.inf) -> float:
    """A finite number above a bound."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise RuntimeTypeError_(f"{name}: expected a number, got {value!r}") from None
    if not np.isfinite(found) or not found > above:
        bound = f" above {above:g}" if np.isfinite(above) else ""
        raise RuntimeValueError_(f"{name}: expected a finite number{bound}, got {value!r}")
    return found


def vector3(name: str, value: Values) -> np.ndarray:
    """Three finite numbers as f64, such as a place or the colour of a light."""
    array = to_numpy(name, value).reshape(-1).astype(np.float64)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise RuntimeValueError_(f"{name}: expected three finite numbers, got {value!r}")
    return array


def indices(name: str, value: Values, corners: int, count: int, offset: int = 0) -> np.ndarray:
    """Indices of vertices, u32, a multiple of `corners` of them, each (with the offset added) below `count`."""
    array = to_numpy(name, value)
    if array.dtype.kind not in "iu":
        raise RuntimeTypeError_(f"{name}: expected integers such as i32, got {array.dtype}")
    flat = array.reshape(-1).astype(np.int64) + offset
    if flat.size % corners:
        raise RuntimeValueError_(f"{name}: expected a multiple of {corners} indices, got {flat.size}")
    if flat.size and not (0 <= flat.min() and flat.max() < count):
        worst = flat.min() if flat.min() < 0 else flat.max()
        raise RuntimeValueError_(f"{name}: expected indices of {count} vertices, got {worst}")
    return flat.astype(np.uint32)


def part(name: str, length: int, offset: int, count: int | None, what: str) -> slice:
    """The slice [offset, offset + count) of `length` things; without a count all from the offset on.

    Args:
        name: the call, for errors.
        what: the arguments' names begin with it: "vertex" for vertex_offset and vertex_count.
    """
    if not 0 <= offset <= length:
        raise RuntimeValueError_(f"{name}: {what}_offset: expected 0 to {length}, got {offset}")
    if count is None:
        return slice(offset, length)
    if not 0 <= count <= length - offset:
        raise RuntimeValueError_(f"{name}: {what}_count: expected 0 to {length - offset} from {what}_offset on, got {count}")
    return slice(offset, offset + count)


def color_attribute(name: str, color_: Values, per_vertex: Values, count: int, step: str = BY_VERTEX) -> Attribute:
    """The colours of `count` vertices, or one for all of them, as the shader's input in_color.

    Args:
        name: the call, for errors.
        color_, per_vertex: the arguments `color` and `per_vertex_color`.
        step: how the colours of vertices are taken.
    """
    if per_vertex is None:
        return Attribute(color(f"{name}: color", color_), "4f", ("in_color",), ONCE)
    return Attribute(colors(f"{name}: per_vertex_color", per_vertex, count), "4f", ("in_color",), step)


def _own(value: Values, array: np.ndarray, dtype: type) -> np.ndarray:
    """`array`, made of `value`, in an order and memory that the caller cannot change before the frame is drawn."""
    made_now = hasattr(value, "to_numpy") and not isinstance(value, np.ndarray)  # fields and ndarrays of ours copy
    return np.ascontiguousarray(array, dtype) if made_now else np.array(array, dtype, order="C")
