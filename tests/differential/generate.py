"""Random well-typed kernels with their arguments: tasks over arrays and trees, serial statements between them.

`generate(seed)` is deterministic. What a program does is determined whatever the order of its iterations:
see `statements`. Outside of a tree only sparse ones are accessed, where that has a meaning.
"""

from __future__ import annotations

import itertools
import math
import random

from . import numbers as n
from . import table, trees
from .case import Array, Case, Same, Static, Tree, Value
from .expressions import SHAPES, WHOLE, Source
from .patterns import Patterns
from .places import I32, Places, Task
from .program import Line, Program, Stmt
from .statements import Statements
from .table import Type

_STORED = tuple(s for s in table.ALL if s != "bf16")  # what NumPy has


def generate(seed: int, name: str = "kernel", wanted=None) -> Case:
    """One case. `wanted` (coverage.Wanted) draws it towards what was not covered yet."""
    rng = random.Random(seed)
    gaps = wanted.gaps(rng) if wanted is not None and rng.random() < wanted.share else None
    generator = Generator(rng, wanted, is_whole=gaps is None and rng.random() < 0.45)
    return generator.gap_case(name, seed, gaps) if gaps else generator.case(name, seed)


class Generator(Patterns, Places, Statements):
    def __init__(self, rng, wanted=None, is_whole=False):
        super().__init__(rng, is_whole, wanted)
        self.inputs: list[Array] = []
        self.mutable: list[Array] = []
        self.outputs: dict = {}
        self.collectors: dict = {}
        self.values: list[Value] = []
        self.statics: list[Static] = []
        self.second_names: dict[str, Same] = {}
        self.walked = None  # (tree, member) of a struct-for
        self.trees: dict[str, Tree] = {}
        self.types: dict[str, trees.TreeType] = {}
        self.task = None
        self.tasks = 0
        self.gaps = 0
        self.result = None
        self.result_step = 0

    # -- data ---------------------------------------------------------------------------------------------------

    def number(self, scalar):
        """A value for an argument."""
        rng = self.rng
        if scalar == "u1":
            return rng.randrange(2)
        if n.is_float(scalar):
            if self.is_whole:
                return float(rng.randint(-WHOLE, WHOLE))
            kind = rng.random()
            if kind < 0.08:
                return rng.choice((math.inf, -math.inf, math.nan, 0.0, -0.0))
            value = rng.choice((rng.uniform(-4, 4), rng.uniform(-1000, 1000), rng.uniform(-1, 1) * 10.0 ** rng.randint(-9, 9)))
            return n.ROUND[scalar](value)
        return self._some_integer(scalar)

    def array(self, name, type_, extents, zeros=False) -> Array:
        count = math.prod(extents) * type_.count
        data = [0.0 if n.is_float(type_.scalar) else 0] * count if zeros else [self.number(type_.scalar) for _ in range(count)]
        strides = self.rng.choices(("plain", "transposed", "gaps", "backwards"), (6, 1, 1, 1))[0]
        if strides == "transposed" and type_.shape:
            strides = "gaps"
        return Array(name, type_.scalar, type_.shape, tuple(extents), data, strides, self.rng.random() < 0.6)

    def prepare(self, chain=None):
        """Arguments that are there before any statement."""
        rng = self.rng
        for k in range(rng.randint(1, 3)):
            type_ = Type(rng.choice(_STORED), rng.choice(((), (), (), (2,), (3,), (2, 2))))
            extents = rng.choice(((5,), (13,), (3, 4), (2, 3, 2), (7,), (1,)))
            self.inputs.append(self.array(f"x{k}", type_, extents))
        for k in range(rng.randint(0, 2)):
            type_ = Type(rng.choice(_STORED), rng.choice(((), (), (2,), (2, 2))))
            self.mutable.append(self.array(f"y{k}", type_, rng.choice(((12,), (4, 5), (6,), (3, 2, 3)))))
        for k in range(rng.randint(0, 3)):
            type_ = Type(rng.choice(table.ALL), rng.choice(SHAPES))
            self.values.append(Value(f"s{k}", type_.scalar, type_.shape, [self.number(type_.scalar) for _ in range(type_.count)]))
        if rng.random() < 0.25:
            self.statics.append(Static("n0", rng.randint(1, 4)))
        if chain or rng.random() < 0.75:
            self.prepare_trees(chain)
        for value in self.values:
            signless = False
            self.scope.sources.append(
                Source(Type(value.scalar, value.shape), value.name, value.name, signless=signless, is_fixed=True)
            )
        for static in self.statics:
            self.scope.sources.append(Source(I32, f"mt.i32({static.name})", static.name, index=(1, 4)))

    def prepare_trees(self, chain=None):
        rng = self.rng
        for k in range(rng.choice((1, 1, 2))):
            if k and rng.random() < 0.3:
                name = "T0"
            else:
                name = f"T{k}"
                kinds = chain if chain and k == 0 else rng.choice(table.LEVELS)
                self.types[name] = trees.random_type(rng, f"m{k}", table.ALL, chain=kinds)
            self.trees[f"f{k}"] = self.tree(f"f{k}", name)

    def tree(self, name, type_name) -> Tree:
        """A tree with some cells written and some only active."""
        type_, rng, cells, active = self.types[type_name], self.rng, [], []
        for member in type_.members.values():
            places = list(itertools.product(*map(range, member.shape)))
            wanted = rng.choice((0, 1, 4, 12, 30))
            # Near each other, so that some leaves are full.
            start = rng.randrange(len(places))
            near = places[start : start + wanted // 2]
            for at in {*near, *rng.sample(places, min(wanted, len(places)))}:
                cells.append([member.name, at, self.cell_value(member.type)])
            if member.is_sparse and rng.random() < 0.3:
                active += [[member.name, at] for at in rng.sample(places, min(3, len(places)))]
        return Tree(name, type_name, cells, active)

    def cell_value(self, type_):
        parts = tuple(self.number(type_.scalar) for _ in range(type_.count))
        return parts if type_.shape else parts[0]

    # -- tasks --------------------------------------------------------------------------------------------------------

    def new_task(self, level, extents) -> Task:
        self.tasks += 1
        return Task(self.tasks, level, extents)

    def parallel_task(self) -> Stmt | None:
        """A loop directly in the kernel."""
        if self.trees and self.rng.random() < 0.06:
            return self.activity_loop()
        if self.trees and self.rng.random() < 0.65:
            return self.tree_loop()
        return self.array_loop()

    def _loop(self, task, lines, exprs=(), size=None, is_serial=False, first=None) -> Stmt:
        """The statement of a loop whose header stands in `lines`, the last of which gets the body, which begins
        with what `first` makes."""
        self.task, self.is_serial, self.loops = task, is_serial, ["parallel" if not is_serial else "serial"]
        before, makers, level = len(self.scope.sources), len(self.scope.makers), self.level
        self.level = task.level
        self.scope.sources += task.coordinates
        self.scope.makers += self.readers()
        body = (first(1) if first else None) or []
        body += self._gap_outputs() if self.gaps else self.block(2, size or self.rng.randint(1, 4))
        if self.result is not None and self.rng.random() < 0.6:
            body.append(self._result_step())
        del self.scope.sources[before:]
        del self.scope.makers[makers:]
        lines[-1].block = body
        self.task, self.is_serial, self.loops, self.level = None, True, [], level
        return Stmt("loop", lines, list(exprs), task.level)

    def _result_step(self):
        """The kernel's result accumulates in a parallel loop."""
        type_ = self.result
        value = self.held(self.value(type_, 1))
        name = f"add__{type_.scalar}"
        return Stmt(
            "result", [Line("result += {0}", f"result = {name}(result, {{0}})")], [value], counts=(("accumulated result", "-"),)
        )

    def array_loop(self) -> Stmt:
        rng = self.rng
        rank = rng.choice((1, 1, 2, 2, 3))
        extents = [rng.randint(1, {1: 24, 2: 6, 3: 4}[rank]) for _ in range(rank)]
        if rank == 1 and rng.random() < 0.04 and not self.gaps:
            extents = [1100]  # more than the least chunk of a plain loop
        names = [self.name("i") for _ in range(rank)]
        serialize = rng.random() < 0.12
        prefix = [Line("mt.loop_config(serialize=True)", "")] if serialize else []
        size = 2 if extents == [1100] else None
        if rank == 1:
            return self._range_loop(names[0], extents[0], prefix, size, serialize)
        grouped = rng.random() < 0.35
        lows = [0 if rng.random() < 0.7 else rng.randrange(extent) for extent in extents]
        twin_ranges = ", ".join(f"range({low}, {extent})" for low, extent in zip(lows, extents))
        boxes = ", ".join(
            f"({low}, {extent})" if low or rng.random() < 0.1 else str(extent) for low, extent in zip(lows, extents)
        )
        task = self.new_task("array", extents)
        counts = [("ndrange", "-")]
        if grouped:
            whole = self.name("I")
            task.coordinates = [Source(I32, f"{whole}[{k}]", f"{whole}[{k}]", index=(0, e - 1)) for k, e in enumerate(extents)]
            kernel, twin = f"for {whole} in mt.grouped(mt.ndrange({boxes})):", f"for {whole} in product({twin_ranges}):"
            counts.append(("grouped", "-"))
        else:
            task.coordinates = [Source(I32, name, name, index=(0, e - 1)) for name, e in zip(names, extents)]
            kernel = f"for {', '.join(names)} in mt.ndrange({boxes}):"
            twin = f"for {', '.join(names)} in product({twin_ranges}):"
        arrays = [a for a in (*self.inputs, *self.mutable) if len(a.extents) == rank and math.prod(a.extents) <= 64]
        if arrays and rng.random() < 0.25 and not grouped:
            array = rng.choice(arrays)
            task.extents = tuple(array.extents)
            task.coordinates = [Source(I32, name, name, index=(0, e - 1)) for name, e in zip(names, array.extents)]
            kernel = f"for {', '.join(names)} in {array.name}:"
            twin = f"for {', '.join(names)} in product({', '.join(f'range({e})' for e in array.extents)}):"
            counts = [("over an array", "-")]
        if serialize:
            counts.append(("serialize", "-"))
        made = self._loop(task, [*prefix, Line(kernel, twin)], size=size, is_serial=serialize)
        made.counts = tuple(counts)
        return made

    def _range_loop(self, name, extent, prefix, size, serialize) -> Stmt:
        rng = self.rng
        task = self.new_task("array", (extent,))
        task.coordinates = [Source(I32, name, name, index=(0, extent - 1))]
        header = f"for {name} in range({extent}):"
        counts = [("range", "-")]
        arrays = [a for a in (*self.inputs, *self.mutable) if a.extents[0] <= 24]
        kind, twin = rng.random(), None
        if arrays and kind < 0.3 and extent < 1000:
            array = rng.choice(arrays)
            task.extents = (array.extents[0],)
            task.coordinates[0].index = (0, array.extents[0] - 1)
            header, twin = f"for {name} in range({array.name}.shape[0]):", f"for {name} in range({array.extents[0]}):"
            counts.append(("shape", "-"))
        elif kind < 0.5:
            step = rng.choice((2, 3))
            header = f"for {name} in range({rng.randint(0, 2)}, {extent}, {step}):"
            counts.append(("step", "-"))
        elif kind < 0.6:
            header = f"for {name} in range({extent - 1}, -1, -1):"
            counts.append(("step", "-"))
        elif kind < 0.75:
            header = f"for {name} in range({rng.randrange(extent)}, {extent}):"
        if serialize:
            counts.append(("serialize", "-"))
        made = self._loop(task, [*prefix, Line(header, twin or header)], size=size, is_serial=serialize)
        made.counts = tuple(counts)
        return made

    def tree_loop(self, level=None) -> Stmt | None:
        """A struct-for; over a member in that kind of tree if `level` says so."""
        rng = self.rng
        name = rng.choice(list(self.trees)) if level is None else "f0"
        type_ = self.types[self.trees[name].type]
        member = rng.choice([m for m in type_.members.values() if level in (None, m.level)])
        levels = [level for level in member.levels if level[4].startswith("level")]
        counts = [("struct-for", "-")]
        if levels and rng.random() < 0.3:
            number, _, _, _, level_name = rng.choice(levels)
            _, extents = type_.level_axes(number)
            over, cells = f"{name}.{level_name}", f"{name}.level_cells({number})"
            counts = [("struct-for over a level", "-")]
        else:
            extents, over, cells = member.shape, f"{name}.{member.name}", f'{name}.cells("{member.name}")'
            if len({tuple(m.levels) for m in type_.members.values()}) == 1 and rng.random() < 0.3:
                over, counts = name, [("struct-for over a tree", "-")]
        task = self.new_task(member.level, extents)
        if rng.random() < 0.35:
            whole = self.name("I")
            task.coordinates = [Source(I32, f"{whole}[{k}]", f"{whole}[{k}]", index=(0, e - 1)) for k, e in enumerate(extents)]
            kernel, twin = f"for {whole} in mt.grouped({over}):", f"for {whole} in {cells}:"
            counts.append(("grouped", "-"))
        else:
            names = [self.name("i") for _ in extents]
            task.coordinates = [Source(I32, k, k, index=(0, e - 1)) for k, e in zip(names, extents)]
            kernel, twin = (
                f"for {', '.join(names)} in {over}:",
                f"for {', '.join(names)}{',' if len(names) == 1 else ''} in {cells}:",
            )
        self.walked = (name, member) if tuple(extents) == tuple(member.shape) else None
        first = self.make_red_and_black if rng.random() < 0.15 and not self.gaps else None
        made = self._loop(task, [Line(kernel, twin)], first=first)
        made.counts, self.walked = tuple(counts), None
        return made

    # -- the whole ------------------------------------------------------------------------------------------------------

    def case(self, name, seed) -> Case:
        rng = self.rng
        self.prepare()
        program = Program(name, contract=self.is_whole)
        if rng.random() < 0.3:
            self.result = Type(rng.choice(("i32", "i64", "u8", "u32", "i16", *(("f64", "f32") if self.is_whole else ()))))
            zero = {"i32": "0", "f32": "0.0"}.get(self.result.scalar, f"mt.{self.result.scalar}(0)")
            twin = "result = 0.0" if n.is_float(self.result.scalar) else "result = 0"
            program.body.append(Stmt("result", [Line(f"result = {zero}", twin)]))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            if rng.random() < 0.25:
                self.serial_statements(program)
            task = self.parallel_task()
            if task is not None:
                program.body.append(task)
        if rng.random() < 0.15:
            self.serial_statements(program)
        self.finish(program)
        return self._as_case(program, seed)

    def gap_case(self, name, seed, level) -> Case:
        """A case of one loop over one kind of tree (or a box) with many outputs that fill gaps of the coverage."""
        self.prepare(None if level == "array" else tuple(level.split("/")))
        program = Program(name)
        self.gaps = 80
        task = self.array_loop() if level == "array" else self.tree_loop(level)
        program.body.append(task)
        return self._as_case(program, seed)

    def _gap_outputs(self):
        made = (self.make_gap_output() for _ in range(self.gaps))
        return [statement for statement in made if statement is not None]

    def serial_statements(self, program):
        """Statements directly in the kernel: they run in order, between the tasks."""
        self.scope.makers, self.is_serial, self.task = self.readers(), True, None
        for _ in range(self.rng.randint(1, 2)):
            made = self.statement(1)
            if made is not None:
                program.body += made if isinstance(made, list) else [made]
        # A variable of the kernel stays visible: later tasks may read it, not assign it.
        self.scope.makers = []
        for source in self.scope.sources:
            source.is_variable = False

    def finish(self, program):
        if self.result is not None:
            program.returns = self.result
            program.body.append(Stmt("return", [Line("return result", "return result")], counts=(("kernel's result", "-"),)))
        elif self.rng.random() < 0.12:
            type_ = Type(self.rng.choice(table.ALL), self.rng.choice(((), (), (2,), (3,), (2, 2))))
            value = self._no_literal(self.value(type_, 2))
            program.returns = type_
            self.tolerances["return"] = {"ulp": 0, "signless": value.signless}
            program.body.append(Stmt("return", [Line("return {0}", "return {0}")], [value], counts=(("kernel's result", "-"),)))

    def _as_case(self, program, seed) -> Case:
        outputs = [
            self.array(name, type_, (*extents, max(slots, 1)), zeros=True)
            for name, type_, extents, slots in self.outputs.values()
        ]
        program.functions = self.functions
        arguments = [
            *self.inputs,
            *self.mutable,
            *outputs,
            *self.collectors.values(),
            *self.values,
            *self.statics,
            *self.trees.values(),
            *self.second_names.values(),
        ]
        self.rng.shuffle(arguments)
        program.arguments = arguments
        used = {name: self.types[name] for name in sorted({tree.type for tree in self.trees.values()})}
        members = {
            name: [[m.name, m.type.scalar, m.type.shape, m.levels, m.background] for m in type_.members.values()]
            for name, type_ in used.items()
        }
        returns = [program.returns.scalar, program.returns.shape] if program.returns else None
        return Case(
            program.name, program.kernel_text(), program.twin_text(), arguments, {name: t.text for name, t in used.items()},
            members, program.contract, self.tolerances, returns, sorted(program.covered()), seed, program,
        )  # fmt: skip
