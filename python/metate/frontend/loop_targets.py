"""The variables of loops: which names they may have, and what they are bound to."""

from __future__ import annotations

import ast

from .. import value_types as _types
from . import analysis, handles
from .walk import Walk


class LoopTargets:
    """Checks and binds loops' variables."""

    def __init__(self, walk: Walk):
        self.walk, self.builder = walk, walk.builder

    def check_names(self, target):
        """A loop's variables must not be named like others in use, which Python's loop would assign."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.check_names(part)
        if not isinstance(target, ast.Name) or target.id == "_":
            return
        binding = self.walk.frame.scope.lookup(target.id)
        is_free = binding is None or getattr(binding, "is_left", False) or self.walk.frame.closed.get(target.id) is binding
        if not is_free:
            text = f"loop variable '{target.id}': expected a name of its own, got that of a variable in use"
            raise self.walk.error("syntax", text, target, "use another name")

    def check(self, node, rank, is_grouped):
        """As many names as dimensions; one where the loop is grouped."""
        targets = _parts(node.target)
        for target in targets:
            if not isinstance(target, ast.Name):
                raise self.walk.error("syntax", "a loop variable must be a name", target)
        self.check_names(node.target)
        if is_grouped and isinstance(node.target, ast.Name):
            return
        if len(targets) != rank:
            hint = f"write for {', '.join(_types.LETTERS[:rank])} in ..., or for I in ti.grouped(...)" if rank > 1 else None
            raise self.walk.error(
                "form", f"expected {rank} loop variable{'s' * (rank != 1)}, got {len(targets)}", node.target, hint
            )

    def bind(self, node, variables, is_grouped):
        """Binds the loop's names to an iteration's coordinates, a grouped one to the vector of them."""
        scope = self.walk.frame.scope
        if not (is_grouped and isinstance(node.target, ast.Name)):
            for target, variable in zip(_parts(node.target), variables):
                self._bind_one(target, variable, node)
        elif variables:
            self._bind_one(node.target, self.walk.emit(node.target, self.builder.vector, variables, None), node)
        else:
            scope.names[node.target.id] = handles.Constant(())

    def _bind_one(self, target, value, node):
        if target.id not in analysis.assigned_names(node.body):
            self.walk.frame.scope.names[target.id] = handles.Constant(value)
            return
        local = self.walk.emit(target, self.builder.declare_local, value.type)
        self.walk.write(target, local, value, target.id)
        self.walk.frame.scope.names[target.id] = handles.Local(local, target)


def _parts(target):
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
