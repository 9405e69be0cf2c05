"""Quantised types as values: how many bits of a word a member has, and which numbers they stand for.

What bits mean is docs/semantics.md, QV1 to QV6. quant.py spells the types as programs do, with the context's default
types; words.py says what shares a word. No word is read or written here: libmetate and compiled code do that.
"""

from __future__ import annotations

import math
from typing import Any

from .dtypes import DType
from .record import Record

_MOST_BITS = 64  # of a word
# Of a type that is computed with: bits of its exponent, its digits that are stored, its greatest exponent.
_FLOATS = {"f32": (8, 23, 127), "f64": (11, 52, 1023)}


class QuantType(Record):
    """A quantised type: of a number in a tree, which is stored in some bits of a word and computed with in a scalar type.

    Attributes:
        kind: "int", "fixed" (an integer that counts steps of `scale`) or "float".
        bits: bits that a number takes in its word; of a float exponent and fraction.
        signed: whether there are negative numbers.
        compute: the scalar type that kernels and Python read and write.
        scale: of a fixed one the value of its lowest bit; else None.
        exp, frac: of a float the bits of its exponent, and of its digits with the sign; else None.
    """

    kind: str
    bits: int
    signed: bool
    compute: DType
    scale: float | None = None
    exp: int | None = None
    frac: int | None = None

    def __post_init__(self):
        {"int": _check_int, "fixed": _check_fixed, "float": _check_float}[self.kind](self)

    @property
    def dtype(self) -> DType:
        """The type that is computed with, as vector types have one."""
        return self.compute

    @property
    def shape(self) -> tuple[int, ...]:
        """(): a number."""
        return ()

    def range(self) -> tuple[int, int] | tuple[float, float]:
        """Least and greatest value that a store can leave; of floats those with an exponent of their own."""
        if self.kind == "float":
            exp, digits = self.exp or 0, (self.frac or 0) - self.signed
            bias = (1 << (exp - 1)) - 1
            exponent = min((1 << exp) - 1, bias + _FLOATS[self.compute.name][2]) - bias
            greatest = math.ldexp((1 << (digits + 1)) - 1, exponent - digits)
            return (-greatest if self.signed else 0.0), greatest
        low, high = _integers(self.bits, self.signed)
        if self.scale is None:
            return low, high
        scale = float(self.compute(self.scale))  # as kernels have it, who multiply in the compute type
        return self.compute(low * scale), self.compute(high * scale)

    def __call__(self, value: Any) -> int | float:
        """`value` as it is read after it was stored, of a float with an exponent of its own; a Python number."""
        if self.kind == "int":
            return _low_bits(self, int(value))
        number = self.compute(value)
        if math.isnan(number) or (number == 0 and self.kind == "fixed"):
            return 0.0
        return _nearest_fixed(self, number) if self.kind == "fixed" else _nearest_float(self, number)

    def __str__(self) -> str:
        signed = "true" if self.signed else "false"
        if self.kind == "float":
            return f"!metate.quant_float<{self.exp}, {self.frac}, {signed}, {self.compute}>"
        scale = "" if self.scale is None else f"{_float_text(self.scale)}, "
        return f"!metate.quant_{self.kind}<{self.bits}, {signed}, {scale}{self.compute}>"

    def __repr__(self) -> str:
        sizes = f"{self.exp}, {self.frac}" if self.kind == "float" else f"{self.bits}"
        scale = "" if self.scale is None else f", scale={self.scale!r}"
        usual = default_integer(self.bits, self.signed) if self.kind == "int" else "f32"
        usual = "f64" if self.kind == "fixed" and needs_f64(self.bits, self.signed) else usual
        compute = "" if self.compute.name == usual else f", compute={self.compute!r}"
        return f"quant.{self.kind}({sizes}, {self.signed}{scale}{compute})"


def computed(type_: Any) -> Any:
    """The type with which numbers of a type are computed: of a quantised one its compute type, else the type itself."""
    return type_.compute if isinstance(type_, QuantType) else type_


def first_inexact(types: list[QuantType], values: list[float]) -> int | None:
    """Of numbers that share an exponent: the first one that is not stored as it is. None: all are."""
    exponents = [math.frexp(value)[1] - 1 for value in values if value]
    least = 1 - (1 << ((types[0].exp or 0) - 1))
    exponent = max([least, *exponents])
    for number, (type_, value) in enumerate(zip(types, values)):
        digits = math.ldexp(abs(value), (type_.frac or 0) - type_.signed - 1 - exponent)
        if digits != int(digits) or (value < 0 and not type_.signed):
            return number
    return None


def _low_bits(type_, number: int) -> int:
    low = number & ((1 << type_.bits) - 1)
    return low - (1 << type_.bits) if type_.signed and low >> (type_.bits - 1) else low


def _half_away(value: float) -> int:
    """The integer next to a number that is not negative."""
    whole = int(value)
    return whole + (value - whole >= 0.5)


def _nearest_fixed(type_, number):
    compute = type_.compute
    steps = compute(number * compute(1.0 / type_.scale))
    whole = 0 if math.isinf(steps) else _half_away(abs(steps))
    if whole >= 1 << (31 if type_.bits < 32 else 63):
        whole = 0  # no integer of a machine
    return compute(_low_bits(type_, whole if steps > 0 else -whole) * compute(type_.scale))


def _nearest_float(type_, number):
    if math.copysign(1.0, number) < 0 and not type_.signed:
        return 0.0
    size, greatest = abs(number), type_.range()[1]
    if size < greatest:
        bias = (1 << (type_.exp - 1)) - 1
        unit = max(math.frexp(size)[1] - 1, 1 - bias) - (type_.frac - type_.signed)
        size = math.ldexp(_half_away(math.ldexp(size, -unit)), unit)
    return math.copysign(min(size, greatest), number)


def default_integer(bits: int, signed: bool, least: int = 32) -> str:
    """Name of the integer type with which an int of so many bits is computed, unless a program says another: of `least`
    bits, or of 64 where those are too few."""
    return f"{'i' if signed else 'u'}{least if bits <= least else 64}"


def checked_bits(what: str, name: str, value: Any, most: int) -> int:
    """A number of bits from 1 on. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}: {name}: expected a number of bits, got {value!r}")
    if not 1 <= value.__index__() <= most:
        raise ValueError(f"{what}: {name}: expected 1 to {most}, got {value!r}")
    return value.__index__()


def _integers(bits, signed):
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def _set(type_, **values):
    type_.__dict__.update(values)


def _check_signed(type_):
    if not isinstance(type_.signed, bool):
        raise TypeError(f"quant.{type_.kind}: signed: expected True or False, got {type_.signed!r}")


def _check_int(type_):
    _set(type_, bits=checked_bits("quant.int", "bits", type_.bits, _MOST_BITS))
    _check_signed(type_)
    low, high = _integers(type_.bits, type_.signed)
    compute = type_.compute
    if not compute.is_integer or not (compute.range()[0] <= low and high <= compute.range()[1]):
        usual = default_integer(type_.bits, type_.signed)
        raise ValueError(
            f"quant.int: compute: expected an integer type that holds {low} to {high}, such as {usual}, got {compute!r}"
        )


def _check_fixed(type_):
    _set(type_, bits=checked_bits("quant.fixed", "bits", type_.bits, _MOST_BITS))
    _check_signed(type_)
    _check_float_compute(type_)
    digits = 1 + _FLOATS[type_.compute.name][1] + type_.signed
    if type_.bits > digits:
        raise ValueError(f"quant.fixed: bits: expected at most {digits} with compute={type_.compute!r}, got {type_.bits}")
    scale = type_.scale
    if isinstance(scale, bool) or not hasattr(scale, "__float__"):
        raise TypeError(f"quant.fixed: scale: expected a number, got {scale!r}")
    scale = float(scale)
    if not (_is_normal(type_.compute, scale) and _is_normal(type_.compute, 1.0 / scale)):  # a store multiplies by the inverse
        text = f"expected a positive number of {type_.compute!r} that has an inverse, neither of them subnormal"
        raise ValueError(f"quant.fixed: scale: {text}, got {scale!r}")
    _set(type_, scale=scale)


def _is_normal(compute, value):
    """Is a number positive, finite and not subnormal among those of a type?"""
    return value > 0 and 2.0 ** (1 - _FLOATS[compute.name][2]) <= compute(value) < math.inf


def needs_f64(bits: int, signed: bool) -> bool:
    """Whether a fixed one of so many bits has more digits than f32."""
    return bits - signed > 1 + _FLOATS["f32"][1]


def _check_float(type_):
    _check_signed(type_)
    _check_float_compute(type_)
    exponent, digits, _ = _FLOATS[type_.compute.name]
    sign = int(type_.signed)
    exp = checked_bits("quant.float", "exp", type_.exp, exponent)
    frac = checked_bits("quant.float", "frac", type_.frac, digits + sign)
    if frac == sign:
        raise ValueError("quant.float: frac: expected at least 2 with signed=True, for the sign is one of its bits, got 1")
    _set(type_, exp=exp, frac=frac, bits=exp + frac)


def _check_float_compute(type_):
    if type_.compute.name not in _FLOATS:
        raise ValueError(f"quant.{type_.kind}: compute: expected f32 or f64, got {type_.compute!r}")


def _float_text(value: float) -> str:
    """A number as MLIR reads it: digits, a point, digits, maybe an exponent."""
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{mark}{exponent}"
