"""Quantised members in plain Python: random formats, and what a store leaves of a number (QV1 to QV6 of docs/semantics.md).

Numbers are kept as `numbers` keeps them; what is stored of them, as an integer (of ints and fixed ones) or as the number
itself (of floats). Written from the language's description: it must never import metate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from . import numbers as n

_FLOATS = {"f32": (8, 23, 127), "f64": (11, 52, 1023)}  # bits of the exponent, digits, greatest exponent
_ON_BITS = {"fixed": ("add", "sub", "min", "max")}
_COMBINED = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "min": min, "max": max}


class Format(NamedTuple):
    """How a number is stored. Of a float `bits` is what the digits and the sign take, `exp` what its exponent does."""

    kind: str
    bits: int
    signed: bool
    scalar: str  # what is computed with
    scale: float = 0.0
    exp: int = 0

    @property
    def text(self) -> str:
        compute = f"mt.{self.scalar}"
        if self.kind == "int":
            return f"mt.types.quant.int({self.bits}, {self.signed}, {compute})"
        if self.kind == "fixed":
            return f"mt.types.quant.fixed({self.bits}, {self.signed}, compute={compute}, scale={self.scale!r})"
        return f"mt.types.quant.float({self.exp}, {self.bits}, {self.signed}, {compute})"

    @property
    def size(self) -> int:
        """Bits of a word, with the exponent."""
        return self.bits + self.exp

    @property
    def digits(self) -> int:
        return self.bits - self.signed

    @property
    def bias(self) -> int:
        return (1 << (self.exp - 1)) - 1

    @property
    def highest(self) -> int:
        """The greatest exponent that is stored."""
        return min((1 << self.exp) - 1, self.bias + _FLOATS[self.scalar][2])

    def wrapped(self, whole: int) -> int:
        low = whole & ((1 << self.bits) - 1)
        return low - (1 << self.bits) if self.signed and low >> (self.bits - 1) else low


# -- what a store leaves --------------------------------------------------------------------------------------


def encode(form: Format, value):
    """What is stored of a number that shares no exponent."""
    if form.kind == "int":
        return form.wrapped(int(value))
    if form.kind == "fixed":
        return _steps(form, value)
    return _nearest(form, value)


def decode(form: Format, stored):
    if form.kind != "fixed":
        return stored
    into = n.ROUND[form.scalar]
    return into(float(stored) * into(form.scale))


def together(forms, values) -> list:
    """What is stored of numbers that share an exponent: the least one at which all of them fit."""
    sizes = [0.0 if _is_nothing(form, value) else abs(value) for form, value in zip(forms, values)]
    signs = [-1.0 if form.signed and value == value and math.copysign(1.0, value) < 0 else 1.0
             for form, value in zip(forms, values)]  # fmt: skip
    top = forms[0].highest
    exponent = next(
        (e for e in range(top) if all(_counted(form, size, e) < 1 << form.digits for form, size in zip(forms, sizes))), top
    )
    found = []
    for form, size, sign in zip(forms, sizes, signs):
        count = min(_counted(form, size, exponent), (1 << form.digits) - 1)
        found.append(math.copysign(math.ldexp(float(count), _unit(form, exponent)), sign))
    return found


def combined(form: Format, op: str, function, stored, operand):
    """What an atomic operation leaves. `function` is the operation on the compute type."""
    if form.kind == "int":
        return encode(form, function(stored, encode(form, operand)))
    if op in _ON_BITS.get(form.kind, ()):
        return form.wrapped(_COMBINED[op](stored, encode(form, operand)))
    return encode(form, function(decode(form, stored), operand))


def _half_away(value: float) -> int:
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)


def _steps(form, value):
    into = n.ROUND[form.scalar]
    steps = into(value * into(1.0 / form.scale))
    if steps != steps or math.isinf(steps):
        return 0
    whole = _half_away(abs(steps))
    if whole >= 1 << (31 if form.bits < 32 else 63):
        return 0
    return form.wrapped(whole if steps > 0 else -whole)


def _is_nothing(form, value) -> bool:
    return value != value or (not form.signed and math.copysign(1.0, value) < 0)


def _nearest(form, value):
    if _is_nothing(form, value):
        return 0.0
    size, digits = abs(value), form.digits
    most = math.ldexp(math.ldexp(1.0, digits + 1) - 1, form.highest - form.bias - digits)
    if size < most:
        exponent = max(math.frexp(size)[1] - 1, 1 - form.bias) if size else 1 - form.bias
        size = math.ldexp(float(_half_away(math.ldexp(size, digits - exponent))), exponent - digits)
    return math.copysign(min(size, most), value)


def _unit(form, exponent):
    return exponent - form.bias - (form.digits - 1)


def _counted(form, size, exponent):
    """How many units of the last digit there are in it."""
    if size == 0:
        return 0
    if math.isinf(size) or math.frexp(size)[1] - _unit(form, exponent) > 70:
        return 1 << 70
    return _half_away(math.ldexp(size, -_unit(form, exponent)))


# -- random formats ---------------------------------------------------------------------------------------------


class Formats:
    """Draws them. `is_whole`: floats hold small whole numbers, which every format stores exactly then."""

    def __init__(self, rng, is_whole: bool):
        self.rng, self.is_whole = rng, is_whole

    def some(self, most: int = 64, scalar: str | None = None) -> Format:
        """One of at most so many bits, for a compute type or any."""
        kinds = ["int"] * 3 * (scalar is None or not n.is_float(scalar))
        if scalar is None or scalar in _FLOATS:
            kinds += ["fixed"] * 2 * (not self.is_whole or most >= 6) + ["float"] * 2 * (most >= (8 if self.is_whole else 4))
        kind = self.rng.choice(kinds) if kinds else None
        return None if kind is None else getattr(self, f"_{kind}")(most, scalar)

    def _int(self, most, scalar):
        rng = self.rng
        bits = min(rng.choice((1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 20, 31, 32, 33, 48, 64)), most)
        signed = rng.random() < 0.5
        if scalar is not None:
            bits = min(bits, n.bits_of(scalar) - (signed is False and n.is_signed(scalar)))
            signed = signed and n.is_signed(scalar)
            return Format("int", bits, signed, scalar)
        least, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        fitting = [s for s in n.INTEGERS if n.limits(s)[0] <= least and high <= n.limits(s)[1]]
        usual = f"{'i' if signed else 'u'}{32 if bits <= 32 else 64}"
        return Format("int", bits, signed, usual if rng.random() < 0.5 else rng.choice(fitting))

    def _compute(self, scalar):
        return scalar or self.rng.choice(("f32", "f32", "f32", "f64"))

    def _fixed(self, most, scalar):
        rng, scalar = self.rng, self._compute(scalar)
        if self.is_whole:
            below = rng.randint(0, min(most - 6, 4))
            return Format("fixed", rng.randint(6 + below, min(most, 20)), True, scalar, 2.0**-below)
        signed = rng.random() < 0.6
        limit = min(most, (24 if scalar == "f32" else 53) + signed)
        bits = min(rng.choice((1, 2, 4, 7, 8, 11, 13, 16, 20, 24, 25, 31, 32, 40, 54)), limit)
        scale = rng.choice((0.1, 0.001, 0.25, 1.0, 3.7, 128.0, 1e-6, 2.0 ** -max(bits - signed, 0), 1.3e5))
        return Format("fixed", bits, signed, scalar, scale)

    def _float(self, most, scalar):
        rng, scalar = self.rng, self._compute(scalar)
        least, widest = 4 if self.is_whole else 1, _FLOATS[scalar][0]
        exp = min(rng.choice((3, 4, 5, 5, 6, 7, 8, 11) if not self.is_whole else (4, 5, 5, 6, 8)), widest, most - least - 1)
        if not self.is_whole and rng.random() < 0.1:
            exp = rng.randint(1, 2)
        return self.fraction(exp, most - exp, scalar)

    def fraction(self, exp, most, scalar) -> Format:
        """A float with so many bits of exponent and at most so many others."""
        rng, least, longest = self.rng, 4 if self.is_whole else 1, _FLOATS[scalar][1]
        signed = rng.random() < 0.65 and most > least
        digits = rng.choice((1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 16, 22, 23, 24, 40, 52))
        digits = max(min(digits, longest, most - signed), least)
        return Format("float", digits + signed, signed, scalar, exp=exp)
