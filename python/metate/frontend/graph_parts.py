"""What a graph runs: kernels with what they are given, and loops. Knows no compiler: graph_writer.py writes these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Taken:
    """An argument of a kernel that is a parameter of the graph; of a pack `p` a member is called `p.a`."""

    name: str

    @property
    def argument(self) -> str:
        """The graph's argument that it is, or that it is a member of."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Number:
    """An argument of a kernel that is a number. Equal by its text, which tells -0.0 from 0.0."""

    value: Any = field(compare=False)
    text: str


@dataclass(frozen=True)
class Place:
    """Where a program drew something of a graph; line and column count from 1."""

    file: str
    line: int
    column: int
    length: int


@dataclass(frozen=True)
class Run:
    """A kernel and what it is given.

    Attributes:
        source: of the kernel.
        own: options that the kernel was decorated with, as pairs.
        given: a Taken or Number for each parameter, by name.
        place: where it was dispatched.
        kernel: that was dispatched, for who runs it by itself.
    """

    source: Any
    own: tuple[tuple[str, bool], ...]
    given: dict[str, Taken | Number]
    place: Place
    kernel: Any = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple:
        """Equal for runs that do the same."""
        return self.source.function, self.own, tuple(self.given.items())


@dataclass(frozen=True)
class Repeat:
    """Steps that are run several times: as often as a number, or a parameter of the graph, says."""

    steps: tuple[Run | Repeat, ...]
    count: int | Taken


def runs_of(steps):
    """Each Run of the steps, once."""
    for step in steps:
        if isinstance(step, Repeat):
            yield from runs_of(step.steps)
        else:
            yield step


def numbers_of(steps) -> dict[tuple, int]:
    """The numbers of runs, by their keys: equal runs have one number, equal steps the same ones in every process."""
    numbers: dict[tuple, int] = {}
    for run in runs_of(steps):
        numbers.setdefault(run.key, len(numbers))
    return numbers


def text_of(steps, kernels: list) -> str:
    """The steps as a text that is equal for equal ones in every process; kernels by their numbers among the sources."""
    parts = []
    for step in steps:
        if isinstance(step, Repeat):
            parts.append(f"{step.count!r} times [{text_of(step.steps, kernels)}]")
        else:
            parts.append(f"{kernels.index(step.source)} {step.own!r} {list(step.given.items())!r}")
    return "; ".join(parts)


def draws_of(steps, random, arguments) -> int:
    """How many runs there are for given arguments, by name, of those whose ids are in `random`."""
    total = 0
    for step in steps:
        if isinstance(step, Repeat):
            count = step.count if isinstance(step.count, int) else max(int(arguments[step.count.name]), 0)
            total += count * draws_of(step.steps, random, arguments)
        else:
            total += id(step) in random
    return total
