"""`torch_function`: a kernel as a function of PyTorch's, on the tensors' own memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import RuntimeError_, RuntimeTypeError_
from .arrays import WRITE, Call


def torch_function(kernel: Any) -> Callable[..., Any]:
    """A function of the kernel's arguments, tensors on the CPU among them, that PyTorch differentiates.

        f = mt.ad.torch_function(kernel)
        y = f(x, torch.empty_like(x))
        y.sum().backward()

    The kernel works on the tensors' memory, without copies. Returns the tensors of floats that it writes: one, or a tuple. Those
    are given as room for the result: for PyTorch they are changed in place.
    The function raises RuntimeTypeError_ for what is no kernel, one that writes no tensor of floats, and a tensor that NumPy has
    no view of; RuntimeError_ where the kernel writes a leaf that requires grad, or a view of one.
    """
    import torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, use, *tensors):
            ctx.use, ctx.kept = use, use.run(tensors)
            written = tensors[: use.results]
            ctx.mark_dirty(*written)
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*tensors)
            return written[0] if len(written) == 1 else written

        @staticmethod
        def backward(ctx, *cotangents):
            ctx.saved_tensors  # raises where one was changed since  # noqa: B018
            given = [None if one is None else one.detach().resolve_neg().numpy() for one in cotangents]
            found = [None if one is None else torch.from_numpy(one) for one in ctx.use.run_back(ctx.kept, given)]
            if torch.is_grad_enabled():  # create_graph=True
                found = [None if one is None else Last.apply(one.requires_grad_(), ctx.use.name) for one in found]
            return None, *(one if needed else None for one, needed in zip(found, ctx.needs_input_grad[1:], strict=True))

    class Last(torch.autograd.Function):
        """Gradients that have none: PyTorch's once_differentiable takes them for constants where the cotangent is one."""

        @staticmethod
        def forward(ctx, gradient, name):
            ctx.name = name
            return gradient.view_as(gradient)

        @staticmethod
        def backward(ctx, cotangent):
            raise RuntimeError_(
                f"torch_function: the gradient of kernel '{ctx.name}' has no gradient itself: differentiate it once"
            )

    def function(*arguments):
        tensors = {k: one for k, one in enumerate(arguments) if isinstance(one, torch.Tensor)}
        call = Call(kernel, tuple(_view_of(one, k) if k in tensors else one for k, one in enumerate(arguments)))
        tensors = {call.number(k): one for k, one in tensors.items()}
        use = _Use(call, tensors, torch.is_grad_enabled())
        return Function.apply(use, *(tensors[k] for k in use.numbers))

    return function


class _Use:
    """One use of the function. It keeps no tensor: a result that its own graph holds would be garbage in a circle.

    Args:
        tensors: by the numbers of their parameters.
        is_followed: whether gradients are wanted where a tensor requires grad.

    Attributes:
        name: the kernel's.
        numbers: of the tensors, those of the results first. A result may be a view, and autograd takes the first input of what
            changes a view for that view.
        results: how many there are.
    """

    def __init__(self, call: Call, tensors: dict[int, Any], is_followed: bool):
        self.name, self._call = call.kernel.__name__, call
        self._parameters = list(call.kernel._parameters)
        written = [k for k in call.written if k in tensors]
        if not written:
            raise RuntimeTypeError_(
                f"torch_function: expected a kernel that writes a tensor of floats: '{self.name}' writes none"
            )
        for k in written if is_followed else ():
            self._check_room(tensors[k], self._parameters[k])
        self.numbers, self.results = written + [k for k in tensors if k not in written], len(written)
        self._is_followed = is_followed and any(one.requires_grad for one in tensors.values())

    def run(self, tensors: tuple) -> Any:
        """Calls the kernel. Returns what its gradient needs of what it overwrote."""
        kept = None
        if self._is_followed:
            kept = self._call.run_kept()
        else:
            self._call.run()
        for one in self._changed_besides(tensors):
            one.detach().as_strided((0,), (1,)).zero_()  # PyTorch counts a change
        return kept

    def run_back(self, kept: Any, cotangents: list) -> list:
        """Calls the gradient. Returns those of all tensors; None: the kernel does not touch it."""
        given = {k: one for k, one in zip(self.numbers, cotangents) if one is not None}
        back = self._call.with_derivatives("grad", given)
        back.run_back(kept)
        found = [getattr(back.arguments[k], "grad", None) for k in self.numbers]
        return [None if one is None else one._values() for one in found]

    def _check_room(self, tensor, name):
        base = tensor._base if tensor._is_view() else tensor
        if base.is_leaf and base.requires_grad:
            what = "a leaf" if base is tensor else "a view of a leaf"
            raise RuntimeError_(
                f"torch_function: argument '{name}' is {what} that requires grad, and kernel '{self.name}' writes it: expected "
                "room for a result, such as torch.empty_like makes, or a clone"
            )

    def _changed_besides(self, tensors):
        """Tensors of other types that the kernel writes."""
        others = {k: one for k, one in zip(self.numbers, tensors) if not one.is_floating_point()}
        accesses = self._call.kernel.accesses(self._call.arguments) if others else {}
        return [one for k, one in others.items() if accesses.get(self._parameters[k], 0) & WRITE]


def _view_of(tensor, position):
    """The tensor's memory as NumPy's array."""
    try:
        return tensor.detach().numpy()
    except (TypeError, RuntimeError) as error:
        raise RuntimeTypeError_(
            f"torch_function: argument {position}: expected a tensor on the CPU that NumPy has a view of, got one of "
            f"{tensor.dtype} on {tensor.device}: {error}"
        ) from None
