"""Random statements that go together: what no statement of its own would show.

Each keeps to the rule of `statements`: what a program does does not depend on the order of its iterations.
"""

from __future__ import annotations

from dataclasses import replace

from . import table
from .case import Same
from .expressions import Source
from .program import Expr, Line, Stmt
from .table import Type

I32 = Type("i32")


class Patterns:
    """Methods of `generate.Generator`."""

    def make_red_and_black(self, depth):
        """In a struct-for over a member, cells of one colour change with their neighbours of the other, and are
        read again."""
        tree, member = self.walked or (None, None)
        key = (tree, member and member.name)
        if member is None or depth <= 0 or self.is_serial or self.loops != ["parallel"] or key in self.task.modes:
            return None
        if not self._may_grow(tree, member):
            return None
        own = [self.read(source) for source in self.task.coordinates]
        axis, step = self.rng.randrange(len(own)), self.rng.choice((1, -1, 3))
        text = f"({{0}} {'+' if step > 0 else '-'} {abs(step)})" if member.is_sparse else "({0} ^ 1)"
        if not member.is_sparse and member.shape[axis] % 2:
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
        type_ = Type(self.rng.choice(table.INTEGERS), self.rng.choice(((), (), (2,))))
        before = self.declare(self.held(self._no_literal(self.value(type_, 1))))
        carried, name = self.scope.sources[-1], self.name("q")
        made = self._augmented(type_, self.read(carried), carried.kernel, "{0}")
        if made is None:
            return before
        symbol, operand, twin = made
        step = Stmt("augmented", [Line(f"{carried.kernel} {symbol}= {{0}}", f"{carried.kernel} = {twin}")], [operand])
        header = f"for {name} in range({self.rng.randint(1, 4)}):"
        loop = Stmt("for", [Line(header, header, [step])])
        shown = self._output(self.read(carried)) if self.in_function is None else None
        return [before, loop, *([shown] if shown else [])]

    def activity_loop(self) -> Stmt | None:
        """Asks of every cell of a tree whether it is active."""
        found = [(name, m) for name, tree in self.trees.items() for m in self.types[tree.type].members.values() if m.is_sparse]
        if not found:
            return None
        tree, member = self.rng.choice(found)
        names = [self.name("i") for _ in member.shape]
        task = self.new_task(member.level, member.shape)
        task.asked.add(tree)
        task.coordinates = [Source(I32, name, name, index=(0, e - 1)) for name, e in zip(names, member.shape)]
        sizes = ", ".join(map(str, member.shape))
        twin = f"for {', '.join(names)}{',' * (len(names) == 1)} in product({', '.join(f'range({e})' for e in member.shape)}):"
        header = f"for {names[0]} in range({sizes}):" if len(names) == 1 else f"for {', '.join(names)} in mt.ndrange({sizes}):"

        def ask(depth):
            kernel, twin, indices, _ = self._asked(tree, member, [self.read(c) for c in task.coordinates], "is_active")
            return [self._output(Expr(Type("u1"), kernel, twin, indices))]

        return self._loop(task, [Line(header, twin)], size=1, first=ask)

    def make_overlapping_arguments(self, depth):
        """A read of an array, a write to the same element under a second name, and a read again."""
        arrays = [a for a in self.mutable if not a.shape]
        if self.in_function is not None or not arrays or self.task is None or self.is_serial:
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
