"""What ran: operation x column x level, against what the table says there is.

A cell counts when a kernel with that operation on that type over that kind of tree ran and was compared.
"""

from __future__ import annotations

import pathlib
from collections import Counter

from . import table
from .statements import STATEMENTS
from .trees import DENSE

MARK = "<!-- Made by scripts/fuzz-kernels --coverage. -->\n"
LEVEL_NAMES = ("array", *("/".join(kinds) for kinds in table.LEVELS))
REQUIRED = 0.95


def write(file: pathlib.Path, text: str) -> None:
    """Writes the matrix behind the mark; what stands before it in the file stays."""
    before = file.read_text().partition(MARK)[0] if file.exists() and MARK in file.read_text() else ""
    file.write_text(f"{before}{MARK}\n{text}" if before else text)


def columns_of(op) -> list[str]:
    found = []
    for shape in op.shapes:
        found += [scalar if shape == "scalar" else f"{shape} {scalar}" for scalar in op.counts]
    return found


def expected() -> set:
    """All cells: of operations, and of statements, which have no type."""
    cells = {(op.name, column, level) for op in table.OPS for column in columns_of(op) for level in LEVEL_NAMES}
    return cells | {(name, "-", level) for name in STATEMENTS for level in LEVEL_NAMES if _is_said(name, level)}


def _is_said(statement, level) -> bool:
    """Does the statement have a meaning there?"""
    return {
        "activate": not set(level.split("/")) <= {*DENSE, "array"},
        "deactivate": not set(level.split("/")) <= {*DENSE, "array"},
        "length": "dynamic" in level and level.rpartition("dynamic")[2] in ("", "/dense"),
        "append": level.endswith("dynamic"),
        "used": bool({"pointer", "hash", "dynamic"} & {*level.split("/")}),
        "no_activate": not set(level.split("/")) <= {*DENSE, "array"},
        "is_active": level != "array",
        "red and black": level != "array",
        "quantised": level != "array",
        "overlapping arguments": level == "array",
    }.get(statement, True)


class Coverage:
    """Counts of cells."""

    def __init__(self):
        self.counts: Counter = Counter()
        self.expected = expected()

    def add(self, case) -> None:
        self.counts.update(tuple(cell) for cell in case.covered)

    def merge(self, other) -> None:
        self.counts.update(other.counts)

    @property
    def share(self) -> float:
        return sum(cell in self.counts for cell in self.expected) / len(self.expected)

    def missing(self) -> list:
        return sorted(cell for cell in self.expected if cell not in self.counts)

    def text(self) -> str:
        """The matrix as Markdown: for each operation and level, the types that ran of those there are."""
        lines = [
            "## Coverage of the random kernels",
            "",
            "Written by `scripts/fuzz-kernels --coverage FILE`: of each operation, how many",
        ]
        lines += ["of the types that it is said of ran and were compared, for each kind of tree.", ""]
        lines += [f"{self.share:.1%} of {len(self.expected)} cells: operation x type x level.", ""]
        lines += [f"| | {' | '.join(LEVEL_NAMES)} |", f"|---{'|---' * len(LEVEL_NAMES)}|"]
        rows = {}
        for name, column, level in self.expected:
            rows.setdefault(name, {}).setdefault(level, []).append((name, column, level) in self.counts)
        for name in [op.name for op in table.OPS] + list(STATEMENTS):
            shown = [f"{sum(rows[name][k])}/{len(rows[name][k])}" if k in rows[name] else "" for k in LEVEL_NAMES]
            lines.append(_row(name, shown))
        lines += ["", "What else ran, with how many types:", ""]
        return "\n".join(lines + self._others(set(rows))) + "\n"

    def _others(self, known) -> list[str]:
        """Rows of what no cell is required of: places, atomics, augmented assignments, kinds of loops."""
        seen = {}
        for name, column, level in self.counts:
            if name not in known:
                seen.setdefault(name, {}).setdefault(level, set()).add(column)
        lines = [f"| | {' | '.join(LEVEL_NAMES)} |", f"|---{'|---' * len(LEVEL_NAMES)}|"]
        return lines + [_row(name, [str(len(seen[name].get(level, ()))) for level in LEVEL_NAMES]) for name in sorted(seen)]


def _row(name, cells) -> str:
    return f"| `{name.replace('|', chr(92) + '|')}` | {' | '.join(cells)} |"


class Wanted:
    """Draws the generator towards cells that were not generated yet.

    Of several processes, each looks after a part of the cells: one in `parts`, from number `part` on. `share` of the
    kernels do nothing but that, until no cell is left.
    """

    def __init__(self, part=0, parts=1, share=0.5):
        self.share = share
        self.own = set(sorted(expected())[part::parts])
        self.left = {level: {} for level in LEVEL_NAMES}
        for name, column, level in sorted(self.own):
            self.left[level].setdefault(column == "-", []).append((name, column))
        self.seen: set = set()
        self.tried: set = set()  # in the case that is being written
        self.types: dict = {}  # (operation, column): a result type that gave it

    def is_new(self, name, column, level) -> bool:
        """Is the cell one of this part's that neither a case before nor this one tried?"""
        cell = (name, column, level)
        return cell in self.own and cell not in self.seen and cell not in self.tried

    def pick(self, level, rng):
        """An operation and a column that this level misses."""
        return self._pick(level, False, rng)

    def statement(self, level, rng):
        found = self._pick(level, True, rng)
        return found[0] if found else None

    def _pick(self, level, is_statement, rng):
        left = self.left.get(level, {}).get(is_statement, [])
        left[:] = [cell for cell in left if (*cell, level) not in self.seen]
        found = [cell for cell in left if (*cell, level) not in self.tried] if not is_statement else left
        if not found:
            return None
        name, column = rng.choice(found)
        self.tried.add((name, column, level))
        return name, column

    def gaps(self, rng, is_statement=False) -> str | None:
        """A level that misses many operations, or statements: the more the likelier."""
        sizes = [sum((*c, level) not in self.seen for c in self.left[level].get(is_statement, ())) for level in LEVEL_NAMES]
        return rng.choices(LEVEL_NAMES, sizes)[0] if any(sizes) else None

    def add(self, case) -> None:
        self.seen.update(tuple(cell) for cell in case.covered)
        self.tried.clear()
