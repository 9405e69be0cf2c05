"""Random expressions of a wanted type, from the rows of the table and from what is in scope.

Two flavours of floating point keep results determined. "ieee": any value, no fused multiply-add. "whole":
whole numbers that every intermediate result represents exactly, so that neither fusing nor the order of
a sum can change a bit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from . import numbers as n
from . import table
from .program import Expr
from .rules import Type

WHOLE = 8  # bound of the whole numbers that data and variables hold
SHAPES = ((), (), (), (), (), (), (), (2,), (2,), (3,), (2, 2), (2, 3))


@dataclass
class Source:
    """Something in scope that gives a value: a variable, an argument, an element of an array, a cell."""

    type: Type
    kernel: str
    twin: str
    kids: list = field(default_factory=list)
    signless: bool = False
    is_variable: bool = False  # may be assigned
    index: tuple[int, int] | None = None  # a loop's variable: its least and its greatest value
    counts: tuple = ()
    is_fixed: bool = False  # a value that the kernel is called with


class Scope:
    """What can be named: grows within a block, shrinks after it. Functions that make sources join as well."""

    def __init__(self):
        self.sources: list[Source] = []
        self.structs: list = []  # (name, members, sources before it): variables that are structs
        self.makers: list = []  # (type, () -> Source or None): elements at random places

    def of(self, type_):
        return [s for s in self.sources if s.type == type_]

    def variables(self):
        return [s for s in self.sources if s.is_variable]


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def _is_constant(expr: Expr) -> bool:
    """Names no variable: of a twin's names only functions are left."""
    return all("__" in name or name in ("each", "replaced", "at") for name in _NAME.findall(expr.twin_text()))


class Expressions:
    """Writes expressions; `rng` is a random.Random, `wanted` the columns that coverage still misses."""

    def __init__(self, rng, is_whole: bool, wanted=None):
        self.rng = rng
        self.is_whole = is_whole
        self.wanted = wanted
        self.scope = Scope()
        self.level = "array"
        self.nesting = 0
        self.ops = [op for op in table.OPS if self._is_usable(op)]

    def _is_usable(self, op):
        return not self.is_whole or op.whole is not None or not set(op.counts) <= set(table.FLOATS)

    # -- constants ------------------------------------------------------------------------------------------

    def constant(self, type_: Type, is_literal=True) -> Expr:
        if type_.shape and self.rng.random() < 0.08:
            return self.special(type_)
        if type_.shape:
            return self.composed(type_, [self.constant(Type(type_.scalar), is_literal) for _ in range(type_.count)])
        scalar, rng = type_.scalar, self.rng
        if scalar == "u1":
            value = rng.randrange(2)
            return Expr(type_, f"mt.u1({value})", str(value))
        if scalar in table.INTEGERS:
            return self._integer(type_, self._some_integer(scalar), is_literal)
        if self.is_whole:
            value = float(rng.randint(-WHOLE, WHOLE)) + 0.0
            if value == 0:
                value = 0.0
        else:
            value = n.ROUND[scalar](rng.choice((0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 0.1, 1e-3, 7.25, -1234.5, 1e-7, 3e4, 255.0)))
        text = repr(value)
        bare = scalar == "f32" and is_literal and rng.random() < 0.6
        kernel = (text if value >= 0 else f"({text})") if bare else f"mt.{scalar}({text})"
        bound = WHOLE if self.is_whole else None
        return Expr(type_, kernel, text if value >= 0 else f"({text})", bound=bound, is_literal=bare)

    def _some_integer(self, scalar):
        low, high = n.limits(scalar)
        kind = self.rng.random()
        if kind < 0.55:
            return max(low, self.rng.randint(-9, 17))
        if kind < 0.75:
            return self.rng.choice((low, high, low + 1, high - 1, high // 2, high // 3))
        return self.rng.randint(low, high)

    def _integer(self, type_, value, is_literal):
        fits = -128 <= value < 128  # places of all types take it
        bare = type_.scalar == "i32" and is_literal and fits and self.rng.random() < 0.7
        text = str(value) if value >= 0 else f"({value})"
        return Expr(type_, text if bare else f"mt.{type_.scalar}({value})", text, is_literal=bare)

    def special(self, type_) -> Expr:
        """All 0, all 1, a unit vector or the identity."""
        s, shape = type_
        sizes = ", ".join(map(str, shape))
        kind = "Matrix" if len(shape) > 1 else "Vector"
        zero, one = ("0.0", "1.0") if n.is_float(s) else ("0", "1")
        k = self.rng.randrange(shape[0])
        choices = {
            f"mt.{kind}.zero(mt.{s}, {sizes})": [zero] * type_.count,
            f"mt.{kind}.one(mt.{s}, {sizes})": [one] * type_.count,
        }
        if len(shape) == 1:
            choices[f"mt.Vector.unit({shape[0]}, {k}, mt.{s})"] = [one if j == k else zero for j in range(shape[0])]
        elif shape[0] == shape[1]:
            choices[f"mt.Matrix.identity(mt.{s}, {shape[0]})"] = [
                one if k % (shape[0] + 1) == 0 else zero for k in range(type_.count)
            ]
        kernel = self.rng.choice(list(choices))
        return Expr(type_, kernel, f"({', '.join(choices[kernel])},)", bound=1 if self.is_whole else None)

    def composed(self, type_, parts) -> Expr:
        """A vector or matrix of scalar expressions of its scalar type."""
        holes = [f"{{{k}}}" for k in range(type_.count)]
        if len(type_.shape) == 1:
            listed = f"[{', '.join(holes)}]"
            kernel = self.rng.choice((f"mt.Vector({listed}, mt.{type_.scalar})", f"{type_.text}({', '.join(holes)})"))
        else:
            columns = type_.shape[1]
            rows = [f"[{', '.join(holes[k : k + columns])}]" for k in range(0, type_.count, columns)]
            kernel = self.rng.choice((f"mt.Matrix([{', '.join(rows)}], mt.{type_.scalar})", f"{type_.text}({', '.join(rows)})"))
        counts = (("matrix of" if len(type_.shape) > 1 else "vector of", type_.scalar),)
        return self._with_flags(Expr(type_, kernel, f"({', '.join(holes)},)", parts, counts=counts), None)

    # -- leaves ---------------------------------------------------------------------------------------------

    def read(self, source: Source) -> Expr:
        bound = WHOLE if self.is_whole and n.is_float(source.type.scalar) else None
        return Expr(source.type, source.kernel, source.twin, list(source.kids), 0, source.signless, bound, counts=source.counts)

    def leaf(self, type_: Type) -> Expr:
        rng = self.rng
        kind = rng.random()
        fitting = self.scope.of(type_)
        if fitting and kind < 0.55:
            return self.read(rng.choice(fitting))
        if self.nesting < 2 and kind < 0.9:
            makers = [make for made, make in self.scope.makers if made == type_]
            self.nesting += 1  # an element's indices may be elements, whose indices may not
            source = rng.choice(makers)() if makers else None
            self.nesting -= 1
            if source is not None:
                return self.read(source)
        if not type_.shape and kind < 0.9:
            part = self._component_leaf(type_)
            if part is not None:
                return part
        if kind < 0.95:
            return self._converted_leaf(type_)
        return self.constant(type_)

    def _component_leaf(self, type_):
        """A component of a vector or matrix in scope."""
        whole = [s for s in self.scope.sources if s.type.shape and s.type.scalar == type_.scalar]
        return self.component(self.read(self.rng.choice(whole))) if whole else None

    def component(self, whole: Expr) -> Expr:
        shape = whole.type.shape
        if len(shape) == 2:
            row, column = (self.rng.randrange(k) for k in shape)
            kernel, twin, name = f"{{0}}[{row}, {column}]", f"{{0}}[{row * shape[1] + column}]", "m[i, j]"
        else:
            k = self.rng.randrange(shape[0])
            spelling = self.rng.choice((f"[{k}]", "." + "xyzw"[k], "." + "rgba"[k]))
            kernel, twin, name = "{0}" + spelling, f"{{0}}[{k}]", "v[i]"
            if self.rng.random() < 0.25:
                return self._chosen_component(whole)
        made = Expr(Type(whole.type.scalar), kernel, twin, [whole], counts=((name, whole.type.scalar),))
        return self._with_flags(made, None)

    def _chosen_component(self, whole):
        """A component whose number is known at run time only."""
        index = Expr(Type("i32"), "({0} & 1)", "({0} & 1)", [self.leaf(Type("i32"))])
        made = Expr(Type(whole.type.scalar), "{0}[{1}]", "{0}[{1}]", [whole, index], counts=(("v[run time]", whole.type.scalar),))
        return self._with_flags(made, None)

    def _converted_leaf(self, type_):
        """A value in scope of another type, cast."""
        same = [s for s in self.scope.sources if s.type.shape == type_.shape and s.type.scalar != type_.scalar]
        makers = [make for made, make in self.scope.makers if made.shape == type_.shape and self.nesting < 2]
        source = None
        if makers and self.rng.random() < 0.7:
            self.nesting += 1
            source = self.rng.choice(makers)()
            self.nesting -= 1
        if source is None and same:
            source = self.rng.choice(same)
        if source is None:
            return self.constant(type_)
        source = self.read(source)
        return self.cast(source, type_.scalar) or self.constant(type_)

    def cast(self, value: Expr, scalar: str) -> Expr | None:
        """The row of casts, applied to an expression."""
        source, target = value.type.scalar, value.type.of(scalar)
        if self.is_whole and n.is_float(scalar):
            if source in table.INTEGERS:
                value = self.masked(value)
            elif source != "u1" and not self._is_exact(value.bound, scalar):
                return None
        op = table.BY_NAME["cast"]
        for _ in range(40):
            use = table.casting(target, self.rng)
            if use.operands[0] == value.type:
                return self.apply(op, use, target, [value])
        return None

    def masked(self, value: Expr) -> Expr:
        """An integer from 0 to 7."""
        hole = f"({{0}} & mt.{value.type.scalar}(7))"
        twin = "each(and__{0}, {{0}}, {1})" if value.type.shape else "({{0}} & 7)"
        twin = twin.format(value.type.scalar, (7,) * value.type.count)
        return Expr(value.type, hole, twin, [value], bound=WHOLE)

    # -- operations -----------------------------------------------------------------------------------------

    def expr(self, type_: Type, depth: int = 3) -> Expr:
        """An expression of exactly this type, every operation of which is exact."""
        if depth <= 0 or self.rng.random() < 0.15:
            return self.leaf(type_)
        for attempt in range(8 if self.wanted is None else 12):
            op = self.rng.choice(self.ops)
            use = op.rule(type_, self.rng)
            if use is not None and (attempt > 7 or self._is_wanted(op, use)):
                made = self.operation(op, use, type_, depth - 1)
                if made is not None:
                    return made
        return self.leaf(type_)

    def operation(self, op, use, type_, depth) -> Expr | None:
        """The operation with operands of their own; None if it cannot stand here."""
        kids = [self.expr(operand, depth) for operand in use.operands]
        if kids and all(k.is_literal for k in kids):  # Python's own operation, exact, and of no type yet
            kids[0] = self.constant(use.operands[0], is_literal=False)
        if op.name == "bit_cast" and n.is_float(type_.scalar) and _is_constant(kids[0]):
            return None  # a signalling NaN of a constant: what min and max make of it depends on who folds them (semantics 1.8)
        if op.name == "cast" and self.is_whole and n.is_float(type_.scalar) and kids[0].type.scalar in table.INTEGERS:
            kids[0] = self.masked(kids[0])
        for k in op.signs:
            if kids[k].signless:
                kids[k] = self.constant(use.operands[k], is_literal=False)
        return self.apply(op, use, type_, kids)

    def apply(self, op, use, type_, kids) -> Expr | None:
        """The expression; None when a whole number would not stay one."""
        kids = [self.constant(kid.type, False) if kid.is_literal and k in op.typed else kid for k, kid in enumerate(kids)]
        bound = None
        if self.is_whole:
            floats = [k.bound for k in kids if n.is_float(k.type.scalar)]
            mixed = [k.bound if k.bound is not None else WHOLE for k in kids]
            if n.is_float(type_.scalar) or floats:
                if op.whole is None or any(f is None for f in floats):
                    return None
                if any(
                    len(path) and n.is_float(path[-1]) and k.type.scalar in table.INTEGERS for path, k in zip(use.paths, kids)
                ):
                    kids = [
                        self.masked(k) if k.type.scalar in table.INTEGERS and path and n.is_float(path[-1]) else k
                        for path, k in zip(use.paths, kids)
                    ]
                bound = op.whole(*mixed)
                widest = [path[-1] for path in use.paths if path and n.is_float(path[-1])]
                if not all(self._is_exact(bound, s) for s in (type_.scalar, *widest) if n.is_float(s)):
                    return None
                bound = bound if n.is_float(type_.scalar) else None
        kernel = (use.text or self.rng.choice(op.texts)).replace("{t}", f"mt.{type_.scalar}")
        twin = self._twin(op, use, type_, kernel)
        made = Expr(type_, kernel, twin, kids, bound=bound, counts=((op.name, use.counted.label),))
        return self._with_flags(made, op)

    @staticmethod
    def _is_exact(bound, scalar):
        return bound is not None and bound <= 2.0 ** n.FLOATS[scalar]

    def _with_flags(self, made: Expr, op) -> Expr:
        floats = [kid for kid in made.kids if n.is_float(kid.type.scalar)]
        if n.is_float(made.type.scalar):
            made.signless = any(kid.signless for kid in floats) or (op is not None and op.signless)
            if op is None and self.is_whole:
                made.bound = max((kid.bound or WHOLE for kid in floats), default=WHOLE)
        return made

    def _twin(self, op, use, type_, kernel) -> str:
        holes = [self._converted(k, operand, path) for k, (operand, path) in enumerate(zip(use.operands, use.paths))]
        if use.twin == "chain":
            first, second = ("lt", "le") if "<" in kernel else ("ge", "ne")
            scalar = use.operands[0].scalar
            return f"int({first}__{scalar}({{0}}, {{1}}) and {second}__{scalar}({{1}}, {{2}}))"
        if use.twin == "if":
            return f"({holes[1]} if {{0}} else {holes[2]})"
        if use.twin in ("and", "or"):
            return f"({holes[0]} {use.twin} {holes[1]})"
        if not use.twin:
            return holes[0]
        if self._is_componentwise(op, use, type_):
            holes = [hole if operand.shape else f"({hole},) * {type_.count}" for hole, operand in zip(holes, use.operands)]
            return f"each({use.twin}, {', '.join(holes)})"
        return f"{use.twin}({', '.join(holes)})"

    @staticmethod
    def _is_componentwise(op, use, type_):
        whole = ("normalized(eps)", "@", "transpose", "inverse", "normalized", "cross", "outer_product")
        return bool(type_.shape) and op.name not in whole and not op.name.startswith("math.")

    @staticmethod
    def _converted(k, operand, path) -> str:
        """Operand number k, cast along a path of scalar types."""
        text, source = f"{{{k}}}", operand.scalar
        for target in path:
            if n.cast(source, target) is not None:
                name = f"cast__{source}__{target}"
                text = f"each({name}, {text})" if operand.shape else f"{name}({text})"
            source = target
        return text

    # -- what coverage misses ---------------------------------------------------------------------------------

    def missing(self, depth=2) -> Expr | None:
        """An expression whose outermost operation fills a gap of the coverage at this level."""
        if self.wanted is None:
            return None
        for _ in range(12):
            gap = self.wanted.pick(self.level, self.rng)
            if gap is None:
                return None
            op = table.BY_NAME.get(gap[0])
            if op is None or not self._is_usable(op):
                continue
            made = self._with_column(op, gap[1], depth)
            if made is not None:
                return made
        return None

    def _is_wanted(self, op, use) -> bool:
        """Does the operation fill a gap of the coverage, as far as gaps are looked for?"""
        if self.wanted is None:
            return True
        is_new = self.wanted.is_new(op.name, use.counted.label, self.level)
        if is_new:
            self.wanted.tried.add((op.name, use.counted.label, self.level))
        return is_new

    def _with_column(self, op, column, depth):
        scalar = column.split()[-1]
        shapes = {"vector": ((2,), (3,)), "matrix": ((2, 2), (2, 3), (3, 3))}.get(column.split()[0], ((),))
        known = self.wanted.types.get((op.name, column))
        for _ in range(60):
            shape = self.rng.choice((*shapes, *shapes, (), (2, 2), (3,), (4, 4)))
            type_ = Type(self.rng.choice((scalar, scalar, "u1", "i32", "f32", *table.ALL)), shape)
            type_ = known if known is not None and self.rng.random() < 0.7 else type_
            if op.name == "bit_cast of a float":
                type_ = Type(f"{self.rng.choice('iu')}{n.bits_of(scalar)}")
            use = op.rule(type_, self.rng)
            if use is not None and use.counted.label == column:
                self.wanted.types[op.name, column] = type_
                return self.operation(op, use, type_, depth)
        return None

    def fixed_condition(self) -> Expr | None:
        """A condition on the kernel's own values: the same in every iteration."""
        scope, fixed = self.scope, [s for s in self.scope.sources if s.is_fixed]
        if not fixed:
            return None
        self.scope = Scope()
        self.scope.sources = fixed
        value = self.read(self.rng.choice([s for s in fixed if not s.type.shape] or fixed))
        made = self.condition(1) if value.type.shape or value.type.scalar != "u1" else value
        self.scope = scope
        return made

    def condition(self, depth=2) -> Expr:
        """A u1 expression that depends on something at run time."""
        if self.scope.makers and self.rng.random() < 0.15:
            made = self.fixed_condition()
            if made is not None:
                return made
        for _ in range(10):
            made = self.expr(Type("u1"), depth)
            if any(not part.kids and any(c.isalpha() for c in part.kernel) for part in made.walk()):
                return made
        return self.constant(Type("u1"))

    def index(self, extent: int) -> Expr:
        """An i32 from 0 to extent - 1."""
        exact = [s for s in self.scope.sources if s.index and 0 <= s.index[0] and s.index[1] < extent]
        if exact and self.rng.random() < 0.6:
            return self.read(self.rng.choice(exact))
        if extent == 1 or self.rng.random() < 0.1:
            value = self.rng.randrange(extent)
            return Expr(Type("i32"), str(value), str(value))
        inner = self.leaf(Type("i32"))
        if inner.is_literal:
            inner = self.constant(Type("i32"), is_literal=False)
        return Expr(Type("i32"), f"({{0}} % {extent})", f"({{0}} % {extent})", [inner])
