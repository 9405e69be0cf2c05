"""A kernel as parts that run one after the other: so a derivative has memory as it was between two of the kernel's statements.

A derivative reads memory as the kernel left it, or as it was before. Where a kernel overwrites what an earlier statement left and
needs again (`for i in x: x[i] = f(x[i])`, then `for i in x: loss[None] += x[i] ** 2`), neither is right. Its statements are then
kernels of their own; what one of them overwrites is kept before it runs.
"""

from __future__ import annotations

import copy
from typing import Any

from .kept import Kept
from .kernel import Kernel
from .remembered_call import RememberedCall, at_hand


class Part(Kernel):
    """One part of a kernel's statements; the compiler says which there are (KernelParts.h)."""

    def __init__(self, whole: Kernel, number: int):
        self.__name__, self.__qualname__, self.__module__ = whole.__name__, whole.__qualname__, whole.__module__
        self.__doc__ = f"Part {number} of {whole.__name__}: see metate.parts."
        source = copy.copy(whole.source)
        source.part = number
        self._begin(source, whole.own_options)


class InParts:
    """The parts of one specialisation of a kernel.

    Args:
        kernel: the kernel.
        accesses: of each part, what it reads and what it writes: (argument, member, what users call it).
    """

    def __init__(self, kernel: Kernel, accesses: list[tuple[list, list]]):
        self.parts = [Part(kernel, number) for number in range(len(accesses))]
        self._name = kernel.__name__
        # What any part reads: the kernel may be called again, and overwrite what this call left.
        read = {tuple(one) for reads, _ in accesses for one in reads}
        self._overwritten = [sorted({tuple(one) for one in writes} & read) for _, writes in accesses]

    def run(self, arguments: tuple, watcher: Any = None) -> tuple[Any, KeptOfParts]:
        """Calls the parts with one argument for each of the kernel's parameters.

        watcher: a Validation, which has their writes numbered.
        Returns (what the kernel returns, what their derivatives need).
        Raises CompilationError where one of them has no derivative.
        """
        kept, result = KeptOfParts(watcher), None
        derivatives = [part.grad if watcher is None else part.grad.numbered for part in self.parts]
        # All of them before anything runs: one may be refused.
        places = [one.places(arguments, names) for one, names in zip(derivatives, self._overwritten)]
        for part, (before, overwritten) in zip(self.parts, places):
            step = _Step(part, RememberedCall(self._name), {place.key for place in before}, Kept(overwritten))
            if watcher is None:
                with at_hand(step.call):
                    result = part.call_bound(arguments)
            else:
                result = watcher.run(part, arguments, step.call)
            kept.steps.append(step)
        return result, kept


class _Step:
    """The call of one part.

    Attributes:
        before: keys of the places that its derivative reads as they were before it.
        kept: what it overwrote of what parts read.
    """

    def __init__(self, part: Part, call: RememberedCall, before: set, kept: Kept):
        self.part, self.call, self.before, self.kept = part, call, before, kept


class KeptOfParts:
    """What one call in parts kept; in place of a Kept."""

    def __init__(self, watcher: Any):
        self.steps: list[_Step] = []
        self._watcher = watcher

    def run_back(self, derivative: Kernel, arguments: tuple, latest: dict) -> None:
        """Calls the parts' derivatives, the last one first, each with memory as its part left it; see Kept."""
        for step in reversed(self.steps):
            if step.before:
                step.kept.put_back(latest, step.before)
            with at_hand(step.call):
                if self._watcher is not None:
                    self._watcher.reverse(step.part, arguments, bool(step.before))
                elif step.before:
                    step.part.grad.call_restored(arguments)
                else:
                    step.part.grad.call_bound(arguments)
            step.kept.put_back(latest)
