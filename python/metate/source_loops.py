"""Loops and functions of Python files, by their lines: where the compiler knows places only."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """A part of a file: a `for` or `while` statement, or a function with its decorators."""

    name: str  # of a function, else ""
    line: int
    last_line: int

    def __contains__(self, line: int) -> bool:
        return self.line <= line <= self.last_line


class Sources:
    """Files that linecache knows. A text that is no Python by itself (a cell of a notebook with magics) has no loops."""

    def __init__(self):
        self._trees: dict[str, ast.AST] = {}

    def text(self, file: str, number: int) -> str:
        """A line, with its indentation."""
        return linecache.getline(file, number).rstrip()

    def loop_from(self, file: str, line: int) -> Lines | None:
        """The loop that begins in a line."""
        return next((one for one in self._loops(file) if one.line == line), None)

    def has_loops(self, file: str) -> bool:
        """Is it known where loops of the file begin?"""
        return any(True for _ in self._loops(file))

    def function_around(self, file: str, line: int) -> Lines | None:
        """The innermost function with a line."""
        functions = (_lines_of(node) for node in ast.walk(self._tree(file)) if isinstance(node, ast.FunctionDef))
        return max((one for one in functions if line in one), key=lambda one: one.line, default=None)

    def _loops(self, file):
        nodes = (node for node in ast.walk(self._tree(file)) if isinstance(node, (ast.For, ast.While)))
        return (Lines("", node.lineno, node.end_lineno or node.lineno) for node in nodes)

    def _tree(self, file) -> ast.AST:
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse("".join(linecache.getlines(file)))
            except SyntaxError:
                self._trees[file] = ast.Module([], [])
        return self._trees[file]


def _lines_of(function: ast.FunctionDef) -> Lines:
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return Lines(function.name, first, function.end_lineno or function.lineno)
