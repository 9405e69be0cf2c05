"""What a function's source can name: the variables of its text, and the attributes that it takes of them and of anything else.

Compiling a function reads nothing of the program but by these names; the cache of compiled kernels describes what they stand for.
"""

from __future__ import annotations

import ast

from ..record import Record


class Mentions(Record):
    """Names in a function's text.

    Attributes:
        names: variables, with the attributes that follow each: `np.linalg.norm` is "np": {("linalg", "norm")}.
        attributes: every name that stands behind a dot, and constants given to getattr and hasattr.
        is_open: does it ask for attributes whose names stand nowhere?
    """

    names: dict[str, frozenset[tuple[str, ...]]]
    attributes: frozenset[str]
    is_open: bool


def mentions_of(tree: ast.FunctionDef | ast.Lambda) -> Mentions:
    """The names in a definition and in functions in it; not those of its annotations and defaults, which are values."""
    names: dict[str, set[tuple[str, ...]]] = {}
    attributes: set[str] = set()
    is_open = False
    pending: list[ast.AST] = list(tree.body) if isinstance(tree, ast.FunctionDef) else [tree.body]
    while pending:
        node = pending.pop()
        chain: list[str] = []
        while isinstance(node, ast.Attribute):
            chain.append(node.attr)
            node = node.value
        attributes.update(chain)
        is_open |= "__dict__" in chain
        if isinstance(node, ast.Name):
            is_open |= node.id in ("vars", "dir")
            names.setdefault(node.id, set()).add(tuple(reversed(chain)))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            name = node.args[1] if len(node.args) > 1 else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                attributes.add(name.value)
            else:
                is_open = True
        pending += ast.iter_child_nodes(node)
    return Mentions({name: frozenset(chains) for name, chains in names.items()}, frozenset(attributes), is_open)
