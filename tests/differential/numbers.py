"""The arithmetic of kernels in plain Python, one value at a time: what the twins compute with.

Integers are Python ints in their type's range and wrap; floats are Python floats that a value of their
type can hold. Written from the language's description, not from the compiler: it must never import
metate, so that it can disagree with it.
"""

from __future__ import annotations

import math
import struct
from ctypes import c_float

import numpy as np

INTEGERS = {f"{sign}{bits}": (bits, sign == "i") for sign in "iu" for bits in (8, 16, 32, 64)}
FLOATS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}  # significant bits
SCALARS = ("u1", *INTEGERS, *FLOATS)


def bits_of(scalar: str) -> int:
    return 1 if scalar == "u1" else int(scalar.lstrip("iubf"))


def is_float(scalar: str) -> bool:
    return scalar in FLOATS


def is_signed(scalar: str) -> bool:
    return scalar in FLOATS or scalar[0] == "i"


def limits(scalar: str) -> tuple[int, int]:
    """Least and greatest value of an integer type or u1."""
    bits = bits_of(scalar)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(scalar) else (0, (1 << bits) - 1)


def promote(a: str, b: str) -> str:
    """Any float beats any integer, the wider wins, unsigned wins at equal width; f16 with bf16 gives f32."""
    if a == b:
        return a
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if bits_of(a) != bits_of(b):
        return a if bits_of(a) > bits_of(b) else b
    if is_float(a):
        return "f32"
    return b if is_signed(a) else a


# -- rounding ------------------------------------------------------------------------------------------


def _f16(value):
    with np.errstate(over="ignore"):
        return float(np.float16(value))


def _bf16(value):
    """Nearest, ties to even, in one step from a double."""
    if math.isnan(value) or value == 0:
        return value
    if abs(value) >= 2.0**128:
        return math.copysign(math.inf, value)
    _, exponent = math.frexp(value)
    unit = max(exponent - 8, -133)  # the last place of a bf16, or of a subnormal one
    rounded = math.ldexp(round(math.ldexp(value, -unit)), unit)
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0**128 else math.copysign(rounded, value)


ROUND = {"f16": _f16, "bf16": _bf16, "f32": lambda v: c_float(v).value, "f64": lambda v: v}


def wrap(scalar: str):
    """An integer of any size into the type."""
    if scalar == "u1":
        return lambda v: int(v) & 1
    bits, signed = INTEGERS[scalar]
    mask, half = (1 << bits) - 1, 1 << (bits - 1)
    if signed:
        return lambda v: ((int(v) + half) & mask) - half
    return lambda v: int(v) & mask


def fit(scalar: str):
    """What an operation's exact result becomes in the type."""
    return ROUND[scalar] if is_float(scalar) else wrap(scalar)


def cast(source: str, target: str):
    """A conversion; None where it changes no value. A float outside 64 bits has no meaning."""
    if source == target:
        return None
    if target == "u1":
        return lambda v: int(v != 0)
    if is_float(target):
        if is_float(source):
            return None if FLOATS[source] < FLOATS[target] and (source, target) != ("bf16", "f16") else ROUND[target]
        if target == "f32" and bits_of(source) > 24:
            kind = np.int64 if is_signed(source) else np.uint64
            return lambda v: float(kind(v).astype(np.float32))  # one rounding, not two
        if target in ("f16", "bf16") and bits_of(source) > FLOATS[target]:
            single = cast(source, "f32") or float
            return lambda v: ROUND[target](single(v))
        return float
    if is_float(source):
        into = wrap(target)
        return lambda v: into(math.trunc(v))
    low, high = limits(source)
    least, most = limits(target)
    return None if least <= low and high <= most else wrap(target)


# -- floating point that never raises --------------------------------------------------------------------


def quiet(function, at_overflow=math.inf):
    """A function of the math module with IEEE's answers in place of exceptions."""

    def call(*values):
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return at_overflow

    return call


def divide(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def remainder(a, b):
    if a != a or b != b or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


def whole(function):
    """floor and its like: of infinities and NaN themselves, with the operand's sign at zero."""
    return lambda v: v if v != v or math.isinf(v) else math.copysign(float(function(v)), v)


def half_away(value):
    """The nearest whole number, of two the one further from zero."""
    below = math.floor(abs(value))
    return (below + (abs(value) - below >= 0.5)) * (1 if value > 0 else -1)


def minimum(a, b):
    return b if a != a else a if b != b else min(a, b)


def maximum(a, b):
    return b if a != a else a if b != b else max(a, b)


# -- integers -------------------------------------------------------------------------------------------


def truncated_quotient(a, b):
    if b == 0:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer_power(scalar: str):
    """Exact and wrapping; a negative exponent gives the truncated value."""
    into, bits = wrap(scalar), bits_of(scalar)

    def call(a, b):
        if b >= 0:
            return into(pow(a, b, 1 << bits))
        if a == 1:
            return 1
        return (-1 if b & 1 else 1) if a == -1 else 0

    return call


def shift(scalar: str, kind: str):
    into, bits = wrap(scalar), bits_of(scalar)

    def call(a, n):
        is_over = not 0 <= n < bits
        if kind == "<<":
            return 0 if is_over else into(a << n)
        if kind == ">>":
            return (-1 if a < 0 else 0) if is_over else a >> n
        return 0 if is_over else into((a & ((1 << bits) - 1)) >> n)

    return call


_CODES = {
    "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip


def to_bytes(scalar: str, value) -> bytes:
    """Little-endian bytes of a value."""
    if scalar == "u1":
        return bytes([int(value)])
    if scalar == "bf16":
        return struct.pack("<f", value)[2:]
    return struct.pack("<" + _CODES[scalar], value)


def from_bytes(scalar: str, data: bytes):
    if scalar == "bf16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack("<" + _CODES[scalar], data)[0]


def reinterpret(source: str, target: str):
    return lambda v: from_bytes(target, to_bytes(source, v))
