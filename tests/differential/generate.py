"""Random well-typed kernels with their arguments: tasks over arrays and trees, serial statements between them.

`generate(seed)` is deterministic. What a program does is determined whatever the order of its iterations:
see `statements`. Outside of a tree only sparse ones are accessed, where that has a meaning.
"""

from __future__ import annotations

import itertools
import math
import random

from . import numbers as n
from . import table, trees, twin_trees, words
from .aggregates import leaves_of, struct_of, struct_text
from .case import Array, Bundle, Case, Handle, Same, Static, Tree, Value
from .expressions import SHAPES, WHOLE, Source
from .patterns import Patterns
from .places import I32, Places, Task, moved
from .program import Line, Program, Stmt
from .references import References
from .rules import Type
from .statements import Statements

_STORED = tuple(s for s in table.ALL if s != "bf16")  # what NumPy has


SORTED = 0.2  # share of trees with slots whose slots are put in order around launches
QUANTISED = 0.08  # share of cases that are about quantised members


def generate(seed: int, name: str = "kernel", wanted=None, sorted_share=SORTED, quantised_share=QUANTISED) -> Case:
    """One case. `wanted` (coverage.Wanted) draws it towards what was not covered yet; for the shares see SORTED and QUANTISED."""
    rng = random.Random(seed)
    if rng.random() < quantised_share:
        generator = Generator(rng, wanted, is_whole=rng.random() < 0.2)
        generator.sorted_share = sorted_share
        return generator.quantised_case(name, seed)
    gaps = wanted.gaps(rng) if wanted is not None and rng.random() < wanted.share else None
    generator = Generator(rng, wanted, is_whole=gaps is None and rng.random() < 0.45)
    generator.sorted_share = sorted_share
    if gaps:
        return generator.gap_case(name, seed, gaps)
    if rng.random() < 0.05:
        return generator.exhausting_case(name, seed)
    level = wanted.gaps(rng, is_statement=True) if wanted is not None and rng.random() < wanted.share else None
    return generator.case(name, seed, level)


class Generator(Patterns, References, Places, Statements):
    def __init__(self, rng, wanted=None, is_whole=False):
        super().__init__(rng, is_whole, wanted)
        self.sorted_share = SORTED
        self.stored = words.Stored(rng, is_whole)
        self.inputs: list[Array] = []
        self.mutable: list[Array] = []
        self.outputs: dict = {}
        self.collectors: dict = {}
        self.values: list[Value] = []
        self.bundles: list[Bundle] = []
        self.statics: list[Static] = []
        self.second_names: dict[str, Same] = {}
        self.walked = None  # (tree, member) of a struct-for
        self.shuffled: set = set()  # (tree, member) whose lists have no order any more
        self.unread: set[str] = set()  # trees that are written only: their pools may be exhausted
        self.trees: dict[str, Tree] = {}
        self.handles: dict[str, Handle] = {}
        self.used_fields: set[str] = set()
        self.given_up: set[str] = set()  # trees of which statements that run in order have given up slots since the last loop
        self.types: dict[str, trees.TreeType] = {}
        self.task = None
        self.tasks = 0
        self.gaps = 0
        self.begins = None  # makes what every parallel loop begins with
        self.is_in_memory_call = False
        self.result = None
        self.result_op = None

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
        made = Array(name, type_.scalar, type_.shape, tuple(extents), data, strides, self.rng.random() < 0.6)
        if strides == "plain" and self.rng.random() < 0.25:
            made.holder = "ndarray"
        return made

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
        if rng.random() < 0.2:
            parts = self._struct()
            data = [[part, t.scalar, t.shape, [self.number(t.scalar) for _ in range(t.count)]] for part, t in leaves_of(parts)]
            self.bundles.append(Bundle("b0", data))
            for part, type_ in leaves_of(parts):
                self.scope.sources.append(Source(type_, f"b0.{part}", f"b0.{part}", is_fixed=True))
        for static in self.statics:
            self.scope.sources.append(Source(I32, f"mt.i32({static.name})", static.name, index=(1, 4)))

    def prepare_trees(self, chain=None):
        rng = self.rng
        for k in range(rng.choice((1, 1, 2))):
            kinds = chain if chain and k == 0 else None
            if rng.random() < 0.35:
                self.prepare_fields(k, kinds)
            elif k and rng.random() < 0.25:
                self.types[f"T{k}"] = trees.random_records(rng, f"m{k}", table.ALL)
                self.trees[f"f{k}"] = self.tree(f"f{k}", f"T{k}")
                self.trees[f"f{k}"].form = "records"
                self.trees[f"f{k}"].ndim = len(next(iter(self.types[f"T{k}"].members.values())).shape)
            else:
                name = "T0" if k and self.trees["f0"].form == "tree" and rng.random() < 0.3 else f"T{k}"
                if name not in self.types:
                    chain = kinds or rng.choice(table.ALL_LEVELS)
                    self.types[name] = trees.random_type(rng, f"m{k}", table.ALL, self.stored, chain=chain)
                self.trees[f"f{k}"] = self.tree(f"f{k}", name)

    def prepare_fields(self, number, kinds):
        """Fields, which the kernel closes over, takes as template arguments, or finds in an object."""
        rng, name = self.rng, f"T{number}"
        made = self.types[name] = trees.random_fields(rng, f"x{number}", table.ALL, self.stored, kinds)
        self.trees[f"f{number}"] = self.tree(f"f{number}", name)
        self.trees[f"f{number}"].form = "fields"
        way = rng.choice(table.FIELD_ACCESS)
        if way == "template":
            self.handles.update((handle, Handle(handle)) for handle in made.handles)
        elif way == "object":
            thing = f"h{number}"
            lines = "".join(f"        self.{handle} = {handle}\n" for handle in made.handles)
            made.text += f"\n@mt.data_oriented\nclass Of{thing}:\n    def __init__(self):\n{lines}\n{thing} = Of{thing}()\n"
            self.handles[thing] = Handle(thing)
            for member in made.members.values():
                member.handle = f"{thing}.{member.handle}"
        self.used_fields.add(way)

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
        made = Tree(name, type_name, cells, active)
        sparse = [member for member in type_.members.values() if member.is_sparse]
        if sparse and rng.random() < 0.25:
            made.history = [[m.name, self._somewhere(m), self.cell_value(m.type)] for m in rng.choices(sparse, k=8)]
            made.cells = made.cells or [[sparse[0].name, self._somewhere(sparse[0]), self.cell_value(sparse[0].type)]]
        sparse = [member for member in sparse if type_.list_of(member.name) is None]  # lists end as a whole
        if sparse and rng.random() < 0.2:
            made.gone = [[m.name, self._somewhere(m)] for m in rng.choices(sparse, k=3)]
        made.is_sorted = rng.random() < self.sorted_share and any(member.pools for member in type_.members.values())
        return made

    def _somewhere(self, member):
        return tuple(self.rng.randrange(extent) for extent in member.shape)

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

    def loop_over(self, level) -> Stmt:
        """A loop over a kind of tree, or over a box."""
        return self.array_loop() if level == "array" else self.tree_loop(level)

    def _loop(self, task, lines, exprs=(), size=None, is_serial=False, first=None) -> Stmt:
        """The statement of a loop whose header stands in `lines`, the last of which gets the body, which begins
        with what `first` makes."""
        self.task, self.is_serial, self.loops = task, is_serial, ["parallel" if not is_serial else "serial"]
        before, makers, level = len(self.scope.sources), len(self.scope.makers), self.level
        self.level = task.level
        self.scope.sources += task.coordinates
        self.scope.makers += self.readers()
        if not is_serial and not task.is_single:
            self.given_up.clear()
            self._begin_iterations(lines[-1], task)
        first = first or self.begins
        body = (first(1) if first else None) or []
        body += self._gap_outputs() if self.gaps else self.block(2, self.rng.randint(1, 4) if size is None else size)
        if self.result is not None and self.rng.random() < 0.6:
            body.append(self._result_step())
        del self.scope.sources[before:]
        del self.scope.makers[makers:]
        lines[-1].block = body
        for tree in sorted({tree for tree, _ in task.still}):
            head, items = lines[-1].twin.removesuffix(":").split(" in ", 1)
            lines[-1].twin = f"{head} in {tree}.loop({items}):"
        self.task, self.is_serial, self.loops, self.level = None, True, [], level
        return Stmt("loop", lines, list(exprs), task.level)

    @staticmethod
    def _begin_iterations(line, task):
        """The twin's loop says which iteration begins: random numbers depend on that."""
        head, items = line.twin.removesuffix(":").split(" in ", 1)
        extents = "" if task.numbers is None else f", {tuple(task.numbers)}"
        extents += f", {tuple(task.first)}" if task.first else ""
        line.twin = f"{head} in draws.loop({items}{extents}):"

    def _result_step(self):
        """The kernel's result accumulates in a parallel loop."""
        type_ = self.result
        if self.result_op is None:
            kinds = [
                op
                for op, (_, _, kinds) in table.ATOMICS.items()
                if type_.scalar in kinds and self._is_determined(op, type_.scalar)
            ]
            self.result_op = self.rng.choice(["add", *kinds])
        symbol, twin, _ = table.ATOMICS[self.result_op]
        value = self.held(self.value(type_, 1))
        kernel = f"result {symbol}= {{0}}" if symbol else f"mt.atomic_{self.result_op}(result, {{0}})"
        line = Line(kernel, f"result = {twin}__{type_.scalar}(result, {{0}})")
        self.tolerances["return"] = {"ulp": 0, "signless": True}
        return Stmt("result", [line], [value], counts=(("accumulated result", self.result_op),))

    def array_loop(self, extents=None) -> Stmt:
        """`extents`: of the box; None: any."""
        rng, is_given = self.rng, extents is not None
        rank = len(extents) if is_given else rng.choice((1, 1, 2, 2, 3))
        extents = extents or [rng.randint(1, {1: 24, 2: 6, 3: 4}[rank]) for _ in range(rank)]
        if rank == 1 and rng.random() < 0.04 and not self.gaps and not is_given:
            extents = [1100]  # more than the least chunk of a plain loop
        names = [self.name("i") for _ in range(rank)]
        serialize = rng.random() < 0.12
        prefix = [Line("mt.loop_config(serialize=True)", "")] if serialize else []
        size, first = 2 if extents == [1100] else None, None
        if not self.gaps and rng.random() < (0.5 if size else 0.03):
            size, first = 0, self.conditional_reductions
        if rank == 1:
            return self._range_loop(names[0], extents[0], prefix, size, serialize, first)
        grouped = rng.random() < 0.35
        lows = [0 if rng.random() < 0.7 else rng.randrange(extent) for extent in extents]
        twin_ranges = ", ".join(f"range({low}, {extent})" for low, extent in zip(lows, extents))
        boxes = ", ".join(
            f"({low}, {extent})" if low or rng.random() < 0.1 else str(extent) for low, extent in zip(lows, extents)
        )
        task = self.new_task("array", extents)
        task.numbers = [extent - low for low, extent in zip(lows, extents)]
        task.is_single = all(number == 1 for number in task.numbers)
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
            task.numbers, task.is_single = array.extents, False
            counts = [("over an array", "-")]
        if serialize:
            counts.append(("serialize", "-"))
        made = self._loop(task, [*prefix, Line(kernel, twin)], size=size, is_serial=serialize, first=first)
        made.counts = tuple(counts)
        return made

    def _range_loop(self, name, extent, prefix, size, serialize, first=None) -> Stmt:
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
        if twin is None:
            bounds = eval(header.partition(" in ")[2].removesuffix(":"))
            task.is_single = bounds.stop - bounds.start == 1  # of one iteration the front end makes no parallel loop
        made = self._loop(task, [*prefix, Line(header, twin or header)], size=size, is_serial=serialize, first=first)
        made.counts = tuple(counts)
        return made

    def tree_loop(self, level=None) -> Stmt | None:
        """A struct-for; over a member in that kind of tree if `level` says so."""
        rng = self.rng
        name = rng.choice(list(self.trees)) if level is None else "f0"
        type_ = self.types[self.trees[name].type]
        members = [m for m in type_.members.values() if level in (None, m.level) and m.shape]
        if not members or name in self.unread:
            return self.array_loop()  # fields of one element
        member = rng.choice(members)
        over, cells, extents, counts = self._walked_over(name, type_, member)
        task = self.new_task(member.level, extents)
        task.numbers = member.counted(extents)
        # A field's indices begin at its offset; levels and trees have none, but a hash level's box.
        begins = cells.removeprefix(f"{name}.level_cells(")
        origin = member.origin if begins == cells else type_.level_origin(int(begins.removesuffix(")")))
        first = member.shift if member.handle and begins == cells else origin
        task.first = origin if any(origin) else ()
        if rng.random() < 0.35:
            whole = self.name("I")
            task.coordinates = [
                Source(I32, moved(f"{whole}[{k}]", -o), f"{whole}[{k}]", index=(0, e - 1))
                for k, (e, o) in enumerate(zip(extents, first))
            ]
            kernel, twin = f"for {whole} in mt.grouped({over}):", f"for {whole} in {cells}:"
            counts.append(("grouped", "-"))
        else:
            names = [self.name("i") for _ in extents]
            task.coordinates = [Source(I32, moved(k, -o), k, index=(0, e - 1)) for k, e, o in zip(names, extents, first)]
            kernel, twin = (
                f"for {', '.join(names)} in {over}:",
                f"for {', '.join(names)}{',' if len(names) == 1 else ''} in {cells}:",
            )
        lines, in_order = [Line(kernel, twin)], member.has_outside and rng.random() < 0.12
        if in_order and cells == f'{name}.cells("{member.name}")':
            lines = [Line("mt.loop_config(serialize=True)", ""), Line(kernel, twin.replace(".cells(", ".in_order("))]
            counts.append(("serialize", "-"))
        else:
            in_order = False
        self.walked = (name, member) if tuple(extents) == tuple(member.shape) and not in_order else None
        first = self.make_red_and_black if rng.random() < 0.15 and not self.gaps and not in_order else None
        made = self._loop(task, lines, first=first, is_serial=in_order)
        made.counts, self.walked = tuple(counts), None
        return made

    def _walked_over(self, name, type_, member):
        """(what the kernel's loop is over, the twin's cells, extents, what it counts as)."""
        rng, form = self.rng, self.trees[name].form
        everything = f'{name}.cells("{member.name}")'
        if form == "records":
            return name, everything, member.shape, [("over an array of structs", "-")]
        if form == "fields":
            if member.levels[0][4] != "dense0" or len(member.levels) > 1:
                depth = rng.randrange(len(member.levels))
                if rng.random() < 0.3:  # a level above the field
                    number = member.levels[depth][0]
                    above = len(member.levels) - depth
                    over = f"{member.handle}.parent({above if above > 1 or rng.random() < 0.5 else ''})"
                    cells, counts = f"{name}.level_cells({number})", [("loop over a field's level", "-")]
                    return over, cells, type_.level_axes(number)[1], counts
            whole = member.handle.rpartition(".")[0]
            parts = [m for m in type_.members.values() if m.handle.rpartition(".")[0] == whole]
            if member.is_part and parts[0] is member and rng.random() < 0.5:
                return whole, everything, member.shape, [("loop over a struct field", "-")]
            return member.handle, everything, member.shape, [("loop over a field", "-")]
        levels = [level for level in member.levels if level[4].startswith("level")]
        if levels and rng.random() < 0.3:
            number, _, _, _, level_name = rng.choice(levels)
            _, extents = type_.level_axes(number)
            return f"{name}.{level_name}", f"{name}.level_cells({number})", extents, [("struct-for over a level", "-")]
        if len({tuple(m.levels) for m in type_.members.values()}) == 1 and rng.random() < 0.3:
            return name, everything, member.shape, [("struct-for over a tree", "-")]
        return f"{name}.{member.name}", everything, member.shape, [("struct-for", "-")]

    # -- the whole ------------------------------------------------------------------------------------------------------

    def case(self, name, seed, level=None) -> Case:
        """A case of a few tasks, the first of them over one kind of tree (or a box) if `level` says so."""
        rng = self.rng
        self.prepare(None if level in (None, "array") else tuple(level.split("/")))
        program = Program(name, contract=self.is_whole)
        if rng.random() < 0.3:
            self.result = Type(rng.choice(("i32", "i64", "u8", "u32", "i16", *(("f64", "f32") if self.is_whole else ()))))
            zero = {"i32": "0", "f32": "0.0"}.get(self.result.scalar, f"mt.{self.result.scalar}(0)")
            twin = "result = 0.0" if n.is_float(self.result.scalar) else "result = 0"
            program.body.append(Stmt("result", [Line(f"result = {zero}", twin)]))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            if rng.random() < 0.25:
                self.serial_statements(program)
            task = self.parallel_task() if level is None else self.loop_over(level)
            level = None
            if task is not None:
                program.body.append(task)
        if rng.random() < 0.15:
            self.serial_statements(program)
        self.finish(program)
        return self._as_case(program, seed)

    def quantised_case(self, name, seed) -> Case:
        """A case of quantised members: loops over them, or over boxes inside of them, that begin with accesses to them."""
        rng, self.begins = self.rng, self.make_quantised
        self.stored.share, self.stored.alone_share = 0.9, 0.5
        arrays = [kinds for kinds in table.ALL_LEVELS if kinds[-1] == "quant_array"]
        self.prepare(rng.choice(arrays if rng.random() < 0.5 else table.ALL_LEVELS))
        program = Program(name, contract=self.is_whole)
        for _ in range(rng.choice((1, 2, 3))):
            if rng.random() < 0.2:
                self.serial_statements(program)
            members = [m for tree in self.trees.values() for m in self.types[tree.type].members.values() if m.kind and m.shape]
            if members and rng.random() < 0.5:
                program.body.append(self.array_loop([rng.randint(1, extent) for extent in rng.choice(members).shape]))
            else:
                program.body.append(self.tree_loop())
        self.finish(program)
        return self._as_case(program, seed)

    def exhausting_case(self, name, seed) -> Case:
        """A case whose first tree is only written and may have too few slots: what is stored in cells that found none is
        lost, and nothing else."""
        self.prepare(self.rng.choice([kinds for kinds in table.ALL_LEVELS if {"pointer", "hash"} & {*kinds}]))
        tree = self.trees["f0"]
        self.unread.add("f0")
        program = Program(name)
        for _ in range(self.rng.choice((1, 1, 2))):
            task = self.parallel_task()
            if task is not None:
                program.body.append(task)
        twin = twin_trees.TwinTree(self.types[tree.type])
        for member, at, _ in tree.cells:
            twin.activate(member, at)
        for member, at in tree.active:
            twin.activate(member, at)
        counts = twin.needed()
        if tree.form == "tree" and len({level[4] for m in twin.type.members.values() for level in m.levels}) == len(
            {level[0] for m in twin.type.members.values() for level in m.levels}
        ):
            kinds = {level[4]: level[1] for m in twin.type.members.values() for level in m.levels}
            tree.history, tree.gone = [], []
            tree.capacity = {k: max(v + self.rng.choice((0, 0, 1, 3)), 1) for k, v in counts.items() if kinds[k] != "dynamic"}
        return self._as_case(program, seed)

    def gap_case(self, name, seed, level) -> Case:
        """A case of one loop over one kind of tree (or a box) with many outputs that fill gaps of the coverage."""
        self.prepare(None if level == "array" else tuple(level.split("/")))
        program = Program(name)
        self.gaps = 80
        program.body.append(self.loop_over(level))
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
            program.returns, program.results = self.result.text, [["return", self.result.scalar, self.result.shape]]
            program.body.append(Stmt("return", [Line("return result", "return result")], counts=(("kernel's result", "-"),)))
        elif self.rng.random() < 0.06:
            self._return_struct(program)
        elif self.rng.random() < 0.12:
            type_ = Type(self.rng.choice(table.ALL), self.rng.choice(((), (), (2,), (3,), (2, 2))))
            value = self._no_literal(self.value(type_, 2))
            program.returns, program.results = type_.text, [["return", type_.scalar, type_.shape]]
            self.tolerances["return"] = {"ulp": 0, "signless": value.signless}
            program.body.append(Stmt("return", [Line("return {0}", "return {0}")], [value], counts=(("kernel's result", "-"),)))

    def _return_struct(self, program):
        """The kernel's result is a struct."""
        parts = self._struct()
        values = self._values(parts)
        for (part, _), value in zip(leaves_of(parts), values):
            self.tolerances[f"return.{part}"] = {"ulp": 0, "signless": value.signless}
        program.returns = struct_text(parts)
        program.results = [[f"return.{part}", type_.scalar, type_.shape] for part, type_ in leaves_of(parts)]
        line = Line(f"return {struct_of(parts, 'named')}", f"return {struct_of(parts, 'Record')}")
        program.body.append(Stmt("return", [line], values, counts=(("kernel's result: struct", "-"),)))

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
            *self.bundles,
            *self.statics,
            *self.handles.values(),
            *self.trees.values(),
            *self.second_names.values(),
        ]
        self.rng.shuffle(arguments)
        program.arguments = arguments
        program.counts.update(("struct as an argument", "-", "array") for _ in self.bundles)
        program.counts.update((f"fields: {way}", "-", "array") for way in self.used_fields)
        program.counts.update(("sorted tree", "-", "array") for tree in self.trees.values() if tree.is_sorted)
        used = {name: self.types[name] for name in sorted({tree.type for tree in self.trees.values()})}
        members = {
            name: [
                [m.name, m.type.scalar, m.type.shape, m.levels, m.background, m.handle, m.offset, m.origin, m.chunk, m.stored]
                for m in type_.members.values()
            ]
            for name, type_ in used.items()
        }
        return Case(
            program.name, program.kernel_text(), program.twin_text(), arguments, {name: t.text for name, t in used.items()},
            members, program.contract, self.tolerances, program.results or None, self._again_after(),
            sorted(program.covered()), seed, program,
        )  # fmt: skip

    def _again_after(self):
        """None: launched once; else twice, and the names of the trees whose cells are deactivated in between."""
        if self.has_drawn or self.shuffled or self.second_names or self.unread or self.rng.random() > 0.2:
            return None
        sparse = [name for name, tree in self.trees.items() if any(m.is_sparse for m in self.types[tree.type].members.values())]
        return [name for name in sparse if self.rng.random() < 0.6]
