"""Functions of the language that are written in the language: one body for each shape of operands."""

from __future__ import annotations

import dataclasses

from ..frontend.function import Function
from ..intrinsics import Intrinsic


@dataclasses.dataclass(frozen=True)
class Rule:
    """The derivative that a body has of its own: it is not differentiated statement by statement.

    The functions take, besides what is named, `dt`; they give single values, or tuples of them, in this order.

    Attributes:
        reverse: of the operands, the results and the gradients of the results: the gradients of the operands.
        forward: of the operands and their duals: the results, then their duals.
        again: what is called for the results in a kernel that runs backwards, where these may be others than the body's that are
            as right; None: the body.
    """

    reverse: Function
    forward: Function
    again: Function | None = None


class Composite(Intrinsic):
    """A function that is inlined by the operands' shapes.

    Args:
        bodies: the operands' shapes, a tuple of tuples -> @func of the operands, all of one float type, and that
            type; or such a @func with the Rule of its derivative.
        expected: what an error text says the operands must be.
        operands: their names; `dt`, the type to compute in, comes after them.
    """

    def __init__(self, name, doc, bodies, expected, operands=("A",)):
        super().__init__(name, doc)
        self.bodies = {shapes: body if isinstance(body, tuple) else (body, None) for shapes, body in bodies.items()}
        self.expected = expected
        self.operands = operands
