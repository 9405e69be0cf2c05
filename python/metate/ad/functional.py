"""`grad`, `vjp`, `jvp`: derivatives of kernels over arrays, as JAX and PyTorch call them.

A kernel stands for a function from the arrays that it reads to those that it writes, which the caller gives it room for; other
arguments, and arrays that are no floats, are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import RuntimeTypeError_, RuntimeValueError_
from ..lazy_numpy import np
from .arrays import Call


def vjp(kernel: Any, *arguments: Any) -> tuple[tuple, Callable[..., tuple]]:
    """Calls a kernel; the derivative of what it wrote, backwards.

    Returns (written, pull): the arrays that it wrote, in the order of its parameters; a function that takes a cotangent for each
    and returns, for each array that it reads, the derivative of the sum of products of cotangents and written arrays: new NumPy
    arrays. `pull` reads what the arrays hold when it is called, but for what the kernel itself overwrote.
    Raises RuntimeTypeError_ for what is no kernel, or one that writes no array of floats.
    """
    call = _checked(kernel, arguments, "vjp")
    given = call.kernel._bind(arguments if call.number(0) == 0 else (kernel.__self__, *arguments), {})
    kept = call.run_kept()

    def pull(*cotangents: Any) -> tuple:
        if len(cotangents) != len(call.written):
            raise RuntimeValueError_(f"vjp: expected {len(call.written)} cotangents, got {len(cotangents)}")
        back = call.with_derivatives("grad", dict(zip(call.written, map(_as_array, cotangents))))
        back.run_back(kept)
        return tuple(back.derivative(k, "grad") for k in call.read)

    return tuple(given[k] for k in call.written), pull


def jvp(kernel: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple, tuple]:
    """Calls a kernel; the derivative of what it writes, in one direction.

    Args:
        primals: the kernel's arguments.
        tangents: for each argument the direction, an array of its shape, or None: a constant, an array that is written, zero.
    Returns (written, derivatives): the arrays that it wrote, and their derivatives, new NumPy arrays.
    """
    call = _checked(kernel, tuple(primals), "jvp")
    if len(tangents) != len(primals):
        raise RuntimeValueError_(f"jvp: expected {len(primals)} tangents, one for each argument, got {len(tangents)}")
    numbered = {call.number(k): _as_array(one) for k, one in enumerate(tangents) if one is not None}
    unfit = [k for k in numbered if k not in call.read and k not in call.written]
    if unfit:
        raise RuntimeTypeError_(
            f"jvp: argument {unfit[0]} is no array of floats that the kernel uses: expected None for its tangent"
        )
    ahead = call.with_derivatives("dual", numbered)
    ahead.run("fwd")
    written = tuple(primals[k - call.number(0)] for k in call.written)
    return written, tuple(ahead.derivative(k, "dual") for k in call.written)


def grad(kernel: Any, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The gradient of a kernel that writes one number: a function of the kernel's arguments that calls it and returns the
    derivative of the number with respect to an array, or a tuple of these for several: new NumPy arrays.

    Args:
        argnums: which of the arguments, by position.
    """

    def gradient(*arguments: Any) -> Any:
        call = _checked(kernel, arguments, "grad")
        sizes = [call.arguments[k]._values().size for k in call.written]
        if sizes != [1]:
            raise RuntimeTypeError_(f"grad: expected a kernel that writes one array of one element, got sizes {sizes}")
        numbers = [call.number(k) for k in ([argnums] if isinstance(argnums, int) else argnums)]
        if not set(numbers) <= set(call.read):
            raise RuntimeTypeError_(f"grad: argnums: expected numbers of arrays of floats that the kernel reads, got {argnums!r}")
        kept = call.run_kept()
        (loss,) = call.written
        back = call.with_derivatives("grad", {loss: np.ones(call.arguments[loss]._values().shape)})
        back.run_back(kept)
        found = tuple(back.derivative(k, "grad") for k in numbers)
        return found[0] if isinstance(argnums, int) else found

    return gradient


def _checked(kernel, arguments, what) -> Call:
    call = Call(kernel, arguments)
    if not call.written:
        raise RuntimeTypeError_(f"{what}: expected a kernel that writes an array of floats, got {call.kernel!r}")
    return call


def _as_array(thing):
    return np.asarray(thing.to_numpy() if hasattr(thing, "to_numpy") else thing)
