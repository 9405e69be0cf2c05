"""The extension that knows Eigen, loaded when a sparse matrix first needs it, and what may go to it.

It takes compressed matrices as five arguments: outer and inner extent, starts, indices, values. Column-major matrices
go as they are, row-major ones as their transpose, which has the same arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_object import NDArray, owned
from ..errors import RuntimeImportError_, RuntimeTypeError_, RuntimeValueError_
from ..fields import Field
from ..triplets import value_type

LARGEST = (1 << 31) - 1


def library() -> Any:
    """metate_native._sparse. Raises RuntimeImportError_ where the build has none."""
    try:
        from metate_native import _sparse
    except ImportError as error:
        raise RuntimeImportError_(
            f"metate.linalg: sparse matrices: expected a build with Eigen, got {error}; install Eigen's headers "
            "(Debian: libeigen3-dev) and build again"
        ) from None
    return _sparse


def available() -> bool:
    """Whether this build of Metate has sparse matrices."""
    try:
        library()
    except RuntimeImportError_:
        return False
    return True


def checked_type(dtype: Any, what: str) -> Any:
    """The scalar type of values. Raises RuntimeTypeError_."""
    try:
        return value_type(dtype, what)
    except TypeError as error:
        raise RuntimeTypeError_(str(error)) from None


def extent(value: Any, what: str) -> int:
    """A number of rows, columns or triplets. Raises RuntimeTypeError_, RuntimeValueError_."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise RuntimeTypeError_(f"{what}: expected an integer, got {value!r}")
    if not 0 <= value.__index__() <= LARGEST:
        raise RuntimeValueError_(f"{what}: expected 0 to {LARGEST}, got {value}")
    return value.__index__()


def is_row_major(storage_format: Any, what: str) -> bool:
    """What a storage format says. Raises RuntimeValueError_."""
    if storage_format not in ("col_major", "row_major"):
        raise RuntimeValueError_(f"{what}: storage_format: expected 'col_major' or 'row_major', got {storage_format!r}")
    return storage_format == "row_major"


def vector(given: Any, dtype: Any, count: int, what: str) -> np.ndarray:
    """A field's, array's or sequence's numbers, [count] of dtype: a view where that is possible.

    Raises RuntimeTypeError_, RuntimeValueError_.
    """
    array = given.to_numpy() if isinstance(given, Field) else np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise RuntimeTypeError_(f"{what}: expected a field, an ndarray or a NumPy array of numbers, got {given!r}")
    if array.shape != (count,):
        raise RuntimeValueError_(f"{what}: expected shape ({count},), got {array.shape}")
    return np.ascontiguousarray(array, dtype.numpy)


def like(given: Any, values: np.ndarray, dtype: Any) -> Any:
    """The result for a vector that was given: an ndarray for an ndarray, else NumPy's."""
    return owned(values, dtype) if isinstance(given, NDArray) else values
