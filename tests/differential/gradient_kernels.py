"""Random kernels over arrays that have derivatives: all forms of loops, conditions, functions, vectors, atomics.

Text of a Python module with a kernel `k`, from a seed. Values stay small, for differences are taken. What a kernel writes it
reads now and then: where a value is needed again, the pass refuses.
"""

from __future__ import annotations

import importlib.util
import pathlib
import random

import numpy as np

SIZE = 8
ARRAYS = ("x", "p", "y", "z", "q")  # the first two are only read
HEAD = """import metate as mt
A = mt.types.ndarray(dtype=mt.f64, ndim=1)
I = mt.types.ndarray(dtype=mt.i32, ndim=1)


@mt.func
def fn0(a, b):
    return a * mt.sin(b)


@mt.func
def fn1(a, b):
    c = a
    if b > a:
        c = b * a
    return c + b


@mt.func
def fn2(a, b):
    c = a
    for t in range(3):
        c = mt.sin(c * b) + a
    return c


@mt.func
def fn3(a, b, c):
    U, S, V = mt.svd(mt.Matrix([[2.5 + mt.sin(a), mt.sin(b)], [mt.cos(c), 1.4]]))
    return U[0, 0] * V[0, 0] * S[0, 0] + (U @ V.transpose())[0, 1] + S[1, 1]


@mt.func
def fn4(a, b, c):
    R, S = mt.polar_decompose(mt.Matrix([[2.5 + mt.sin(a), mt.sin(b)], [mt.cos(c), 1.4]]))
    return R[0, 1] * S[0, 0] + S[0, 1]


@mt.kernel
def k(x: A, p: A, y: A, z: A, q: A, idx: I, n: mt.i32):
"""
EXPRESSIONS = (  # {0}, {1}, ...: further expressions
    *("({0} + {1})",) * 6,
    *("({0} - {1})",) * 3,
    *("({0} * {1})",) * 5,
    "({0} / (mt.abs({1}) + 0.7))",
    "mt.sin({0})",
    "mt.cos({0})",
    "mt.tanh({0})",
    "mt.atan2({0}, 1.3 + mt.abs({1}))",
    "mt.min({0}, {1})",
    "mt.max({0}, {1})",
    "mt.sqrt(mt.abs({0}) + 0.2)",
    "mt.exp(-mt.abs({0}))",
    "mt.log(mt.abs({0}) + 0.5)",
    "mt.select({0} > {1}, {2}, {3})",
    "(mt.abs({0}) + 0.3) ** 2",
    "(mt.abs({0}) + 0.3) ** 1.5",
    "(mt.abs({0}) + 0.3) ** {1}",
    "({0} % 1.7)",
    "mt.asin(0.7 * mt.sin({0}))",
    "(mt.floor({0}) * {1})",
    "mt.Vector([{0}, {1}]).dot(mt.Vector([{2}, {3}]))",
    "mt.Vector([{0}, {1}])[{i} % 2]",
    "fn0({0}, {1})",
    "fn1({0}, {1})",
    "fn2({0}, {1})",
    "({0} if {1} > {2} else {3})",
    "mt.Matrix([[{0}, {1}], [{2}, 1.0]]).determinant()",
)
COMBINED = {  # how an array is written -> the statement, and what it is given
    "least": ("mt.atomic_min({place}, {value})", ("{0}", "-{0}", "mt.sin({0})", "({0} - {1})", "({0} * {1})")),
    "greatest": ("mt.atomic_max({place}, {value})", ("{0}", "mt.abs({0})", "mt.cos({0})", "({0} / (mt.abs({1}) + 0.7))")),
    "product": ("{place} *= {value}", ("(1.0 + 0.15 * mt.sin({2}))", "0.9", "(1.1 - 0.1 * {0} * {1})")),
}
SMALL = ("mt.sin({0})", "0.5 * ({0})", "mt.tanh({0})", "{0}", "mt.cos({0})")


class Scope:
    """What an expression may name."""

    def __init__(self, floats=(), integers=(), variables=(), reads=(), writes=(), own=""):
        self.floats, self.integers, self.variables = list(floats), list(integers), list(variables)
        self.reads, self.writes, self.own = reads, writes, own  # writes: (array, how); own: the loop's variable

    def inner(self, *integers):
        return Scope(self.floats, [*self.integers, *integers], self.variables, self.reads, self.writes, self.own)


class Writer:
    """Writes one kernel over arrays; a subclass says what else its places and loops are."""

    constant, written, indices = ARRAYS[:2], ARRAYS[2:], "idx"
    expressions = EXPRESSIONS

    def __init__(self, seed):
        self.random, self.lines, self.count = random.Random(seed), [], 0
        self.combined = {"q": self.random.choice([*COMBINED])} if self.random.random() < 0.4 else {}
        self.was_read = set()  # places that a later write would make stale

    def element(self, place, at, scope):
        """The text of a number in a place: here of an array's element."""
        return f"{place}[{at}]"

    def read(self, scope):
        place = self.random.choice(scope.reads)
        self.was_read.add(place)
        return self.element(place, self.index(scope), scope)

    def kernel(self):
        self.statements()
        return HEAD + "\n".join(self.lines) + "\n"

    def statements(self):
        top, loops = Scope(reads=self.constant), self.random.randrange(1, 4)
        for _ in range(self.random.randrange(3)):
            self.define(1, top, 2, keeps=False)
        summed = self.random.randrange(loops) if self.random.random() < 0.25 else None
        if summed is not None:
            self.emit(1, f"total = {self.expression(1, top)}")
        for number in range(loops):
            self.loop(top, f"i{number}", number == summed)
            if self.random.random() < 0.3:
                self.define(1, top, 2, keeps=False)
            if number == summed:
                top.floats.append("total")
        if self.random.random() < 0.2:
            self.emit(1, f"{self.element(self.written[0], self.random.randrange(SIZE), top)} += {self.expression(2, top)}")

    def emit(self, depth, text):
        self.lines.append("    " * depth + text)

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def index(self, scope):
        pick, integer = self.random.randrange(4), self.random.choice([*scope.integers, "n"])
        if pick == 0:
            return str(self.random.randrange(SIZE))
        if pick == 1:
            return f"{integer} % {SIZE}"
        if pick == 2:
            return f"({integer} * {self.random.randrange(1, 5)} + {self.random.randrange(5)}) % {SIZE}"
        return f"{self.indices}[({integer} + {self.random.randrange(8)}) % {SIZE}]"

    def expression(self, depth, scope):
        if depth <= 0 or self.random.random() < 0.15:
            pick = self.random.random()
            if pick < 0.5 and scope.floats:
                return self.random.choice(scope.floats)
            if pick < 0.85:
                return self.read(scope)
            if pick < 0.92 and scope.integers:
                return f"({self.random.choice(scope.integers)} * 0.25)"
            return f"{self.random.uniform(-2, 2):.3f}"
        parts = [self.expression(depth - 1, scope) for _ in range(4)]
        return self.random.choice(self.expressions).format(*parts, i=self.random.choice([*scope.integers, "n"]))

    def small(self, depth, scope):
        return self.random.choice(SMALL).format(self.expression(depth, scope))

    def condition(self, scope):
        pick = self.random.randrange(4)
        if pick == 0 and scope.integers:
            return f"{self.random.choice(scope.integers)} % {self.random.randrange(2, 4)} == {self.random.randrange(2)}"
        first = f"{self.expression(1, scope)} > {self.random.uniform(-1, 1.5):.2f}"
        return f"{first} and {self.expression(1, scope)} < {self.random.uniform(0, 2):.2f}" if pick == 1 else first

    def define(self, depth, scope, size, keeps=True):
        name = self.name("v")
        self.emit(depth, f"{name} = {self.small(size, scope)}")
        scope.floats.append(name)
        if keeps:
            scope.variables.append(name)

    def loop(self, top, variable, sums):
        serial = self.random.random() < 0.2
        writes, reads = [], list(self.constant)
        for array in self.written:
            role = self.random.choice(["own", "any" if serial else "sum", "own", "read", "none", "none"])
            if array in self.combined:  # and nothing else: what is added or read in between would be refused
                role = self.random.choice([self.combined[array], "none"])
            elif role not in ("read", "none") and array in self.was_read and self.random.random() < 0.6:
                role = "read"  # else many kernels would be refused
            if role == "read":
                reads.append(array)
            elif role != "none":
                writes.append((array, role))
        if not writes:
            array = next((one for one in self.written if one not in self.was_read), self.written[0])
            writes, reads = [(array, "own")], [one for one in reads if one != array]
        if serial:
            self.emit(1, "mt.loop_config(serialize=True)")
        self.head(variable, serial)
        scope = Scope(top.floats, [variable], [], reads, writes, variable)
        owned = [array for array, how in writes if how == "own"]
        if owned and self.random.random() < 0.1:
            name = self.name("v")
            self.emit(2, f"{name} = {self.element(self.random.choice(owned), variable, scope)}")
            scope.floats.append(name)
            scope.variables.append(name)
        if self.random.random() < 0.15:  # not in inner loops, whose reverse is written several times
            self.decompose(2, scope)
        self.block(2, scope, 3, 5, False)
        if sums:
            self.emit(2, f"total {self.random.choice(['+=', '-='])} {self.expression(2, scope)}")
        self.write(2, scope)

    def head(self, variable, serial):
        """The first lines of a loop over all elements."""
        over = self.random.choice([f"range({SIZE})", "range(x.shape[0])", "mt.ndrange(x.shape[0])"])
        self.emit(1, f"for {variable} in {over}:")

    def write(self, depth, scope):
        array, how = self.random.choice(scope.writes)
        at = scope.own if how == "own" else self.index(scope)
        if how in COMBINED:
            return self.combine(depth, scope, array, how)
        operation = "+=" if how == "sum" else self.random.choice(["=", "+=", "+=", "-="])
        self.emit(depth, f"{self.element(array, at, scope)} {operation} {self.small(3, scope)}")

    def decompose(self, depth, scope):
        """A function that has a derivative of its own."""
        name, parts = self.name("v"), [self.expression(1, scope) for _ in range(3)]
        self.emit(depth, f"{name} = {self.random.choice(['fn3', 'fn4'])}({', '.join(parts)})")
        scope.floats.append(name)
        scope.variables.append(name)

    def combine(self, depth, scope, array, how):
        """A minimum, maximum or product; what is compared is the same number when it is computed again."""
        statement, values = COMBINED[how]
        reads = [f"{self.random.choice(scope.reads)}[{self.index(scope)}]" for _ in range(2)]
        value = self.random.choice(values).format(*reads, self.expression(2, scope))
        self.emit(depth, statement.format(place=f"{array}[{self.index(scope)}]", value=value))

    def block(self, depth, outer, nesting, most, in_loop):
        scope = outer.inner()
        for _ in range(self.random.randrange(1, most + 1)):
            pick = self.random.random()
            if pick < 0.25:
                self.define(depth, scope, 3)
            elif pick < 0.45 and scope.variables:
                operation = self.random.choice(["=", "=", "+=", "*=", "-="])
                self.emit(depth, f"{self.random.choice(scope.variables)} {operation} mt.sin({self.expression(2, scope)})")
            elif pick < 0.5 and len(scope.variables) > 1:
                a, b = self.random.sample(scope.variables, 2)
                self.emit(depth, f"{a}, {b} = {b}, {self.random.choice([a, self.small(1, scope)])}")
            elif pick < 0.6:
                self.write(depth, scope)
            elif pick < 0.75 and nesting:
                self.emit(depth, f"if {self.condition(scope)}:")
                self.block(depth + 1, scope, nesting - 1, 3, in_loop)
                if self.random.random() < 0.5:
                    self.emit(depth, "else:")
                    self.block(depth + 1, scope, nesting - 1, 3, in_loop)
            elif pick < 0.92 and nesting:
                self.inner_loop(depth, scope, nesting, in_loop)
            elif in_loop and self.random.random() < 0.4:
                self.emit(depth, f"if {self.condition(scope)}:")
                self.emit(depth + 1, self.random.choice(["break", "continue"]))
            else:
                self.define(depth, scope, 3)

    def inner_loop(self, depth, scope, nesting, in_loop):
        name, kind = self.name("k"), self.random.randrange(5)
        if not in_loop and self.random.random() < 0.06:  # more turns than are kept
            self.emit(depth, f"for {name} in range(n * 150 + 900):")
            return self.block(depth + 1, scope.inner(name), 0, 2, True)
        integer = self.random.choice([*scope.integers, "n"])
        if kind == 0:
            self.emit(depth, f"for {name} in range({self.random.choice(['n', '3', 'n + 2', '5', 'n * 11'])}):")
        elif kind == 1:
            self.emit(depth, f"for {name} in range({integer} % 5, n % 7):")
        elif kind == 2:
            self.emit(depth, f"for {name} in mt.static(range({self.random.randrange(1, 4)})):")
        else:
            self.emit(depth, f"{name} = 0")
            test = f" and {self.condition(scope)}" if self.random.random() < 0.6 else ""
            self.emit(depth, f"while {name} < {self.random.choice(['n', '4', '9'])}{test}:")
            self.emit(depth + 1, f"{name} += 1")
        inner = scope.inner(name)
        if kind != 2 and self.random.random() < 0.25:
            self.emit(depth + 1, f"if {self.condition(inner)}:")
            self.emit(depth + 2, self.random.choice(["break", "continue"]))
        self.block(depth + 1, inner, nesting - 1, 3, kind != 2)


def load(text, path: pathlib.Path):
    """The kernel; its module stays in the file, where the front end reads it."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.k


def arguments(rng):
    arrays = [rng.uniform(-1.5, 1.5, SIZE) for _ in ARRAYS]
    return [*arrays, rng.integers(0, SIZE, SIZE).astype(np.int32), int(rng.integers(0, 9))]
