"""Functions of the language that are written in the language: one body for each shape of operands."""

from __future__ import annotations

from ..intrinsics import Intrinsic


class Composite(Intrinsic):
    """A function that is inlined by the operands' shapes.

    Args:
        bodies: the operands' shapes, a tuple of tuples -> @func of the operands, all of one float type, and that
            type.
        expected: what an error text says the operands must be.
        operands: their names; `dt`, the type to compute in, comes after them.
    """

    def __init__(self, name, doc, bodies, expected, operands=("A",)):
        super().__init__(name, doc)
        self.bodies = bodies
        self.expected = expected
        self.operands = operands
