"""Words that quantised members share, while a tree is drawn: what may stand in one, and whether it fits.

Shared by the builder of tree types (tree_builder.py) and by trees of fields (fields/place.py). A *member* here is anything
with a `type` and a text that names it; the tree type's nodes are made at the end, by `node_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import PackingError_
from .quant_types import QuantType
from .tree_type import BitStructNode, PlaceNode, SharedExponentNode

SIZES = (8, 16, 32, 64)


class Word:
    """A word of so many bits and the groups of members in it, from its lowest bit on.

    Attributes:
        bits: of the word.
        groups: (members, whether they share an exponent); a group without has one member.
    """

    __slots__ = ("bits", "groups")

    def __init__(self, bits: int):
        self.bits = bits
        self.groups: list[tuple[tuple, bool]] = []

    @property
    def members(self) -> list:
        """The members in order."""
        return [member for members, _ in self.groups for member in members]

    def add(self, members: list, shares: bool) -> None:
        """Puts members behind those that are there; shares: as one group with one exponent."""
        self.groups += [(tuple(members), True)] if shares else [((member,), False) for member in members]

    def node_of(self, place_of: Callable[[Any], PlaceNode]) -> BitStructNode:
        """The tree type's node; place_of: the PlaceNode of a member. Raises PackingError_ for an empty word."""
        if not self.groups:
            raise PackingError_(
                f"bit_struct: expected at least one member in the word of {self.bits} bits, got none; call place(...)"
            )
        parts = []
        for members, shares in self.groups:
            places = tuple(map(place_of, members))
            parts += [SharedExponentNode(places)] if shares else places
        return BitStructNode(self.bits, tuple(parts))


def size_of_word(what: str, bits: Any) -> int:
    """`bits` as the size of a word. Raises PackingError_."""
    if isinstance(bits, bool) or not hasattr(bits, "__index__") or bits.__index__() not in SIZES:
        raise PackingError_(f"{what}: max_num_bits: expected 8, 16, 32 or 64, got {bits!r}")
    return bits.__index__()


def least_word(bits: int) -> int | None:
    """Bits of the smallest word that holds so many; None where none does."""
    return next((size for size in SIZES if bits <= size), None)


def bits_of(types: list[QuantType], shares: bool) -> int:
    """Bits that members take; shares: one exponent for all."""
    if shares:
        return (types[0].exp or 0) + sum(type_.frac or 0 for type_ in types)
    return sum(type_.bits for type_ in types)


def check_group(what: str, members: list[tuple[str, Any]], shares: bool) -> None:
    """Raises PackingError_ where (name, type) of members cannot be in one word, or cannot share an exponent."""
    for name, type_ in members:
        if not isinstance(type_, QuantType):
            text = "expected quantised types such as mt.types.quant.int(5)"
            raise PackingError_(f"{what}: {text}, got {name} of {type_!r}; place it beside the word")
    if not shares:
        return
    if len(members) < 2:
        text = f"expected at least 2 members with shared_exponent=True, got {len(members)}"
        raise PackingError_(f"{what}: {text}; leave shared_exponent out")
    first = members[0][1]
    for name, type_ in members:
        if (type_.kind, type_.exp, type_.compute) != ("float", first.exp, first.compute):
            text = f"quant.float with the exponent bits and compute type of {members[0][0]}, {first!r}"
            if first.kind != "float":
                name, type_, text = *members[0], "quant.float types"
            raise PackingError_(f"{what}: shared_exponent: expected {text}, got {name} of {type_!r}")


def check_fits(what: str, bits: int, groups: list[tuple[list[tuple[str, QuantType]], bool]]) -> None:
    """Raises PackingError_ where groups of (name, type) do not fit in a word."""
    total = sum(bits_of([type_ for _, type_ in members], shares) for members, shares in groups)
    if total <= bits:
        return
    shown = []
    for members, shares in groups:
        shown += [f"an exponent {members[0][1].exp}"] if shares else []
        shown += [f"{name} {type_.frac if shares else type_.bits}" for name, type_ in members]
    larger = least_word(total)
    hint = f"write max_num_bits={larger}" if larger else "take several words"
    raise PackingError_(f"{what}: expected members of at most {bits} bits together, got {total}: {', '.join(shown)}; {hint}")
