"""Random statements that go together: what no statement of its own would show.

Each keeps to the rule of `statements`: what a program does does not depend on the order of its iterations.
"""

from __future__ import annotations

from dataclasses import replace

from . import numbers as n
from . import table
from .case import Same
from .draws import HERE
from .expressions import Source
from .program import Expr, Function, Line, Stmt
from .rules import Type
from .statements import Place

I32 = Type("i32")
_NORMAL = 16  # ulps between two products of a square root of a logarithm and a cosine, each known to 4
_REORDERED = 1 << 13  # ulps between sums of the same few thousand numbers, none of them negative, in two orders


class Patterns:
    """Methods of `generate.Generator`."""

    def make_red_and_black(self, depth):
        """In a struct-for over a member, cells of one colour change with their neighbours of the other, and are
        read again."""
        tree, member = self.walked or (None, None)
        if tree in self.unread:
            return None
        key = (tree, member and member.used_as)
        if member is None or depth <= 0 or self.is_serial or self.loops != ["parallel"] or key in self.task.modes:
            return None
        if not self._may_store(tree, member):
            return None
        own = [self.read(source) for source in self.task.coordinates]
        axis, step = self.rng.randrange(len(own)), self.rng.choice((1, -1, 3))
        text = f"({{0}} {'+' if step > 0 else '-'} {abs(step)})" if member.has_outside else "({0} ^ 1)"
        if not member.has_outside and member.shape[axis] % 2:
            return None  # outside there is nothing
        beside = [Expr(I32, text, text, [own[k]]) if k == axis else own[k] for k in range(len(own))]
        self._grows(tree, member)
        self.task.modes[key] = ("red and black",)
        place, other = self.place_of(tree, member, own), self.place_of(tree, member, beside)
        colour = " + ".join(f"{{{k}}}" for k in range(len(own)))
        test = f"(({colour}) & 1) == {self.rng.randrange(2)}"
        before = self.declare(self.read(self._again(place)))
        outer = len(self.scope.sources)
        block = [self.declare(self.read(self._again(other)))]
        block.append(self.write(place, self.held(self.value(member.type)), "own"))
        block += self._shown(place)
        block += self.block(depth - 1)
        del self.scope.sources[outer:]
        return [before, Stmt("if", [Line(f"if {test}:", f"if {test}:", block)], own)]

    def make_accumulation(self, depth):
        """A variable that a loop carries and that is looked at after it."""
        if depth <= 0 or len(self.loops) > 2 or not self._is_inside():
            return None
        kinds = table.INTEGERS if self.is_whole else table.NUMBERS
        type_ = Type(self.rng.choice(kinds), self.rng.choice(((), (), (2,))))
        before = self.declare(self.held(self._no_literal(self.value(type_, 1))))
        carried, name = self.scope.sources[-1], self.name("q")
        made = self._augmented(type_, self.read(carried), carried.kernel, "{0}")
        if made is None:
            return before
        symbol, operand, twin = made
        step = Stmt("augmented", [Line(f"{carried.kernel} {symbol}= {{0}}", f"{carried.kernel} = {twin}")], [operand])
        turns, exprs = str(self.rng.choice((*range(1, 5), 18, 23))), []
        if self.rng.random() < 0.4:  # as many as are known at run time only; of long loops, iterations may run side by side
            turns, exprs = "{0}", [Expr(I32, "({0} & 31)", "({0} & 31)", [self.leaf(I32)])]
        header = f"for {name} in range({turns}):"
        loop = Stmt("for", [Line(header, header, [step])], exprs)
        shown = self._output(self.read(carried)) if self.in_function is None else None
        return [before, loop, *([shown] if shown else [])]

    def make_extreme(self, depth):
        """The first or last of the least or greatest of a few numbers, and in which turn of a loop it was: many are equal."""
        if depth <= 0 or len(self.loops) > 2 or not self._is_inside() or self.is_whole:
            return None
        scalar = self.rng.choice(("i32", "f32"))
        start = f"mt.{scalar}(4)" if scalar == "i32" else "mt.f32(4.0)"  # some are less, some greater
        few = Expr(Type(scalar), start, "4" if scalar == "i32" else "4.0")
        before = self.declare(self.rng.choice((few, self.constant(Type(scalar), is_literal=False))))
        best, factor, turn = self.scope.sources[-1].kernel, self.leaf(I32), self.name("q")
        found, at = self.read(self.scope.sources[-1]), self.new_variable(I32)
        kernel = twin = f"((({{0}} * {turn}) & 7) + 1)"
        if scalar == "f32":
            kernel, twin = f"mt.f32({kernel})", f"float({twin})"
        place = Stmt("declaration", [Line(f"{at.kernel} = -1", f"{at.kernel} = -1")])
        symbol = self.rng.choice(("<", "<=", ">", ">="))
        step = Stmt("assignment", [Line(f"{best} = {kernel}", f"{best} = {twin}")], [factor])
        noted = Stmt("assignment", [Line(f"{at.kernel} = {turn}", f"{at.kernel} = {turn}")])
        body = [Stmt("if", [Line(f"if {kernel} {symbol} {best}:", f"if {twin} {symbol} {best}:", [step, noted])], [factor])]
        if self.rng.random() < 0.3:  # a NaN to start with is no value for it
            name = self.rng.choice(("min", "max"))
            line = Line(f"{best} = mt.{name}({best}, {kernel})", f"{best} = {name}__{scalar}({best}, {twin})")
            body = [Stmt("assignment", [line], [factor])]
        header = f"for {turn} in range({self.rng.choice((3, 70, 70))}):"
        shown = [self._output(value) for value in (found, self.read(at))] if self.in_function is None else []
        return [before, place, Stmt("for", [Line(header, header, body)]), *filter(None, shown)]

    def activity_loop(self) -> Stmt | None:
        """Asks of every cell of a tree whether it is active."""
        found = [
            (name, m)
            for name, tree in self.trees.items()
            for m in self.types[tree.type].members.values()
            if m.is_sparse and tree.form != "records" and name not in self.unread
        ]
        if not found:
            return None
        tree, member = self.rng.choice(found)
        names = [self.name("i") for _ in member.shape]
        task = self.new_task(member.level, member.shape)
        task.asked.add(tree)
        task.is_single = all(extent == 1 for extent in member.shape)
        task.numbers = member.shape if len(member.shape) > 1 else None
        task.coordinates = [Source(I32, name, name, index=(0, e - 1)) for name, e in zip(names, member.shape)]
        sizes = ", ".join(map(str, member.shape))
        twin = f"for {', '.join(names)} in product({', '.join(f'range({e})' for e in member.shape)}):"
        if len(names) == 1:
            twin = f"for {names[0]} in range({sizes}):"
        header = f"for {names[0]} in range({sizes}):" if len(names) == 1 else f"for {', '.join(names)} in mt.ndrange({sizes}):"

        def ask(depth):
            kernel, twin, indices, _ = self._asked(tree, member, [self.read(c) for c in task.coordinates], "is_active")
            return [self._output(Expr(Type("u1"), kernel, twin, indices))]

        return self._loop(task, [Line(header, twin)], size=1, first=ask)

    def make_random_number(self, depth):
        """A variable of a random number: a statement of its own, for its words depend on what was drawn before."""
        if not self.may_draw or self.second_names:
            return None  # a call with overlapping arguments is launched a second time, with the next key
        self.has_drawn = True
        if self.in_function is None and not self.is_whole and self.rng.random() < 0.4:
            return self._normal_number(Type(self.rng.choice(table.FLOATS)))
        type_ = Type(self.rng.choice(table.BITS if self.is_whole else table.ALL))
        spelled = f"mt.random(mt.{type_.scalar})"
        if type_.scalar in ("f32", "i32") and self.rng.random() < 0.4:
            spelled = {"f32": self.rng.choice(("mt.random()", "mt.random(float)")), "i32": "mt.random(int)"}[type_.scalar]
        source = self.new_variable(type_)
        line = Line(f"{source.kernel} = {spelled}", f'{source.kernel} = draws.draw("{type_.scalar}", {HERE})')
        drawn = Stmt(
            "random number", [line], counts=(("random" if self.in_function is None else "random in a function", type_.label),)
        )
        if self.in_function is not None:
            return [drawn]
        shown = self._output(self.read(source)) if self.rng.random() < 0.7 else None
        return [drawn] if shown is None else [drawn, shown]

    def _normal_number(self, type_):
        """A variable of a number of the normal distribution, written to where some ulps are allowed, and read nowhere else."""
        name, scalar = self.name(), type_.scalar
        spelled = self.rng.choice(("mt.randn()", "mt.randn(float)")) if scalar == "f32" and self.rng.random() < 0.4 else None
        line = Line(f"{name} = {spelled or f'mt.randn(mt.{scalar})'}", f'{name} = draws.normal("{scalar}", {HERE})')
        drawn = Stmt("normal number", [line], counts=(("randn", type_.label),))
        if self.rng.random() < 0.4:  # in a function that gives it
            body = [drawn, Stmt("return", [Line(f"return {name}", f"return {name}")])]
            function = Function(self.name("g"), [], body, self.rng.random() < 0.4, draws=True)
            self.functions.append(function)
            drawn = Stmt(
                "call",
                [Line(*(f"{name} = {text}" for text in function.call("")))],
                counts=(("randn in a function", type_.label),),
            )
        shown = self._output(Expr(type_, name, name, ulp=_NORMAL, signless=True))
        return None if shown is None else [drawn, shown]

    def make_reduction(self, depth):
        """Every iteration adds to one place: of an array, of a dense tree, of a field."""
        if self.in_function is not None or self.is_serial or self.task is None or self.has_assert:
            return None
        found = self._reduced_cell() if self.trees and self.rng.random() < 0.5 else None
        place, op = found or self._reduced_element()
        value = self.atomic_operand(place, op)
        if value is None:
            return None
        symbol = table.ATOMICS[op][0]
        self.note(place, True)
        count = len(place.indices)
        hole = f"{{{count}}}"
        kernel = f"mt.atomic_{op}({place.kernel}, {hole})"
        if symbol and self.rng.random() < 0.7:
            kernel = f"{place.kernel} {symbol}= {hole}"
        counts = ((f"reduction {op}", place.type.label), *self._counted(place, f"atomic_{op}"))
        return Stmt("reduction", [Line(kernel, self._changed(place, op, hole))], [*place.indices, value], place.level, counts)

    def make_conditional_reduction(self, depth):
        """Reductions and nothing else under a condition: on one side or on both, some under a second condition."""
        block = [] if depth <= 0 else self._reductions()
        if not block:
            return None
        conditions = [self.condition()]
        if self.rng.random() < 0.3 and (inner := self._reductions()):
            block.append(Stmt("if", [Line("if {0}:", "if {0}:", inner)], [self.condition()]))
        lines = [Line("if {0}:", "if {0}:", block)]
        if self.rng.random() < 0.3 and (other := self._reductions()):
            lines.append(Line("elif {1}:", "elif {1}:", other))
            conditions.append(self.condition())
        if self.rng.random() < 0.4 and (other := self._reductions()):
            lines.append(Line("else:", "else:", other))
        return Stmt("if", lines, conditions)

    def _reductions(self):
        made = (self.make_reduction(0) for _ in range(self.rng.choice((1, 1, 2))))
        return [statement for statement in made if statement is not None]

    def conditional_reductions(self, depth):
        """What a loop may consist of that becomes vectors."""
        made = (self.make_conditional_reduction(depth) for _ in range(self.rng.choice((1, 2))))
        return [statement for statement in made if statement is not None]

    def _fixed_index(self, extent):
        """The same in every iteration: a constant, or a value that the kernel is called with."""
        fixed = [s for s in self.scope.sources if s.is_fixed and s.type == I32]
        if fixed and self.rng.random() < 0.3:
            return Expr(I32, f"({{0}} % {extent})", f"({{0}} % {extent})", [self.read(self.rng.choice(fixed))])
        value = self.rng.randrange(extent)
        return Expr(I32, str(value), str(value))

    def _reduced_element(self):
        op = self.rng.choice(list(table.ATOMICS))
        kinds = [s for s in table.ATOMICS[op][2] if s != "bf16" and self._is_determined(op, s)]
        type_ = Type(self.rng.choice(kinds), self.rng.choice(((), (), (), (2,), (2, 2))))
        key = ("reduction", op, type_)
        if key not in self.collectors:
            self.collectors[key] = self.array(f"c{len(self.collectors)}", type_, (self.rng.randint(1, 3),))
        array = self.collectors[key]
        text = f"{array.name}[{{0}}]"
        index = self._fixed_index(array.extents[0])
        return Place(array.name, type_, text, f"{array.name}[{{0}},]", f"{array.name}[{{0}},] = {{v}}", [index]), op

    def _reduced_cell(self):
        found = [
            (name, member)
            for name, tree in self.trees.items()
            for member in self.types[tree.type].members.values()
            if not member.is_sparse and not n.is_float(member.type.scalar)
        ]
        if not found:
            return None
        tree, member = self.rng.choice(found)
        known = self.task.modes.get((tree, member.used_as))
        if known is None:
            known = ("atomic", self.rng.choice([op for op in table.ATOMICS if member.type.scalar in table.ATOMICS[op][2]]))
        if known[0] != "atomic" or not self.claim((tree, member.used_as), known):
            return None
        return self.place_of(tree, member, [self._fixed_index(extent) for extent in member.shape]), known[1]

    def make_inexact_sum(self, depth):
        """A sum of floats in any order, none of which is negative: right to some units of the last place."""
        if self.in_function is not None or self.is_serial or self.task is None or self.is_whole or self.has_assert:
            return None
        type_ = Type(self.rng.choice(("f32", "f64")))
        key = ("inexact", type_)
        if key not in self.collectors:
            self.collectors[key] = self.array(f"c{len(self.collectors)}", type_, (2,), zeros=True)
        array = self.collectors[key]
        s, position = type_.scalar, self.rng.randrange(2)
        value = self.value(type_, 1)
        kernel = f"{array.name}[{position}] += mt.min(mt.abs({{0}}), mt.{s}(1000.0))"
        old = f"{array.name}[{position},]"
        twin = f"{old} = add__{s}({old}, min__{s}(abs__{s}({{0}}), 1000.0))"
        self.tolerances[array.name] = {"ulp": _REORDERED, "signless": True}
        return Stmt("inexact sum", [Line(kernel, twin)], [value], counts=(("inexact sum", type_.label),))

    def make_overlapping_arguments(self, depth):
        """A read of an array, a write to the same element under a second name, and a read again."""
        arrays = [a for a in self.mutable if not a.shape]
        if self.in_function is not None or not arrays or self.task is None or self.is_serial or self.has_drawn:
            return None
        array = self.rng.choice(arrays)
        place = self.own_element(array, Type(array.scalar))
        if place is None:
            return None
        second = f"{array.name}b"
        self.second_names.setdefault(array.name, Same(second, array.name, array.annotation))
        there = replace(
            place,
            kernel=second + place.kernel.removeprefix(array.name),
            twin_read=second + place.twin_read.removeprefix(array.name),
            twin_write=second + place.twin_write.removeprefix(array.name),
        )
        first, second = (place, there) if self.rng.random() < 0.5 else (there, place)
        before = self.declare(self.read(self._again(first)))
        written = self.write(second, self.held(self.value(place.type)), "own")
        return [before, written, *self._shown(first)]

    def _shown(self, place) -> list[Stmt]:
        """What a place of this iteration holds now, in a variable and in an output."""
        again = self.declare(self.read(self._again(place)))
        shown = self._output(self.read(self.scope.sources[-1]))
        return [again] if shown is None else [again, shown]
