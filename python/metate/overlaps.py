"""Arrays that share memory: a kernel that writes one of them has no derivative, since gradients are each array's own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .errors import DerivativeError_
from .lazy_numpy import np

if TYPE_CHECKING:
    from .kernel import Kernel

_WRITE = 2  # metate_access
_WORK: Any = 100_000  # steps of looking whether strided arrays meet


def refuse(kernel: Kernel, arguments: tuple) -> None:
    """Raises DerivativeError_ where the kernel writes an argument that overlaps another one.

    Args:
        kernel: the primal.
        arguments: one for each of its parameters.
    """
    given = kernel._without_packs(arguments)
    memory = [(k, found) for k, one in enumerate(given) if (found := _memory_of(one)) is not None]
    pairs = [(k, m) for (k, one), (m, other) in itertools.combinations(memory, 2) if _meet(one, other)]
    if not pairs:
        return
    names = list(kernel.source.parameters)
    written = {name.split(".")[0] for name, access in kernel.accesses(arguments).items() if access & _WRITE}
    for pair in pairs:
        one, other = (names[k] for k in pair)
        if one in written or other in written:
            text = f"derivative of kernel '{kernel.__name__}': arguments '{one}' and '{other}' overlap, and one is written"
            raise DerivativeError_(f"{text}; make a copy of one of them")


def _memory_of(argument: Any):
    """The memory of an array as NumPy's array; None of anything else."""
    from .array_object import NDArray, StructNDArray

    if isinstance(argument, (NDArray, StructNDArray)):
        return argument._owner
    if isinstance(argument, np.ndarray):
        return argument
    return argument.detach().numpy() if hasattr(argument, "detach") else None


def _meet(one, other) -> bool:
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_WORK)
    except RuntimeError:  # too hard to tell: TooHardError
        return True
