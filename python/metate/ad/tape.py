"""Tape: remembers which kernels were called, and calls their derivatives in the reverse order.

Values that a derivative reads are those that fields and arrays have then, but for what its own kernel overwrote (kept.py).
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from .. import context as _context
from .. import recording
from ..array_object import NDArray
from ..derivative import Derivative
from ..errors import RuntimeError_, RuntimeTypeError_
from ..fields import gradients
from ..graph_kernel import GraphKernel
from ..kept import Kept, Overwritten, putting_back
from ..parts import KeptOfParts
from ..remembered_call import RememberedCall, at_hand
from .checking import Checker, called
from .validation import Validation


def clear_all_gradients() -> None:
    """Sets the gradients of all fields of the current context to zero."""
    gradients.clear("grad")


class Tape:
    """Computes the gradients of one number with respect to all fields and arrays that have gradients.

        with mt.ad.Tape(loss):
            step()

    Kernels that are called in the block are remembered with their arguments; at its end `loss.grad` is set to 1 and their
    derivatives are called, the last one first. What has no gradient is a constant. A value that a kernel read, and whose
    derivative needs it, must still be there then: a program that overwrites it by another kernel keeps each step's values in
    places of their own. What a kernel itself overwrites (`x[i] = x[i] * x[i]`) the tape keeps, a copy of the member or array
    for each call, and puts it back while the derivatives run.

    Args:
        loss: a field or an array of one element, with a gradient. It is set to 0 at the beginning. None: nothing is computed
            at the end; see `grad`.
        clear_gradients: False leaves the gradients of fields as they are: more is added to them.
        validation: True finds, in debug mode, what a derivative would read wrong because it was overwritten between
            kernels: by a kernel, or by Python in a field. That is an AssertionError_ at the end, which names
            both lines. Within a kernel it is an error while compiling, whether or not this is True.
        grad_check: a list of fields whose gradients are compared with differences of the loss, which must be an f64 field.

    Attributes:
        calls: (kernel or function, arguments) of each call.
        modes: what each was called as: "none", the kernel itself.
    """

    def __init__(self, loss: Any = None, clear_gradients: bool = True, validation: bool = False, grad_check: Any = None):
        if validation and not _context.current().options.debug:
            text = "what is overwritten between kernels is not looked for without mt.init(debug=True)"
            warnings.warn(f"Tape: validation: {text}", stacklevel=2)
            validation = False
        if grad_check is not None and not isinstance(grad_check, (list, tuple)):
            raise RuntimeTypeError_(f"Tape: grad_check: expected a list of fields, got {grad_check!r}")
        self.loss, self.clear_gradients, self.validation = loss, clear_gradients, validation
        self.calls: list[tuple[Any, tuple]] = []
        self.modes: list[str] = []
        self._remembered: list[RememberedCall | None] = []  # of each call, None of functions
        self.unseen = Validation() if validation else None  # what sees calls that are not remembered
        self._kept: list[Kept | KeptOfParts | None] = []
        self._overwritten: dict[Any, Overwritten] = {}
        self._checker = Checker(loss, grad_check) if grad_check else None
        self._stack, self._validation = contextlib.ExitStack(), contextlib.ExitStack()
        self._is_entered = self._is_evaluated = False

    def __enter__(self) -> Tape:
        if self._is_entered:
            raise RuntimeError_("Tape: it was entered before: make another one")
        self._is_entered = True
        self._join(recording.innermost())
        if self.loss is not None:
            _check_loss(self.loss)
            if self.clear_gradients:
                clear_all_gradients()
            with recording.watching(None):
                self.loss.fill(0)
            if self._checker is not None:
                self._checker.begin()
        self._stack.enter_context(recording.watching(self))
        return self

    def _join(self, outer):
        """Writes in the block are those of the tape around it as well, which may have validation."""
        above = getattr(outer, "unseen", None)
        if above is not None:
            self.unseen = above
        elif self.unseen is not None:
            self._validation.callback(self.unseen.close)

    def __exit__(self, kind, error, trace) -> None:
        self._stack.close()
        with self._validation:
            if kind is None and self.loss is not None and not self._is_evaluated:
                self.grad()

    def grad(self) -> None:
        """Computes the gradients, from those that the loss has then set to 1; the block's end does so by itself.

        Raises RuntimeError_: it was done before, or the tape has no loss.
        """
        if not self._is_entered or self._is_evaluated or self.loss is None:
            what = "was computed before" if self._is_evaluated else "needs a loss and a block that was entered"
            raise RuntimeError_(f"Tape: the gradient {what}")
        self._is_evaluated = True
        self.loss.grad.fill(1)
        with recording.watching(self.unseen), putting_back() as latest:
            for (function, arguments), call, kept in zip(*map(reversed, (self.calls, self._remembered, self._kept))):
                if function.grad is None:
                    raise RuntimeError_(f"Tape: '{function.__name__}' has no gradient: write one and decorate it with @grad_for")
                with at_hand(call):
                    if self.unseen is not None and not isinstance(kept, KeptOfParts):
                        if kept is not None:
                            kept.put_back(latest)
                        self.unseen.reverse(function, arguments, kept is not None)
                    elif kept is None:
                        called(function.grad, arguments)
                    else:
                        kept.run_back(function.grad, arguments, latest)
        with recording.watching(self.unseen):
            if self._checker is not None:
                self._checker.check(self.calls)

    # ---- for recording.py and replaced.py

    has_derivatives_replaced = True  # a function with a gradient of its own stands for the kernels that it calls

    def call(self, kernel, arguments, keywords):
        """A kernel is called in the block."""
        if isinstance(kernel, Derivative):
            return kernel.call(arguments, keywords)
        bound = kernel._bind(arguments, keywords)
        if isinstance(kernel, GraphKernel):
            for one, given in kernel.parts(bound):
                self.call(one, given, {})
            return None
        call, kept = RememberedCall(kernel.__name__), None
        follows = self.loss is not None  # else nobody calls derivatives
        parts = kernel.grad.numbered.in_parts(bound) if self.unseen is not None and follows else None
        if parts is not None:
            result, kept = parts.run(bound, self.unseen)
        elif self.unseen is not None:
            kept = kernel.grad.numbered.keep(bound) if follows else None
            result = self.unseen.run(kernel, bound, call)
        else:
            with at_hand(call):
                result, kept = kernel.grad.call_primal(bound, self._overwritten) if follows else (kernel.call_bound(bound), None)
        self.insert(kernel, bound, call, kept)
        return result

    def wrote(self, write, arguments) -> None:
        """All elements of a field or array were written in the block."""
        self.insert(write, arguments)

    def insert(self, function, arguments, call=None, kept=None) -> None:
        """Remembers a call: of a kernel, with what it overwrote, or of a function with a `grad` of its own."""
        self.calls.append((function, arguments))
        self.modes.append("none")
        self._remembered.append(call)
        self._kept.append(kept)


def _check_loss(loss):
    is_array = isinstance(loss, NDArray)
    if not is_array and not hasattr(loss, "partner_kind"):
        raise RuntimeTypeError_(f"Tape: loss: expected a field or an array of one element, got {loss!r}")
    count = 1
    for extent in (*loss.shape, *(loss.element_shape if is_array else getattr(loss.element, "shape", ()))):
        count *= extent or 0
    if count != 1:
        raise RuntimeTypeError_(f"Tape: loss: expected one element, got {loss!r}")
    if (loss.grad if is_array else loss._partner("grad")) is None:
        raise RuntimeTypeError_(f"Tape: loss: expected one with a gradient, made with needs_grad=True, got {loss!r}")
