"""Random programs of several kernels under a tape with validation: every wrong gradient must be found, and nothing else.

A program is a list of calls and of writes of Python's, over a few fields and arrays: in place, or mostly with places of their
own. What each kernel reads for its derivative and what it writes is known (KERNELS), so it is known which values are stale.
Besides, each program runs backwards twice without validation: with memory as each call left it, from saved copies, and with
memory as it is. Where these gradients differ, one is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import metate as mt

N = 6


@mt.kernel
def square(to: mt.template(), of: mt.template(), shift: mt.i32):
    for i in range(N):
        to[i] = of[(i + shift) % N] ** 2


@mt.kernel
def add(to: mt.template(), of: mt.template(), shift: mt.i32):
    for i in range(N):
        to[i] += 0.5 * of[(i + shift) % N]


@mt.kernel
def multiply(to: mt.template(), of: mt.template(), by: mt.template(), shift: mt.i32):
    for i in range(N):
        to[i] += 0.3 * of[i] * by[(i + shift) % N]


@mt.kernel
def gather(to: mt.template(), of: mt.template(), at: mt.template(), shift: mt.i32):
    for i in range(N):
        to[i] += 0.7 * of[at[i]]


@mt.kernel
def part(to: mt.template(), of: mt.template(), begin: mt.i32):
    for i in range(begin, N):
        to[i] = mt.sin(of[i])


@mt.kernel
def choose(to: mt.template(), of: mt.template(), by: mt.template(), shift: mt.i32):
    for i in range(N):
        if by[(i + shift) % N] > 0.2:
            to[i] = 0.8 * of[i]
        else:
            to[i] += mt.exp(-of[i])


@mt.kernel
def fold(to: mt.template(), of: mt.template(), cell: mt.i32):
    for i in range(cell, N):
        to[cell] += of[i] * of[i]


@mt.kernel
def chain(to: mt.template(), of: mt.template(), cell: mt.i32):
    for _ in range(1):
        a = 1.0
        for i in range(cell, N):
            a = 0.5 * a * of[i] + 0.3
        to[cell] = a


@mt.kernel
def component(to: mt.template(), of: mt.template(), shift: mt.i32):
    for i in range(N):
        to[i].y += of[(i + shift) % N].x ** 2


@mt.kernel
def number(at: mt.template(), shift: mt.i32):
    for i in range(N):
        at[i] = (i * (shift + 1) + shift) % N


@mt.kernel
def leave(of: mt.template(), cell: mt.i32):
    mt.deactivate(of.parent(), [cell])


@mt.ad.no_grad
def left(of, cell):
    """What is deactivated has no derivative."""
    leave(of, cell)


@dataclasses.dataclass
class Kind:
    """A kernel: what of its parameters are, and which cells of which it reads for its derivative, and writes.

    Attributes:
        floats: so many of its parameters are floats; then come the indices, if `has_indices`.
        needs: (values, shift) -> (position, cell) of what its derivative reads.
        writes: shift -> cells of the first parameter.
        rank: of its elements: 0 scalars, 1 vectors, None: it is for both.
        read, written: components of a vector that it looks at.
    """

    kernel: Any
    floats: int
    has_indices: bool
    needs: Callable[..., list]
    writes: Callable[[int], Any]
    rank: int | None = None
    read: tuple = (0, 1)
    written: tuple = (0, 1)


def _all(shift):
    return range(N)


def _none(values, shift):
    return []


def _chosen(values, shift):
    cells = [(2, (i + shift) % N) for i in range(N)]
    return cells + [(1, i) for i in range(N) if not values[2][(i + shift) % N] > 0.2]


def _second(values, shift):
    return [(1, i) for i in range(N)]


def _from(values, begin):
    return [(1, i) for i in range(begin, N)]


KERNELS = [
    Kind(square, 2, False, _second, _all),
    Kind(add, 2, False, _none, _all),
    Kind(multiply, 3, False, lambda values, shift: [(k, i) for k in (1, 2) for i in range(N)], _all),
    Kind(gather, 2, True, lambda values, shift: [(2, i) for i in range(N)], _all),
    Kind(part, 2, False, _from, lambda begin: range(begin, N)),
    Kind(choose, 3, False, _chosen, _all, rank=0),
    Kind(fold, 2, False, _from, lambda cell: [cell]),
    Kind(chain, 2, False, _from, lambda cell: [cell], rank=0),
    Kind(component, 2, False, _second, _all, rank=1, read=(0,), written=(1,)),
    Kind(number, 0, True, _none, _all),
]

NAMES = {kind.kernel.__name__: kind for kind in KERNELS}


def _placed(draw):
    def make(rank):
        x = mt.Vector.field(2, mt.f64) if rank else mt.field(mt.f64)
        draw().place(x, x.grad)
        return x

    return make


MEMORY = {
    "dense": lambda rank: mt.field(mt.types.vector(2, mt.f64) if rank else mt.f64, N, needs_grad=True),
    "pointer": _placed(lambda: mt.root.pointer(mt.i, 3).dense(mt.i, 2)),
    "bitmasked": _placed(lambda: mt.root.bitmasked(mt.i, N)),
    "hash": _placed(lambda: mt.root.hash(mt.i)),
    "dynamic": _placed(lambda: mt.root.dynamic(mt.i, N, 4)),
    "array": lambda rank: mt.ndarray(mt.types.vector(2, mt.f64) if rank else mt.f64, N, needs_grad=True),
}
SPARSE = ("pointer", "bitmasked", "hash")


@dataclasses.dataclass
class Step:
    """A call of a kernel, or a write: "cell", "fill", "from_numpy" of a field by Python, "leave": a cell is deactivated."""

    what: str
    places: tuple  # numbers of fields, of the indices last
    shift: int

    def __str__(self):
        return f"{self.what}{self.places} {self.shift}"


class Program:
    """A random program.

    Attributes:
        kinds: of memory of each float field.
        rank: of their elements: 0 scalars, 1 vectors.
        steps: what it does; the loss is a sum of all fields.
    """

    def __init__(self, seed: int):
        pick = random.Random(seed)
        few = pick.sample(list(MEMORY), 2)  # each set of kinds is compiled for
        self.kinds = [pick.choice(few) for _ in range(pick.randint(3, 6))]
        self.seed, self.rank = seed, int(pick.random() < 0.3)
        self.steps: list[Step] = []
        read: set[int] = set()  # what is read so far: half of the programs mostly write elsewhere, as with a time index
        careful = 0.95 if pick.random() < 0.6 else 0.3
        for _ in range(pick.randint(2, 6)):
            if pick.random() < 0.15:
                self.steps.append(self._other(pick, read if pick.random() < careful else ()))
                continue
            kind = pick.choice([one for one in KERNELS if one.rank in (None, self.rank)])
            places = pick.sample(range(len(self.kinds)), kind.floats)
            if places and pick.random() < careful:
                others = [k for k in range(len(self.kinds)) if k not in read and k not in places[1:]]
                if not others:
                    continue
                places[0] = pick.choice(others)
            elif not places and -1 in read and pick.random() < careful:
                continue
            read |= {*places[1:], *([-1] if kind.kernel is gather else ())}
            self.steps.append(Step(kind.kernel.__name__, (*places, *((-1,) if kind.has_indices else ())), pick.randrange(N)))

    def _other(self, pick, avoided):
        place = pick.choice([k for k in range(len(self.kinds)) if k not in avoided] or range(len(self.kinds)))
        ways = ["cell", "fill", "from_numpy"] if self.kinds[place] != "array" else ["cells"]
        if self.kinds[place] in SPARSE:
            ways.append("leave")
        if self.kinds[place] == "hash":
            ways.remove("from_numpy")
        way = pick.choice(ways)
        return Step(
            *("square", (place, (place + 1) % len(self.kinds)), 1) if way == "cells" else (way, (place,), pick.randrange(N))
        )

    def left(self, step: Step) -> range:
        """The elements of the cell that a "leave" deactivates."""
        width = 2 if self.kinds[step.places[0]] == "pointer" else 1
        begin = step.shift // width * width
        return range(begin, begin + width)

    def __str__(self):
        return f"{self.seed}: {', '.join(self.kinds)}: {'; '.join(map(str, self.steps))}"


class Machine:
    """The memory of one program, and what runs it."""

    def __init__(self, program: Program):
        self.program = program
        self.fields = [MEMORY[kind](program.rank) for kind in program.kinds]
        self.shape = (N, 2) if program.rank else (N,)
        self.indices = mt.field(mt.i32, N)
        self.loss = mt.field(mt.f64, (), needs_grad=True)
        self.begin()

    def begin(self):
        rng = np.random.default_rng(self.program.seed)
        for one in self.fields:
            self.put(one, rng.uniform(-1, 1, self.shape))
        self.indices.from_numpy(np.arange(N, dtype=np.int32))

    @staticmethod
    def put(place, values):
        for i in range(N):
            place[i] = values[i]

    @staticmethod
    def values(place):
        return np.array([place[i] for i in range(N)])

    def at(self, number):
        return self.indices if number < 0 else self.fields[number]

    def run(self, step: Step):
        places = [self.at(k) for k in step.places]
        if step.what == "cell":
            places[0][step.shift] = np.full(self.shape[1:], 0.25 + step.shift)[()]
        elif step.what == "fill":
            places[0].fill(0.6)
        elif step.what == "from_numpy":
            places[0].from_numpy(np.linspace(0.2, 0.9, int(np.prod(self.shape))).reshape(self.shape))
        elif step.what == "leave":
            left(places[0], step.shift // (2 if self.program.kinds[step.places[0]] == "pointer" else 1))
        else:
            NAMES[step.what].kernel(*places, step.shift)

    def finish(self):
        """The loss: each field, linearly, so that nothing of it is needed."""
        for one in self.fields:
            self.total(one, self.loss)

    @property
    def total(self):
        return total_of_vectors if self.program.rank else total

    def clear(self):
        self.loss.grad.fill(0)
        for one in self.fields:
            one.grad.fill(0)  # what is inactive stays so, and is a constant

    def snapshot(self):
        return [self.values(one) for one in (*self.fields, self.indices)]

    def restore(self, saved):
        for one, values in zip((*self.fields, self.indices), saved):
            self.put(one, values)


@mt.kernel
def total(of: mt.template(), loss: mt.template()):
    for i in range(N):
        loss[None] += (i + 1) * of[i]


@mt.kernel
def total_of_vectors(of: mt.template(), loss: mt.template()):
    for i in range(N):
        loss[None] += (i + 1) * of[i].x + 0.7 * i * of[i].y


def stale(program: Program, before: list) -> bool:
    """Is anything that a call needs overwritten later, by what is known of kernels?

    before: memory before each step.
    """
    needed: set = set()
    for step, memory in zip(program.steps, before):
        kind = NAMES.get(step.what)
        written = _written(program, step)
        if needed & written:
            return True
        if kind is not None:
            values = [memory[k] for k in step.places]
            cells = kind.needs(values, step.shift)
            needed |= {(step.places[position], cell, part) for position, cell in cells for part in kind.read}
    return False


def _written(program, step):
    place, parts = step.places[0], (0, 1)
    if step.what in NAMES:
        cells, parts = NAMES[step.what].writes(step.shift), NAMES[step.what].written
    elif step.what == "cell":
        cells = [step.shift]
    elif step.what == "leave":
        cells = program.left(step)
    else:
        cells = range(N)
    return {(place, cell, part) for cell in cells for part in parts}


def gradients(machine: Machine, replays: bool) -> list:
    """By derivatives that are called one by one; replays: with memory as each call left it."""
    machine.begin()
    machine.loss[None] = 0
    after = []
    for step in machine.program.steps:
        machine.run(step)
        after.append(machine.snapshot())
    machine.clear()
    machine.loss.grad[None] = 1
    for one in machine.fields:
        machine.total.grad(one, machine.loss)
    for step, saved in reversed(list(zip(machine.program.steps, after))):
        if step.what in ("fill", "from_numpy"):  # what was there before has no influence
            machine.at(step.places[0]).grad.fill(0)
        if step.what == "leave":  # nor what was in a cell that is given up: memory as it was makes it active again
            for cell in machine.program.left(step):
                machine.at(step.places[0]).grad[cell] = np.zeros(machine.shape[1:])[()]
        if step.what not in NAMES:
            continue
        if replays:
            machine.restore(saved)
        NAMES[step.what].kernel.grad(*[machine.at(k) for k in step.places], step.shift)
    return [machine.values(one.grad) for one in machine.fields]


def checked(machine: Machine) -> tuple[bool, str]:
    """(is something stale, what the tape says)."""
    machine.begin()
    machine.clear()  # a tape does not know of arrays
    before, said = [], ""
    try:
        with mt.ad.Tape(machine.loss, validation=True):
            for step in machine.program.steps:
                before.append(machine.snapshot())
                machine.run(step)
            machine.finish()
    except mt.TaichiAssertionError as error:
        said = str(error)
    return stale(machine.program, before), said


def problems(program: Program) -> tuple[list[str], bool, bool]:
    """(what is wrong with what the tape says, is something stale, is a gradient wrong)."""
    machine = Machine(program)
    right, as_it_is = gradients(machine, True), gradients(machine, False)
    is_wrong = any(not np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(right, as_it_is))
    is_stale, said = checked(machine)
    found = []
    if is_wrong and not said:
        found.append("a gradient is wrong, and nothing was said")
    if is_stale and not said:
        found.append("a value is overwritten and needed, and nothing was said")
    if said and not is_stale:
        found.append(f"nothing is overwritten that is needed, and this was said: {said}")
    if said and "overwritten since by" not in said:
        found.append(f"the error does not say who wrote: {said}")
    if not said:
        taken = [machine.values(one.grad) for one in machine.fields]
        if not all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(right, taken)):
            found.append("the tape's gradient is another one")
    return found, is_stale, is_wrong


def wrong_in(seed: int) -> list[str]:
    """`problems` of the program of this seed."""
    with mt.Context(debug=True, default_fp=mt.f64):
        return problems(Program(seed))[0]


@dataclasses.dataclass
class Report:
    """Of a run: programs, those with stale values, with wrong gradients, and what was wrong with what was said."""

    count: int = 0
    stale: int = 0
    wrong: int = 0
    missed: list = dataclasses.field(default_factory=list)


def run(seed: int, count: int, seconds: float | None = None) -> Report:
    """Checks `count` programs."""
    report, begin = Report(), time.monotonic()
    with mt.Context(debug=True, default_fp=mt.f64):
        for k in range(count):
            if seconds is not None and time.monotonic() - begin > seconds:
                break
            program = Program(seed * 1_000_003 + k)
            found, is_stale, is_wrong = problems(program)
            report.count, report.stale, report.wrong = report.count + 1, report.stale + is_stale, report.wrong + is_wrong
            if found:
                report.missed.append((program.seed, found))
                print(f"{program}\n  " + "\n  ".join(found), flush=True)
    return report


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="scripts/fuzz-kernels --tapes", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs (default 1000)")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run; default: a fresh one, printed")
    parser.add_argument("--time", type=float, default=None, metavar="SECONDS", help="stop after that time")
    options = parser.parse_args(arguments)
    seed = random.randrange(1 << 20) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    report = run(seed, options.count, options.time)
    found = f"{report.stale} with stale values, {report.wrong} wrong gradients, {len(report.missed)} mismatches"
    print(f"{report.count} programs: {found}")
    return bool(report.missed)


if __name__ == "__main__":
    raise SystemExit(main())
