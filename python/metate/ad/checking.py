"""Gradients against differences: `Tape(grad_check=...)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import context as _context
from ..errors import AssertionError_, RuntimeTypeError_
from ..kernel import Kernel

_STEPS = 2.0 ** np.arange(-3, -30, -2)
_TOLERANCE = 0.01


class Checker:
    """Compares the gradients of fields with differences of the loss, in a random direction each.

    Args:
        loss: an f64 field of one element.
        fields: those to check.
    """

    def __init__(self, loss, fields):
        if getattr(getattr(loss, "dtype", None), "name", "") != "f64" or not hasattr(loss, "partner_kind"):
            raise RuntimeTypeError_(f"Tape: grad_check: expected an f64 field for a loss, got {loss!r}")
        self._loss, self._fields = loss, [one for one in fields if one is not loss]
        self._before: list[Any] = []

    def begin(self) -> None:
        """What all fields hold now is where the calls begin."""
        self._before = _saved()

    def check(self, calls) -> None:
        """Calls everything again, from the values that all fields had when the block began. Raises AssertionError_."""
        rng, after = np.random.default_rng(0), _saved()
        wrong = []
        for field in self._fields:
            direction = rng.random(field.to_numpy().shape)
            slope = float(np.sum(field.grad.to_numpy().astype(np.float64) * direction))
            found = [self._difference(calls, field, direction, step) for step in _STEPS]
            errors = [abs(slope - one) / max(abs(slope), 1e-20) for one in found]
            is_zero = slope == 0 and any(abs(one) < 1e-12 for one in found)
            if not is_zero and not any(error <= _TOLERANCE for error in errors):  # NaN is no agreement
                wrong.append(f"{field._described()}: the gradient gives a slope of {slope:.8g}, differences {found[-1]:.8g}")
        _restore(after)
        if wrong:
            raise AssertionError_("Tape: grad_check: " + "; ".join(wrong))

    def _difference(self, calls, field, direction, step):
        found = []
        for sign in (1, -1):
            _restore(self._before)
            field.from_numpy(field.to_numpy() + sign * step * direction)
            for function, arguments in calls:
                called(function, arguments)
            found.append(float(self._loss.to_numpy().reshape(-1)[0]))
        return float((found[0] - found[1]) / (2 * step))


def called(function, arguments: tuple):
    """Calls what a tape remembers: a kernel, whose arguments are one for each parameter, or a function."""
    return function.call_bound(arguments) if isinstance(function, Kernel) else function(*arguments)


def _saved():
    """The members of all trees of fields of the current context: (tree, number, values)."""
    return [(tree, number, tree._read_dense(number)) for tree, number in _members()]


def _members():
    return [(tree, number) for tree in list(_context.current().holdings.field_memory) for number in tree._indices.values()]


def _restore(saved):
    """What has memory since then is zero."""
    values = {(id(tree), number): array for tree, number, array in saved}
    for tree, number in _members():
        found = values.get((id(tree), number))
        tree._write_dense(number, np.zeros_like(tree._read_dense(number)) if found is None else found)
