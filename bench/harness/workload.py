"""One ordinary piece of work in the several ways in which users write it. Needs NumPy and the standard library only.

A file of bench/programs/cliffs makes one Workload and hangs its spellings on it; a worker calls them as it calls any
program of bench/programs, the driver reads what they are and has the model. Says nothing about how they are run.
"""

import dataclasses
import functools
from collections.abc import Callable

from .case import Case


@dataclasses.dataclass(frozen=True)
class Spelling:
    """`title` says how it is written. Spellings of one `family` do the same work; others, such as the same in f64, are not
    compared with them for speed."""

    title: str
    function: str  # its name in the workload's file
    family: str
    absent: dict[str, str]  # {package: why it has no such program}


@dataclasses.dataclass
class Workload:
    """`inputs(rng, **parameters)` makes arrays, `model(inputs, **parameters)` what a step makes of them, in NumPy: f64 where
    the programs have f32, to within `tolerance`, (relative, absolute). `items(**parameters)` counts the units of a step.
    `device`: the parameters' sizes on a GPU, where a step of the others would be little more than its launch."""

    title: str
    unit: str
    parameters: dict
    smoke: dict  # the parameters' tiny sizes
    items: Callable
    inputs: Callable
    model: Callable
    tolerance: tuple[float, float] = (1e-5, 1e-6)
    device: dict = dataclasses.field(default_factory=dict)
    spellings: list[Spelling] = dataclasses.field(default_factory=list)

    def spelling(self, title, family="", absent=None):
        """Decorates a function(inputs, **parameters) that gives {'step', 'outputs', and if there is one 'reset'}."""

        def add(function):
            self.spellings.append(Spelling(title, function.__name__, family, absent or {}))
            return function

        return add

    def sizes(self, arch):
        """The parameters of a step that is timed there."""
        return self.parameters if arch == "cpu" else self.parameters | self.device

    def case(self, file, spelling, arch="cpu"):
        """The spelling as a row; `file` is its workload's name in bench/programs/cliffs."""
        return Case(
            name=spelling.title,
            level=spelling.family,
            program=f"cliffs.{file}:{spelling.function}",
            parameters=self.sizes(arch),
            smoke=self.smoke,
            inputs=self.inputs,
            model=modelled(self.model),
            outputs=None,
            reference=None,
            unit=self.unit,
            work=self.items,
            tolerance=self.tolerance,
            absent=spelling.absent,
            headline=False,
        )


@functools.cache
def modelled(model):
    """`model` as a Case wants it."""
    return lambda inputs, steps, **parameters: model(inputs, **parameters)
