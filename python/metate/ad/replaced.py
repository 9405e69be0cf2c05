"""Functions whose derivative is given: `grad_replaced` with `grad_for`, and `no_grad`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import recording
from ..errors import RuntimeError_


def grad_replaced(function: Callable[..., Any]) -> Any:
    """A function, or method, of Python that calls kernels and whose derivative is another one, decorated with `grad_for`.

        @mt.ad.grad_replaced
        def forward(mul): func(mul)

        @mt.ad.grad_for(forward)
        def backward(mul): func.grad(mul)

    A tape remembers the call of the function, not those of kernels in it. In forward mode these have their own derivatives.
    """
    return _remembered(function, is_constant=False)


def grad_for(primal: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The derivative of a function that was decorated with `grad_replaced`: called with the same arguments.

    Raises RuntimeError_ for a kernel, and for a function that was not decorated.
    """
    if not getattr(primal, "_is_replaced", False):
        name = getattr(primal, "__name__", repr(primal))
        what = "a kernel" if hasattr(type(primal), "__metate_kernel__") else "a function without @grad_replaced"
        raise RuntimeError_(f"grad_for: expected a function of Python decorated with @mt.ad.grad_replaced, got {what}: {name}")

    def decorate(function):
        primal.grad = function
        return function

    return decorate


def no_grad(function: Callable[..., Any]) -> Any:
    """A function, or method, of Python whose kernels have no part in derivatives."""
    made = _remembered(function, is_constant=True)
    made.grad = lambda *arguments, **keywords: None
    return made


def _remembered(function, is_constant):
    @functools.wraps(function)
    def called(*arguments, **keywords):
        watcher = recording.innermost()
        if watcher is None or not (is_constant or watcher.has_derivatives_replaced):
            return function(*arguments, **keywords)
        if keywords:
            watcher.insert(_WithKeywords(called, keywords), arguments)
        else:
            watcher.insert(called, arguments)
        with recording.watching(getattr(watcher, "unseen", None)):
            return function(*arguments, **keywords)

    made: Any = called
    made.grad = None
    made._is_replaced = True
    return made


class _WithKeywords:
    """A call with keywords, as tapes keep it."""

    def __init__(self, function, keywords):
        self.__name__ = function.__name__
        self._function, self._keywords = function, keywords

    def __call__(self, *arguments):
        return self._function(*arguments, **self._keywords)

    @property
    def grad(self):
        grad = self._function.grad
        return grad and functools.partial(grad, **self._keywords)
