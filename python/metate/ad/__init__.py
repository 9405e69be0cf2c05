"""`mt.ad`: derivatives of programs that call kernels: tapes, forward mode, gradients of one's own, JAX's and PyTorch's forms."""

from .forward import FwdMode
from .functional import grad, jvp, vjp
from .python_writes import write_numbers
from .replaced import grad_for, grad_replaced, no_grad
from .tape import Tape, clear_all_gradients
from .torch import torch_function

__all__ = [
    "FwdMode", "Tape", "clear_all_gradients", "grad", "grad_for", "grad_replaced", "jvp", "no_grad", "torch_function", "vjp",
    "write_numbers",
]  # fmt: skip
