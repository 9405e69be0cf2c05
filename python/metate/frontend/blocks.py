"""Blocks: one statement after the other, and what follows a jump under a test.

Rules belong to the parts of the front end (assignment.py, loops.py, ...); the walker hands them over.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import analysis
from .evaluator import Evaluator
from .flags import Flags
from .walk import Walk


class Blocks:
    """Runs through statements.

    Attributes:
        rules: class of ast -> the function that runs a statement of it.
    """

    def __init__(self, walk: Walk, evaluator: Evaluator, flags: Flags):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.flags = evaluator, flags
        self.rules: dict[type[ast.AST], Callable[[Any], None]] = {}

    def block(self, statements):
        """Runs through the statements of a block."""
        for k, statement in enumerate(statements):
            jumps = self.flags.clearings
            self.statement(statement)
            rest = statements[k + 1 :]
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return
            may_jump = self.flags.clearings > jumps and analysis.may_jump(statement, self.walk.frame.has_returned)
            flag = self.flags.current() if rest and may_jump else None
            if flag is not None:
                self.walk.emit(rest[0], self.builder.begin_if, self.walk.emit(rest[0], self.builder.load, flag))
                self.walk.depth += 1
                self.block(rest)
                self.walk.depth -= 1
                self.builder.end_if()
                return

    def statement(self, node):
        """Runs one statement by its rule."""
        rule = self.rules.get(type(node))
        if rule is None:
            raise self.walk.error("syntax", f"kernels have no {_NAMES.get(type(node), type(node).__name__)} statement", node)
        self.walk.current = self.walk.frame.source, node
        rule(node)

    def statement_Pass(self, node):
        pass

    def statement_Expr(self, node):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        self.evaluator.expr(node.value)


_NAMES = {
    ast.Import: "import", ast.ImportFrom: "import", ast.With: "with", ast.Try: "try", ast.Raise: "raise",
    ast.Delete: "del", ast.Global: "global", ast.Nonlocal: "nonlocal", ast.FunctionDef: "def", ast.ClassDef: "class",
    ast.Match: "match", ast.AsyncFor: "async", ast.AsyncWith: "async", ast.AsyncFunctionDef: "async",
}  # fmt: skip
