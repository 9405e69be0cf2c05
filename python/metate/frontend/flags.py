"""Jumps as flags: `continue`, `break` and an early `return` set u1 locals, and what follows them in their block stands
under a test of the flag; so the IR has structured control only. Jumps known while compiling are exceptions here.
"""

from __future__ import annotations

from metate_native import _compiler

from .. import value_types as _types
from .walk import Walk

_FLAG = _compiler.DataType(_types.u1.code, [])


class StaticReturn(Exception):
    """A return that every path through the kernel or function reaches, though it may not be the last statement."""


class StaticJump(Exception):
    """break or continue of a loop that is unrolled, reached without a condition at run time."""

    def __init__(self, is_break):
        self.is_break = is_break


class FunctionDraws(Exception):
    """A random number is drawn in a function that was begun as one that draws none."""


class Flags:
    """Makes, finds and clears flags.

    Attributes:
        clearings: how many jumps the code has so far; one in a branch that is decided while compiling may not be among them.
    """

    def __init__(self, walk: Walk):
        self.walk, self.builder = walk, walk.builder
        self.clearings = 0

    def make(self, node):
        """A flag that is set."""
        flag = self.walk.emit(node, self.builder.declare_local, _FLAG)
        self.walk.write(node, flag, self.walk.emit(node, self.builder.boolean, True), "flag")
        return flag

    def current(self):
        """The u1 local that tells whether the current block goes on."""
        for loop in reversed(self.walk.frame.loops):
            if not loop.is_static:
                return loop.active if loop.active is not None else None
        return self.walk.frame.live

    def clear(self, flag, node):
        """Clears a flag; None is none."""
        self.clearings += 1
        if flag is not None:
            self.walk.write(node, flag, self.walk.emit(node, self.builder.boolean, False), "flag")
