"""`mt.types.SNodeTreeBuilder`: draws a tree type, level by level."""

from __future__ import annotations

from typing import Any

from . import value_types as _types
from .background import encode_background
from .drawn_levels import Drawn, DrawnLevel, nodes_of
from .errors import TreeError
from .tree_instances import TreeType
from .tree_type import PlaceNode


class _Members(Drawn):
    """What members can be placed in: the builder itself, or a level."""

    __slots__ = ()

    def place(self, *members: Any, background: Any = None, **named: Any) -> Any:
        """Puts members into each cell of this level.

        Args:
            members: struct types (all their members) or members of one (``s.a``).
            background: what an inactive cell reads as: a number, a sequence for vectors, or a
                dict from member names to those; default 0.
            named: further members: ``place(phi=mt.f32)``.
        Returns this level. Raises TreeError: a name placed twice, a type that cannot be placed.
        """
        chosen = _members_of(members, named)
        if not chosen:
            raise TreeError("place: expected at least one member, got none; write place(s), place(s.a) or place(a=mt.f32)")
        backgrounds = _backgrounds_of(chosen, background)
        for name, type_ in chosen:
            if name in self._builder._members:
                raise TreeError(
                    f"place: expected a name of its own for each member of a tree, got '{name}' twice; rename one of them"
                )
            self._builder._members.add(name)
            self.below.append(PlaceNode(name, type_, backgrounds[name]))
        return self

    def build(self) -> TreeType:
        """The type of the whole tree, whichever of its levels this is called on. Raises TreeError."""
        return self._builder._build()

    def _add(self, kind, axes, dimensions, name, chunk=None):
        child = _Level(self, kind, axes, dimensions, name, chunk)
        self._builder._claim(name)
        self.below.append(child)
        return child


class _Level(_Members, DrawnLevel):
    """A level: what the builder's calls return."""

    __slots__ = ("_builder",)

    def __init__(self, above, *arguments):
        super().__init__(above, *arguments)
        self._builder = above._builder


class SNodeTreeBuilder(_Members):
    """Builds a tree type: each call on the builder itself starts a branch at the root.

    A name that several branches have alike is one for a capacity: it goes to each of those levels.

    >>> import metate as mt
    >>> str(mt.types.SNodeTreeBuilder().dense(mt.i, 4).place(a=mt.f32).build())
    '!metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>'
    """

    __slots__ = ("_builder", "_members", "_names", "below")

    def __init__(self):
        self._builder = self
        self._members: set[str] = set()
        self._names: set[str] = set()
        self.below: list = []

    def _claim(self, name):
        if name is None:
            return
        if name in self._names:
            raise TreeError(f"level name: expected a name of its own for each level, got '{name}' twice; rename one of them")
        self._names.add(name)

    def _build(self) -> TreeType:
        if not self.below:
            raise TreeError("build: expected at least one member in the tree, got an empty tree; call place(...)")
        type_ = TreeType(nodes_of(self.below, lambda member: member, "a member"))
        depths: dict[str, int] = {}
        for level in type_.levels:
            if depths.setdefault(level.name, level.depth) != level.depth:
                raise TreeError(
                    f"build: expected a name of its own for each level, got '{level.name}' at depths "
                    f"{depths[level.name]} and {level.depth}; rename one of them"
                )
        return type_


def _members_of(members, named):
    chosen = []
    for member in members:
        if isinstance(member, _types.StructType):
            chosen += member.members.items()
        elif isinstance(member, _types.StructMember):
            chosen.append((member.name, member.type))
        else:
            raise TreeError(
                f"place: expected a struct type or a member of one, got {member!r}; give a type alone a name: place(a={member!r})"
            )
    chosen += named.items()
    for index, (name, type_) in enumerate(chosen):
        try:
            chosen[index] = (name, _types.element_type(type_, f"place: member '{name}'"))
        except TypeError as error:
            raise TreeError(str(error)) from None
    return chosen


def _backgrounds_of(chosen, background):
    given = background if isinstance(background, dict) else dict.fromkeys((n for n, _ in chosen), background)
    for name in given:
        if name not in dict(chosen):
            raise TreeError(f"place: background: expected names of placed members, got '{name}'")
    return {name: encode_background(name, type_, given.get(name)) for name, type_ in chosen}
