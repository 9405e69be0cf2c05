"""Background values of tree members: bytes for layouts, MLIR text for types, numbers for users."""

from __future__ import annotations

import math

from . import dtypes as _types
from .errors import TreeError
from .lazy_numpy import np
from .quant_types import QuantType


def _shape(type_) -> tuple[int, ...]:
    return () if isinstance(type_, _types.DType) else type_.shape


def _scalar(type_) -> _types.DType:
    return type_ if isinstance(type_, _types.DType) else type_.dtype


def encode_background(name: str, type_, value) -> bytes | None:
    """The bytes of `value` as a member of type `type_`; None when all of them are zero. Raises TreeError."""
    if value is None:
        return None
    scalar, shape = _scalar(type_), _shape(type_)
    expected = f"place: background of '{name}': expected {type_!r}"
    try:
        given = np.asarray(value)
        if given.dtype == object or given.dtype.kind not in "biuf":
            raise ValueError
        wide = np.broadcast_to(given, shape)
    except (ValueError, TypeError, OverflowError):
        raise TreeError(f"{expected}, got {value!r}") from None
    if scalar.is_float:
        if isinstance(type_, QuantType):
            low, high = type_.range()
            if not low <= wide.item() <= high:
                raise TreeError(f"{expected}, a number from {low} to {high}, got {value!r}")
            stored = type_(wide.item())
            if type_(stored) == stored:  # not where it has more digits than the type that is computed with
                wide = np.asarray(stored)  # so that equal types have equal texts
        if scalar.numpy is None:
            data = _types.bf16_bits(wide).tobytes()
        else:
            with np.errstate(over="ignore"):
                data = wide.astype(scalar.numpy).tobytes()
    else:
        low, high = type_.range() if isinstance(type_, QuantType) else scalar.range()
        numbers = [v.item() for v in wide.ravel()]
        if any(v != int(v) if math.isfinite(v) else True for v in numbers) or any(not low <= v <= high for v in numbers):
            raise TreeError(f"{expected}, integers from {low} to {high}, got {value!r}")
        data = np.array([int(v) for v in numbers], scalar.numpy).tobytes()
    return data if any(data) else None


def decode_background(type_, data: bytes | None):
    """The value behind `data`: a number; of a vector a tuple, of a matrix a tuple of rows."""
    scalar, shape = _scalar(type_), _shape(type_)
    count = math.prod(shape)
    return _nested_tuples(scalar.unpack(data or bytes(scalar.bytes * count)), shape)


def _nested_tuples(values, shape):
    if len(shape) < 2:
        return values if shape else values[0]
    return tuple(values[at : at + shape[1]] for at in range(0, len(values), shape[1]))


def background_text(type_, data: bytes) -> str:
    """MLIR's text of a typed attribute: ``3.000000e+00 : f32``, ``dense<1> : vector<2xi32>``."""
    scalar, shape = _scalar(type_), _shape(type_)
    size = scalar.bytes
    texts = [_number_text(scalar, data[at : at + size]) for at in range(0, len(data), size)]
    if not shape:
        return texts[0] if scalar.kind == "bool" else f"{texts[0]} : {scalar}"
    if len(set(texts)) == 1:
        return f"dense<{texts[0]}> : {type_}"
    return f"dense<{_nested(texts, shape)}> : {type_}"


def _nested(texts, shape) -> str:
    if len(shape) == 1:
        return "[" + ", ".join(texts) + "]"
    step = len(texts) // shape[0]
    return "[" + ", ".join(_nested(texts[at : at + step], shape[1:]) for at in range(0, len(texts), step)) + "]"


def _number_text(scalar, data: bytes) -> str:
    """One number as MLIR prints it: %e where that keeps the value, else all digits, else bits."""
    if scalar.kind == "bool":
        return "true" if data[0] else "false"
    if scalar.numpy is None:
        value = float(_types.bf16_values(int.from_bytes(data, "little")))
        same = lambda text: _types.bf16_bits(float(text)).tobytes() == data
    else:
        number = np.frombuffer(data, scalar.numpy)[0]
        value = number.item()
        same = lambda text: scalar.numpy.type(text).tobytes() == data
    if scalar.is_integer:
        return str(value)
    if not math.isfinite(value):
        return "0x" + data[::-1].hex().upper()
    for digits in range(6, 18):
        text = f"{value:.{digits}e}"
        if same(text):
            return text
    raise AssertionError("18 digits name every double")
