"""Questions about statements that need no types: does control leave here, which names are assigned."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")  # where statements stand in statements


def _walk(statements):
    """All nodes under the statements; nested definitions stay closed."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def statements_of(statements):
    """All statements under the statements; nested definitions stay closed."""
    return [node for node in _walk(statements) if isinstance(node, ast.stmt)]


class _Jumps(NamedTuple):
    """How control may leave a statement, besides at its end; break and continue of a loop around it."""

    returns: bool = False
    breaks: bool = False
    continues: bool = False


def _jumps(statement) -> _Jumps:
    """Kept with the statement: it is asked for each iteration of an unrolled loop, and by all that it stands in."""
    found = getattr(statement, "_metate_jumps", None)
    if found is None:
        found = statement._metate_jumps = _find_jumps(statement)
    return found


def _find_jumps(statement) -> _Jumps:
    if isinstance(statement, _SCOPES):
        return _Jumps()
    own = _Jumps(*(isinstance(statement, kind) for kind in (ast.Return, ast.Break, ast.Continue)))
    for block in _BLOCKS:
        for inner in map(_jumps, getattr(statement, block, ())):
            is_own = isinstance(statement, _LOOPS) and block == "body"  # the loop's breaks end here
            own = _Jumps(
                own.returns or inner.returns,
                own.breaks or (inner.breaks and not is_own),
                own.continues or (inner.continues and not is_own),
            )
    return own


def contains_return(statements) -> bool:
    return any(_jumps(statement).returns for statement in statements)


def contains_break(statements) -> bool:
    """Does the loop whose body this is have a break of its own?"""
    return any(_jumps(statement).breaks for statement in statements)


def contains_continue(statements) -> bool:
    return any(_jumps(statement).continues for statement in statements)


def may_jump(statement, returns_jump: bool) -> bool:
    """May control leave the block that this statement stands in?"""
    returns, breaks, continues = _jumps(statement)
    return breaks or continues or (returns_jump and returns)


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


def changed_names(statements) -> set[str]:
    """Names that are assigned, or of which a part is: an element, a member, a component."""
    found = set()
    for node in _walk(statements):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(_root(node))
    return found - {None}


@dataclass(frozen=True)
class BodyFacts:
    """What inlining asks of a function's body.

    Attributes:
        changed: changed_names.
        accumulated: accumulated_names.
        returns_early: is there a return besides one at the end?
        always_returns: does every path end in a return?
    """

    changed: frozenset
    accumulated: frozenset
    returns_early: bool
    always_returns: bool


def facts_of(body) -> BodyFacts:
    """The facts of a body, kept with its first statement: functions are inlined many times."""
    found = getattr(body[0], "_metate_facts", None)
    if found is None:
        ends_otherwise = not isinstance(body[-1], ast.Return) and contains_return(body[-1:])
        returns_early = contains_return(body[:-1]) or ends_otherwise
        found = BodyFacts(frozenset(changed_names(body)), frozenset(accumulated_names(body)), returns_early, always_returns(body))
        body[0]._metate_facts = found
    return found


def assigned_names(statements) -> set[str]:
    """Names that are the target of an assignment, a loop or a walrus."""
    return {node.id for node in _walk(statements) if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))}


def accumulated_names(statements) -> set[str]:
    """Names that are assigned outside the loops at run time and changed in place inside one: sums and the like."""
    outside, inside = set(), set()
    _accumulations(statements, False, outside, inside)
    return outside & inside


# Changes in place of one kind give the same in any order; others, as `s //= 2` or `s += 1` beside `s *= 2`, do not.
_COMMUTING = {ast.Add: "+", ast.Sub: "+", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}


def order_matters(statements, variables, accumulated) -> bool:
    """Might iterations with this body differ when they run at once, for what they do to variables from outside?

    Args:
        variables: names of variables that live outside of the loop.
        accumulated: those of them that iterations may change in place at once, if they do nothing else with them.
    """
    if contains_return(statements) or contains_break(statements):
        return True
    changes = [n for n in _walk(statements) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
    in_place = {id(n.target): n.target.id for n in changes}
    sums = set(in_place.values())
    if not (sums & variables) <= set(accumulated):
        return True
    kinds = {(n.target.id, _COMMUTING.get(type(n.op))) for n in changes}
    kinds |= {(target.id, _kind_of(call)) for call, target in _atomic_calls(statements) if isinstance(target, ast.Name)}
    kinds = {(name, kind) for name, kind in kinds if name in variables}
    if len(kinds) > len({name for name, _ in kinds}) or any(kind is None for _, kind in kinds):
        return True
    bare = {id(node.value) for node in _walk(statements) if isinstance(node, ast.Expr)}
    for node in _walk(statements):
        if isinstance(node, ast.Name) and node.id in sums & variables and id(node) not in in_place:
            return True
        target = _atomic_target(node)
        if target is not None and _root(target) in variables and not (isinstance(target, ast.Name) and id(node) in bare):
            return True
    return bool((changed_names(statements) - sums) & variables)


def _atomic_calls(statements):
    """(call, what it changes) of each `atomic_add(target, ...)` and its like."""
    return [(node, target) for node in _walk(statements) if (target := _atomic_target(node)) is not None]


def _kind_of(call):
    """The kind of change of `atomic_add(target, ...)` and its like."""
    name = getattr(call.func, "attr", getattr(call.func, "id", "")).removeprefix("atomic_")
    kinds = {"add": "+", "sub": "+", "mul": "*", "and": "&", "or": "|", "xor": "^", "min": "min", "max": "max"}
    return kinds.get(name)


def _atomic_target(node):
    """What `atomic_add(target, ...)` and its like change; None of anything else."""
    name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", ""))
    return node.args[0] if isinstance(node, ast.Call) and name.startswith("atomic_") and node.args else None


def _root(node):
    """The name before all attributes and subscripts, or None."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _accumulations(statements, is_inside, outside, inside):
    for statement in statements:
        if isinstance(statement, _SCOPES):
            continue
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and not is_inside:
            outside |= assigned_names([statement])
        elif isinstance(statement, ast.AugAssign) and is_inside and isinstance(statement.target, ast.Name):
            inside.add(statement.target.id)
        if is_inside:
            inside |= _atomic_names(statement)
        is_loop = isinstance(statement, ast.For) and not _is_unrolled(statement)
        for part in ("body", "orelse"):
            _accumulations(getattr(statement, part, ()), is_inside or is_loop, outside, inside)


def _is_unrolled(loop) -> bool:
    """for ... in ti.static(...)"""
    function = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", None)) == "static"


def _atomic_names(statement):
    """Variables that the statement itself gives to atomic_add and the like."""
    found = set()
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, ast.stmt):
            continue
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
                function = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if function.startswith("atomic_"):
                    found.add(node.args[0].id)
    return found
