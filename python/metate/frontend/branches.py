"""Branches: `if` at run time or while compiling, and which names have a value after it."""

from __future__ import annotations

from . import analysis, handles
from .blocks import Blocks
from .evaluator import Evaluator
from .static import is_static
from .structs import StructValue, name_of
from .values import Values
from .walk import Walk


class Branches:
    """Runs through branches."""

    def __init__(self, walk: Walk, evaluator: Evaluator, values: Values, blocks: Blocks):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.values, self.blocks = evaluator, values, blocks

    def statement_If(self, node):
        condition = self.evaluator.condition(node.test)
        if isinstance(condition, bool):
            self.walk.constant_branches += 1
            try:  # which `continue` in an unrolled loop leaves by an exception
                self.blocks.block(node.body if condition else node.orelse)
            finally:
                self.walk.constant_branches -= 1
            return
        self.walk.emit(node.test, self.builder.begin_if, condition)
        self.walk.depth += 1
        yes = self._branch(node.body)
        no = None
        if node.orelse:
            self.walk.emit(node, self.builder.begin_else)
            no = self._branch(node.orelse)
        self.walk.depth -= 1
        self.builder.end_if()
        self._merge(node, yes, no)

    def _branch(self, statements):
        scope = self.walk.push_scope("branch")
        self.blocks.block(statements)
        self.walk.pop_scope()
        return scope

    def _merge(self, node, yes, no):
        """What the branches assigned is visible after them if all that go on assigned it alike."""
        scope = self.walk.frame.scope
        branches = [(yes, node.body)] + ([(no, node.orelse)] if no is not None else [])
        going_on = [branch for branch, statements in branches if not analysis.always_jumps(statements)]
        names = {name for branch in going_on for name in branch.names}
        is_complete = no is not None or not going_on
        for name in names:
            found = [branch.names.get(name) for branch in going_on]
            if is_complete and all(_is_same(found[0], other) for other in found):
                scope.names[name] = found[0]
            elif scope.lookup(name) is None:
                scope.absent[name] = self._why_absent(found, is_complete)

    @staticmethod
    def _type_name(reference):
        return name_of(reference.type) if isinstance(reference, StructValue) else reference.type.name

    def _why_absent(self, found, is_complete):
        if is_complete and all(isinstance(f, handles.Local) for f in found):
            types = " and ".join(sorted({self._type_name(f.reference) for f in found}))
            return f"the branches of an if give it different types, {types}"
        return "it is assigned in one branch of an if only"


def _is_same(a, b):
    if isinstance(a, handles.Local) and isinstance(b, handles.Local):
        return a is b or a.reference is b.reference
    if isinstance(a, handles.Constant) and isinstance(b, handles.Constant):
        return a.value is b.value or (type(a.value) is type(b.value) and is_static(a.value) and a.value == b.value)
    return False
