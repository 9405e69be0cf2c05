"""A random program as a tree that can be written as a kernel, written as its twin, and made smaller.

Expressions and statements carry two texts each, one for the kernel and one for the twin, with {0}, {1}
for what stands in them; they know nothing of how they were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .draws import AT, HERE
from .rules import Type


@dataclass
class Expr:
    """An expression.

    Attributes:
        kernel, twin: its texts.
        ulp: see Op.ulp, of this operation; only a statement may take an expression whose ulp is not 0.
        signless: may be a zero whose sign is not determined.
        bound: of the magnitude, when it is a whole number held in a float; None: any float, or no float.
        is_literal: a Python number, which the front end may fold.
    """

    type: Type
    kernel: str
    twin: str
    kids: list[Expr] = field(default_factory=list)
    ulp: int = 0
    signless: bool = False
    bound: float | None = None
    is_literal: bool = False
    counts: tuple = ()  # what running it covers: (operation, column)

    def kernel_text(self) -> str:
        return self.kernel.format(*(kid.kernel_text() for kid in self.kids)) if self.kids else self.kernel

    def twin_text(self) -> str:
        return self.twin.format(*(kid.twin_text() for kid in self.kids)) if self.kids else self.twin

    def walk(self):
        yield self
        for kid in self.kids:
            yield from kid.walk()


def holes(count: int) -> list[str]:
    """{0}, {1}, ...: where a text's operands go."""
    return [f"{{{k}}}" for k in range(count)]


@dataclass
class Line:
    """A line of a statement, with the block under it if it has one. An empty text is no line."""

    kernel: str
    twin: str
    block: list[Stmt] | None = None


@dataclass
class Stmt:
    """A statement: its lines, the expressions in them, and what running it covers."""

    name: str
    lines: list[Line]
    exprs: list[Expr] = field(default_factory=list)
    level: str | None = None  # where its expressions count; None: where the statement around it does
    counts: tuple = ()

    def write(self, form: str, indent: int) -> list[str]:
        """Its lines as text; `form` is "kernel" or "twin"."""
        pad = "    " * indent
        texts = [getattr(expr, form + "_text")() for expr in self.exprs]
        written = []
        for line in self.lines:
            text = getattr(line, form)
            if text:
                written += [pad + part for part in (text.format(*texts) if texts else text).split("\n")]
            if line.block is not None:
                body = write_block(line.block, form, indent + (1 if text else 0))
                written += body or ([pad + "    pass"] if text else [])
        return written

    def blocks(self):
        return [line.block for line in self.lines if line.block is not None]

    def walk(self):
        yield self
        for block in self.blocks():
            for statement in block:
                yield from statement.walk()


def write_block(block, form, indent) -> list[str]:
    return [line for statement in block for line in statement.write(form, indent)]


def has_draws(block) -> bool:
    """Does a statement in it draw a random number, or a function that an expression calls?"""
    statements = [inner for statement in block for inner in statement.walk()]
    return any(HERE in line.twin for inner in statements for line in inner.lines) or any(
        HERE in part.twin for inner in statements for expression in inner.exprs for part in expression.walk()
    )


@dataclass
class Function:
    """A @func, or a @real_func, and its twin."""

    name: str
    parameters: list[tuple[str, str]]  # name, annotation as text or ""
    body: list[Stmt]
    is_real: bool = False
    returns: str = ""  # the result's annotation as text
    draws: bool = False  # random numbers
    memory: tuple = ((), ())  # names of arrays and trees that it is given under these: of the kernel, of the twin

    def kernel_text(self) -> str:
        taken = [*self.parameters, *((name, "mt.template()") for name in self.memory[0])]
        parameters = ", ".join(f"{name}: {annotation}" if annotation else name for name, annotation in taken)
        decorator = "@mt.real_func" if self.is_real else "@mt.func"
        head = f"def {self.name}({parameters}){f' -> {self.returns}' if self.returns else ''}:"
        return "\n".join([decorator, head, *(write_block(self.body, "kernel", 1) or ["    pass"])])

    def call(self, given: str) -> tuple[str, str]:
        """(kernel, twin) of a call; the texts of its arguments are those of both."""
        at, given = [HERE] if self.draws and not self.is_real else [], [given] if given else []
        kernel, twin = [*given, *self.memory[0]], [*at, *given, *self.memory[1]]
        return f"{self.name}({', '.join(kernel)})", f"{self.name}({', '.join(twin)})"

    def twin_text(self) -> str:
        names = [AT] if self.draws and not self.is_real else []
        parameters = ", ".join([*names, *(name for name, _ in self.parameters), *self.memory[1]])
        decorators = ["@draws.called"] if self.draws and self.is_real else []
        decorators += ["@activating"] if self.is_real and self.memory[1] else []
        return "\n".join([*decorators, f"def {self.name}({parameters}):", *(write_block(self.body, "twin", 1) or ["    pass"])])


@dataclass
class Program:
    """A kernel with what it is called with.

    Attributes:
        arguments: what `case` describes, in the order of the parameters.
        trees: tree types by name, each as the text of an expression.
        contract: may products and sums be fused? Only where that changes nothing.
        tolerances: ulps by the name of what is written, where it is not exact.
    """

    name: str
    functions: list[Function] = field(default_factory=list)
    body: list[Stmt] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)
    trees: dict[str, str] = field(default_factory=dict)
    returns: str = ""  # the result's annotation as text
    results: list = field(default_factory=list)  # what it gives: "return", or "return.member" of a struct, scalar, shape
    contract: bool = False
    tolerances: dict[str, int] = field(default_factory=dict)
    counts: set = field(default_factory=set)

    def kernel_text(self) -> str:
        parameters = ", ".join(f"{a.name}: {a.annotation}" for a in self.arguments if getattr(a, "form", None) != "fields")
        returns = f" -> {self.returns}" if self.returns else ""
        head = f"@mt.kernel\ndef {self.name}({parameters}){returns}:"
        body = write_block(self.body, "kernel", 1) or ["    pass"]
        return "\n\n".join([*(f.kernel_text() for f in self.functions), "\n".join([head, *body])]) + "\n"

    def twin_text(self) -> str:
        head = f"def {self.name}({', '.join(a.name for a in self.arguments if a.kind != 'handle')}):"
        body = write_block(self.body, "twin", 1) or ["    pass"]
        return "\n\n".join([*(f.twin_text() for f in self.functions), "\n".join([head, *body])]) + "\n"

    def covered(self) -> set:
        """(operation, column, level) of everything in it."""
        found = set(self.counts)
        for function in self.functions:
            _cover(function.body, "array", found)
        _cover(self.body, "array", found)
        return found


def _cover(block, level, found):
    for statement in block:
        inner = statement.level or level
        found.update((name, column, inner) for name, column in statement.counts)
        for expr in statement.exprs:
            for part in expr.walk():
                found.update((name, column, inner) for name, column in part.counts)
        for nested in statement.blocks():
            _cover(nested, inner, found)
