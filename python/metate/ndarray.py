"""`mt.ndarray`, `mt.Vector.ndarray`, `mt.Matrix.ndarray`, `mt.from_dlpack`: what they take, checked.

The arrays are array_object.py's. An array is memory with a shape: nothing of it is a compiler's or a runtime's until
a kernel takes it, and it belongs to no context. This module loads with the package and must not load the runtime.
"""

from __future__ import annotations

from typing import Any

from . import value_types as _types
from .errors import RuntimeTypeError_, RuntimeValueError_
from .struct_types import float_members


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> Any:
    """An array of zeros.

    Args:
        dtype: type of an element: a scalar, vector, matrix or struct type; int, float, bool for the context's default types.
        shape: extents, a number or a sequence of them; () for an array with one element.
        needs_grad: True makes an array of the same shape and type as well, its attribute `grad`; of structs one of those members
            that are of a float type.
    Returns an NDArray, for a struct type a StructNDArray. Raises RuntimeTypeError_, RuntimeValueError_.
    """
    from . import array_object

    element = _element_of(dtype)
    extents = _shape_of(shape)
    if isinstance(element, _types.StructType):
        made = array_object.StructNDArray(element, array_object.struct_memory(element, extents))
    else:
        made = array_object.new_array(element, extents)
    if needs_grad:
        wanted = element
        if isinstance(element, _types.StructType):
            wanted = float_members(element)
        elif not getattr(element, "dtype", element).is_float:
            wanted = None
        if wanted is None:
            raise RuntimeTypeError_(f"ndarray needs_grad: expected elements of a float type, got {element!r}")
        made.grad = ndarray(wanted, shape)
    return made


def vector_ndarray(n, dtype, shape, needs_grad=False):
    """`mt.Vector.ndarray`: an array of vectors of n components."""
    return ndarray(_made(_types.VectorType, n, _element_of(dtype)), shape, needs_grad)


def matrix_ndarray(n, m, dtype, shape, needs_grad=False):
    """`mt.Matrix.ndarray`: an array of matrices of n rows and m columns."""
    return ndarray(_made(_types.MatrixType, n, m, _element_of(dtype)), shape, needs_grad)


class _ArraysOf(type):
    """Classes of arrays by the rank of their elements, for isinstance; calling one makes such an array."""

    def __instancecheck__(cls, thing):
        from .array_object import NDArray

        return isinstance(thing, NDArray) and len(thing.element_shape) == cls.rank


class ScalarNdarray(metaclass=_ArraysOf):
    """Arrays of scalars: ``ScalarNdarray(dtype, shape)``."""

    rank = 0

    def __new__(cls, dtype, shape, needs_grad=False):
        return ndarray(dtype, shape, needs_grad)


class VectorNdarray(metaclass=_ArraysOf):
    """Arrays of vectors: ``VectorNdarray(n, dtype, shape)``."""

    rank = 1

    def __new__(cls, n, dtype, shape, needs_grad=False):
        return vector_ndarray(n, dtype, shape, needs_grad)


class MatrixNdarray(metaclass=_ArraysOf):
    """Arrays of matrices: ``MatrixNdarray(n, m, dtype, shape)``."""

    rank = 2

    def __new__(cls, n, m, dtype, shape, needs_grad=False):
        return matrix_ndarray(n, m, dtype, shape, needs_grad)


def from_dlpack(source: Any, dtype: Any = None) -> Any:
    """An array over the memory of another object, without a copy: NumPy's, PyTorch's, anything that offers DLPack or a buffer.

    Args:
        source: on the CPU, of at most 12 dimensions; strides are kept.
        dtype: an element type; a vector or matrix takes the last dimensions, which must be its own. None: scalars.
    Raises RuntimeTypeError_ for what is no array of a scalar type here, RuntimeValueError_ for a shape that does not fit.
    """
    from . import array_object

    return array_object.adopt(source, None if dtype is None else _element_of(dtype))


def _made(make, *arguments):
    try:
        return make(*arguments)
    except TypeError as error:
        raise RuntimeTypeError_(f"ndarray: {error}") from None
    except ValueError as error:
        raise RuntimeValueError_(f"ndarray: {error}") from None


def _element_of(dtype):
    element = _made(lambda: _types.element_type(dtype, "dtype", allow_struct=True))
    if isinstance(element, _types.StructType) and not element.has_values:
        raise RuntimeTypeError_(f"ndarray: expected a struct type with members, got {element!r}")
    return element


def _shape_of(shape) -> tuple[int, ...]:
    extents = (shape,) if hasattr(shape, "__index__") else shape
    try:
        extents = tuple(extents)
    except TypeError:
        raise RuntimeTypeError_(f"ndarray shape: expected an integer or a sequence of integers, got {shape!r}") from None
    if any(isinstance(extent, bool) or not hasattr(extent, "__index__") for extent in extents):
        raise RuntimeTypeError_(f"ndarray shape: expected integers, got {shape!r}")
    extents = tuple(extent.__index__() for extent in extents)
    if any(not 0 <= extent < 1 << 31 for extent in extents):
        raise RuntimeValueError_(f"ndarray shape: expected extents from 0 to 2147483647, got {extents}")
    if len(extents) > _types.MAX_AXES:
        raise RuntimeValueError_(f"ndarray shape: expected at most {_types.MAX_AXES} dimensions, got {len(extents)}")
    return extents
