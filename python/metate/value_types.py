"""Types of values: scalars, vectors, matrices, structs, arrays, and axes.

Every type is a frozen, hashable value, equal iff structurally equal, and `str` of one is its MLIR
spelling. Tree types have their own file (tree_type.py). Types here make no fields and no instances:
types.py, above both, adds that and the functions by which programs spell types. Nothing here touches
memory, the compiler or the runtime.
"""

from __future__ import annotations

import itertools
from typing import Any

from .dim import Dim, checked_shape
from .dtypes import (  # noqa: F401  (offered from here)
    DTYPES,
    ByDefault,
    DType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    is_python_scalar,
    u1,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip
from .dtypes import dtype as dtype
from .record import Record
from .struct_types import StructMember, StructType, element_type  # noqa: F401
from .vector_types import MatrixType, VectorType, element_of, extent_of

MAX_AXES = 12
LETTERS = "ijklmnopqrst"


class NDArrayType(Record):
    """Annotation of a kernel's array parameter; what is None is taken from the argument at the call.

    Attributes:
        dtype: element type: scalar, vector, matrix (whose dimensions are the array's last, fixed ones) or struct;
            int, float and bool are the context's default types.
        ndim: dimensions, those of the elements not counted.
        contiguous: True accepts row-major arrays without gaps only; False compiles for any strides.
        element_dim: where dtype is None or a scalar, how many of the array's last dimensions are an element's.
        element_shape: the same with their extents.
        boundary: "unsafe": an index outside is an error of the program; "clamp": it means the nearest element.
        needs_grad: False makes the array a constant to derivatives, whether it has a gradient or not.
        shape: what each dimension must be, those of elements not counted: a number, a Dim, or None for any.
    """

    dtype: Any = None
    ndim: int | None = None
    contiguous: bool | None = None
    element_dim: int | None = None
    element_shape: tuple[int, ...] | None = None
    boundary: str = "unsafe"
    needs_grad: bool | None = None
    shape: tuple[int | Dim | None, ...] | None = None

    def __repr__(self) -> str:
        given = [f"{k}={v!r}" for k, v in self.__dict__.items() if v is not None and (k, v) != ("boundary", "unsafe")]
        return f"ndarray({', '.join(given)})"


def ndarray(
    dtype: Any = None,
    ndim: int | None = None,
    element_dim: int | None = None,
    element_shape: tuple[int, ...] | None = None,
    field_dim: int | None = None,
    needs_grad: bool | None = None,
    boundary: str = "unsafe",
    *,
    contiguous: bool | None = None,
    shape: tuple[int | Dim | None, ...] | None = None,
) -> NDArrayType:
    """The type of array parameters: ``ndarray(dtype=f32, ndim=2)``, ``ndarray(f32, shape=(n, 3))``; see NDArrayType.

    Taichi's older spellings stand for the same: field_dim is ndim, ``dtype=f32, element_shape=(3,)`` is
    ``dtype=vector(3, f32)``. Raises TypeError, ValueError.
    """
    if dtype is not None and not is_python_scalar(dtype) and not isinstance(dtype, ByDefault):
        dtype = element_type(dtype, "ndarray dtype", allow_struct=True)
    ndim, field_dim = _dimensions("ndim", ndim, MAX_AXES), _dimensions("field_dim", field_dim, MAX_AXES)
    if None not in (ndim, field_dim) and ndim != field_dim:
        raise ValueError(f"ndarray: expected ndim or field_dim, which mean the same, got {ndim} and {field_dim}")
    element_dim = _dimensions("element_dim", element_dim, 2)
    if element_shape is not None:
        element_shape = tuple(extent_of(extent, "ndarray element_shape") for extent in element_shape)
        if element_dim not in (None, len(element_shape)) or len(element_shape) > 2:
            expected = "0 to 2" if element_dim is None else element_dim
            raise ValueError(f"ndarray element_shape: expected {expected} extents, got {element_shape}")
        element_dim = len(element_shape)
    if isinstance(dtype, (VectorType, MatrixType, StructType)) and element_dim is not None:
        if element_dim != len(getattr(dtype, "shape", ())) or element_shape not in (None, getattr(dtype, "shape", ())):
            got = f"{element_dim} and {element_shape}"
            raise ValueError(f"ndarray: expected element_dim and element_shape of {dtype!r}, got {got}")
        element_dim = element_shape = None
    if needs_grad not in (None, True, False):
        raise TypeError(f"ndarray needs_grad: expected True, False or None, got {needs_grad!r}")
    if boundary not in ("unsafe", "clamp"):
        raise ValueError(f"ndarray boundary: expected 'unsafe' or 'clamp', got {boundary!r}")
    if contiguous not in (None, True, False):
        raise TypeError(f"ndarray contiguous: expected True, False or None, got {contiguous!r}")
    if element_shape is not None and isinstance(dtype, DType):
        dtype = element_of(dtype, element_shape)
        element_dim = element_shape = None
    ndim = field_dim if ndim is None else ndim
    if shape is not None:
        asked = checked_shape(shape, ndim, "ndarray")
        ndim, shape = len(shape) if isinstance(shape, (tuple, list)) else 1, asked
        ndim = _dimensions("shape", ndim, MAX_AXES)
    return NDArrayType(dtype, ndim, contiguous, element_dim or None, element_shape, boundary, needs_grad, shape)


def _dimensions(name, value, most):
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"ndarray {name}: expected an integer, got {value!r}")
    if not 0 <= value.__index__() <= most:
        raise ValueError(f"ndarray {name}: expected 0 to {most}, got {value}")
    return value.__index__()


class NDArray:
    """``NDArray[f32, 2]`` is ``ndarray(f32, 2)``, for type checkers."""

    def __class_getitem__(cls, arguments):
        return ndarray(*arguments) if isinstance(arguments, tuple) else ndarray(arguments)


class Axes(Record):
    """Axes of a level, such as ``mt.ij``: axis numbers in the order in which extents are given."""

    numbers: tuple[int, ...]

    @property
    def letters(self) -> str:
        """The axes' letters, such as 'ij'."""
        return "".join(LETTERS[n] for n in self.numbers)

    def __iter__(self):
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"axes {self.letters}"


def axes(*numbers: int) -> Axes:
    """Axes by number (0 is i), by letters, or from other axes: ``axes(0, 1)``, ``axes("ij")``."""
    flat = []
    for number in numbers:
        if isinstance(number, Axes):
            flat += number.numbers
        elif isinstance(number, str) and number and set(number) <= set(LETTERS):
            flat += [LETTERS.index(letter) for letter in number]
        elif not isinstance(number, bool) and hasattr(number, "__index__") and 0 <= number.__index__() < MAX_AXES:
            flat.append(number.__index__())
        else:
            raise TypeError(f"axes: expected numbers from 0 to {MAX_AXES - 1} or letters of {LETTERS!r}, got {number!r}")
    if not flat or len(set(flat)) != len(flat):
        raise ValueError(f"axes: expected at least one axis and each once, got {flat}")
    return Axes(tuple(flat))


# mt.i, mt.ij, mt.ik, mt.ijk, ...: every ascending choice of the first four axes, as in Taichi, and
# the longer runs from i. (Any other choice is axes("..."): names such as `np` or `in` are taken.)
NAMED_AXES = {
    letters: axes(letters)
    for letters in (
        *("".join(c) for count in range(1, 5) for c in itertools.combinations(LETTERS[:4], count)),
        *(LETTERS[:count] for count in range(5, MAX_AXES + 1)),
    )
}
