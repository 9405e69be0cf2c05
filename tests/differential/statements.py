"""Random statements: what stands in a loop or a function, one method for each kind.

Parallel iterations stay independent: in each task an array or member is either read anywhere, or written
by every iteration in a place of its own, or changed by one commutative atomic operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from . import numbers as n
from . import table
from .aggregates import Aggregates
from .control import Control
from .expressions import SHAPES, WHOLE, Expressions, Source
from .program import Expr, Function, Line, Stmt
from .program import holes as holes_of
from .rules import Type

# Kinds of statements with their weights; `generate` writes the loops around them.
STATEMENTS = {
    "output": 8, "declaration": 5, "typed declaration": 1, "assignment": 4, "augmented assignment": 3,
    "component assignment": 1.5, "swizzle": 0.7, "unpacking": 1, "chained assignment": 0.6, "if": 3, "if else": 2, "elif": 1,
    "for": 2, "for over a box": 0.7, "while": 1.2, "static for": 1, "break": 1.5, "continue": 1.5, "call": 2,
    "call of several results": 0.8, "comprehension": 0.6, "walrus": 0.6, "own place": 3, "own component": 1,
    "own augmented": 1.5, "atomic": 2.5, "atomic of an own place": 1, "atomic on a variable": 0.7, "activate": 0.6,
    "deactivate": 0.5, "length": 0.3, "append": 0.7, "used": 0.4, "no_activate": 0.6,
    "is_active": 1, "print": 0.4, "assert": 0.25, "pass": 0.1, "static if": 0.3,
    "red and black": 1, "overlapping arguments": 1.5, "accumulation": 0.7, "extreme": 0.8, "random number": 1.2,
    "reduction": 1.2, "conditional reduction": 0.8, "inexact sum": 0.4, "struct": 1, "struct assignment": 0.5,
    "call with structs": 0.6,
    "quantised": 2, "call with templates": 0.6, "static list": 0.3, "call with a place": 1.2, "call with memory": 1.2,
}  # fmt: skip
AUGMENTED = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "**")
_OP_OF = {"**": "** integer"}


@dataclass
class Place:
    """Something that can be assigned: an element of an array or a cell's member."""

    name: str  # of the argument, or argument.member
    type: Type
    kernel: str  # with holes for the indices
    twin_read: str
    twin_write: str  # with {v} for the value
    indices: list[Expr] = field(default_factory=list)
    level: str | None = None
    stored: str | None = None  # of a quantised member its kind
    twin_cell: str = ""  # of a quantised one what `TwinTree.place` gives


class Statements(Control, Aggregates, Expressions):
    """Writes statements; `generate.Generator` gives it the places."""

    def __init__(self, rng, is_whole, wanted=None):
        super().__init__(rng, is_whole, wanted)
        self.loops: list[str] = []  # kinds of the loops around, innermost last
        self.count = 0
        self.functions: list[Function] = []
        self.in_function = None  # types that the function returns
        self.is_serial = True
        self.has_assert = False
        self.task = None  # the loop of the kernel around
        self.may_draw, self.has_drawn = True, False
        self.tolerances: dict[str, dict] = {}

    def name(self, prefix="l"):
        self.count += 1
        return f"{prefix}{self.count}"

    def some_type(self, shapes=SHAPES) -> Type:
        return Type(self.rng.choice(table.ALL), self.rng.choice(shapes))

    def value(self, type_, depth=None) -> Expr:
        return self.expr(type_, self.rng.choice((1, 1, 2, 2, 3)) if depth is None else depth)

    def held(self, value: Expr) -> Expr:
        """A whole number small enough to be kept."""
        if not self.is_whole or not n.is_float(value.type.scalar) or value.bound <= WHOLE:
            return value
        s, count = value.type.scalar, value.type.count
        kernel = f"mt.max(mt.min({{0}}, mt.{s}({WHOLE}.0)), mt.{s}(-{WHOLE}.0))"
        twin = f"max__{s}(min__{s}({{0}}, {WHOLE}.0), -{WHOLE}.0)"
        if value.type.shape:
            twin = f"each(max__{s}, each(min__{s}, {{0}}, ({WHOLE}.0,) * {count}), (-{WHOLE}.0,) * {count})"
        return Expr(value.type, kernel, twin, [value], signless=True, bound=WHOLE)

    # -- blocks -----------------------------------------------------------------------------------------------

    def block(self, depth: int, size=None) -> list[Stmt]:
        """Statements with names of their own."""
        before, makers = len(self.scope.sources), len(self.scope.makers)
        statements = []
        for _ in range(self.rng.choice((1, 1, 1, 2, 2)) if size is None else size):
            made = self.statement(depth)
            if made is not None:
                statements += made if isinstance(made, list) else [made]
        del self.scope.sources[before:]
        del self.scope.makers[makers:]
        return statements

    def statement(self, depth: int):
        names = list(STATEMENTS)
        for _ in range(12):
            name = self.wanted.statement(self.level, self.rng) if self.wanted and self.rng.random() < 0.5 else None
            name = name or self.rng.choices(names, list(STATEMENTS.values()))[0]
            made = getattr(self, "make_" + name.replace(" ", "_"))(depth)
            if made is not None:
                statement = made[0] if isinstance(made, list) else made
                statement.counts = (*statement.counts, (name, "-"))
                return made
        return None

    # -- variables ----------------------------------------------------------------------------------------------

    def new_variable(self, type_) -> Source:
        name = self.name()
        source = Source(type_, name, name, signless=n.is_float(type_.scalar), is_variable=True)
        self.scope.sources.append(source)
        return source

    def own_variables(self):
        """Variables that are no parameters: those are places only if their name is assigned."""
        return [v for v in self.scope.variables() if v.kernel[0] == "l"]

    def declare(self, value: Expr) -> Stmt:
        value = self.held(value)
        if value.is_literal and value.type.scalar not in ("i32", "f32"):
            value = self.constant(value.type, is_literal=False)
        source = self.new_variable(value.type)
        return Stmt("declaration", [Line(f"{source.kernel} = {{0}}", f"{source.kernel} = {{0}}")], [value])

    def make_declaration(self, depth):
        value = (self.missing() if self.rng.random() < 0.4 else None) or self.value(self.some_type())
        return self.declare(value)

    def make_typed_declaration(self, depth):
        """x: mt.i8 = e: converted first."""
        type_, given = self.some_type(((),)), self.value(self.some_type(((),)), 1)
        if n.is_float(given.type.scalar) or (self.is_whole and n.is_float(type_.scalar)):
            given = self.value(Type(type_.scalar), 1)
        cast = n.cast(given.type.scalar, type_.scalar)
        twin = f"cast__{given.type.scalar}__{type_.scalar}({{0}})" if cast else "{0}"
        given = self.held(given)
        source = self.new_variable(type_)
        return Stmt("typed", [Line(f"{source.kernel}: {type_.text} = {{0}}", f"{source.kernel} = {twin}")], [given])

    def _stored(self, value: Expr, scalar: str, hole: str) -> str | None:
        """The twin's text of what a place of this scalar type then holds; None if that has no meaning."""
        source = value.type.scalar
        if n.is_float(source) and scalar in table.INTEGERS:
            return None
        if n.cast(source, scalar) is None:
            return hole
        if self.is_whole and n.is_float(scalar) and not n.is_float(source):
            return None
        name = f"cast__{source}__{scalar}"
        return f"each({name}, {hole})" if value.type.shape else f"{name}({hole})"

    def make_assignment(self, depth):
        variables = self.scope.variables()
        if not variables:
            return None
        target = self.rng.choice(variables)
        other = Type(self.rng.choice(table.ALL), target.type.shape) if self.rng.random() < 0.25 else target.type
        value = self.held(self.value(other))
        twin = self._stored(value, target.type.scalar, "{0}")
        if twin is None:
            return None
        return Stmt("assignment", [Line(f"{target.kernel} = {{0}}", f"{target.kernel} = {twin}")], [value])

    def make_augmented_assignment(self, depth):
        """x += e on a variable: read, computed, cast to its type."""
        variables = self.scope.variables()
        if not variables:
            return None
        target = self.rng.choice(variables)
        made = self._augmented(target.type, self.read(target), target.kernel, "{0}")
        if made is None:
            return None
        symbol, operand, twin = made
        counts = ((f"{symbol}=", target.type.label),)
        line = Line(f"{target.kernel} {symbol}= {{0}}", f"{target.kernel} = {twin}")
        return Stmt("augmented", [line], [operand], counts=counts)

    def _augmented(self, type_, old: Expr, old_text: str, hole: str):
        """(symbol, operand, twin's text of the new value) for an augmented assignment to a place of this type.

        The twin's text reads the place as `old_text` and has `hole` for the operand.
        """
        symbol = self.rng.choice(AUGMENTED)
        op = table.BY_NAME[_OP_OF.get(symbol, symbol)]
        if not self._is_usable(op):
            return None
        for _ in range(20):
            use = op.rule(type_, self.rng)
            if use is None or use.operands[0] != type_ or (use.operands[1].shape not in ((), type_.shape)):
                continue
            if symbol in ("/", "//") and n.is_float(type_.scalar) and self.is_whole:
                return None
            operand = self.expr(use.operands[1], 1)
            if op.signs and operand.signless:
                operand = self.constant(use.operands[1], is_literal=False)
            whole = self.apply(op, use, type_, [old, operand])
            if whole is None:
                return None
            held = self.held(whole)
            if held is not whole:
                return None
            second = whole.kids[1]
            return symbol, second, re.sub(r"\{([01])\}", lambda found: (old_text, hole)[int(found[1])], whole.twin)
        return None

    def make_component_assignment(self, depth):
        wholes = [v for v in self.own_variables() if v.type.shape]
        if not wholes:
            return None
        target = self.rng.choice(wholes)
        shape = target.type.shape
        value = self.held(self.value(Type(target.type.scalar)))
        position = [self.rng.randrange(k) for k in shape]
        flat = position[0] if len(shape) == 1 else position[0] * shape[1] + position[1]
        if len(shape) == 1 and self.rng.random() < 0.25:
            index = Expr(Type("i32"), "({0} & 1)", "({0} & 1)", [self.leaf(Type("i32"))])
            line = Line(f"{target.kernel}[{{1}}] = {{0}}", f"{target.kernel} = replaced({target.kernel}, {{1}}, {{0}})")
            return Stmt("component", [line], [value, index], counts=(("v[run time] =", target.type.label),))
        spelling = f"[{', '.join(map(str, position))}]"
        if len(shape) == 1 and self.rng.random() < 0.5:
            spelling = "." + "xyz"[flat]
        line = Line(f"{target.kernel}{spelling} = {{0}}", f"{target.kernel} = replaced({target.kernel}, {flat}, {{0}})")
        return Stmt("component", [line], [value], counts=(("v[i] =", target.type.label),))

    def make_swizzle(self, depth):
        """v.yx = a vector, and a new variable of w.zyx."""
        wholes = [v for v in self.own_variables() if len(v.type.shape) == 1]
        if not wholes:
            return None
        target = self.rng.choice(wholes)
        letters = "xyz"[: target.type.shape[0]]
        if self.rng.random() < 0.5:
            chosen = [self.rng.randrange(len(letters)) for _ in range(self.rng.choice((2, 3)))]
            kernel = f"{target.kernel}.{''.join(letters[k] for k in chosen)}"
            twin = f"({', '.join(f'{target.kernel}[{k}]' for k in chosen)},)"
            value = Expr(
                Type(target.type.scalar, (len(chosen),)),
                kernel,
                twin,
                signless=target.signless,
                bound=WHOLE if self.is_whole else None,
            )
            return self.declare(value)
        chosen = self.rng.sample(range(len(letters)), 2)
        value = self.held(self.value(Type(target.type.scalar, (2,))))
        name = target.kernel
        twin = f"{name} = replaced(replaced({name}, {chosen[0]}, {{0}}[0]), {chosen[1]}, {{0}}[1])"
        return Stmt("swizzle", [Line(f"{name}.{''.join(letters[k] for k in chosen)} = {{0}}", twin)], [value])

    def make_unpacking(self, depth):
        """a, b = b, e: the right-hand side first. Two different targets of one type each."""
        variables = self.scope.variables()
        pairs = [(a, b) for a in variables for b in variables if a is not b and a.type == b.type]
        if pairs and self.rng.random() < 0.7:
            a, b = self.rng.choice(pairs)
            value = self.held(self.value(a.type))
            text = f"{a.kernel}, {b.kernel} = {b.kernel}, {{0}}"
            return Stmt("unpacking", [Line(text, text)], [value])
        source = self.leaf(Type(self.rng.choice(table.ALL), (2,)))
        source = self.held(source)
        first, second = self.new_variable(Type(source.type.scalar)), self.new_variable(Type(source.type.scalar))
        text = f"{first.kernel}, {second.kernel} = {{0}}"
        return Stmt("unpacking", [Line(text, text)], [source])

    def make_chained_assignment(self, depth):
        value = self.held(self.value(self.some_type()))
        if value.is_literal:
            value = self.constant(value.type, is_literal=False)
        first, second = self.new_variable(value.type), self.new_variable(value.type)
        text = f"{first.kernel} = {second.kernel} = {{0}}"
        return Stmt("chained", [Line(text, text)], [value])

    # -- places -----------------------------------------------------------------------------------------------------

    def write(self, place: Place, value: Expr, name: str) -> Stmt | None:
        """place = value."""
        count = len(place.indices)
        stored = self._stored(value, place.type.scalar, f"{{{count}}}")
        if stored is None:
            return None
        self.note(place, value.signless, value.ulp)
        twin = place.twin_write.replace("{v}", stored)
        counts = self._counted(place, "store")
        return Stmt(name, [Line(f"{place.kernel} = {{{count}}}", twin)], [*place.indices, value], place.level, counts)

    def note(self, place, signless, ulp=0):
        if not place.name:  # a variable
            return
        known = self.tolerances.setdefault(place.name, {"ulp": 0, "signless": False})
        known["ulp"] = max(known["ulp"], ulp)
        known["signless"] = known["signless"] or bool(signless and n.is_float(place.type.scalar))

    def make_output(self, depth):
        if self.in_function is not None:
            return None
        value = (self.missing() if self.rng.random() < 0.7 else None) or self.value(self.some_type())
        return self._output(value)

    def make_gap_output(self):
        """An output that fills a gap of the coverage; None when there is none."""
        value = self.missing(1)
        return None if value is None else self._output(value)

    def _output(self, value):
        place = self.output(value.type, value.signless or value.ulp, inexact=bool(value.ulp))
        return None if place is None else self.write(place, value, "output")

    def make_own_place(self, depth):
        place = self.own_place() if self.in_function is None else None
        if place is None:
            return None
        return self.assigned_place(place)

    def make_own_component(self, depth):
        place = self.own_place(shaped=True) if self.in_function is None else None
        return None if place is None else self.component_of_place(place)

    def assigned_place(self, place):
        """place = e."""
        return self.write(place, self.held(self.value(place.type)), "own")

    def component_of_place(self, place):
        """place[k] = e; None of a scalar."""
        if not place.type.shape:
            return None
        shape, count = place.type.shape, len(place.indices)
        position = [self.rng.randrange(k) for k in shape]
        flat = position[0] if len(shape) == 1 else position[0] * shape[1] + position[1]
        value = self.held(self.value(Type(place.type.scalar)))
        self.note(place, value.signless)
        twin = place.twin_write.replace("{v}", f"replaced({place.twin_read}, {flat}, {{{count}}})")
        if place.stored:
            twin = f"{place.twin_cell}.put_part({flat}, {{{count}}})"
        kernel = f"{place.kernel}[{', '.join(map(str, position))}] = {{{count}}}"
        counts = (("component of a place", place.type.label),)
        return Stmt("own", [Line(kernel, twin)], [*place.indices, value], place.level, counts)

    def make_own_augmented(self, depth):
        """Augmented assignment to a place of this iteration's own: atomic where the operation is one."""
        place = self.own_place() if self.in_function is None else None
        return None if place is None else self.augmented_place(place)

    def augmented_place(self, place):
        """place += e."""
        if place.type.scalar == "u1":
            return None
        old = Expr(place.type, "", place.twin_read, list(place.indices), signless=True, bound=WHOLE if self.is_whole else None)
        count = len(place.indices)
        made = self._augmented(place.type, old, place.twin_read, f"{{{count}}}")
        if made is None:
            return None
        symbol, operand, twin = made
        is_atomic = symbol in "+-*&|^" and symbol != "**"
        if is_atomic and operand.type.scalar != place.type.scalar:
            return None  # an atomic converts the operand first: make_atomic
        if n.is_float(place.type.scalar) and symbol in ("+", "-", "*") and self.is_whole:
            return None
        self.note(place, True)
        twin = place.twin_write.replace("{v}", twin)
        if place.stored and is_atomic:
            twin = self._changed(place, next(op for op, row in table.ATOMICS.items() if row[0] == symbol), f"{{{count}}}")
        line = Line(f"{place.kernel} {symbol}= {{{count}}}", twin)
        return Stmt("own", [line], [*place.indices, operand], place.level, ((f"place {symbol}=", place.type.label),))

    def make_atomic(self, depth):
        if self.in_function is not None:
            return None
        target = self.atomic_place()
        if target is None:
            return None
        place, op = target
        value = self.atomic_operand(place, op)
        if value is None:
            return None
        symbol = table.ATOMICS[op][0]
        self.note(place, True)
        count = len(place.indices)
        hole, level = f"{{{count}}}", place.level
        if symbol and self.rng.random() < 0.5:
            kernel = f"{place.kernel} {symbol}= {hole}"
        else:
            kernel = f"mt.atomic_{op}({place.kernel}, {hole})"
        counts = ((f"atomic_{op}", place.type.label), *self._counted(place, f"atomic_{op}"))
        return Stmt("atomic", [Line(kernel, self._changed(place, op, hole))], [*place.indices, value], level, counts)

    def _changed(self, place, op, hole):
        """The twin's statement of an atomic operation."""
        twin = table.ATOMICS[op][1]
        if place.stored:
            return f'{place.twin_cell}.change("{op}", {twin}__{place.type.scalar}, {hole})'
        return place.twin_write.replace("{v}", self._combined(place, twin, hole))

    @staticmethod
    def _counted(place, what):
        """What an access to a quantised member covers."""
        return ((f"{what} of quantised", place.stored),) if place.stored else ()

    def _combined(self, place, twin, hole):
        s = place.type.scalar
        return f"each({twin}__{s}, {place.twin_read}, {hole})" if place.type.shape else f"{twin}__{s}({place.twin_read}, {hole})"

    def atomic_operand(self, place, op):
        """Small enough that any order of sums is exact."""
        value = self.value(place.type, 1)
        if n.is_float(place.type.scalar) and op in ("add", "sub") and place.stored != "fixed":
            return self.held(value) if self.is_whole else None
        return self.held(value)

    def make_atomic_of_an_own_place(self, depth):
        """old = mt.atomic_add(own place, e)."""
        place = self.own_place(inside=True) if self.in_function is None and not self.unread else None
        return None if place is None else self.old_of_atomic(place)

    def old_of_atomic(self, place):
        """A variable of what a place held before an atomic operation."""
        if place.type.shape and place.stored == "shared float":
            return None  # the operation on one component rounds the next one, whose old value is read then
        kinds = [op for op, (_, _, kinds) in table.ATOMICS.items() if place.type.scalar in kinds]
        if self.rng.random() < 0.15:
            return self._exchanged(place)
        op = self.rng.choice(kinds)
        if self.is_whole and n.is_float(place.type.scalar) and op in ("add", "sub", "mul"):
            return None
        value = self.held(self.value(place.type, 1))
        source = self.new_variable(place.type)
        count = len(place.indices)
        hole = f"{{{count}}}"
        twin = f"{source.kernel} = {place.twin_read}\n{self._changed(place, op, hole)}"
        self.note(place, True)
        line = Line(f"{source.kernel} = mt.atomic_{op}({place.kernel}, {hole})", twin)
        counts = ((f"old of atomic_{op}", place.type.label), *self._counted(place, f"atomic_{op}"))
        return Stmt("atomic", [line], [*place.indices, value], place.level, counts)

    def _exchanged(self, place):
        """old = mt.atomic_exchange(place, e), or only where something is expected: of integers, for bits of floats may differ."""
        operands, count, op = [self.held(self.value(place.type, 1))], len(place.indices), table.EXCHANGES[0]
        if not place.type.shape and not place.stored and not n.is_float(place.type.scalar) and self.rng.random() < 0.6:
            # What is there, or in most cases something else.
            op = table.EXCHANGES[1]
            here = Expr(place.type, place.kernel, place.twin_read, list(place.indices), signless=True)
            operands.append(here if self.rng.random() < 0.5 else self.held(self.value(place.type, 1)))
        source, kernel, kept = self.new_variable(place.type), f"{{{count}}}", f"{{{count}}}"
        if len(operands) > 1:
            # The place is active afterwards, whichever of the two it holds.
            kept = f"({{{count}}} if {source.kernel} == {{{count + 1}}} else {source.kernel})"
            kernel = f"{{{count + 1}}}, {kernel}"
        change = place.twin_write.replace("{v}", kept)
        self.note(place, True)
        line = Line(
            f"{source.kernel} = mt.atomic_{op}({place.kernel}, {kernel})", f"{source.kernel} = {place.twin_read}\n{change}"
        )
        counts = ((f"old of atomic_{op}", place.type.label), *self._counted(place, f"atomic_{op}"))
        return Stmt("atomic", [line], [*place.indices, *operands], place.level, counts)

    def make_quantised(self, depth):
        """Several accesses to one or two quantised members of this iteration's own: each finds what those before it left."""
        if self.in_function is not None or self.unread:
            return None
        places = [self.own_place(inside=True, quantised=True) for _ in range(self.rng.choice((1, 2, 2)))]
        places = [place for place in places if place is not None]
        statements = []
        for _ in range(self.rng.randint(2, 5) if places else 0):
            change = self.rng.choice((self.assigned_place, self.augmented_place, self.old_of_atomic, self.component_of_place))
            made = change(self.rng.choice(places))
            statements += [] if made is None else [made]
        for place in places if statements else ():
            statements += self._shown(place)
        return statements or None

    def make_atomic_on_a_variable(self, depth):
        """On a variable of the iteration it is a plain read-modify-write that gives the old value."""
        variables = [v for v in self.own_variables() if v.type.scalar != "u1"]
        if not variables:
            return None
        target = self.rng.choice(variables)
        op = self.rng.choice([op for op, (_, _, kinds) in table.ATOMICS.items() if target.type.scalar in kinds])
        if self.is_whole and n.is_float(target.type.scalar) and op in ("add", "sub", "mul"):
            return None
        value = self.held(self.value(target.type, 1))
        place = Place(target.kernel, target.type, target.kernel, target.kernel, f"{target.kernel} = {{v}}")
        source = self.new_variable(target.type)
        combined = self._combined(place, table.ATOMICS[op][1], "{0}")
        line = Line(
            f"{source.kernel} = mt.atomic_{op}({target.kernel}, {{0}})",
            f"{source.kernel}, {target.kernel} = {target.kernel}, {combined}",
        )
        return Stmt("atomic", [line], [value], counts=((f"atomic_{op} of a variable", target.type.label),))

    # -- sparsity, effects ---------------------------------------------------------------------------------------------

    def make_activate(self, depth):
        target = self.growing_place() if self.in_function is None else None
        if target is None:
            return None
        kernel, twin, indices, level = target
        return Stmt("activate", [Line(kernel, twin)], indices, level)

    def make_is_active(self, depth):
        target = self.asked_place() if self.in_function is None else None
        if target is None:
            return None
        kernel, twin, indices, level = target
        made = self.declare(Expr(Type("u1"), kernel, twin, indices))
        made.level = level
        return made

    def make_deactivate(self, depth):
        target = self.dropped_place() if self.in_function is None else None
        if target is None:
            return None
        kernel, twin, indices, level = target
        return Stmt("deactivate", [Line(kernel, twin)], indices, level)

    def make_length(self, depth):
        target = self.measured_place() if self.in_function is None else None
        if target is None:
            return None
        kernel, twin, indices, level = target
        made = self.declare(Expr(Type("i32"), kernel, twin, indices))
        made.level = level
        return made

    def make_used(self, depth):
        target = self.counted_slots() if self.in_function is None else None
        if target is None:
            return None
        kernel, twin, level = target
        made = self.declare(Expr(Type("i64"), kernel, twin))
        made.level = level
        return made

    def make_no_activate(self, depth):
        """Among the statements of a parallel loop itself: it holds to the end of the iteration."""
        if self.in_function is not None or self.is_serial or self.loops != ["parallel"] or depth < 2 or self.task.is_single:
            return None
        target = self.stilled()
        if target is None:
            return None
        tree, names, where, level = target
        return Stmt("no_activate", [Line(f"mt.no_activate({where})", f"{tree}.still.update({names})")], [], level)

    def make_append(self, depth):
        target = self.appended_place() if self.in_function is None else None
        if target is None:
            return None
        tree, member, indices, way = target
        value = self.held(self.value(member.type, 1))
        name = f"{tree}.{member.name}"
        kernel, twin, operands = self.appending(tree, member, indices, value)
        known = self.tolerances.setdefault(name, {"ulp": 0, "signless": False})
        known["signless"] = known["signless"] or bool(value.signless and n.is_float(member.type.scalar))
        counts = ((f"append to a list: {way}", member.type.label),)
        if way == "shuffled":
            known["shuffled"] = self.types[self.trees[tree].type].list_of(member.name)
        elif self.rng.random() < 0.6:
            declared = self.declare(Expr(Type("i32"), kernel, twin, operands))
            declared.level, declared.counts = member.level, counts
            return declared
        return Stmt("append", [Line(kernel, twin)], operands, member.level, counts)

    def make_print(self, depth):
        if self.in_function is not None or self.has_assert or len(self.loops) > (2 if self.is_serial else 1):
            return None
        values = []
        for _ in range(self.rng.randint(1, 3)):
            value = self.expr(Type(self.rng.choice(("u1", *table.INTEGERS)), self.rng.choice(((), (), (2,), (2, 2)))), 1)
            values.append(value)
        holes = holes_of(len(values))
        shown = [f'show({hole}, "{v.type.scalar}", {v.type.shape})' for hole, v in zip(holes, values)]
        word, joined = self.name("t"), lambda between: f' + "{between}" + '.join(shown)
        if self.rng.random() < 0.5:
            kernel, twin = f'print("{word}", {", ".join(holes)})', f'output("{word} " + {joined(" ")})'
        elif all(not v.is_literal for v in values):
            parts = "; ".join("{{" + hole + "}}" for hole in holes)
            kernel, twin = f'print(f"{word}: {parts}")', f'output("{word}: " + {joined("; ")})'
        else:
            kernel, twin = f'print("{word}", {", ".join(holes)}, sep="|")', f'output("{word}|" + {joined("|")})'
        return Stmt("print", [Line(kernel, twin)], values)

    def make_assert(self, depth):
        if self.in_function is not None or self.has_assert:
            return None
        self.has_assert = True
        condition = self.condition(1) if self.rng.random() < 0.3 else None
        if condition is None:
            value = self.leaf(Type("i32"))
            condition = Expr(Type("u1"), "({0} == {0})", "({0} == {0})", [value])
        text = self.name("wrong ")
        return Stmt("assert", [Line(f'assert {{0}}, "{text}"', f'assert {{0}}, "{text}"')], [condition])
