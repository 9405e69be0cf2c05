"""Scalar types: the one table of them, and what programs may call them.

The compiler's and modules' numbers of types (abi/metate/abi/base.h) are their codes; tests/python/test_types.py joins the two.
"""

from __future__ import annotations

import functools
import struct
from abc import ABC, abstractmethod
from typing import Any

from .lazy_numpy import np, numpy_class
from .record import Record

# What `from .dtypes import *` gives: the types by all their names.
__all__ = [
    "bf16",
    "f16",
    "f32",
    "f64",
    "float16",
    "float32",
    "float64",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]  # fmt: skip


class DType(Record):
    """A scalar type: one object for each, compared by identity.

    Attributes:
        name: as written in programs, such as ``f32``.
        mlir: its spelling in IR: signless ``i32`` for signed integers, ``ui32`` for unsigned ones.
        bits: width of the value (`u1` is one bit of value in one byte of memory).
        kind: ``"float"``, ``"int"``, ``"uint"`` or ``"bool"``.
        code: the number of the type in modules (metate_dtype).
        format: its letter in `struct`; "" for `bf16`, which Python has not.
    """

    name: str
    mlir: str
    bits: int
    kind: str
    code: int
    format: str

    @functools.cached_property
    def numpy(self) -> Any:
        """The NumPy dtype, None for `bf16`, which NumPy has not."""
        return np.dtype("bool" if self.kind == "bool" else f"{self.kind}{self.bits}") if self.format else None

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def to_string(self) -> str:
        """Its name: "i32"."""
        return self.name

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

    def holds(self, value: int) -> bool:
        """Can its bits say an integer? One of n bits is given as -2^(n-1) to 2^n - 1: 0xDEADBEEF is an i32."""
        return self.is_float or (0 if self.bits == 1 else -(1 << (self.bits - 1))) <= value < 1 << self.bits

    def unpack(self, data: Any) -> tuple:
        """The Python numbers whose bytes these are."""
        if not self.format:  # bf16: the upper halves of f32s
            data = b"".join(b"\0\0" + data[at : at + 2] for at in range(0, len(data), 2))
        return struct.unpack(f"{len(data) // (self.bytes if self.format else 4)}{self.format or 'f'}", data)

    def __call__(self, value) -> Any:
        """`value` converted as a cast in a kernel converts it; returns a Python number."""
        if self.kind == "bool":
            return bool(value)
        if self.kind == "float":
            if not self.format:
                return float(bf16_values(bf16_bits(float(value))))
            try:
                return struct.unpack(self.format, struct.pack(self.format, float(value)))[0]
            except OverflowError:  # infinity, and NumPy's warning
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


u1 = DType("u1", "i1", 1, "bool", 1, "?")
i8 = DType("i8", "i8", 8, "int", 2, "b")
i16 = DType("i16", "i16", 16, "int", 3, "h")
i32 = DType("i32", "i32", 32, "int", 4, "i")
i64 = DType("i64", "i64", 64, "int", 5, "q")
u8 = DType("u8", "ui8", 8, "uint", 6, "B")
u16 = DType("u16", "ui16", 16, "uint", 7, "H")
u32 = DType("u32", "ui32", 32, "uint", 8, "I")
u64 = DType("u64", "ui64", 64, "uint", 9, "Q")
f16 = DType("f16", "f16", 16, "float", 10, "e")
bf16 = DType("bf16", "bf16", 16, "float", 11, "")
f32 = DType("f32", "f32", 32, "float", 12, "f")
f64 = DType("f64", "f64", 64, "float", 13, "d")

DTYPES = (u1, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
_BY_CODE = {t.code: t for t in DTYPES}
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64
float16, float32, float64 = f16, f32, f64
_BY_NAME = {name: globals()[name] for name in __all__}


def dtype(value: Any) -> DType:
    """The scalar type that `value` names: a DType, its name, its module number or a NumPy dtype.

    Python's `int`, `float` and `bool` are not accepted: their width is a context's choice.
    Raises TypeError.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        found = _BY_NAME.get(value)
        if found is not None:
            return found
    elif isinstance(value, int) and not isinstance(value, bool):
        if value in _BY_CODE:
            return _BY_CODE[value]
    else:
        found = _of_numpy(value)
        if found is not None:
            return found
    raise TypeError(f"expected a scalar type such as mt.f32, got {value!r}")


def _of_numpy(value: Any) -> DType | None:
    """The scalar type that one of NumPy's is: a dtype or a class of scalars; None of anything else."""
    is_class = isinstance(value, type) and issubclass(value, numpy_class("generic"))
    if is_class or isinstance(value, numpy_class("dtype")):
        wanted = np.dtype(value).newbyteorder("=")
        return next((t for t in DTYPES if t.format and t.numpy == wanted), None)
    return None


def is_python_scalar(thing: Any) -> bool:
    """Is it int, float or bool, which stand for scalar types? By identity: what a kernel names may compare as it likes."""
    return thing is int or thing is float or thing is bool


def scalar_of(thing: Any, options: Any) -> Any:
    """What `int`, `float` and `bool`, and vectors of them, are under options (default_ip, default_fp); else the thing."""
    if is_python_scalar(thing):
        return {int: options.default_ip, float: options.default_fp, bool: u1}[thing]
    return thing.under(options) if isinstance(thing, ByDefault) else thing


class ByDefault(ABC):
    """A type whose scalars are the context's default ones, such as ``mt.math.vec3``."""

    @abstractmethod
    def under(self, options: Any) -> Any:
        """The type that it is under options."""


def bf16_bits(values: Any) -> np.ndarray:
    """The 16 bits of the bf16s nearest to `values`, ties to even: u16, of their shape."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, np.float32).reshape(np.shape(values))
    bits = single.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(single), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def bf16_values(bits: Any) -> np.ndarray:
    """The values of bf16s, given their 16 bits: f32, of their shape."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)
