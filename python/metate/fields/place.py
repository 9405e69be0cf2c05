"""Putting fields below a level: what `place` checks and does."""

from __future__ import annotations

from ..errors import TreeError
from .drawing import FieldTree, Leaf, tree_of
from .gradients import check_early


def place(node, fields, offset) -> None:
    """Puts fields below a level or FieldTree, all of them or, after an error, none.

    Args:
        fields: fields, components of them, struct fields, and (nested) lists of those.
        offset: first index along each dimension: int, sequence, or None for the fields' own.
    Raises TreeError.
    """
    parts = list(_parts(fields))
    if not parts:
        raise TreeError("place: expected at least one field, got none")
    tree_of(node).check_open("place")
    rank = 0 if isinstance(node, FieldTree) else len(node.shape)
    seen = set()
    for field, component in parts:
        _check_free(field, component, seen)
        field._check_offset(offset, rank)
    with tree_of(node).lock:
        for field, component in parts:
            leaf = Leaf(node, field, component)
            (node.branches if isinstance(node, FieldTree) else node.below).append(leaf)
            field._placed(leaf, offset)


def _parts(fields):
    """(field, component or None) of everything to be placed, in order."""
    for thing in fields:
        if isinstance(thing, (list, tuple)):
            yield from _parts(thing)
            continue
        parts = getattr(thing, "_place_parts", None)
        if parts is None:
            raise TreeError(f"place: expected fields such as mt.field(mt.f32), got {thing!r}")
        yield from parts()


def _check_free(field, component, seen):
    check_early(field)
    placed = {leaf.component for leaf in field._leaves}
    over = field._is_placed and not placed  # a member of an instance
    taken = over or None in placed or component in placed or (component is None and placed)
    if taken or (field, component) in seen or (field, None) in seen:
        part = "" if component is None else f" component {component} of"
        raise TreeError(f"place:{part} {field._described()} has a place already, in {_where(field)}; make another field")
    seen.add((field, component))


def _where(field):
    for leaf in field._leaves:
        return f"a tree of shape {list(leaf.shape)}"
    return f"a tree of shape {list(field.shape)}" if field._is_placed else "this call"
