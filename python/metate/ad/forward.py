"""FwdMode: kernels that are called in its block also compute duals, the derivatives in one direction."""

from __future__ import annotations

import contextlib
from typing import Any

from .. import recording
from ..derivative import Derivative
from ..errors import RuntimeError_, RuntimeTypeError_, RuntimeValueError_
from ..fields import gradients
from ..graph_kernel import GraphKernel
from ..lazy_numpy import np


class FwdMode:
    """Computes the derivative of fields in one direction of a field: a Jacobian times a vector.

        with mt.ad.FwdMode(loss=y, param=x, seed=[1, 0, 0]):
            step()
        y.dual.to_numpy()          # the derivative of each element of y with respect to x[0]

    Args:
        loss: a field, or a list of fields, with duals, of any shape.
        param: a field with a dual.
        seed: the direction, a number for each element of `param`; it may be left out where that is one element.
        clear_gradients: False leaves the duals of fields as they are at the beginning; otherwise all become 0.
    """

    def __init__(self, loss: Any, param: Any, seed: Any = None, clear_gradients: bool = True):
        self.loss = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        self.param, self.seed, self.clear_gradients = param, seed, clear_gradients
        self.calls: list[Any] = []
        self._stack = contextlib.ExitStack()
        self._is_entered = False

    def __enter__(self) -> FwdMode:
        if self._is_entered:
            raise RuntimeError_("FwdMode: it was entered before: make another one")
        self._is_entered = True
        for name, field in (*(("loss", one) for one in self.loss), ("param", self.param)):
            if getattr(field, "partner_kind", "") is not None or field._partner("dual") is None:
                raise RuntimeTypeError_(
                    f"FwdMode: {name}: expected a field with a dual, made with needs_dual=True, got {field!r}"
                )
        direction = self._direction()
        if self.clear_gradients:
            gradients.clear("dual")
        self.param.dual.from_numpy(direction)
        self._stack.enter_context(recording.watching(self))
        return self

    def __exit__(self, kind, error, trace) -> None:
        self._stack.close()
        self.param.dual.fill(0)

    def _direction(self):
        shape = self.param.shape + tuple(getattr(self.param.element, "shape", ()))
        count = int(np.prod(shape))
        if self.seed is None:
            if count != 1:
                raise RuntimeValueError_(f"FwdMode: seed: expected {count} numbers, one for each element of param, got none")
            return np.ones(shape)
        given = np.asarray(self.seed, np.float64)
        if given.size != count:
            raise RuntimeValueError_(f"FwdMode: seed: expected {count} numbers, one for each element of param, got {given.size}")
        return given.reshape(shape)

    # ---- for recording.py and replaced.py

    has_derivatives_replaced = False  # gradients of one's own are of reverse mode: kernels that such a function calls are seen

    def call(self, kernel, arguments, keywords):
        """A kernel is called in the block."""
        if isinstance(kernel, GraphKernel):
            for one, given in kernel.parts(kernel._bind(arguments, keywords)):
                self.call(one, given, {})
            return None
        self.calls.append(kernel)
        return (kernel if isinstance(kernel, Derivative) else kernel.fwd).call(arguments, keywords)

    def wrote(self, write, arguments) -> None:
        """All elements of a field or array were written in the block."""
        write.dual(*arguments)

    def insert(self, function, arguments) -> None:
        """A function without a derivative is called: its kernels run as they are."""
