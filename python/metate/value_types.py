"""The types a program names: scalars, vectors, matrices, structs, ndarrays, axes.

Every type is a frozen, hashable value, equal iff structurally equal, and `str` of one is its MLIR
spelling. Tree types have their own file (tree_type.py); types.py offers both. Nothing here
touches memory, the compiler or the runtime.
"""

from __future__ import annotations

import itertools
import struct as _struct
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_AXES = 8
_LETTERS = "ijklmnop"


@dataclass(frozen=True, eq=False)
class DType:
    """A scalar type: one object for each, compared by identity.

    Attributes:
        name: as written in programs, such as ``f32``.
        mlir: its spelling in IR: signless ``i32`` for signed integers, ``ui32`` for unsigned ones.
        bits: width of the value (`u1` is one bit of value in one byte of memory).
        kind: ``"float"``, ``"int"``, ``"uint"`` or ``"bool"``.
        code: the number of the type in modules (metate_dtype).
        numpy: the NumPy dtype, None for `bf16`, which NumPy has not.
    """

    name: str
    mlir: str
    bits: int
    kind: str
    code: int
    numpy: Any

    @property
    def bytes(self) -> int:
        """Bytes of one value in memory."""
        return max(self.bits // 8, 1)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind in ("int", "float")

    def range(self) -> tuple[int, int]:
        """Least and greatest value of an integer type or of `u1`."""
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        if self.kind in ("uint", "bool"):
            return 0, (1 << self.bits) - 1
        raise TypeError(f"{self.name} is not an integer type")

    def __call__(self, value):
        """`value` converted as a cast in a kernel converts it; returns a Python number."""
        if self.kind == "bool":
            return bool(value)
        if self.kind == "float":
            if self.numpy is None:
                return bf16_to_float(bf16_bits(float(value)))
            return float(np.asarray(float(value)).astype(self.numpy))
        wrapped = int(value) & ((1 << self.bits) - 1)
        low, high = self.range()
        return wrapped - (1 << self.bits) if wrapped > high and low < 0 else wrapped

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.mlir

    def __reduce__(self):
        return (dtype, (self.name,))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


u1 = DType("u1", "i1", 1, "bool", 1, np.dtype(np.bool_))
i8 = DType("i8", "i8", 8, "int", 2, np.dtype(np.int8))
i16 = DType("i16", "i16", 16, "int", 3, np.dtype(np.int16))
i32 = DType("i32", "i32", 32, "int", 4, np.dtype(np.int32))
i64 = DType("i64", "i64", 64, "int", 5, np.dtype(np.int64))
u8 = DType("u8", "ui8", 8, "uint", 6, np.dtype(np.uint8))
u16 = DType("u16", "ui16", 16, "uint", 7, np.dtype(np.uint16))
u32 = DType("u32", "ui32", 32, "uint", 8, np.dtype(np.uint32))
u64 = DType("u64", "ui64", 64, "uint", 9, np.dtype(np.uint64))
f16 = DType("f16", "f16", 16, "float", 10, np.dtype(np.float16))
bf16 = DType("bf16", "bf16", 16, "float", 11, None)
f32 = DType("f32", "f32", 32, "float", 12, np.dtype(np.float32))
f64 = DType("f64", "f64", 64, "float", 13, np.dtype(np.float64))

DTYPES = (u1, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
_BY_NAME = {t.name: t for t in DTYPES}
_BY_CODE = {t.code: t for t in DTYPES}
_BY_NUMPY = {t.numpy: t for t in DTYPES if t.numpy is not None}
_LONG_NAMES = dict(
    uint1=u1, int8=i8, int16=i16, int32=i32, int64=i64, uint8=u8, uint16=u16, uint32=u32, uint64=u64,
    float16=f16, float32=f32, float64=f64,
)  # fmt: skip
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64
float16, float32, float64 = f16, f32, f64


def dtype(value) -> DType:
    """The scalar type that `value` names: a DType, its name, its module number or a NumPy dtype.

    Python's `int`, `float` and `bool` are not accepted: their width is a context's choice.
    Raises TypeError.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        found = _BY_NAME.get(value) or _LONG_NAMES.get(value)
        if found is not None:
            return found
    elif isinstance(value, int) and not isinstance(value, bool):
        if value in _BY_CODE:
            return _BY_CODE[value]
    elif isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        found = _BY_NUMPY.get(np.dtype(value).newbyteorder("="))
        if found is not None:
            return found
    raise TypeError(f"expected a scalar type such as mt.f32, got {value!r}")


def is_python_scalar(thing) -> bool:
    """Is it int, float or bool, which stand for scalar types? By identity: what a kernel names may compare as it likes."""
    return thing is int or thing is float or thing is bool


def bf16_bits(value: float) -> int:
    """The 16 bits of the bf16 nearest to `value`, ties to even."""
    single = np.float32(value)
    (bits,) = _struct.unpack("<I", single.tobytes())
    if np.isnan(single):
        return (bits >> 16) | 0x40
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def bf16_to_float(bits: int) -> float:
    """The value of a bf16, given its 16 bits."""
    return _struct.unpack("<f", _struct.pack("<I", bits << 16))[0]


_MOST_SCALARS = 65536  # of a vector or matrix: it is a value, which kernels pass and unroll


def _extent(value, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}: expected an integer, got {value!r}")
    number = value.__index__()
    if number < 1:
        raise ValueError(f"{what}: expected at least 1, got {number}")
    if number > _MOST_SCALARS:
        raise ValueError(f"{what}: expected at most {_MOST_SCALARS}, got {number}: use an array")
    return number


@dataclass(frozen=True)
class VectorType:
    """A vector of `n` scalars of one type; calling it makes a NumPy array of shape (n,)."""

    n: int
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    def __call__(self, *values):
        return _fill(self, values)

    def __str__(self) -> str:
        return f"vector<{self.n}x{self.dtype}>"

    def __repr__(self) -> str:
        return f"vector({self.n}, {self.dtype!r})"


@dataclass(frozen=True)
class MatrixType:
    """An `n` by `m` matrix (n rows) of scalars; calling it makes a NumPy array of shape (n, m)."""

    n: int
    m: int
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.m)

    def __call__(self, *values):
        return _fill(self, values)

    def __str__(self) -> str:
        return f"vector<{self.n}x{self.m}x{self.dtype}>"

    def __repr__(self) -> str:
        return f"matrix({self.n}, {self.m}, {self.dtype!r})"


def _fill(type_, values):
    """An array of a vector or matrix type from numbers and arrays, read in order; one number fills it."""
    numpy = type_.dtype.numpy or np.dtype(np.float32)
    parts = [np.asarray(v).ravel() for v in values]
    flat = np.concatenate(parts) if parts else np.zeros(1)
    count = int(np.prod(type_.shape))
    if flat.size == 1:
        flat = np.repeat(flat, count)
    if flat.size != count:
        raise ValueError(f"{type_!r}: expected 1 or {count} numbers, got {flat.size}")
    return flat.astype(numpy).reshape(type_.shape)


def _order_arguments(arguments, counts: int, spelling: str):
    """Splits arguments given as (dtype, extents...) or (extents..., dtype) into (extents, dtype)."""
    if len(arguments) == counts + 1:
        if isinstance(arguments[0], (DType, str)):
            return arguments[1:], dtype(arguments[0])
        if isinstance(arguments[-1], (DType, str)):
            return arguments[:-1], dtype(arguments[-1])
    raise TypeError(f"expected {spelling}, got ({', '.join(map(repr, arguments))})")


def vector(*arguments, n=None, dtype=None) -> VectorType:
    """The type of vectors: ``vector(3, f32)`` or ``vector(f32, 3)``."""
    arguments += tuple(a for a in (n, dtype) if a is not None)
    extents, scalar = _order_arguments(arguments, 1, "vector(n, dtype)")
    return VectorType(_extent(extents[0], "vector length"), scalar)


def matrix(*arguments, n=None, m=None, dtype=None) -> MatrixType:
    """The type of matrices with n rows and m columns: ``matrix(2, 3, f32)`` or ``matrix(f32, 2, 3)``."""
    arguments += tuple(a for a in (n, m, dtype) if a is not None)
    extents, scalar = _order_arguments(arguments, 2, "matrix(n, m, dtype)")
    rows, columns = _extent(extents[0], "matrix rows"), _extent(extents[1], "matrix columns")
    _extent(rows * columns, "matrix elements")
    return MatrixType(rows, columns, scalar)


@dataclass(frozen=True)
class StructMember:
    """`s.a`: one member of a struct type, to be placed in a tree."""

    struct: StructType
    name: str

    @property
    def type(self):
        return self.struct.members[self.name]

    def __repr__(self) -> str:
        return f"<member {self.name}: {self.type!r}>"


class StructType:
    """Named members in order. ``s.a`` is a placeable handle of member `a`; `s.members` is a dict."""

    __slots__ = ("_members",)

    def __init__(self, members):
        checked = {}
        for name, type_ in dict(members).items():
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("__") or name == "members":
                raise TypeError(f"struct member name: expected an identifier other than 'members', got {name!r}")
            checked[name] = element_type(type_, f"struct member '{name}'", allow_struct=True)
        if not checked:
            raise TypeError("struct: expected at least one member, got none")
        object.__setattr__(self, "_members", tuple(checked.items()))

    @property
    def members(self) -> dict:
        return dict(self._members)

    def __getattr__(self, name):
        if not name.startswith("__") and any(name == n for n, _ in object.__getattribute__(self, "_members")):
            return StructMember(self, name)
        raise AttributeError(f"struct has no member '{name}': it has {', '.join(n for n, _ in self._members)}")

    def __setattr__(self, name, value):
        raise AttributeError("a struct type is frozen: build another one")

    def __eq__(self, other):
        return isinstance(other, StructType) and self._members == other._members

    def __hash__(self):
        return hash(("struct", self._members))

    def __repr__(self) -> str:
        return "struct({" + ", ".join(f"{n!r}: {t!r}" for n, t in self._members) + "})"

    def __reduce__(self):
        return (StructType, (self.members,))


def struct(members=None, **named) -> StructType:
    """A struct type from a dict, or from keywords: ``struct({'a': f32})``, ``struct(a=f32)``."""
    return StructType({**(members or {}), **named})


def element_type(value, what: str, allow_struct: bool = False):
    """Checks that `value` is a scalar, vector or matrix type (or a struct type); returns it. Raises TypeError."""
    if isinstance(value, (VectorType, MatrixType)) or (allow_struct and isinstance(value, StructType)):
        return value
    try:
        return dtype(value)
    except TypeError:
        raise TypeError(
            f"{what}: expected a scalar, vector {'matrix or struct' if allow_struct else 'or matrix'} type, got {value!r}"
        ) from None


@dataclass(frozen=True)
class NDArrayType:
    """Annotation of a kernel's array parameter; what is None is taken from the argument at the call.

    Attributes:
        dtype: element type: scalar, vector or matrix (whose dimensions are the array's last, fixed ones).
        ndim: dimensions, those of the elements not counted.
        contiguous: True accepts row-major arrays without gaps only; False compiles for any strides.
    """

    dtype: Any = None
    ndim: int | None = None
    contiguous: bool | None = None

    def __repr__(self) -> str:
        given = [f"{k}={v!r}" for k, v in self.__dict__.items() if v is not None]
        return f"ndarray({', '.join(given)})"


def ndarray(dtype=None, ndim=None, *, contiguous=None) -> NDArrayType:
    """The type of array parameters: ``ndarray(dtype=f32, ndim=2)``; see NDArrayType."""
    if dtype is not None:
        dtype = element_type(dtype, "ndarray dtype")
    if ndim is not None:
        if isinstance(ndim, bool) or not hasattr(ndim, "__index__"):
            raise TypeError(f"ndarray ndim: expected an integer, got {ndim!r}")
        ndim = ndim.__index__()
        if not 0 <= ndim <= MAX_AXES:
            raise ValueError(f"ndarray ndim: expected 0 to {MAX_AXES}, got {ndim}")
    if contiguous not in (None, True, False):
        raise TypeError(f"ndarray contiguous: expected True, False or None, got {contiguous!r}")
    return NDArrayType(dtype, ndim, contiguous)


@dataclass(frozen=True)
class Axes:
    """Axes of a level, such as ``mt.ij``: axis numbers in the order in which extents are given."""

    numbers: tuple[int, ...]

    @property
    def letters(self) -> str:
        return "".join(_LETTERS[n] for n in self.numbers)

    def __iter__(self):
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"axes {self.letters}"


def axes(*numbers) -> Axes:
    """Axes by number (0 is i), by letters, or from other axes: ``axes(0, 1)``, ``axes("ij")``."""
    flat = []
    for number in numbers:
        if isinstance(number, Axes):
            flat += number.numbers
        elif isinstance(number, str) and number and set(number) <= set(_LETTERS):
            flat += [_LETTERS.index(letter) for letter in number]
        elif not isinstance(number, bool) and hasattr(number, "__index__") and 0 <= number.__index__() < MAX_AXES:
            flat.append(number.__index__())
        else:
            raise TypeError(f"axes: expected numbers from 0 to {MAX_AXES - 1} or letters of {_LETTERS!r}, got {number!r}")
    if not flat or len(set(flat)) != len(flat):
        raise ValueError(f"axes: expected at least one axis and each once, got {flat}")
    return Axes(tuple(flat))


# mt.i, mt.ij, mt.ik, mt.ijk, ...: every ascending choice of the first four axes, as in Taichi, and
# the longer runs from i. (Any other choice is axes("..."): names such as `np` or `in` are taken.)
NAMED_AXES = {
    letters: axes(letters)
    for letters in (
        *("".join(c) for count in range(1, 5) for c in itertools.combinations(_LETTERS[:4], count)),
        *(_LETTERS[:count] for count in range(5, MAX_AXES + 1)),
    )
}
globals().update(NAMED_AXES)

Vector, Matrix, Struct = vector, matrix, struct
