"""`mt.types.SNodeTreeBuilder`: draws a tree type, level by level."""

from __future__ import annotations

from typing import Any

from . import value_types as _types
from .background import decode_background, encode_background
from .drawn_levels import Drawn, DrawnLevel, check_element, nodes_of
from .errors import TreeError
from .quant_types import QuantType, first_inexact
from .tree_instances import TreeType
from .tree_type import PlaceNode
from .words import Word, check_fits, check_group, least_word, size_of_word


class _Members(Drawn):
    """What members can be placed in: the builder itself, or a level."""

    __slots__ = ()
    _builder: Any

    def place(self, *members: Any, background: Any = None, **named: Any) -> Any:
        """Puts members into each cell of this level.

        A member of a quantised type gets a word of its own, the smallest that holds it; see `bit_struct`.

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
        for place in self._builder._places(chosen, background):
            self._put(place)
        return self

    def bit_struct(self, max_num_bits: int = 32) -> Any:
        """Adds a word to each cell, in which quantised members lie one after another, from its lowest bit on.

        Args:
            max_num_bits: bits of the word: 8, 16, 32 or 64.
        Returns the word, whose `place` puts members into it. Raises TreeError.

        >>> import metate as mt
        >>> q, builder = mt.types.quant, mt.types.SNodeTreeBuilder()
        >>> str(builder.dense(mt.i, 4).bit_struct(16).place(x=q.int(5), y=q.int(11, False)).build())[20:61]
        '<"i", [4], [#metate.bit_struct<16, [#meta'
        """
        word = size_of_word("bit_struct", max_num_bits)
        if getattr(self, "kind", None) == "quant_array":
            raise TreeError("bit_struct: expected a place other than a quant_array, which is made of words itself")
        made = _Word(self._builder, word)
        self.below.append(made)
        return made

    def _put(self, place):
        if getattr(self, "kind", None) == "quant_array":
            check_element(self, f"'{place.name}'", place.type)
            self.below.append(place)
        elif isinstance(place.type, QuantType):
            word = Word(least_word(place.type.bits) or 64)
            word.add([place], False)
            self.below.append(word)
        else:
            self.below.append(place)

    def build(self) -> TreeType:
        """The type of the whole tree, whichever of its levels this is called on. Raises TreeError."""
        return self._builder._build()

    def _add(self, kind, axes, dimensions, name, size=None):
        child = _Level(self, kind, axes, dimensions, name, size)
        self._builder._claim(name)
        self.below.append(child)
        return child


class _Level(_Members, DrawnLevel):
    """A level: what the builder's calls return."""

    __slots__ = ("_builder",)

    def __init__(self, above, *arguments):
        super().__init__(above, *arguments)
        self._builder = above._builder


class _Word(Word):
    """What `bit_struct` returns."""

    __slots__ = ("_builder",)

    def __init__(self, builder, bits):
        super().__init__(bits)
        self._builder = builder

    def place(self, *members: Any, background: Any = None, shared_exponent: bool = False, **named: Any) -> Any:
        """Puts quantised members into the word, behind those that are there.

        Args:
            members, background, named: as for `place` of a level.
            shared_exponent: True: they are at least two quant.float types with as many bits of exponent, which is stored once.
        Returns the word. Raises PackingError_ where they do not fit, or for types that are not quantised; TreeError.
        """
        chosen = _members_of(members, named)
        shown = [(f"'{name}'", type_) for name, type_ in chosen]
        check_group("place", shown, shared_exponent)
        known = [([(f"'{one.name}'", one.type) for one in group], shares) for group, shares in self.groups]
        added = [(shown, True)] if shared_exponent else [([one], False) for one in shown]
        check_fits("place", self.bits, [*known, *added])
        places = self._builder._places(chosen, background)
        if shared_exponent:
            _check_shared_backgrounds(places)
        self.add(places, shared_exponent)
        return self

    def build(self) -> TreeType:
        """The type of the whole tree. Raises TreeError."""
        return self._builder._build()


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

    def _places(self, chosen, background) -> list[PlaceNode]:
        """The members of these names and types, which no others of the tree may have."""
        backgrounds = _backgrounds_of(chosen, background)
        for name, _ in chosen:
            if name in self._members:
                raise TreeError(
                    f"place: expected a name of its own for each member of a tree, got '{name}' twice; rename one of them"
                )
            self._members.add(name)
        return [PlaceNode(name, type_, backgrounds[name]) for name, type_ in chosen]

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


def _check_shared_backgrounds(places):
    values: list[Any] = [decode_background(place.type, place.background) for place in places]
    number = first_inexact([place.type for place in places], values)
    if number is not None:
        text = f"expected numbers that are stored as they are with one exponent, got {values}"
        raise TreeError(f"place: background of '{places[number].name}': {text}")


def _members_of(members, named):
    chosen = []
    for member in members:
        if isinstance(member, _types.StructType):
            chosen += member.stored.items()
        elif isinstance(member, _types.StructMember):
            chosen.append((member.name, member.type))
        else:
            raise TreeError(
                f"place: expected a struct type or a member of one, got {member!r}; give a type alone a name: place(a={member!r})"
            )
    chosen += named.items()
    for index, (name, type_) in enumerate(chosen):
        try:
            chosen[index] = (name, _types.element_type(type_, f"place: member '{name}'", allow_quantised=True))
        except TypeError as error:
            raise TreeError(str(error)) from None
    return chosen


def _backgrounds_of(chosen, background):
    given = background if isinstance(background, dict) else dict.fromkeys((n for n, _ in chosen), background)
    for name in given:
        if name not in dict(chosen):
            raise TreeError(f"place: background: expected names of placed members, got '{name}'")
    return {name: encode_background(name, type_, given.get(name)) for name, type_ in chosen}
