"""What a kernel of the other side takes, and how values of this process become its arguments."""

from __future__ import annotations

import operator
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import DType, bf16_bits, dtype
from ..errors import RuntimeTypeError_, RuntimeValueError_

SCALAR, VECTOR, ARRAY, TREE = 1, 2, 3, 4  # metate_argument_kind
WRITE, ACTIVATE = 2, 4  # METATE_ACCESS_*
RESULT = 2  # METATE_ARGUMENT_RESULT
AS_SCALAR, AS_VECTOR = 1, 2  # METATE_RPC_*: how the request holds an argument


@dataclass(frozen=True)
class Parameter:
    """An argument of a kernel, or a result.

    Attributes:
        kind: metate_argument_kind; dtype: None of a tree; shape: its extents, -1 for any, of a vector its own.
        type: a tree's type, by its number in the module.
    """

    name: str
    kind: int
    dtype: DType | None
    shape: tuple[int, ...]
    access: int
    is_result: bool
    type: int

    @classmethod
    def of(cls, payload: bytes) -> Parameter:
        """Of an answer to METATE_RPC_ARGUMENT."""
        kind, code, rows, columns, element_rank, rank, access, flags, type_ = struct.unpack_from("<9I", payload)
        shape = struct.unpack_from(f"<{rank}q", payload, 36) if kind == ARRAY else (rows, columns)[:element_rank]
        name = payload[36 + 8 * rank :].partition(b"\0")[0].decode()
        return cls(name, kind, None if kind == TREE else dtype(code), tuple(shape), access, bool(flags & RESULT), type_)

    @property
    def is_written(self) -> bool:
        return bool(self.access & (WRITE | ACTIVATE))

    def __str__(self) -> str:
        if self.kind == TREE:
            return "a tree of the other side (remote.tree)"
        if self.kind == SCALAR:
            return repr(self.dtype)
        return f"a {len(self.shape)}-dimensional array of {self.dtype!r}"


def array_type(of: DType) -> np.dtype:
    """NumPy's; of bf16 that of its bits."""
    return np.dtype("<u2") if of.numpy is None else of.numpy.newbyteorder("<")


def scalar(parameter: Parameter, value: Any, where: str) -> bytes:
    """A scalar in a request. Raises RuntimeTypeError_, RuntimeValueError_."""
    wanted = parameter.dtype
    assert wanted is not None
    head = bytes((AS_SCALAR, wanted.code))
    try:
        if wanted.kind == "float":
            return head + _float(wanted, float(value))
        if wanted.kind == "bool":
            return head + bytes((bool(operator.index(value)),))
        whole = operator.index(value)
    except TypeError:
        raise RuntimeTypeError_(f"{where}: expected {wanted!r}, got {value!r}") from None
    try:
        return head + struct.pack("<" + wanted.format, whole)
    except struct.error:
        raise RuntimeValueError_(f"{where}: expected a value of {wanted!r}, got {whole}") from None


def _float(wanted, value):
    if not wanted.format:
        return struct.pack("<H", int(bf16_bits(value)))
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(array_type(wanted)).tobytes()


def vector(parameter: Parameter, value: Any, where: str) -> bytes:
    """A vector or matrix in a request. Raises RuntimeTypeError_."""
    assert parameter.dtype is not None
    try:
        elements = np.asarray(value).astype(array_type(parameter.dtype), casting="unsafe")
    except (TypeError, ValueError):
        elements = None
    if elements is None or elements.shape != parameter.shape:
        raise RuntimeTypeError_(f"{where}: expected {parameter.dtype!r} of shape {parameter.shape}, got {value!r}")
    return struct.pack("<BBH", AS_VECTOR, parameter.dtype.code, elements.size) + elements.tobytes()


def check_array(parameter: Parameter, got: Any, shape: tuple[int, ...], where: str) -> None:
    """An array of NumPy's or of the other side. Raises RuntimeTypeError_, RuntimeValueError_."""
    assert parameter.dtype is not None
    wanted = array_type(parameter.dtype)
    if np.dtype(got) != wanted or len(shape) != len(parameter.shape):
        raise RuntimeTypeError_(f"{where}: expected {parameter}, got a {len(shape)}-dimensional array of {np.dtype(got)}")
    for axis, (extent, expected) in enumerate(zip(shape, parameter.shape, strict=True)):
        if expected >= 0 and extent != expected:
            raise RuntimeValueError_(f"{where}: dimension {axis}: expected {expected}, got {extent}")


def results(parameters: list[Parameter], payload: bytes) -> Any:
    """What a call returns: None, a number, an array, or a tuple of those."""
    found, at = [], 0
    for parameter in parameters:
        assert parameter.dtype is not None
        kind, count = array_type(parameter.dtype), int(np.prod(parameter.shape, dtype=np.int64))
        values = np.frombuffer(payload, kind, count, at).reshape(parameter.shape).copy()
        found.append(values.item() if not parameter.shape else values)
        at += count * kind.itemsize
    return None if not found else found[0] if len(found) == 1 else tuple(found)
