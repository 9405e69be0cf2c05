"""Variables that a kernel makes before a parallel loop and each iteration makes anew.

    r = x[0]
    for i in range(int(r)):
        r = 2.0 * i  # the iteration's own: nothing reads the r from before in the loop, nor this one after it
        x[i] = r

Such a variable has the type of the one before the loop. All others that a parallel loop assigns are an error.
"""

from __future__ import annotations

import ast

from . import analysis, handles
from .struct_ops import StructOperations
from .structs import StructValue
from .walk import Walk

_TESTED = {ast.For: "iter", ast.While: "test", ast.If: "test"}  # what a statement with blocks reads before them


class PrivateVariables:
    """Makes the iterations' own variables."""

    def __init__(self, walk: Walk, structs: StructOperations):
        self.walk, self.structs = walk, structs

    def make(self, loop: ast.For) -> None:
        """At the begin of the body of a parallel loop of the kernel; the scope is the body's."""
        if not self.walk.frame.is_kernel:
            return
        scope = self.walk.frame.scope
        kernel = self.walk.frame.source.tree.body
        for name in sorted(_plainly_assigned(loop.body)):
            outer = scope.lookup(name)
            if name not in scope.names and isinstance(outer, handles.Local) and _is_private(name, loop, kernel):
                scope.names[name] = handles.Local(self._storage(outer.reference, loop), outer.node)

    def _storage(self, outer, loop):
        if isinstance(outer, StructValue):
            return self.structs.struct_local(outer, loop)
        return self.walk.emit(loop, self.walk.builder.declare_local, outer.type)


def _is_private(name, loop, kernel) -> bool:
    """Is it assigned in each iteration before it is read there, and anew after the loop before it is read there?"""
    path = _path(loop, kernel)
    if path is None or any(_mentions(name, one) for one in _definitions(kernel)):
        return False
    is_read, _ = _flow(name, loop.body, False)
    if is_read:
        return False
    for block, index, owner in reversed(path):
        after = block[index + 1 :]
        is_read, is_assigned = _flow(name, after, False)
        if is_read:
            return False
        if is_assigned and not analysis.contains_break(after) and not analysis.contains_continue(after):
            return True
        if isinstance(owner, (ast.For, ast.While)):  # an unrolled one: its next iteration follows
            is_read, _ = _flow(name, [owner], False)
            if is_read:
                return False
    return True


def _path(loop, block, owner=None):
    """The blocks from the kernel's to the one that the loop stands in, each with the statement's index and its owner."""
    for index, statement in enumerate(block):
        if statement is loop:
            return [(block, index, owner)]
        for part in ("body", "orelse"):
            inner = _path(loop, getattr(statement, part, ()), statement)
            if inner is not None:
                return [(block, index, owner), *inner]
    return None


def _flow(name, statements, is_assigned):
    """(is there a read that an assignment may not come before, is it assigned at the end for certain)."""
    for statement in statements:
        is_read, is_assigned = _through(name, statement, is_assigned)
        if is_read:
            return True, is_assigned
    return False, is_assigned


def _through(name, statement, is_assigned):
    """_flow through one statement. What is not a plain assignment, a loop or an `if` counts as a read where it names it."""
    if is_assigned or not _mentions(name, statement):
        return False, is_assigned
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return not _assigns(name, statement), True
    tested = _TESTED.get(type(statement))
    if tested is None or _mentions(name, getattr(statement, tested)) or _mentions(name, getattr(statement, "target", None)):
        return True, False
    is_read, after_body = _flow(name, statement.body, False)
    other_read, after_other = _flow(name, statement.orelse, False)
    return is_read or other_read, isinstance(statement, ast.If) and after_body and after_other


def _assigns(name, statement) -> bool:
    """Is it a target of the assignment, and nothing else in it?"""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    plain, others = [], []
    for target in targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        plain += [part.id for part in parts if isinstance(part, ast.Name)]
        others += [part for part in parts if not isinstance(part, ast.Name)]
    has_value = statement.value is not None
    return has_value and name in plain and not any(_mentions(name, one) for one in (*others, statement.value))


def _plainly_assigned(statements) -> set[str]:
    found = set()
    for statement in analysis.statements_of(statements):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            found |= analysis.assigned_names([statement])
    return found


def _definitions(kernel):
    """The functions that are made in the kernel: they read the variable that they close over."""
    return [node for statement in kernel for node in ast.walk(statement) if isinstance(node, (ast.FunctionDef, ast.Lambda))]


def _mentions(name, node) -> bool:
    return node is not None and any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
