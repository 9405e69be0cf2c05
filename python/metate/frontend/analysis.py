"""Questions about statements that need no types: does control leave here, which names are assigned."""

from __future__ import annotations

import ast

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


def _walk(statements, into_loops=True):
    """All nodes under the statements; nested definitions, and loops unless asked for, stay closed."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _SCOPES) or (isinstance(node, _LOOPS) and not into_loops):
            continue
        todo.extend(ast.iter_child_nodes(node))


def contains_return(statements) -> bool:
    return any(isinstance(node, ast.Return) for node in _walk(statements))


def contains_break(statements) -> bool:
    """Of the loop whose body this is."""
    return any(isinstance(node, ast.Break) for node in _walk(statements, into_loops=False))


def contains_continue(statements) -> bool:
    return any(isinstance(node, ast.Continue) for node in _walk(statements, into_loops=False))


def may_jump(statement, returns_jump: bool) -> bool:
    """May control leave the block that this statement stands in?"""
    if returns_jump and contains_return([statement]):
        return True
    if isinstance(statement, _LOOPS):
        return False
    return contains_break([statement]) or contains_continue([statement])


def always_jumps(statements) -> bool:
    """Does every path through the block end in return, break or continue?"""
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
            return True
        if isinstance(statement, ast.If) and statement.orelse and always_jumps(statement.body) and always_jumps(statement.orelse):
            return True
    return False


def always_returns(statements) -> bool:
    """Does every path through the block end in return? (A raise or an endless loop is not looked for.)"""
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if (
            isinstance(statement, ast.If)
            and statement.orelse
            and always_returns(statement.body)
            and always_returns(statement.orelse)
        ):
            return True
    return False


def assigned_names(statements) -> set[str]:
    """Names that are the target of an assignment, a loop or a walrus."""
    return {node.id for node in _walk(statements) if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))}
