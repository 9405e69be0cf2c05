"""The order of scalars as unsigned words: `rank_of(x)` compares as x does, whatever x's type.

What sorting needs of a type is here and nowhere else. Floats order as numpy.sort has them: NaNs last, -0.0 and 0.0 equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import intrinsics as mt
from .. import value_types as _types
from ..frontend.function import func, template

_WORDS = {1: _types.u8, 2: _types.u16, 4: _types.u32, 8: _types.u64}
_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}


@dataclass(frozen=True)
class Order:
    """How scalars of a type are compared: what kernels are compiled for."""

    dtype: _types.DType
    descending: bool = False

    @property
    def word(self) -> _types.DType:
        """The unsigned type of ranks."""
        return _WORDS[max(1, self.bits // 8)]

    @property
    def bits(self) -> int:
        """How many bits of a rank tell values apart."""
        return self.dtype.bits

    @property
    def sign(self) -> int:
        """The word with the highest bit alone."""
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        """The bits of infinity; of a NaN, without its sign, they are more."""
        return _INFINITY[self.dtype.name]


@func
def rank_of(x: template(), order: template()):
    """The word that stands where x stands in the order."""
    word = mt.static(order.word)
    rank = word(0)
    if mt.static(order.dtype.is_float):
        bits = mt.bit_cast(x, word)
        size = bits & word(order.sign - 1)
        rank = mt.select((bits & word(order.sign)) != word(0), ~bits, bits | word(order.sign))
        rank = mt.select(size == word(0), word(order.sign), rank)
        rank = mt.select(size > word(order.infinity), word(2 * order.sign - 1), rank)
    elif mt.static(order.dtype.is_signed):
        rank = mt.bit_cast(x, word) ^ word(order.sign)
    else:
        rank = word(x)
    if mt.static(order.descending):
        rank = ~rank
    return rank
