"""Random numbers: `random` and `randn`. Where a number comes from is the KernelBuilder's (Frontend/Random.cpp)."""

from __future__ import annotations

from .. import value_types as _types
from .arguments import Arguments
from .flags import FunctionDraws
from .providers import random_keys
from .values import Values
from .walk import Walk


class RandomCalls:
    """Draws numbers."""

    def __init__(self, walk: Walk, values: Values, arguments: Arguments):
        self.walk, self.builder = walk, walk.builder
        self.values, self.arguments = values, arguments

    def call_random(self, node):
        """random(dtype): uniform, of floats in [0, 1)."""
        dtype = self._random_type("random", ("dtype",), node)
        return self._random(dtype, node)

    def call_randn(self, node):
        """randn(dtype): numbers of the standard normal distribution, by Box and Muller from two uniform ones."""
        dtype = self._random_type("randn", ("dt", "dtype"), node)
        if not dtype.is_float:
            raise self.walk.error("type", f"randn: expected a float type, got {dtype!r}", node)
        # 1 - u is in (0, 1], where the logarithm is finite. f16 and bf16 are computed in f32: their least number is large.
        wide = dtype if dtype.bits >= 32 else _types.f32
        number = lambda value: self.values.constants.typed(value, wide, node)
        emit, builder = (lambda *arguments: self.walk.emit(node, *arguments)), self.builder
        above = emit(builder.binary, "-", number(1.0), self._random(wide, node))
        square = emit(builder.binary, "*", number(-2.0), emit(builder.function, "log", above))
        angle = emit(builder.binary, "*", number(6.283185307179586), self._random(wide, node))
        product = emit(builder.binary, "*", emit(builder.function, "sqrt", square), emit(builder.function, "cos", angle))
        return product if wide is dtype else emit(builder.cast, product, dtype.code)

    def _random_type(self, name, keywords, node):
        positional, named = self.arguments.of(node, names=keywords)
        given = [*positional, *named.values()]
        if len(given) > 1:
            raise self.walk.error("type", f"{name}: expected at most one type, got {len(given)} arguments", node)
        if not given or given[0] is None:
            return self.walk.options.default_fp
        place = node.args[0] if node.args else node.keywords[0].value
        return self.values.scalar_type(given[0], place)

    def _random(self, dtype, node):
        if not self.builder.may_draw:
            raise FunctionDraws
        self.walk.locate(node)
        key = self.walk.captures.value("random_seed", _types.u64, random_keys)
        return self.walk.emit(node, self.builder.random, dtype.code, key)
