"""Where members and levels stand in a tree's type."""

from __future__ import annotations

from ..tree_type import flat


def levels_above(type_, member):
    """The LevelNodes from the root down to a member."""
    return list(_search(type_.branches, member, True))


def levels_of(type_, path):
    """The LevelNodes from the root down to a member (`a`), to the level at a depth above it (`a@1`) or to a level."""
    name, _, depth = path.partition("@")
    found = _search(type_.branches, name, True)
    found = list(found if found is not None else _search(type_.branches, name, False))
    return found[: int(depth) + 1] if depth else found


def _search(nodes, name, is_member):
    for node in flat(nodes):
        if not hasattr(node, "children"):
            if is_member and node.name == name:
                return ()
            continue
        if not is_member and node.name == name:
            return (node,)
        below = _search(node.children, name, is_member)
        if below is not None:
            return (node, *below)
    return None


def members_below(level):
    """The names of the members below a LevelNode."""
    below = [[child.name] if not hasattr(child, "children") else members_below(child) for child in level.members]
    return [name for names in below for name in names]


def member_below(level):
    """The name of the first member below a LevelNode."""
    return members_below(level)[0]
