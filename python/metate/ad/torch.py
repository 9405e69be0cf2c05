"""`torch_function`: a kernel as a function of PyTorch's, on the tensors' own memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .arrays import Call


def torch_function(kernel: Any) -> Callable[..., Any]:
    """A function of the kernel's arguments, tensors on the CPU among them, that PyTorch differentiates.

        f = mt.ad.torch_function(kernel)
        y = f(x, torch.empty_like(x))
        y.sum().backward()

    The kernel works on the tensors' memory, without copies. Returns the tensors that it writes: one, or a tuple. Those are given
    as room for the result: for PyTorch they are changed in place. Raises RuntimeTypeError_ for what is no kernel.
    """
    import torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *arguments):
            call = Call(kernel, arguments)
            ctx.kept = call.run_kept()
            ctx.call, first = call, call.number(0)
            written = [arguments[k - first] for k in call.written]
            ctx.mark_dirty(*written)
            ctx.save_for_backward(*(one for one in arguments if isinstance(one, torch.Tensor)))
            return written[0] if len(written) == 1 else tuple(written)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, *cotangents):
            call, first = ctx.call, ctx.call.number(0)
            ctx.saved_tensors  # raises where one was changed since  # noqa: B018
            given = {k: one.detach().numpy() for k, one in zip(call.written, cotangents) if one is not None}
            back = call.with_derivatives("grad", given)
            back.run_back(ctx.kept)
            found = [getattr(back.arguments[k], "grad", None) for k in range(first, len(back.arguments))]
            wanted = zip(found, ctx.needs_input_grad, strict=True)  # of what the kernel does not touch there is none
            return tuple(torch.from_numpy(one._values()) if needed and one is not None else None for one, needed in wanted)

    def function(*arguments):
        return Function.apply(*arguments)

    return function
