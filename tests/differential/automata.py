"""Random automata: loops over small integers in quant_arrays, which the compiler may put on planes of bits, against NumPy.

A loop reads neighbours of its element at constant offsets and computes with them what cellular automata do. The text of the
kernel and the arithmetic of NumPy are written from one tree of expressions; no twin goes element by element, so that rows
are several words long. `Automaton(seed)` is deterministic; `run` says what differs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

import metate as mt
from metate.frontend.source import attach_source

from . import numbers as n
from .case import _NUMPY as DTYPES

SLICED = "planes of bits"  # what kernel.report() says of a loop that goes by words
TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
MARGIN = 70  # the farthest neighbour: a word of 64 and more
_BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
_COMPARED = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


# -- a program and what it means --------------------------------------------------------------------------------


@dataclass
class Expr:
    """`text` has {0}, {1} for the operands; `compute` takes the state and the operands' arrays."""

    scalar: str
    text: str
    compute: object
    kids: list = field(default_factory=list)

    def spelled(self) -> str:
        return self.text.format(*(kid.spelled() for kid in self.kids)) if self.kids else self.text

    def value(self, state):
        return self.compute(state, *(kid.value(state) for kid in self.kids))


def converted(scalar, array):
    """A cast: low bits, or whether it is not 0."""
    return np.asarray(array) != 0 if scalar == "u1" else np.asarray(array).astype(DTYPES[scalar])


def _of_common(scalar, function):
    """An operation on operands that are brought to one type."""
    return lambda _, *given: np.asarray(function(*(converted(scalar, one) for one in given)))


def _shift(symbol, by):
    function = np.left_shift if symbol == "<<" else np.right_shift
    return lambda _, value: function(value, value.dtype.type(by))


@dataclass(frozen=True)
class Format:
    """How the elements of a field are stored; without bits, as they are."""

    bits: int
    signed: bool
    word: int
    compute: str

    @property
    def elements(self) -> int:
        return self.word // self.bits if self.bits else 1

    @property
    def text(self) -> str:
        return f"mt.types.quant.int({self.bits}, {self.signed}, mt.{self.compute})" if self.bits else f"mt.{self.compute}"

    def stored(self, values):
        if not self.bits:
            return np.asarray(values).astype(DTYPES[self.compute])
        low = np.asarray(values).astype(np.int64) & ((1 << self.bits) - 1)
        if self.signed:
            low = low - ((low >> (self.bits - 1)) << self.bits)
        return low.astype(DTYPES[self.compute])


class State:
    """What NumPy knows while it computes: fields with a margin, the indices of the iterations, variables, who takes part."""

    def __init__(self, fields, places, parameter, mask):
        self.fields, self.places, self.parameter, self.mask = fields, places, parameter, mask
        self.variables: dict = {}

    def read(self, name, offsets):
        at = (
            np.clip(place + by + MARGIN, 0, extent - 1)
            for place, by, extent in zip(self.places, offsets, self.fields[name].shape)
        )
        return np.broadcast_to(self.fields[name][tuple(at)], self.mask.shape)

    def write(self, name, stored):
        at = tuple(np.broadcast_to(place, self.mask.shape)[self.mask] + MARGIN for place in self.places)
        self.fields[name][at] = stored[self.mask]


@dataclass
class Stmt:
    """`kind`: "store" to a field, "set" of a variable, or "if" with one block or two."""

    kind: str
    name: str
    expr: Expr
    blocks: list = field(default_factory=list)

    def written(self, indices, indent):
        pad = "    " * indent
        if self.kind != "if":
            where = f"{self.name}[{', '.join(indices)}]" if self.kind == "store" else self.name
            return [f"{pad}{where} = {self.expr.spelled()}"]
        lines = []
        for head, block in zip((f"if {self.expr.spelled()}:", "else:"), self.blocks):
            body = [line for one in block for line in one.written(indices, indent + 1)]
            lines += [pad + head, *(body or [f"{pad}    pass"])]
        return lines

    def run(self, automaton, state):
        value = np.broadcast_to(self.expr.value(state), state.mask.shape)
        if self.kind == "store":
            state.write(self.name, automaton.formats[self.name].stored(value))
        elif self.kind == "set":
            value = converted(automaton.variables[self.name], value)
            before = state.variables.get(self.name)
            state.variables[self.name] = value if before is None else np.where(state.mask, value, before)
        else:
            outer = state.mask
            for condition, block in zip((value, ~value), self.blocks):
                state.mask = outer & condition
                for one in block:
                    one.run(automaton, state)
            state.mask = outer


@dataclass
class Loop:
    """A loop of the kernel.

    Attributes:
        kind: "for" over a field, "box" of given bounds, "nested" ranges.
        box: (from, to) of each index.
        is_serial: it runs in order; `is_ordered`: so that it may read what other iterations have written.
        is_dynamic: the bounds of the last index are arguments of the kernel.
    """

    kind: str
    over: str
    box: list
    is_serial: bool
    is_ordered: bool
    is_dynamic: bool
    inputs: list
    outputs: list
    body: list = field(default_factory=list)

    def written(self, indices):
        lines = ["    mt.loop_config(serialize=True)"] if self.is_serial else []
        bounds = list(map(str, np.ravel(self.box).tolist()))
        bounds[-2:] = ["low", "high"] if self.is_dynamic else bounds[-2:]
        pairs = [f"({low}, {high})" for low, high in zip(bounds[::2], bounds[1::2])]
        deep = 2
        if self.kind == "for":
            lines.append(f"    for {', '.join(indices)} in {self.over}:")
        elif len(indices) == 1:
            lines.append(f"    for j in range{pairs[0]}:")
        elif self.kind == "nested":
            lines += [f"    for i in range{pairs[0]}:", f"        for j in range{pairs[1]}:"]
            deep = 3
        else:
            lines.append(f"    for i, j in mt.ndrange({', '.join(pairs)}):")
        return [*lines, *(line for one in self.body for line in one.written(indices, deep))]


# -- random automata ----------------------------------------------------------------------------------------------


class Automaton:
    """A kernel of one loop or two with its fields.

    Attributes:
        format: of most fields; `formats`: of each.
        level: what the fields stand below; "" nothing.
        shape: of the fields; `blocks`: how many cells of the level there are along each axis.
        loops: which have bodies, and `variables` the types of what is named in these.
    """

    def __init__(self, seed: int):
        self.seed, rng = seed, random.Random(seed)
        self.rng = rng
        self.format = self._some_format()
        self.level = rng.choices(("", "dense", "dense rows", "pointer", "bitmasked"), (6, 3, 3, 4, 1))[0]
        self._draw_shape()
        self.indices = ["j"] if len(self.shape) == 1 else ["i", "j"]
        names = [f"x{k}" for k in range(rng.randint(2, 4))]
        self.formats = {name: self._format_of_one() for name in names}
        self.variables: dict = {}
        self.loops = [self._loop(names) for _ in range(rng.choice((1, 1, 1, 2)))]
        for loop in self.loops:
            self.loop, self.scope, self.guards = loop, [], []
            loop.body = self._block(2, rng.choice((0, 1, 2, 2, 3, 4)))
            loop.body.append(Stmt("store", loop.outputs[0], self.expr(self.format.compute, 3)))

    def _some_format(self, most=4):
        rng = self.rng
        bits = rng.choice((1, 1, 1, 2, 2, 3, 4, 4)) if most == 4 else rng.randint(1, most)
        if rng.random() < 0.03:
            bits = rng.choice((5, 7, 8))
        signed = rng.random() < 0.35
        scalar = ("i32" if signed else "u32") if rng.random() < 0.6 else rng.choice(TYPES)
        signed = signed and n.is_signed(scalar)
        if bits == n.bits_of(scalar) and n.is_signed(scalar):
            signed = True  # the compute type holds all values
        return Format(bits, signed, rng.choice((8, 16, 32, 32, 32, 64, 64)), scalar)

    def _format_of_one(self):
        kind = self.rng.random()
        if kind < 0.03:
            return Format(0, True, 0, self.rng.choice(("i32", "u8", "i64")))
        return self._some_format(8) if kind < 0.08 else self.format

    def _draw_shape(self):
        rng, elements = self.rng, self.format.elements
        width = elements * rng.choice((1, 2, 3, 5))
        if self.level in ("", "dense rows") and rng.random() < 0.08:
            width = max(1, width - rng.randrange(elements))  # words have elements of two rows, or are not full
        is_line = self.level != "dense rows" and rng.random() < 0.35
        self.cell = (width,) if is_line else (rng.choice((1, 2, 4)), width)
        self.blocks = (1,) * len(self.cell)
        if self.level in ("dense", "pointer", "bitmasked"):
            self.blocks = (*(rng.choice((1, 2, 4)) for _ in self.cell[:-1]), rng.choice((1, 2, 3)))
        elif not is_line:
            self.cell = (rng.choice((1, 3, 8)), width)
        self.shape = tuple(a * b for a, b in zip(self.blocks, self.cell))
        self.is_split = len(self.cell) == 2 and rng.random() < 0.5  # a level for the rows of a cell

    @property
    def is_sparse(self):
        return self.level in ("pointer", "bitmasked")

    def _loop(self, names):
        rng, elements = self.rng, self.format.elements
        packed = [name for name in names if self.formats[name].bits] or names
        outputs = [rng.choice(packed), *([rng.choice(names)] if rng.random() < 0.25 else [])]
        inputs = [name for name in names if name not in outputs] or outputs[:1]
        kind = "for" if self.is_sparse else rng.choice(("for", "for", "box", "box", "nested"))
        box = [(0, extent) for extent in self.shape]
        for axis, extent in enumerate(self.shape) if kind != "for" else ():
            is_last = axis == len(self.shape) - 1
            steps = (0, 0, 1, 2, elements, elements - 1, elements + 1) if is_last else (0, 0, 1)
            low, high = rng.choice(steps), extent - rng.choice(steps)
            low = rng.randrange(extent) if rng.random() < 0.1 else low
            box[axis] = (low, high) if low < high else (0, extent)
        is_serial = self.level != "pointer" and rng.random() < 0.12
        # A loop over cells goes block by block.
        is_ordered = is_serial and rng.random() < 0.6 and (kind != "for" or set(self.blocks) == {1})
        return Loop(kind, rng.choice(names), box, is_serial, is_ordered, kind != "for" and rng.random() < 0.25, inputs, outputs)

    # -- expressions ----------------------------------------------------------------------------------------------

    def expr(self, scalar, depth) -> Expr:
        """Exactly of this type."""
        rng = self.rng
        if scalar == "u1":
            return self.condition(depth)
        if depth <= 0 or rng.random() < 0.12:
            return self.leaf(scalar)
        makers = (self._arithmetic, self._extreme, self._choice, self._shifted, self._cast, self._inverted, self._sum)
        return rng.choices(makers, (50, 12, 13, 8, 8, 3, 6))[0](scalar, depth - 1)

    def _sum(self, scalar, depth=0):
        """Of a few neighbours."""
        operands = [self.cast(scalar, self.element()) for _ in range(self.rng.randint(3, 9))]
        text = " + ".join(f"{{{k}}}" for k in range(len(operands)))
        add = lambda *given: sum(given[1:], start=given[0])
        return Expr(scalar, f"({text})", _of_common(scalar, add), operands)

    def _arithmetic(self, scalar, depth):
        rng, symbol, other = self.rng, self.rng.choice("+++++--*&&|^^"), self._other(scalar)
        operands = [self.expr(scalar, depth), self.expr(other, depth)]
        if symbol == "*" or rng.random() < 0.3:
            operands[1] = self.constant(other, 0, 5) if symbol == "*" else self.constant(other)
        if rng.random() < 0.3:
            operands.reverse()
        return Expr(scalar, f"({{0}} {symbol} {{1}})", _of_common(scalar, _BINARY[symbol]), operands)

    def _extreme(self, scalar, depth):
        name = self.rng.choice(("min", "max"))
        operands = [self.expr(scalar, depth), self.expr(self._other(scalar), depth)]
        return Expr(scalar, f"mt.{name}({{0}}, {{1}})", _of_common(scalar, getattr(np, f"{name}imum")), operands)

    def _choice(self, scalar, depth):
        operands = [self.condition(depth), self.expr(scalar, depth), self.expr(scalar, depth)]
        text = self.rng.choice(("mt.select({0}, {1}, {2})", "({1} if {0} else {2})"))
        return Expr(scalar, text, lambda _, c, a, b: np.where(c, a, b), operands)

    def _shifted(self, scalar, depth):
        symbol, by = self.rng.choice(("<<", ">>")), self.rng.randrange(4)
        return Expr(scalar, f"({{0}} {symbol} {by})", _shift(symbol, by), [self.expr(scalar, depth)])

    def _cast(self, scalar, depth):
        source = self.rng.choice((self.format.compute, "u1", "i32", "u32", *TYPES))
        return self.cast(scalar, self.expr(source, depth))

    def cast(self, scalar, value):
        if value.scalar == scalar:
            return value
        return Expr(scalar, f"mt.cast({{0}}, mt.{scalar})", lambda _, a: converted(scalar, a), [value])

    def _inverted(self, scalar, depth):
        return Expr(scalar, "(~{0})", lambda _, a: ~a, [self.expr(scalar, depth)])

    def _other(self, scalar):
        """A type that gives `scalar` together with it."""
        fitting = [one for one in ("u1", *TYPES) if n.promote(one, scalar) == scalar]
        return scalar if self.rng.random() < 0.9 else self.rng.choice(fitting)

    def condition(self, depth) -> Expr:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.12:
            return self._of_place()
        if depth > 0 and kind < 0.3:
            symbol, operands = rng.choice("&|^"), [self.condition(depth - 1) for _ in range(2)]
            return Expr("u1", f"({{0}} {symbol} {{1}})", _of_common("u1", _BINARY[symbol]), operands)
        if depth > 0 and kind < 0.36:
            return Expr("u1", "(not {0})", lambda _, a: ~converted("u1", a), [self.condition(depth - 1)])
        if kind < 0.5:  # how many are alive
            scalar = rng.choice((self.format.compute, "i32", "u32"))
            count = self._sum(scalar)
            symbol, bound = rng.choice(list(_COMPARED)), self.constant(scalar, 1, len(count.kids))
            return Expr("u1", f"({{0}} {symbol} {{1}})", _of_common(scalar, _COMPARED[symbol]), [count, bound])
        scalar, symbol = rng.choice((self.format.compute,) * 6 + ("i32", "u32")), rng.choice(list(_COMPARED))
        operands = [self.expr(scalar, depth - 1), self.constant(scalar)]
        if rng.random() < 0.3:
            operands[1] = self.expr(scalar, depth - 1)
        if rng.random() < 0.2:
            operands.reverse()
        return Expr("u1", f"({{0}} {symbol} {{1}})", _of_common(scalar, _COMPARED[symbol]), operands)

    def _of_place(self):
        """A condition on the loop's indices, or on what the kernel is called with."""
        rng = self.rng
        symbol, axis = rng.choice(list(_COMPARED)), rng.randrange(len(self.shape))
        compare, name = _COMPARED[symbol], self.indices[axis]
        bound = rng.choice((0, 1, rng.randrange(self.shape[axis] + 1), self.shape[axis] - 1))
        by = rng.choice((0, 0, 1, -2))
        moved = name if not by else f"{name} {'+' if by > 0 else '-'} {abs(by)}"
        choices = [
            (f"(p {symbol} {bound})", lambda s: np.asarray(compare(s.parameter, bound))),
            (f"({name} {symbol} p)", lambda s: compare(s.places[axis], s.parameter)),
            (f"({bound} {symbol} {name})", lambda s: compare(bound, s.places[axis])),
            (f"({moved} {symbol} {bound})", lambda s: compare(s.places[axis] + by, bound)),
            (f"({moved} {symbol} {bound})", lambda s: compare(s.places[axis] + by, bound)),
        ]
        if len(self.shape) == 2:
            choices.append((f"(j {symbol} i + {bound})", lambda s: compare(s.places[1], s.places[0] + bound)))
        return Expr("u1", *rng.choice(choices))

    def constant(self, scalar, low=-3, high=9) -> Expr:
        value = self.rng.choice((0, 1, 1, 2, 3, self.rng.randint(low, high)))
        if scalar == "u1":
            value &= 1
        elif not n.is_signed(scalar):
            value = abs(value)
        if self.rng.random() < 0.005 and scalar != "u1":
            value = self.rng.choice(n.limits(scalar))
        text = f"mt.{scalar}({value})"
        if scalar == "i32" and self.rng.random() < 0.6:
            text = f"({value})" if value < 0 else str(value)
        array = np.array(value, DTYPES[scalar])
        return Expr(scalar, text, lambda _: array)

    def leaf(self, scalar) -> Expr:
        rng = self.rng
        known = [name for name in self.scope if self.variables[name] == scalar]
        if known and rng.random() < 0.35:
            name = rng.choice(known)
            return Expr(scalar, name, lambda s: s.variables[name])
        return self.constant(scalar) if rng.random() < 0.12 else self.cast(scalar, self.element())

    def element(self) -> Expr:
        """A neighbour. What the loop writes is read where the iteration is, or anywhere if it runs in order."""
        rng, loop, elements = self.rng, self.loop, self.format.elements
        name = rng.choice(loop.outputs if rng.random() < 0.15 else loop.inputs)
        is_fixed = name in loop.outputs and not loop.is_ordered
        offsets = []
        for axis, ((low, high), extent) in enumerate(zip(self._bounds(), self.shape)):
            steps = (0, 0, 0, 1, -1, 1, -1, 2, -2)
            if axis == len(self.shape) - 1:
                steps = (0, 1, -1, 1, -1, 2, -2, elements, -elements, elements - 1, 1 - elements, elements + 1, 5, -7)
            by = 0 if is_fixed else rng.choice(steps)
            is_inside = self.is_sparse or (low + by >= 0 and high + by <= extent)
            offsets.append(by if abs(by) <= MARGIN and is_inside else 0)
        at = [index if not by else f"{index} {'+' if by > 0 else '-'} {abs(by)}" for index, by in zip(self.indices, offsets)]
        return Expr(self.formats[name].compute, f"{name}[{', '.join(at)}]", lambda s: s.read(name, offsets))

    def _bounds(self):
        """Where iterations are known to be here: the box, or what the conditions around say."""
        bounds = list(self.loop.box)
        for axis, low, high in self.guards:
            bounds[axis] = (max(bounds[axis][0], low), min(bounds[axis][1], high))
        return bounds

    # -- statements -------------------------------------------------------------------------------------------------

    def _block(self, depth, size) -> list[Stmt]:
        before = len(self.scope)
        made = [self._statement(depth) for _ in range(size)]
        if depth < 2:
            del self.scope[before:]
        return made

    def _statement(self, depth):
        rng, kind = self.rng, self.rng.random()
        if depth > 0 and kind < 0.25:
            return self._guarded(depth) if rng.random() < 0.5 else self._if(depth)
        if self.scope and kind < 0.4:
            name = rng.choice(self.scope)
            return Stmt("set", name, self.expr(self.variables[name], 2))
        if kind < 0.75:
            scalar, name = rng.choice((self.format.compute,) * 4 + ("i32", "u32")), f"l{len(self.variables)}"
            made = Stmt("set", name, self.expr(scalar, 2))
            self.variables[name] = scalar
            self.scope.append(name)
            return made
        return Stmt("store", rng.choice(self.loop.outputs), self.expr(rng.choice((self.format.compute, "i32")), 2))

    def _if(self, depth):
        condition = self.condition(1)
        return Stmt("if", "", condition, [self._block(depth - 1, self.rng.randint(1, 2)) for _ in range(self.rng.choice((1, 2)))])

    def _guarded(self, depth):
        """Only where neighbours are inside."""
        rng, axis = self.rng, self.rng.randrange(len(self.shape))
        low, index = rng.choice((1, 2)), self.indices[axis]
        high = self.shape[axis] - low
        if low >= high:
            return self._if(depth)
        text = f"({index} >= {low}) {rng.choice(('and', '&'))} ({index} < {high})"
        condition = Expr("u1", text, lambda s: (s.places[axis] >= low) & (s.places[axis] < high))
        self.guards.append((axis, low, high))
        block = self._block(depth - 1, rng.randint(1, 2))
        self.guards.pop()
        return Stmt("if", "", condition, [block, self._block(depth - 1, 1)] if rng.random() < 0.4 else [block])

    # -- running ----------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Fields and kernel."""
        lines = [line for loop in self.loops for line in loop.written(self.indices)]
        head = ["", "@mt.kernel", "def run(p: mt.i32, low: mt.i32, high: mt.i32):"]
        return "\n".join([*self._fields_text(), *head, *lines]) + "\n"

    def _fields_text(self):
        axes, whole = "mt.i" if len(self.shape) == 1 else "mt.ij", "mt.root"
        lines, extents = [f"{name} = mt.field({form.text})" for name, form in self.formats.items()], self.cell
        if self.level == "dense rows":
            lines, whole, axes, extents = [*lines, f"rows = mt.root.dense(mt.i, {self.shape[0]})"], "rows", "mt.j", self.cell[1:]
        elif self.level:
            lines, whole = [*lines, f"top = mt.root.{self.level}({axes}, {self.blocks})"], "top"
            if self.is_split:
                lines.append(f"inner = top.dense(mt.i, {self.cell[0]})")
                whole, axes, extents = "inner", "mt.j", self.cell[1:]
        for name, form in self.formats.items():
            kind, word = ("quant_array", f", max_num_bits={form.word}") if form.bits else ("dense", "")
            lines.append(f"{whole}.{kind}({axes}, {extents}{word}).place({name})")
        return lines

    def data(self):
        """(fields before, which cells are active, the kernel's parameter)."""
        draw = np.random.default_rng(self.seed)
        active = np.ones(self.shape, bool)
        if self.is_sparse:
            on = draw.random(self.blocks) < 0.7
            on.flat[0] = True
            active = np.kron(on, np.ones(self.cell, bool))
        fields = {}
        for name, form in self.formats.items():
            values = draw.integers(0, 1 << (form.bits or 7), self.shape)
            values[:] = draw.choice((0, -1)) if draw.random() < 0.1 else values
            fields[name] = form.stored(np.where(active, values, 0))
        return fields, active, int(draw.integers(0, max(self.shape) + 1))

    def expected(self):
        """What the fields hold after the kernel."""
        given, active, parameter = self.data()
        fields = {name: np.pad(values, MARGIN) for name, values in given.items()}
        for loop in self.loops:
            ranges = [np.arange(low, high) for low, high in (loop.box if not loop.is_dynamic else self._called(loop))]
            parts = [list(np.ix_(*ranges))]
            if loop.is_ordered:
                parts = [[one[k : k + 1] for one, k in zip(ranges, at)] for at in np.ndindex(*map(len, ranges))]
            for places in parts:
                state = State(fields, np.ix_(*map(np.ravel, places)), parameter, None)
                state.mask = (
                    active[tuple(state.places)].copy()
                    if self.is_sparse
                    else np.ones(tuple(np.size(place) for place in places), bool)
                )
                with np.errstate(all="ignore"):
                    for one in loop.body:
                        one.run(self, state)
        return {name: values[(slice(MARGIN, -MARGIN),) * len(self.shape)] for name, values in fields.items()}

    def _called(self, loop):
        """Its bounds; those of the first loop with such are the kernel's arguments."""
        return [*loop.box[:-1], self.bounds]

    @property
    def bounds(self):
        """The kernel's arguments `low` and `high`: inside of all loops that have them as bounds."""
        boxes = [loop.box[-1] for loop in self.loops if loop.is_dynamic] or [(0, 1)]
        return max(low for low, _ in boxes), min(high for _, high in boxes)

    def run(self, contexts) -> tuple[str | None, bool]:
        """(what differs from NumPy or None, whether a loop was seen to be on planes of bits)."""
        want, is_sliced = self.expected(), False
        given, active, parameter = self.data()
        for context in contexts:
            file = f"<automaton {self.seed}>"
            attach_source(file, self.text())
            made = {"mt": mt}
            exec(compile(self.text(), file, "exec"), made)
            for name, values in given.items():
                for at in np.argwhere(active)[:: self.cell[-1]] if self.is_sparse else ():
                    made[name][tuple(at.tolist())] = 0  # activates a row of a block
                made[name].from_numpy(values)
            with context:
                made["run"](parameter, *self.bounds)
            is_sliced = is_sliced or SLICED in str(made["run"].report())
            for name, values in want.items():
                wrong = made[name].to_numpy() != values
                if wrong.any():
                    at = tuple(np.argwhere(wrong)[0].tolist())
                    text = f"{name}{list(at)}: {values[at]} and {made[name].to_numpy()[at]} ({wrong.sum()} differ)"
                    return f"{text}, opt_level {context.options.opt_level}", is_sliced
        return None, is_sliced
