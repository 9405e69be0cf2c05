"""The types a program names: scalars, vectors, matrices, structs, ndarrays, axes.

Every type is a frozen, hashable value, equal iff structurally equal, and `str` of one is its MLIR
spelling. Tree types have their own file (tree_type.py); types.py offers both. Nothing here
touches memory, the compiler or the runtime.
"""

from __future__ import annotations

import functools
import importlib
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
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; `u1` is none."""
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        """Whether it has negative values."""
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


def dtype(value: Any) -> DType:
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


def is_python_scalar(thing: Any) -> bool:
    """Is it int, float or bool, which stand for scalar types? By identity: what a kernel names may compare as it likes."""
    return thing is int or thing is float or thing is bool


def scalar_type(value: Any) -> DType:
    """As dtype(), and Python's `int`, `float` and `bool` for the current context's default types."""
    if is_python_scalar(value):
        from .context import current

        options = current().options
        return {int: options.default_ip, float: options.default_fp, bool: u1}[value]
    return dtype(value)


def _names_scalar(thing) -> bool:
    return isinstance(thing, (DType, str)) or is_python_scalar(thing)


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
    """A vector of `n` scalars of one type; calling it makes a MatrixValue, a NumPy array of shape (n,)."""

    n: int
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,)"""
        return (self.n,)

    def __call__(self, *values):
        return _fill(self, values)

    def field(self, shape: Any = None, **named: Any) -> Any:
        """A field of this type; arguments as `mt.field` takes them."""
        return make_field(self, shape, **named)

    def __str__(self) -> str:
        return f"vector<{self.n}x{self.dtype}>"

    def __repr__(self) -> str:
        return f"vector({self.n}, {self.dtype!r})"


@dataclass(frozen=True)
class MatrixType:
    """An `n` by `m` matrix (n rows) of scalars; calling it makes a MatrixValue of shape (n, m)."""

    n: int
    m: int
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, m)"""
        return (self.n, self.m)

    def __call__(self, *values):
        return _fill(self, values)

    def field(self, shape: Any = None, **named: Any) -> Any:
        """A field of this type; arguments as `mt.field` takes them."""
        return make_field(self, shape, **named)

    def __str__(self) -> str:
        return f"vector<{self.n}x{self.m}x{self.dtype}>"

    def __repr__(self) -> str:
        return f"matrix({self.n}, {self.m}, {self.dtype!r})"


def make_field(type_: Any, *arguments: Any, **named: Any) -> Any:
    """`T.field(shape=...)`: a field whose elements have the type."""
    from . import fields

    if isinstance(type_, VectorType):
        return fields.vector_field(type_.n, type_.dtype, *arguments, **named)
    if isinstance(type_, MatrixType):
        return fields.matrix_field(type_.n, type_.m, type_.dtype, *arguments, **named)
    return fields.struct_field(type_, *arguments, **named)


def _fill(type_, values):
    """A MatrixValue of a vector or matrix type from numbers and arrays, read in order; one number fills it."""
    from .matrix_value import MatrixValue

    numpy = type_.dtype.numpy or np.dtype(np.float32)
    parts = [np.asarray(v).ravel() for v in values]
    flat = np.concatenate(parts) if parts else np.zeros(1)
    count = int(np.prod(type_.shape))
    if flat.size == 1:
        flat = np.repeat(flat, count)
    if flat.size != count:
        raise ValueError(f"{type_!r}: expected 1 or {count} numbers, got {flat.size}")
    return flat.astype(numpy).reshape(type_.shape).view(MatrixValue)


def _order_arguments(arguments, counts: int, spelling: str):
    """Splits arguments given as (dtype, extents...) or (extents..., dtype) into (extents, dtype)."""
    if len(arguments) == counts + 1:
        if _names_scalar(arguments[0]):
            return arguments[1:], scalar_type(arguments[0])
        if _names_scalar(arguments[-1]):
            return arguments[:-1], scalar_type(arguments[-1])
    raise TypeError(f"expected {spelling}, got ({', '.join(map(repr, arguments))})")


def vector(*arguments: Any, n: int | None = None, dtype: Any = None) -> VectorType:
    """The type of vectors: ``vector(3, f32)`` or ``vector(f32, 3)``."""
    arguments += tuple(a for a in (n, dtype) if a is not None)
    extents, scalar = _order_arguments(arguments, 1, "vector(n, dtype)")
    return VectorType(_extent(extents[0], "vector length"), scalar)


def matrix(*arguments: Any, n: int | None = None, m: int | None = None, dtype: Any = None) -> MatrixType:
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
    def type(self) -> Any:
        """The member's type."""
        return self.struct.members[self.name]

    def __repr__(self) -> str:
        return f"<member {self.name}: {self.type!r}>"


class StructType:
    """Named members in order, with methods and defaults. ``s.a`` is a placeable handle of member `a`; `s.members` is a dict.
    ``s.field(shape=...)`` makes a field of the type.

    Two struct types are equal iff they have equal members in equal order and the same methods. Called from
    Python it makes a `Struct`; called in a kernel, a struct value.

    Args:
        members: name -> scalar, vector, matrix or struct type; under `__struct_methods`, methods as below.
        methods: name -> function whose first parameter is the struct.
        defaults: name -> value where a call leaves a member out; a member without one is zero.
        wrapped: the class that @dataclass was put on.
    """

    __slots__ = ("_class", "_defaults", "_members", "_methods")

    def __init__(self, members, methods=None, defaults=None, wrapped=None):
        members = dict(members)
        methods = {**members.pop("__struct_methods", {}), **(methods or {})}
        checked = {}
        for name, type_ in members.items():
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("__") or name == "members":
                raise TypeError(f"struct member name: expected an identifier other than 'members', got {name!r}")
            checked[name] = element_type(type_, f"struct member '{name}'", allow_struct=True)
        if not checked:
            raise TypeError("struct: expected at least one member, got none")
        for name, method in methods.items():
            if name in checked or not callable(method):
                what = "another name than a member's" if name in checked else "a function"
                raise TypeError(f"struct method '{name}': expected {what}, got {method!r}")
        object.__setattr__(self, "_members", tuple(checked.items()))
        object.__setattr__(self, "_methods", tuple(sorted(methods.items())))
        object.__setattr__(self, "_defaults", dict(defaults or {}))
        object.__setattr__(self, "_class", wrapped)

    @property
    def members(self) -> dict[str, Any]:
        """The members' types by their names, in order."""
        return dict(self._members)

    @property
    def methods(self) -> dict[str, Any]:
        """The functions that its values have, by their names."""
        return dict(self._methods)

    @property
    def class_name(self) -> str | None:
        """The name of the class that @dataclass was put on."""
        return getattr(self._class, "__name__", None)

    def has_members_of(self, other: Any) -> bool:
        """Equal but for the methods?"""
        if not isinstance(other, StructType) or [n for n, _ in self._members] != [n for n, _ in other._members]:
            return False
        pairs = zip(self.members.values(), other.members.values())
        return all(a.has_members_of(b) if isinstance(a, StructType) else a == b for a, b in pairs)

    def __call__(self, *values, **named):
        from .struct_object import make_struct

        return make_struct(self, values, named)

    def __mro_entries__(self, bases):
        """`class B(A)` where A was made by @dataclass derives from A's class."""
        if self._class is None:
            raise TypeError("a struct type made by struct(...) has no class to derive from: use @dataclass")
        return (self._class,)

    def __getattr__(self, name):
        if not name.startswith("__") and any(name == n for n, _ in object.__getattribute__(self, "_members")):
            return StructMember(self, name)
        if name == "field":
            return lambda *arguments, **named: make_field(self, *arguments, **named)
        raise AttributeError(f"struct has no member '{name}': it has {', '.join(n for n, _ in self._members)}")

    def __setattr__(self, name, value):
        raise AttributeError("a struct type is frozen: build another one")

    def __eq__(self, other):
        return isinstance(other, StructType) and self._members == other._members and self._methods == other._methods

    def __hash__(self):
        return hash(("struct", self._members, self._methods))

    def __repr__(self) -> str:
        return "struct({" + ", ".join(f"{n!r}: {t!r}" for n, t in self._members) + "})"

    def __reduce__(self):
        if self._class is not None:  # the class itself is no longer under its name
            return (_by_name, (self._class.__module__, self._class.__qualname__))
        return (StructType, (self.members, self.methods, self._defaults))


def _by_name(module, name):
    """What stands under a name of a module, which unpickling a dataclass means."""
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def struct(members: dict[str, Any] | None = None, **named: Any) -> StructType:
    """A struct type from a dict, or from keywords: ``struct({'a': f32})``, ``struct(a=f32)``."""
    return StructType({**(members or {}), **named})


def element_type(value: Any, what: str, allow_struct: bool = False) -> Any:
    """Checks that `value` is a scalar, vector or matrix type (or a struct type); returns it. Raises TypeError."""
    if isinstance(value, (VectorType, MatrixType)) or (allow_struct and isinstance(value, StructType)):
        return value
    try:
        return scalar_type(value)
    except TypeError:
        raise TypeError(
            f"{what}: expected a scalar, vector{', matrix or struct' if allow_struct else ' or matrix'} type, got {value!r}"
        ) from None


@dataclass(frozen=True)
class NDArrayType:
    """Annotation of a kernel's array parameter; what is None is taken from the argument at the call.

    Attributes:
        dtype: element type: scalar, vector, matrix (whose dimensions are the array's last, fixed ones) or struct;
            int, float and bool are the context's default types.
        ndim: dimensions, those of the elements not counted.
        contiguous: True accepts row-major arrays without gaps only; False compiles for any strides.
        element_dim: where dtype is None or a scalar, how many of the array's last dimensions are an element's.
        element_shape: the same with their extents.
        boundary: "unsafe": an index outside is an error of the program; "clamp": it means the nearest element.
    """

    dtype: Any = None
    ndim: int | None = None
    contiguous: bool | None = None
    element_dim: int | None = None
    element_shape: tuple[int, ...] | None = None
    boundary: str = "unsafe"

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
) -> NDArrayType:
    """The type of array parameters: ``ndarray(dtype=f32, ndim=2)``; see NDArrayType.

    Taichi's older spellings stand for the same: field_dim is ndim, ``dtype=f32, element_shape=(3,)`` is
    ``dtype=vector(3, f32)``. Raises TypeError, ValueError.
    """
    if dtype is not None and not is_python_scalar(dtype):
        dtype = element_type(dtype, "ndarray dtype", allow_struct=True)
    ndim, field_dim = _dimensions("ndim", ndim, MAX_AXES), _dimensions("field_dim", field_dim, MAX_AXES)
    if None not in (ndim, field_dim) and ndim != field_dim:
        raise ValueError(f"ndarray: expected ndim or field_dim, which mean the same, got {ndim} and {field_dim}")
    element_dim = _dimensions("element_dim", element_dim, 2)
    if element_shape is not None:
        element_shape = tuple(_extent(extent, "ndarray element_shape") for extent in element_shape)
        if element_dim not in (None, len(element_shape)) or len(element_shape) > 2:
            expected = "0 to 2" if element_dim is None else element_dim
            raise ValueError(f"ndarray element_shape: expected {expected} extents, got {element_shape}")
        element_dim = len(element_shape)
    if isinstance(dtype, (VectorType, MatrixType, StructType)) and element_dim is not None:
        if element_dim != len(getattr(dtype, "shape", ())) or element_shape not in (None, getattr(dtype, "shape", ())):
            got = f"{element_dim} and {element_shape}"
            raise ValueError(f"ndarray: expected element_dim and element_shape of {dtype!r}, got {got}")
        element_dim = element_shape = None
    if needs_grad not in (None, False):
        raise ValueError(f"ndarray needs_grad: expected False, for kernels compute no gradients, got {needs_grad!r}")
    if boundary not in ("unsafe", "clamp"):
        raise ValueError(f"ndarray boundary: expected 'unsafe' or 'clamp', got {boundary!r}")
    if contiguous not in (None, True, False):
        raise TypeError(f"ndarray contiguous: expected True, False or None, got {contiguous!r}")
    if element_shape is not None and isinstance(dtype, DType):
        dtype = element_of(dtype, element_shape)
        element_dim = element_shape = None
    return NDArrayType(dtype, field_dim if ndim is None else ndim, contiguous, element_dim or None, element_shape, boundary)


def _dimensions(name, value, most):
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"ndarray {name}: expected an integer, got {value!r}")
    if not 0 <= value.__index__() <= most:
        raise ValueError(f"ndarray {name}: expected 0 to {most}, got {value}")
    return value.__index__()


def element_of(scalar: DType, shape: Any) -> Any:
    """The type of elements of a shape: the scalar itself, a vector or a matrix."""
    if len(shape) == 0:
        return scalar
    return VectorType(shape[0], scalar) if len(shape) == 1 else MatrixType(*shape, scalar)


class NDArray:
    """``NDArray[f32, 2]`` is ``ndarray(f32, 2)``, for type checkers."""

    def __class_getitem__(cls, arguments):
        return ndarray(*arguments) if isinstance(arguments, tuple) else ndarray(arguments)


@dataclass(frozen=True)
class Axes:
    """Axes of a level, such as ``mt.ij``: axis numbers in the order in which extents are given."""

    numbers: tuple[int, ...]

    @property
    def letters(self) -> str:
        """The axes' letters, such as 'ij'."""
        return "".join(_LETTERS[n] for n in self.numbers)

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
