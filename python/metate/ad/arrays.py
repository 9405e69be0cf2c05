"""A call of a kernel whose arrays have derivatives: views of the caller's memory, with gradients or duals beside them."""

from __future__ import annotations

from typing import Any

from ..argument_kinds import describe_array
from ..array_object import NDArray
from ..errors import RuntimeTypeError_
from ..kept import Kept, putting_back
from ..kernel import Kernel
from ..ndarray import from_dlpack, ndarray
from ..overlaps import refuse as refuse_overlaps
from ..parts import KeptOfParts
from ..remembered_call import RememberedCall, at_hand

READ, WRITE = 1, 2  # metate_access


class Call:
    """One set of arguments of a kernel.

    Args:
        kernel: a kernel, or one of an object.
        arguments: what it is called with. Arrays are NumPy's, ours, torch's, anything with DLPack on the CPU.

    Attributes:
        read, written: numbers of the arguments that are arrays of a float type which the kernel reads, and writes.
    Raises DerivativeError_: it writes an array that overlaps another one.
    """

    def __init__(self, kernel: Any, arguments: tuple):
        receiver = kernel.__self__ if isinstance(getattr(kernel, "__func__", None), Kernel) else None
        if receiver is not None:
            kernel, arguments = kernel.__func__, (receiver, *arguments)
        if not isinstance(kernel, Kernel):
            raise RuntimeTypeError_(f"expected a kernel, got {kernel!r}; decorate the function with @mt.kernel")
        self.kernel, self._begin = kernel, 0 if receiver is None else 1
        self.arguments = tuple(map(_view_of, kernel._bind(arguments, {})))
        refuse_overlaps(kernel, self.arguments)
        self._remembered = RememberedCall(kernel.__name__)
        accesses = kernel.accesses(self.arguments)
        names = list(kernel._parameters)
        access = lambda k: accesses.get(names[k], 0) if _is_differentiable(self.arguments[k]) else 0
        numbers = range(self._begin, len(self.arguments))
        self.read = [k for k in numbers if access(k) & READ]
        self.written = [k for k in numbers if access(k) & WRITE]

    def number(self, position: int) -> int:
        """The number of the argument at a position of the caller's."""
        return position + self._begin

    def run(self, which: str | None = None) -> Any:
        """Calls the kernel, or its derivative "grad", which draws the random numbers that the kernel drew, or "fwd"."""
        with at_hand(self._remembered):
            return (self.kernel if which is None else getattr(self.kernel, which)).call_bound(self.arguments)

    def run_kept(self) -> Kept | KeptOfParts | None:
        """Calls the kernel; what it overwrote that its gradient needs."""
        with at_hand(self._remembered):
            return self.kernel.grad.call_primal(self.with_derivatives("grad", {}).arguments)[1]

    def run_back(self, kept: Kept | KeptOfParts | None) -> None:
        """Calls the gradient, for what `run_kept` has given."""
        if kept is None:
            return self.run("grad")
        with putting_back() as latest, at_hand(self._remembered):
            kept.run_back(self.kernel.grad, self.arguments, latest)

    def with_derivatives(self, kind: str, values: dict[int, Any]) -> Call:
        """The same call with new views that have gradients ("grad") or duals: those given, zeros of others."""
        made = object.__new__(Call)
        made.__dict__.update(self.__dict__)
        made.arguments = tuple(
            _beside(one, kind, values.get(k)) if k in self.read or k in self.written else one
            for k, one in enumerate(self.arguments)
        )
        return made

    def derivative(self, number: int, kind: str) -> Any:
        """A copy of the gradient ("grad") or dual of an argument, a NumPy array."""
        return getattr(self.arguments[number], kind).to_numpy()


def _view_of(argument):
    """An array of the package's over the argument's memory; what is no array as it is."""
    if isinstance(argument, NDArray) or hasattr(argument, "_placement"):
        return argument
    if hasattr(argument, "detach"):
        argument = argument.detach()
    return argument if describe_array(argument) is None or hasattr(argument, "_describe") else from_dlpack(argument)


def _is_differentiable(argument) -> bool:
    return isinstance(argument, NDArray) and argument.dtype.is_float


def _beside(argument, kind, value):
    """A view of the same memory with a derivative: a copy of `value`, or zeros."""
    view = NDArray(argument._values(), argument.element_type)
    partner = ndarray(argument.element_type, argument.shape)
    if value is not None:
        partner.from_numpy(value)
    setattr(view, kind, partner)
    return view
