"""Plans: an algorithm for a type and a length, as one kernel and the scratch memory that it needs.

What runs at once and what a module ships is the same kernel with the same arguments: data first, scratch last. Scratch need not
be cleared, and belongs to whoever calls. Nothing here knows an algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import value_types as _types
from ..errors import RuntimeTypeError_, RuntimeValueError_

MOST = (1 << 31) - 1  # elements of one call
_BLOCKS = 64  # as many as workers that find work
_LEAST = 1 << 12  # elements of a block: below that a worker is not worth waking


def length_of(n: Any, what: str) -> int:
    """A number of elements, checked."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise RuntimeTypeError_(f"{what}: n: expected a number of elements, got {n!r}")
    if not 0 <= n.__index__() <= MOST:
        raise RuntimeValueError_(f"{what}: n: expected 0 to {MOST} elements, got {n}")
    return n.__index__()


def scalar_of(dtype: Any, what: str, *, numbers: bool = False) -> _types.DType:
    """A scalar type, checked; `numbers`: not u1."""
    try:
        found = _types.element_type(dtype, "dtype")
    except (TypeError, ValueError) as error:
        raise RuntimeTypeError_(f"{what}: {error}") from None
    if not isinstance(found, _types.DType) or (numbers and found.kind == "bool"):
        raise RuntimeTypeError_(f"{what}: dtype: expected a scalar type{' of numbers' if numbers else ''}, got {dtype!r}")
    return found


def blocks_of(n: int) -> int:
    """Into how many blocks n elements are cut: the same on every machine, so that results are."""
    return max(1, min(_BLOCKS, n // _LEAST))


def empty(dtype: _types.DType, shape: tuple[int, ...]) -> Any:
    """An array whose elements are not set."""
    from ..ndarray import ndarray

    return ndarray(dtype, shape) if dtype.numpy is None else np.empty(shape, dtype.numpy)


@dataclass(frozen=True)
class Scratch:
    """An array that a plan needs: its scalar type and shape."""

    dtype: _types.DType
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Bytes of it, without gaps."""
        return self.dtype.bytes * int(np.prod(self.shape))


class Plan:
    """An algorithm, ready to run again and again, or to be shipped.

    Attributes:
        scratch: name -> Scratch, in the order of the kernel's last arguments. Their first extent may be anything from 1
            where it is a number of blocks: fewer blocks, fewer workers.
    """

    def __init__(self, kernel, data: dict[str, _types.DType], scratch: dict[str, Scratch], constants: dict[str, Any]):
        self._kernel = kernel
        self._data = data
        self._constants = constants
        self._memory: list[Any] | None = None
        self.scratch = scratch

    def _launch(self, *arguments: Any) -> Any:
        """Runs the kernel with the plan's own scratch, which is made at the first call."""
        if self._memory is None:
            self._memory = [empty(one.dtype, one.shape) for one in self.scratch.values()]
        return self._kernel.call_apart(*arguments, *self._memory, *self._constants.values())

    def add_to(self, module: Any, name: str | None = None) -> Any:
        """Adds the plan's kernel to a `mt.aot.Module` under a name, by default the kernel's own; returns the module.

        Hosts call it with the data, then an array of their own for each of `scratch`.
        """
        array = _types.ndarray
        arguments = {key: array(dtype, 1) for key, dtype in self._data.items()}
        arguments |= {key: array(one.dtype, len(one.shape)) for key, one in self.scratch.items()}
        open_ones = {key: arguments[key] for key in arguments if self._is_open(key)}
        return module.add_kernel(self._kernel, template_args={**open_ones, **self._constants}, name=name)

    def _is_open(self, parameter) -> bool:
        """Whether the kernel's annotation leaves the array's type open."""
        return self._kernel.source.parameters[parameter].annotation.dtype is None
