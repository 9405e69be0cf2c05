"""Random words of quantised members: what `trees` places beside members that have memory of their own.

A member that is stored in bits knows, of each component, its format and the group whose exponent it shares: (Format, name of
the group or None).
"""

from __future__ import annotations

from .quantised import Format, Formats, decode
from .rules import Type

SIZES = (8, 16, 32, 64)
LETTERS = "abcdefgh"


class Stored:
    """Draws what members are stored as.

    Attributes:
        share: of levels that have a word of quantised members.
        alone_share: of members that are quantised and have a word of their own.
    """

    def __init__(self, rng, is_whole: bool):
        self.rng = rng
        self.formats = Formats(rng, is_whole)
        self.groups = 0
        self.share, self.alone_share = 0.3, 0.1

    def is_word(self) -> bool:
        return self.rng.random() < self.share

    def is_alone(self) -> bool:
        return self.rng.random() < self.alone_share

    def alone(self, count: int = 1) -> list:
        """Of a member whose components have words of their own; of several components the formats have one compute type."""
        first = self.formats.some()
        more = [self.formats.some(scalar=first.scalar) if self.rng.random() < 0.6 else first for _ in range(count - 1)]
        return [(form, None) for form in [first, *more]]

    def element(self, word: int) -> list:
        """Of an element of a quant_array: few bits."""
        rng = self.rng
        if rng.random() < 0.75:
            while True:
                form = self.formats.some(min(word, rng.choice((1, 1, 2, 3, 4, 5, 7, 8))))
                if form is not None and form.kind == "int":
                    return [(form, None)]
        return [(self.formats.some(word) or Format("int", 1, False, "u32"), None)]

    def word(self, most_parts: int = 4, counts=(1,)):
        """(bits of a word, groups of members in it): each group is [what a member is stored as], and whether it shares."""
        rng, bits = self.rng, self.rng.choice(SIZES)
        left, groups, parts = bits, [], 0
        while parts < most_parts and left > 0 and (not groups or rng.random() < 0.75):
            made = self._shared(left, most_parts - parts, counts) if rng.random() < 0.3 else None
            is_shared = made is not None
            made = made or self._members(left, counts)
            left -= sum(form.bits for member in made for form, _ in member)
            left -= made[0][0][0].exp if is_shared else sum(form.exp for member in made for form, _ in member)
            parts += len(made)
            groups.append((made, is_shared))
        return bits, groups

    def _members(self, left, counts):
        count = min(self.rng.choice(counts), left)
        first = self.formats.some(left // count)
        rest = [self.formats.some(left // count, first.scalar) or first for _ in range(count - 1)]
        return [[(form, None) for form in [first, *rest]]]

    def _shared(self, left, parts, counts):
        """At least two floats with one exponent, in members of one component or of several."""
        rng, scalar = self.rng, self.rng.choice(("f32", "f32", "f64"))
        wanted = [rng.choice(counts) for _ in range(rng.randint(2, 3))][:parts]
        total, least = sum(wanted), 5 if self.formats.is_whole else 2
        exp = rng.choice((4, 5, 6) if self.formats.is_whole else (2, 3, 5, 5, 6, 8))
        if total < 2 or left < exp + total * least:
            return None
        self.groups += 1
        name, room = f"e{self.groups}", (left - exp) // total
        return [[(self.formats.fraction(exp, room, scalar), name) for _ in range(count)] for count in wanted]


def type_of(stored, shape=()) -> Type:
    """What is computed with."""
    return Type(stored[0][0].scalar, shape)


def background(rng, stored):
    """A value in all cells that were never written; of those that share an exponent one that all formats hold."""
    form, group = stored[0]
    if group:
        return (1.0,)
    if form.kind == "float":
        return (rng.choice((0.5, 1.0)),)
    return (decode(form, form.wrapped(rng.choice((1, 2, 3, 5, 7)) * rng.choice((1, -1)))),)
