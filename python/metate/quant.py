"""`mt.types.quant`: spells the quantised types of members of trees and fields.

Quantised numbers share the words of a `BitpackedFields`, of a level `quant_array`, or of the field itself. Names and
arguments are Taichi's.
"""

from __future__ import annotations

from typing import Any

from . import default_types as _default_types
from .context import current as _current
from .dtypes import DType as _DType
from .dtypes import dtype as _dtype
from .dtypes import f32 as _f32
from .dtypes import f64 as _f64
from .quant_types import QuantType
from .quant_types import checked_bits as _checked_bits
from .quant_types import default_integer as _default_integer
from .quant_types import needs_f64 as _needs_f64


def int(bits: Any, signed: Any = True, compute: Any = None) -> QuantType:
    """The type of integers of so many bits: a store keeps the low bits of a number.

    Args:
        bits: 1 to 64.
        signed: True: two's complement.
        compute: the integer type that kernels and Python see, which holds all the values; default: the context's default_ip,
            unsigned as the bits are, or i64, u64 where those need it.
    Raises TypeError, ValueError.
    """
    bits = _checked_bits("quant.int", "bits", bits, 64)
    if compute is None:
        usual = _default_types.default_of("int" if signed else "uint", _current().options)
        compute = _dtype(_default_integer(bits, bool(signed), usual.bits))
    return QuantType("int", bits, signed, _scalar("int", compute))


def fixed(bits: Any, signed: Any = True, max_value: Any = 1.0, compute: Any = None, scale: Any = None) -> QuantType:
    """The type of numbers that are whole multiples of a scale: a store rounds to the nearest one, half away from zero.

    Args:
        bits: 1 to 25 for f32, to 54 for f64; one less without a sign.
        signed: True: numbers from -max_value on.
        max_value: the numbers are less than that: the scale is max_value / 2 ** (bits - 1), of unsigned ones
            max_value / 2 ** bits.
        compute: f32 or f64; default: the context's default_fp, or f64 where the bits are more than f32 has digits.
        scale: the value of the lowest bit, in place of what follows from max_value.
    Raises TypeError, ValueError.
    """
    bits = _checked_bits("quant.fixed", "bits", bits, 64)
    if scale is None:
        if isinstance(max_value, bool) or not hasattr(max_value, "__float__"):
            raise TypeError(f"quant.fixed: max_value: expected a number, got {max_value!r}")
        if not 0 < max_value.__float__() < _INFINITY:
            raise ValueError(f"quant.fixed: max_value: expected a positive number, got {max_value!r}")
        scale = max_value.__float__() / 2 ** (bits - (1 if signed else 0))
    if compute is None and _needs_f64(bits, bool(signed)) and _current().options.default_fp is _f32:
        compute = _f64
    return QuantType("fixed", bits, signed, _scalar("fixed", compute), scale)


def float(exp: Any, frac: Any, signed: Any = True, compute: Any = None) -> QuantType:
    """The type of floating-point numbers with so many bits of exponent and fraction; without infinities and NaN.

    Args:
        exp: bits of the exponent: 1 to 8, to 11 where f64 is computed with.
        frac: bits of the digits, and of the sign if there is one: without it 1 to 23, to 52 where f64 is computed with. A
            number with an exponent of its own has one more digit, which is not stored.
        signed: True: there are negative numbers.
        compute: f32 or f64; default: the context's default_fp.
    Raises TypeError, ValueError.
    """
    return QuantType("float", 0, signed, _scalar("float", compute), None, exp, frac)


_INFINITY = 1e999


def _scalar(kind, compute) -> _DType:
    """The type that is computed with; the context's default_fp where there is none."""
    if compute is None:
        return _current().options.default_fp
    try:
        return _default_types.scalar_type(compute)
    except TypeError as error:
        raise TypeError(f"quant.{kind}: compute: {error}") from None


__all__ = ["QuantType", "fixed", "float", "int"]
