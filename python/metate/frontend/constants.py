"""Numbers known while compiling: Python's own arithmetic, and the constants that they become.

A number stays Python's, and exact, through any operation whose operands are all such numbers: literals, captured names,
template numbers, `len(...)`, shapes. It becomes a constant where a value of the kernel is wanted: of default_ip or
default_fp, or of the type that it is given. Only then its range is checked: `2**40 // 2**20` is fine, `2**40` is not.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from .. import value_types as _types
from .walk import Walk

_MOST_BITS = 4096  # of an integer: beyond, compiling would take the time and memory that Python takes

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "@": operator.matmul,
}  # fmt: skip
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}


def half_away(number):
    """The nearest whole number, of two the one further from zero."""
    if isinstance(number, int) or not math.isfinite(number):
        return number
    whole = math.trunc(number)
    return math.copysign(float(whole + (abs(number - whole) >= 0.5) * (1 if number > 0 else -1)), number)


def _whole(function):
    """floor, ceil, trunc: floats stay floats, integers as they are."""
    return lambda x: x if isinstance(x, int) or not math.isfinite(x) else math.copysign(float(function(x)), x)


_PAIRS = {**BINARY, "min": min, "max": max, "atan2": math.atan2}
_FUNCTIONS = {
    **{name: getattr(math, name) for name in (
        "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10", "isnan",
        "isinf",
    )},
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc), "round": half_away, "abs": abs,
}  # fmt: skip


def is_number(*things: Any) -> bool:
    """Are all of them Python's numbers? NumPy's have types of their own."""
    return all(isinstance(thing, (bool, int, float)) for thing in things)


class Constants:
    """Computes with numbers and makes constants of them."""

    def __init__(self, walk: Walk):
        self.walk, self.builder = walk, walk.builder

    #  -- arithmetic -------------------------------------------------------------------------------

    def binary(self, op, left, right, node):
        """`left op right` of two numbers; None where Python has no real number for it, so that it is the builder's matter."""
        if op not in _PAIRS:
            return None
        if op in ("**", "<<") and isinstance(left, int) and isinstance(right, int) and right > 0:
            bits = left.bit_length() * right if op == "**" else left.bit_length() + right
            if bits > _MOST_BITS and left and (op == "<<" or left not in (-1, 1)):
                text = f"expected an integer of at most {_MOST_BITS} bits, got one of about {bits}"
                raise self.walk.error("type", text, node, "compute it in floating point")
        try:
            result = _PAIRS[op](left, right)
        except TypeError:  # of floats: & and the like
            return None
        except ZeroDivisionError:
            raise self.walk.error(
                "type", f"operator '{op}' of constants: expected a divisor other than zero, got 0", node
            ) from None
        except OverflowError:
            text = f"operator '{op}' of constants: expected a result within a float's range, got a larger one"
            raise self.walk.error("type", text, node) from None
        except ValueError:  # a shift by less than nothing
            return None
        return None if isinstance(result, complex) else result

    def unary(self, op, number, node):
        """`op number`; None as for `binary`."""
        try:
            return UNARY[op](number)
        except TypeError:  # ~1.5
            return None

    @staticmethod
    def function(name, number):
        """One of the functions of one operand; None where Python has none of that name, or no number for it: log(0)."""
        try:
            return _FUNCTIONS[name](number) if name in _FUNCTIONS else None
        except (ArithmeticError, ValueError):
            return None

    #  -- constants --------------------------------------------------------------------------------

    def literal(self, number, node):
        """A constant of the default type: u1, default_ip or default_fp."""
        if isinstance(number, bool):
            return self.walk.emit(node, self.builder.boolean, number)
        if isinstance(number, float):
            return self.walk.emit(node, self.builder.float_literal, number)
        dtype = self.walk.options.default_ip
        low, high = dtype.range()
        if not low <= number <= high:
            text = f"literal out of range of {dtype!r}: expected {low} to {high}, got {_spelled(number)}"
            raise self.walk.error("type", text, node, _hint(number, "give it a type of its own, ti.{0}(...), or set default_ip"))
        return self.typed(number, dtype, node)

    def given(self, number, dtype, node):
        """A constant of the type that a number is given to.

        An integer type of n bits takes -2**(n-1) to 2**n - 1: numbers may be written as bit patterns.
        """
        if dtype.is_float or dtype.kind == "bool":
            return self.typed(self.walk.compute(node, float if dtype.is_float else bool, number), dtype, node)
        if isinstance(number, float) and not math.isfinite(number):
            raise self.walk.error("type", f"cast to {dtype!r}: expected a finite number, got {number!r}", node)
        low, high = -(1 << dtype.bits - 1), (1 << dtype.bits) - 1
        if not low <= int(number) <= high:
            text = f"number out of range of {dtype!r}: expected {low} to {high}, got {_spelled(int(number))}"
            raise self.walk.error("type", text, node, _hint(int(number), "use a wider type: {0}"))
        return self.typed(dtype(number), dtype, node)

    def typed(self, number, dtype, node):
        """A constant of a scalar type that holds the number."""
        if dtype.is_float:
            return self.walk.emit(node, self.builder.float_constant, float(number), dtype.code)
        return self.walk.emit(node, self.builder.integer_constant, int(number), dtype.code)


def _spelled(number: int) -> str:
    text = str(number)
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} digits)"


def _hint(number: int, text: str) -> str:
    fitting = next((t for t in (_types.i64, _types.u64) if t.range()[0] <= number <= t.range()[1]), None)
    return "no integer type holds it: write it as a float" if fitting is None else text.format(fitting.name)
