"""Reports: what the compiler did of a kernel's loops, and why it declined.

`kernel.report()` gives one; `metate explain` shows the same facts as a page. The facts are the compiler's remarks
(compiler/metate/Remarks), which passes and LLVM make while a kernel is compiled; here they are put to the loops of the source.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import Any

from .source_loops import Sources

_OF_LLVM = ("loop-vectorize", "loop-unroll", "regalloc")  # they know lines, not tasks
_PLACE = re.compile(r" \(line \d+\)$")
_SIGNS = {"done": "+", "declined": "-", "noted": " "}


@dataclass(frozen=True)
class Compilation:
    """What was kept of a compilation: as a Report reads it, when it is asked for."""

    kernel: str
    signature: str
    file: str
    first_line: int
    target: str
    front_end_ms: float
    told: Any  # _compiler.Report
    trees: list  # (name, TreeType)


@dataclass(frozen=True)
class Remark:
    """What a pass did about a loop, or why it did not.

    Attributes:
        subject: what is decided: "tasks", "atomics", "reductions", "rows", "chunks", "vectors", ...
        outcome: "done", "declined", or "noted", which is a number to know.
        text: the same as a sentence.
        numbers: numbers of the text by their names: "iterations", "bytes", "width", ...
        pass_name: the pass: as in the compiler's Passes.td, or LLVM's.
        file, line: what it is about.
    """

    subject: str
    outcome: str
    text: str
    numbers: dict[str, int]
    pass_name: str
    file: str
    line: int


@dataclass(frozen=True)
class Loop:
    """A loop of the source, or the statements between two parallel loops.

    Attributes:
        kind: "parallel loop", "loop" (inside of one, in order), or "statements".
        file, line, last_line: where it stands; of statements the first.
        source: the text of its line.
        remarks: what was done and declined, in the order of the passes.
    """

    kind: str
    file: str
    line: int
    last_line: int
    source: str
    remarks: tuple[Remark, ...]

    def of(self, subject: str) -> tuple[Remark, ...]:
        """The remarks about a subject."""
        return tuple(one for one in self.remarks if one.subject == subject)

    @property
    def vector_width(self) -> int:
        """How many iterations are lanes of one vector; 0: the loop is no vectors, or nothing was said."""
        lanes = [one.numbers.get("width", one.numbers.get("lanes", 0)) for one in self.remarks if one.outcome == "done"]
        return max(lanes, default=0)

    @property
    def declined(self) -> tuple[Remark, ...]:
        """What was not done, and why."""
        return tuple(one for one in self.remarks if one.outcome == "declined")


@dataclass(frozen=True)
class Stage:
    """A stage of the compiler: its name (of layout and map with the target), what it took, the IR after it (emit: none)."""

    name: str
    milliseconds: float
    dump: str


@dataclass(frozen=True)
class Tree:
    """A tree that the kernel works on.

    Attributes:
        name: the argument's.
        members: names of the members; of a tree of fields, those of the fields that the kernel uses.
        levels: of each level, outermost first: its name, its kind and extents as text, bytes of one cell.
        bytes: of an instance of that type, with the capacities that it has where none are given; 0: it must be given some.
    """

    name: str
    members: tuple[str, ...]
    levels: tuple[tuple[str, str, int], ...]
    bytes: int


class Report:
    """One compilation of a kernel: `print` shows it.

    Attributes:
        kernel, signature: the kernel's name; what it was compiled for.
        file, first_line: its source.
        target: the machine that code was made for.
    """

    def __init__(self, compilation: Compilation):
        self.kernel, self.signature = compilation.kernel, compilation.signature
        self.file, self.first_line, self.target = compilation.file, compilation.first_line, compilation.target
        self.sources = Sources()
        self.compilation = compilation

    @functools.cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, in their order; the front end's time is that of import."""
        front_end = self.compilation.front_end_ms
        return tuple(
            Stage(one.name, front_end if one.name == "import" else one.milliseconds, one.dump)
            for one in self.compilation.told.stages
        )

    @property
    def compile_ms(self) -> float:
        """What all stages took together, in milliseconds."""
        return sum(one.milliseconds for one in self.stages)

    @functools.cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks, in the order of the passes."""
        return tuple(_remark(one) for one in self.compilation.told.remarks)

    @functools.cached_property
    def code(self) -> tuple[Any, ...]:
        """The functions of the code: `name`, `bytes`, `instructions`, each with `text`, `label`, `file`, `line`, and `numbers`.

        Code of GPUs is not shown by instructions: `numbers` is a dict of what is known of it: ``"registers"``,
        ``"bytes spilled"``, ``"bytes of shared memory"`` and the like of CUDA, as ptxas says (without one,
        ``"instructions of PTX"``; `bytes` is 0 then); ``"words"`` and ``"instructions"`` of Vulkan.
        """
        return tuple(self.compilation.told.code)

    @functools.cached_property
    def trees(self) -> tuple[Tree, ...]:
        """The trees that it works on, those of fields as well."""
        shown = _shown_members(self.stages[0].dump) if self.stages else {}
        return tuple(_tree(name, type_, shown.get(name, {})) for name, type_ in self.compilation.trees)

    @functools.cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of which something was said, in the order of the source."""
        return _loops(self.file, self.sources, zip(self.compilation.told.remarks, self.remarks))

    def loop(self, line: int) -> Loop:
        """The innermost of its loops with that line of the kernel's file. Raises LookupError."""
        found = [one for one in self.loops if one.file == self.file and one.line <= line <= one.last_line]
        if not found:
            lines = ", ".join(str(one.line) for one in self.loops if one.file == self.file)
            raise LookupError(f"line {line}: expected one of a loop; loops begin at {lines or 'no line'}")
        return max(found, key=lambda one: one.line)

    def __str__(self) -> str:
        took = ", ".join(f"{one.name.partition('.')[0]} {one.milliseconds:.1f}" for one in self.stages)
        size = sum(one.bytes for one in self.code)
        lines = [f"{self.signature}", f"  {self.file}:{self.first_line}, for {self.target}"]
        lines += [f"  compiled in {self.compile_ms:.1f} ms: {took}", f"  code: {size} bytes in {len(self.code)} functions"]
        lines += [f"    {one.name}: {', '.join(numbers)}" for one in self.code if (numbers := numbers_of(one))]
        for tree in self.trees:
            levels = " > ".join(text for _, text, _ in tree.levels)
            size_text = f", {tree.bytes} bytes" if tree.bytes else ""
            lines.append(f"  tree {tree.name} ({', '.join(tree.members)}): {levels}{size_text}")
        for loop in self.loops:
            lines += ["", f"  line {loop.line}: {loop.source}    ({_kind(loop)})"]
            lines += [f"    {_SIGNS[one.outcome]} {one.subject}: {one.text}" for one in loop.remarks]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<report of kernel {self.kernel} for {self.target}: {len(self.loops)} loops, {self.compile_ms:.0f} ms>"


def numbers_of(function) -> list[str]:
    """What is known of a function whose instructions are not, as texts."""
    if function.instructions:
        return []
    sizes = [f"{function.bytes} bytes"] if function.bytes else []
    return sizes + [f"{number} {name}" for name, number in function.numbers.items()]


def _kind(loop):
    width = loop.vector_width
    return f"{loop.kind}, vectors of {width}" if width else loop.kind


def _remark(told) -> Remark:
    numbers = {name: int(text) for name, text in told.numbers if text.lstrip("-").isdigit()}
    return Remark(told.subject, told.outcome, told.text, numbers, told.pass_name, told.file, told.line)


def _shown_members(dump: str) -> dict[str, dict[str, str]]:
    """What the user calls the members of the trees of fields, which have names of their own: by argument, by member."""
    arguments = re.findall(r'metate\.members = \{((?:[^{}]|\{[^{}]*\})*)\}, metate\.name = "(\w+)"', dump)
    return {name: dict(re.findall(r'(\w+) = \{name = "([^"]*)"', members)) for members, name in arguments}


def _tree(name, type_, names) -> Tree:
    from .tree_blob import cell_bytes

    size = cell_bytes(type_.blob)
    shown = lambda level: f"{level.kind} {level.axes} {'x'.join(map(str, level.extents))}".rstrip()
    levels = tuple((level.name, shown(level), size.get(level.name, 0)) for level in type_.levels)
    members = tuple(names.values()) or tuple(type_.members)  # of a tree of fields those that the kernel uses
    return Tree(name, members, levels, _bytes_of(type_))


def _bytes_of(type_) -> int:
    from .errors import MetateError

    try:
        return type_.bytes()
    except MetateError:  # a level without bounds has no capacity of its own
        return 0


def _loops(file, sources, remarks) -> tuple[Loop, ...]:
    """The loops of the source with their remarks. remarks: (as the compiler told it, Remark)."""
    found: dict[tuple[str, int], list[Remark]] = {}
    for told, remark in remarks:
        if told.pass_name not in _OF_LLVM and told.loop_line:
            key = (told.loop_file, told.loop_line)
        else:
            # Of other lines are loops that the compiler made itself: copies of leaves, look-ups of slots.
            if sources.has_loops(told.file) and not sources.loop_from(told.file, told.line):
                continue
            key = (told.file, told.line)
        found.setdefault(key, []).append(remark)
    loops = [_loop(sources, *key, found[key]) for key in sorted(found, key=lambda key: (key[0] != file, key))]
    return tuple(_as_lanes(one) if any(_runs_in_lanes(outer, one) for outer in loops) else one for one in loops)


def _runs_in_lanes(outer, loop) -> bool:
    """Do iterations of the outer loop run this one side by side?"""
    is_inside = outer.file == loop.file and outer.line < loop.line <= outer.last_line
    return is_inside and any(one.outcome == "done" for one in outer.of("lanes"))


def _as_lanes(loop) -> Loop:
    """Its turns are vectors of other iterations: that they are no vectors of their own is no news."""
    return replace(loop, remarks=tuple(one for one in loop.remarks if one.subject != "vectors"))


def _loop(sources, file, line, remarks) -> Loop:
    tasks = " ".join(one.text for one in remarks if one.subject == "tasks")
    kind = "parallel loop" if "parallel task" in tasks else "statements" if tasks else "loop"
    found = sources.loop_from(file, line)
    last = found.last_line if found else line
    return Loop(kind, file, line, last, sources.text(file, line).strip(), tuple(_merged(remarks)))


def _merged(remarks):
    """LLVM looks at each version of a loop: of what it says more often the largest stays, and what it declined beside
    what it did is another version's."""
    is_vector = any(one.subject in ("vectors", "lanes") and one.outcome == "done" for one in remarks)
    largest: dict[str, Remark] = {}
    for one in remarks:
        if one.pass_name in _OF_LLVM and one.numbers:
            best = largest.get(one.subject)
            if best is None or _weight(one) > _weight(best):
                largest[one.subject] = one
    kept = []
    for one in remarks:
        if one.pass_name in _OF_LLVM:
            if is_vector and one.subject == "vectors" and one.outcome == "declined":
                continue
            if one.numbers and largest[one.subject] is not one:
                continue
        if not any((one.subject, _PLACE.sub("", one.text)) == (other.subject, _PLACE.sub("", other.text)) for other in kept):
            kept.append(one)
    return kept


def _weight(remark):
    return tuple(remark.numbers.get(name, 0) for name in ("width", "interleaved", "turns", "reloads", "spills"))
