"""Random programs: the same source run by Python on wrapping integers and as a kernel must agree.

The programs are functions of three i32 arguments with nested branches, loops, break, continue and early
returns; what a variable may hold is wide enough to wrap.
"""

import re

import numpy as np
import pytest

import metate as ti
from metate.frontend.source import attach_source

PROGRAMS = 12
INPUTS = 40


class Wrapping(int):
    """A 32-bit integer with the kernel language's arithmetic."""

    def __new__(cls, value):
        return super().__new__(cls, (int(value) + 2**31) % 2**32 - 2**31)


def _operator(name):
    def apply(self, other):
        if name in ("__floordiv__", "__mod__") and int(other) == 0:
            return Wrapping(0)
        return Wrapping(getattr(int, name)(self, int(other)))

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor"):
    setattr(Wrapping, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Wrapping, f"__r{_name}__", lambda self, other, n=f"__{_name}__": getattr(Wrapping(other), n)(self))
Wrapping.__neg__ = lambda self: Wrapping(-int(self))
Wrapping.__invert__ = lambda self: Wrapping(~int(self))


class Generator:
    """Writes the body of one function, line by line."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.loops = 0
        self.count = 0

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def expression(self, depth=0):
        """Literals are marked W(...): Python's version wraps them, the kernel's has the plain number."""
        if depth > 2 or self.rng.random() < 0.3:
            return self.pick("a", "b", "c", "d", "e", f"W({self.rng.integers(-9, 100)})", f"W({self.rng.integers(0, 2**31 - 1)})")
        if self.rng.random() < 0.1:
            return f"({self.expression(depth + 1)} if {self.condition(depth + 1)} else {self.expression(depth + 1)})"
        if self.rng.random() < 0.1:
            return self.pick("-", "~") + f"({self.expression(depth + 1)})"
        op = self.pick("+", "-", "*", "//", "%", "&", "|", "^")
        return f"({self.expression(depth + 1)} {op} {self.expression(depth + 1)})"

    def condition(self, depth=0):
        kind = self.rng.random()
        if depth < 2 and kind < 0.3:
            return f"({self.condition(depth + 1)} {self.pick('and', 'or')} {self.condition(depth + 1)})"
        if kind < 0.4:
            return f"not {self.condition(depth + 1)}" if depth < 2 else "a == b"
        if kind < 0.5:
            return f"{self.expression(2)} < {self.expression(2)} <= {self.expression(2)}"
        return f"{self.expression(1)} {self.pick('<', '<=', '==', '!=', '>', '>=')} {self.expression(1)}"

    def block(self, indent, depth, in_loop):
        for _ in range(self.rng.integers(1, 4)):
            self.statement(indent, depth, in_loop)

    def statement(self, indent, depth, in_loop):
        pad = "    " * indent
        kind = self.rng.random()
        name = self.pick("a", "b", "c", "d", "e")
        if depth >= 3 or kind < 0.35:
            op = self.pick("=", "=", "+=", "-=", "*=", "//=", "%=", "^=")
            self.lines.append(f"{pad}{name} {op} {self.expression()}")
        elif kind < 0.42:
            # Two different targets: CPython 3.11 itself assigns `a, a = x, y` in the wrong order.
            self.lines.append(f"{pad}{self.pick('b', 'c', 'd', 'e')}, a = a, {self.expression()}")
        elif kind < 0.65:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.block(indent + 1, depth + 1, in_loop)
            if self.rng.random() < 0.5:
                self.lines.append(f"{pad}elif {self.condition()}:")
                self.block(indent + 1, depth + 1, in_loop)
            if self.rng.random() < 0.5:
                self.lines.append(f"{pad}else:")
                self.block(indent + 1, depth + 1, in_loop)
        elif kind < 0.78:
            self.count += 1
            step = self.pick("", "", f", {self.pick(-3, -1, 2)}")
            self.lines.append(f"{pad}for i{self.count} in range({self.rng.integers(-2, 3)}, {self.rng.integers(0, 7)}{step}):")
            self.lines.append(f"{pad}    d += i{self.count}")
            self.block(indent + 1, depth + 1, True)
        elif kind < 0.88:
            self.count += 1
            counter = f"n{self.count}"
            self.lines += [f"{pad}{counter} = W(0)", f"{pad}while {counter} < {self.rng.integers(0, 6)} and {self.condition()}:"]
            self.lines.append(f"{pad}    {counter} += 1")
            self.block(indent + 1, depth + 1, True)
        elif kind < 0.95 and in_loop:
            self.lines += [f"{pad}if {self.condition()}:", f"{pad}    {self.pick('break', 'continue')}"]
        else:
            self.lines += [f"{pad}if {self.condition()}:", f"{pad}    return {self.expression()}"]

    def function(self):
        self.lines = ["def f(a, b, c):", "    d = a * W(3)", "    e = b - c"]
        self.block(1, 0, False)
        self.block(1, 0, False)
        self.lines.append("    return a + b * W(3) + c * W(5) + d * W(7) + e * W(11)")
        return "\n".join(self.lines) + "\n"


@pytest.mark.parametrize("number", range(PROGRAMS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_random_program(rng, number):
    marked = Generator(rng).function()
    text = re.sub(r"W\((-?\d+)\)", r"\1", marked)
    print(text)
    file = f"<random program {number} {rng.integers(2**62)}>"
    attach_source(file, text)
    python, kernels = {"W": Wrapping}, {}
    exec(compile(marked, file, "exec"), python)
    exec(compile(text, file, "exec"), kernels)
    function = ti.func(kernels["f"])

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i32, ndim=2), out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(x.shape[0]):
            out[i] = function(x[i, 0], x[i, 1], x[i, 2])

    x = rng.integers(-50, 50, (INPUTS, 3)).astype(np.int32)
    x[::3] = rng.integers(-(2**31), 2**31, (len(x[::3]), 3))
    out = np.zeros(INPUTS, np.int32)
    run(x, out)
    want = [int(Wrapping(python["f"](*map(Wrapping, row)))) for row in x.tolist()]
    assert out.tolist() == want
