"""What a row of a workload is made of. Says nothing about how it is run."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Reference:
    """A case of bench/reference: file, name in it, numbers it is made of, and its variants (index: what it is)."""

    file: str
    name: str
    numbers: Callable[..., tuple]  # of the case's parameters
    variants: tuple[str, ...] = ("plain",)


@dataclasses.dataclass(frozen=True)
class Case:
    """One row.

    `program` is FILE:FUNCTION of bench/programs, called as function(inputs, **parameters); `others` names other
    programs of the row for a single package. `inputs(rng, **parameters)` makes arrays, `model(inputs, steps,
    **parameters)` is what NumPy makes of them, at the sizes of `smoke`. `tolerance` is (relative, absolute).
    `work(**parameters)` counts the units of a step, `traffic(**parameters)` the bytes it must move at least.
    `vdb` is the program in OpenVDB's terms, a side of its own where that library is installed.
    `limit`: None, or ('copy' or another of reference/stream.cpp, values); of the hand-written program 'hand'.
    `absent` says for a package why it has no program here.
    """

    name: str
    program: str
    parameters: dict
    smoke: dict
    inputs: Callable
    model: Callable
    outputs: Callable  # (**parameters) -> {name: (shape, dtype)}
    reference: Reference | None
    unit: str
    work: Callable
    tolerance: tuple[float, float] = (1e-5, 1e-6)
    traffic: Callable | None = None
    limit: tuple[str, int] | str | None = None
    level: str = ""
    check_steps: int = 1
    steps: int | None = None  # of a sample; None: as many as take 30 ms
    absent: dict = dataclasses.field(default_factory=dict)
    others: dict = dataclasses.field(default_factory=dict)
    note: str = ""
    vdb: Reference | None = None
    headline: bool = True  # among the rows of README, chosen by what they are, never by what they show
