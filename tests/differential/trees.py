"""Random tree types: plain data (so that a saved case needs no pickle), members with the levels above them."""

from __future__ import annotations

import itertools
import math
import re

from . import numbers as n
from . import quantised, words
from .rules import Type
from .table import ALL_LEVELS

LETTERS = "ijkl"
DENSE = ("dense", "quant_array")  # levels of which all cells exist
POOLS = ("pointer", "hash", "dynamic")


class Member:
    """A member of a random type: `levels` is [(number of the level, kind, axes, extents, name or None)]. The extents of a
    hash level are those of the box in which kernels use its cells.

    Of a field `handle` is how a kernel names it, and `offset` the first index along each dimension. `origin` is where the
    box of a hash level begins, in the tree's coordinates: a twin counts from there. `chunk`: cells for which a list takes
    memory at once. `stored`: of a quantised member what `words` says of each component, else None; `type` is what is
    computed with then.
    """

    def __init__(self, name, type_, levels, background, handle=None, offset=(), origin=(), chunk=0, stored=None):
        self.name, self.type, self.levels, self.background = name, type_, levels, background
        self.handle, self.offset = handle, tuple(offset)
        self.axes = sorted({axis for _, _, axes, _, _ in levels for axis in axes})
        self.shape = tuple(
            math.prod(extents[axes.index(axis)] for _, _, axes, extents, _ in levels if axis in axes) for axis in self.axes
        )
        self.origin = tuple(origin) or (0,) * len(self.shape)
        self.chunk = chunk
        self.stored = stored and [(quantised.Format(*form), group) for form, group in stored]

    @property
    def shift(self):
        """What a kernel adds to the twin's coordinates."""
        return tuple(a + b for a, b in zip(self.offset or (0,) * len(self.shape), self.origin))

    @property
    def is_part(self) -> bool:
        """Is it a member of a struct field?"""
        return self.handle is not None and self.handle.rpartition(".")[2] == self.name and self.name[-1] in "pq"

    @property
    def is_sparse(self) -> bool:
        return any(kind not in DENSE for _, kind, _, _, _ in self.levels)

    @property
    def text(self) -> str:
        """Its type where it is placed."""
        return self.type.text if self.stored is None else self.stored[0][0].text

    @property
    def used_as(self) -> str:
        """What a task uses in one way only: itself, or all that share its exponent, for a write of one rounds the others."""
        return (self.stored and self.stored[0][1]) or self.name

    @property
    def kind(self) -> str | None:
        """Of a quantised member its row in the coverage."""
        if self.stored is None:
            return None
        form, group = self.stored[0]
        return "shared float" if group else form.kind

    @property
    def pools(self) -> list:
        """Depths of the levels that have slots."""
        return [depth for depth, level in enumerate(self.levels) if level[1] in POOLS]

    @property
    def has_outside(self) -> bool:
        """Are there coordinates that no cell has, so that reading them gives the background? Not below a hash level."""
        return self.is_sparse and all(kind != "hash" for _, kind, _, _, _ in self.levels)

    def counted(self, extents):
        """By what the coordinates of an iteration over the member or a level above it make one number: without bounds there
        are 2^32 of an axis, and more than two such axes do not fit a number."""
        unbounded = {axis for _, kind, axes, _, _ in self.levels if kind == "hash" for axis in axes}
        big = 1 << 32 if len(extents) <= 2 else 0x9E3779B97F4A7C15
        axes: set = set()
        for _, _, more, _, _ in self.levels:  # of the level that has as many axes
            axes |= set(more)
            if len(axes) >= len(extents):
                break
        return tuple(big if axis in unbounded else extent for axis, extent in zip(sorted(axes), extents))

    @property
    def level(self) -> str:
        """The kind of tree that it stands in, as coverage calls it."""
        return "/".join(kind for _, kind, _, _, _ in self.levels) or "dense"


class TreeType:
    """Members by name and the text that builds the type, or the fields; `handles`: what a kernel can name of these."""

    def __init__(self, members, text, handles=()):
        self.members = {member.name: member for member in members}
        self.text = text
        self.handles = tuple(handles)

    def list_of(self, name):
        """Of a member in a list: the positions, among its coordinates, of those of the cell that the list is in; None where
        the last level that is not dense is of another kind."""
        member = self.members[name]
        depths = [depth for depth, level in enumerate(member.levels) if level[1] not in DENSE]
        if not depths or member.levels[depths[-1]][1] != "dynamic":
            return None
        above = {axis for level in member.levels[: depths[-1]] for axis in level[2]}
        return [k for k, axis in enumerate(member.axes) if axis in above]

    def level_axes(self, number):
        """(axes, extents over the whole tree) of a level's own coordinates."""
        for member in self.members.values():
            numbers = [level[0] for level in member.levels]
            if number in numbers:
                above = member.levels[: numbers.index(number) + 1]
                part = Member("", Type("i32"), above, None)
                return part.axes, part.shape
        raise KeyError(number)

    def level_origin(self, number):
        """Where a hash level's box begins, in a level's own coordinates."""
        for member in self.members.values():
            numbers = [level[0] for level in member.levels]
            if number in numbers:
                below = dict.fromkeys(member.axes, 1)
                for _, _, axes, extents, _ in member.levels[numbers.index(number) + 1 :]:
                    for axis, extent in zip(axes, extents):
                        below[axis] *= extent
                first = dict(zip(member.axes, member.origin))
                return tuple(first[axis] // below[axis] for axis in self.level_axes(number)[0])
        raise KeyError(number)


def random_type(rng, prefix: str, scalars, stored: words.Stored, rank=None, chain=None) -> TreeType:
    """A type of one to three branches.

    Args:
        prefix: of its members' names.
        scalars: what its members may hold.
        stored: draws what quantised members are stored as.
        chain: the kinds of the first branch's levels; None: any.
    """
    rank = rank or rng.choice((1, 1, 2, 2, 2, 3))
    rank = _rank_for(chain, rank)
    count = itertools.count()
    members, lines = [], ["b = mt.types.SNodeTreeBuilder()"]
    for branch in range(rng.choice((1, 1, 1, 2, 3))):
        kinds = chain if branch == 0 and chain else rng.choice([kinds for kinds in ALL_LEVELS if _rank_for(kinds, rank) == rank])
        _branch(rng, rank, kinds, f"{prefix}{branch}", scalars, stored, count, members, lines)
    return TreeType(members, "\n".join([*lines, "{name} = b.build()"]) + "\n")


def random_fields(rng, prefix: str, scalars, stored: words.Stored, chain=None) -> TreeType:
    """Fields of one to three branches, as `random_type`; or fields that have a shape of their own."""
    rank = _rank_for(chain, rng.choice((1, 1, 2, 2, 2, 3)))
    count = itertools.count()
    made = _Fields(rng, prefix, scalars, stored, rank)
    made.lines.append(rng.choice(("b = mt.FieldsBuilder()", "b = mt.root")))
    for branch in range(rng.choice((1, 1, 1, 2, 3))):
        if not (chain and branch == 0) and rng.random() < 0.45:
            made.shaped(f"{prefix}{branch}", next(count))
            continue
        usable = [kinds for kinds in ALL_LEVELS if _rank_for(kinds, rank) == rank]
        kinds = chain if branch == 0 and chain else rng.choice(usable)
        made.placed(f"{prefix}{branch}", *_levels(rng, rank, kinds, count))
    if rng.random() < 0.4:
        made.rank = 0  # fields of one element: what loops accumulate in
        made.shaped(f"{prefix}9", next(count))
    return TreeType(made.members, "\n".join(made.lines) + "\n", made.handles)


def random_records(rng, prefix: str, scalars) -> TreeType:
    """The struct type of the elements of an array; its elements lie in one box."""
    rank = rng.choice((1, 1, 2))
    axes = tuple(range(rank))
    levels = [(0, "dense", axes, tuple(rng.randint(1, {1: 24, 2: 5}[rank]) for _ in axes), "dense0")]
    members = []
    for number in range(rng.choice((1, 2, 3))):
        member = _member(rng, f"{prefix}{'abc'[number]}", scalars, levels)
        members.append(Member(member.name, member.type, levels, None))
    parts = ", ".join(f"{member.name}={member.type.text}" for member in members)
    return TreeType(members, f"{{name}} = mt.types.struct({parts})\n")


class _Fields:
    """Fields while they are made: their text, members and names."""

    def __init__(self, rng, prefix, scalars, stored, rank):
        self.rng, self.scalars, self.stored, self.rank = rng, scalars, stored, rank
        self.lines, self.members, self.handles = [], [], []

    def _offset(self):
        return tuple(self.rng.randint(-3, 4) for _ in range(self.rank)) if self.rng.random() < 0.4 else (0,) * self.rank

    def _made(self, name, levels, given, offset, origin=(), chunk=0):
        """A field or a struct field of a name; `given`: what its text says besides the type."""
        rng, more = self.rng, f", {given}" if given else ""
        if self.stored.is_alone():
            return self._stored(name, levels, given, offset, origin, chunk)
        self.handles.append(name)
        if rng.random() < 0.3:
            parts = [_member(rng, f"{name}{letter}", self.scalars, levels) for letter in "pq"[: rng.randint(1, 2)]]
            if self.stored.is_alone():
                parts[-1] = _quantised(parts[-1].name, self.stored.alone(), levels)
            inside = ", ".join(f'"{part.name}": {part.text}' for part in parts)
            self.lines.append(f"{name} = mt.Struct.field({{{inside}}}{more})")
            self.members += [
                Member(p.name, p.type, levels, None, f"{name}.{p.name}", offset, origin, chunk, p.stored) for p in parts
            ]
            return
        type_ = _member(rng, name, self.scalars, levels).type
        if not type_.shape or (rng.random() < 0.2 and "layout" not in given):
            made = f"mt.field({type_.text}{more})"
        else:
            sizes = ", ".join(map(str, type_.shape))
            made = f"mt.{'Vector' if len(type_.shape) == 1 else 'Matrix'}.field({sizes}, mt.{type_.scalar}{more})"
        if not type_.shape and "layout" in given:
            made = made.replace(", layout=mt.Layout.SOA", "")
        self.lines.append(f"{name} = {made}")
        self.members.append(Member(name, type_, levels, None, name, offset, origin, chunk))

    def _stored(self, name, levels, given, offset, origin=(), chunk=0, stored=None):
        """A quantised field, of one component or of several; `stored`: as what, or any."""
        rng, more = self.rng, f", {given}" if given else ""
        shape = ()
        if stored is None:
            shape = rng.choice(((), (), (), (2,), (3,), (2, 2)))
            stored = self.stored.alone(words.Type("", shape).count)
        elif len(stored) > 1:
            shape = (len(stored),)
        if len(shape) == 2:
            stored = stored[:1] * len(stored)
        texts = [form.text for form, _ in stored]
        if not shape:
            made = f"mt.field({texts[0]}{more})".replace(", layout=mt.Layout.SOA", "")
        else:
            dtype = texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"
            sizes = ", ".join(map(str, shape))
            made = f"mt.{'Vector' if len(shape) == 1 else 'Matrix'}.field({sizes}, dtype={dtype}{more})"
        self.handles.append(name)
        self.lines.append(f"{name} = {made}")
        self.members.append(Member(name, words.type_of(stored, shape), levels, None, name, offset, origin, chunk, stored))

    def _word(self, name, levels, offset, origin, chunk):
        """Fields in the bits of one word."""
        bits, groups = self.stored.word(counts=(1, 1, 2, 3))
        packed, letters = f"w_{name}", iter(words.LETTERS)
        self.lines.append(f"{packed} = mt.BitpackedFields(max_num_bits={bits})")
        for members, is_shared in groups:
            names = [f"{name}w{next(letters)}" for _ in members]
            for one, stored in zip(names, members):
                self._stored(one, levels, "", offset, origin, chunk, stored)
            self.lines.append(f"{packed}.place({', '.join(names)}{', shared_exponent=True' if is_shared else ''})")
        return packed

    def shaped(self, name, number):
        """A field with a shape, an order of its indices, a layout."""
        rng, most = self.rng, {0: 1, 1: 30, 2: 10, 3: 5}[self.rank]
        extents = tuple(rng.randint(1, most) for _ in range(self.rank))
        offset = self._offset()
        given = [f"shape={extents[0] if self.rank == 1 and rng.random() < 0.5 else extents}"]
        if any(offset):
            given.append(f"offset={offset}")
        if self.rank and rng.random() < 0.3:
            given.append(f'order="{"".join(rng.sample("ijk"[: self.rank], self.rank))}"')
        if rng.random() < 0.4:
            given.append("layout=mt.Layout.SOA")
        levels = [(number, "dense", tuple(range(self.rank)), extents, "dense0")] if self.rank else []
        self._made(name, levels, ", ".join(given), offset)

    def placed(self, name, levels, text, chunk):
        """Fields below a level."""
        offset, origin = self._offset(), _origin(self.rng, levels)
        self.lines.append(f"n_{name} = {text}")
        names = [f"{name}{'abc'[k]}" for k in range(self.rng.choice((1, 2, 2, 3)))]
        if levels[-1][1] == "quant_array":
            names = names[:1]
            self._stored(names[0], levels, "", offset, origin, chunk, self.stored.element(_word_of(text)))
        else:
            for one in names:
                self._made(one, levels, "", offset, origin, chunk)
            if self.stored.is_word():
                names.append(self._word(name, levels, offset, origin, chunk))
        given = f", offset={offset}" if any(offset) else ""
        if self.rng.random() < 0.5:
            self.lines.append(f"n_{name}.place({', '.join(names)}{given})")
        else:
            self.lines += [f"n_{name}.place({one}{given})" for one in names]


def _levels(rng, rank, kinds, count):
    """(levels, text, cells of a list's chunk) of nested levels."""
    axes = _axes_of(rng, rank, kinds)
    most = {1: 40, 2: 14, 3: 6}[rank]
    left = [most] * rank
    levels, text, size = [], "b", 0
    for depth, (kind, some) in enumerate(zip(kinds, axes)):
        extents = []
        for axis in some:
            room, sizes = left[axis], (1, 2, 3, 4, 5, 7, 8, 16, 32)
            if kind == "quant_array" and axis == some[-1]:  # rows of some words
                room, sizes = max(room, {1: 70, 2: 24, 3: 8}[rank]), (*sizes, 8, 16, 24, 33, 64, 70)
            extent = rng.choice([e for e in sizes if e <= room])
            left[axis] = max(left[axis] // extent, 1)
            extents.append(extent)
        number = next(count)
        name = f"level{number}" if rng.random() < 0.5 else None
        levels = [*levels, (number, kind, tuple(some), tuple(extents), name or f"{kind}{depth}")]
        letters = "".join(LETTERS[axis] for axis in some)
        sizes = str(extents[0]) if len(set(extents)) == 1 else str(tuple(extents))
        naming = f', name="{name}"' if name else ""
        chunk = f", {rng.randint(1, extents[0])}" if kind == "dynamic" and rng.random() < 0.8 else ""
        chunk = f", {rng.choice(words.SIZES)}" if kind == "quant_array" else chunk
        size = (int(chunk[2:]) if chunk else extents[0]) if kind == "dynamic" else size
        given = "" if kind == "hash" else f", {sizes}{chunk}"
        text = f'{text}.{kind}(mt.axes("{letters}"){given}{naming})'
    return levels, text, size


def _word_of(text) -> int:
    """The bits of a quant_array's words, of the text that adds the level."""
    return int(re.search(r", (\d+)(, name=\"\w+\")?\)$", text)[1])


def _origin(rng, levels):
    """Where the box of a hash level begins: below and above zero."""
    below, found = {}, {}
    for _, kind, axes, extents, _ in reversed(levels):
        for axis, extent in zip(axes, extents):
            found[axis] = -rng.randint(0, extent) * below.get(axis, 1) if kind == "hash" else found.get(axis, 0)
            below[axis] = below.get(axis, 1) * extent
    return tuple(found[axis] for axis in sorted(found))


def _rank_for(kinds, rank) -> int:
    """A list has an axis of its own, and other levels need one; alone it has one."""
    if not kinds or "dynamic" not in kinds:
        return rank
    return 1 if len(kinds) == 1 else max(rank, 2)


def _axes_of(rng, rank, kinds):
    """The axes of each level, all of them at least once."""
    own = rng.randrange(rank) if "dynamic" in kinds else None
    shared = [axis for axis in range(rank) if axis != own or len(kinds) == 1]
    axes = [[own] if kind == "dynamic" else _some_axes(rng, shared) for kind in kinds]
    missing = set(range(rank)) - {axis for some in axes for axis in some}
    takes = [k for k, kind in enumerate(kinds) if kind != "dynamic"]
    if takes:
        axes[takes[-1]] = sorted({*axes[takes[-1]], *missing})
    return axes


def _branch(rng, rank, kinds, prefix, scalars, stored, count, members, lines):
    levels, text, chunk = _levels(rng, rank, kinds, count)
    node, origin = f"n{len(members)}", _origin(rng, levels)
    lines.append(f"{node} = {text}")
    if kinds[-1] == "quant_array":
        members.append(_quantised(f"{prefix}a", stored.element(_word_of(text)), levels, origin, chunk, rng))
        lines.append(_place(rng, node, members[-1]))
        return
    for number in range(rng.choice((1, 2, 2, 3))):
        member = _member(rng, f"{prefix}{'abc'[number]}", scalars, levels, origin, chunk)
        if stored.is_alone():
            member = _quantised(member.name, stored.alone(), levels, origin, chunk, rng)
        members.append(member)
        lines.append(_place(rng, node, member))
    if stored.is_word():
        _word(rng, node, f"{prefix}w", stored, levels, origin, chunk, members, lines)


def _word(rng, node, prefix, stored, levels, origin, chunk, members, lines):
    """Members in the bits of one word."""
    bits, groups = stored.word()
    letters, word = iter(words.LETTERS), f"w{len(members)}"
    lines.append(f"{word} = {node}.bit_struct(max_num_bits={bits})")
    for group, is_shared in groups:
        made = [_quantised(f"{prefix}{next(letters)}", one, levels, origin, chunk, rng) for one in group]
        given = [f"{member.name}={member.text}" for member in made]
        given += ["shared_exponent=True"] if is_shared else []
        known = [f'"{m.name}": {m.background[0]!r}' for m in made if m.background is not None]
        given += [f"background={{{', '.join(known)}}}"] if known else []
        members += made
        lines.append(f"{word}.place({', '.join(given)})")


def _quantised(name, stored, levels, origin=(), chunk=0, rng=None):
    """A member of one component; with `rng` it may have a background."""
    background = words.background(rng, stored) if rng is not None and rng.random() < 0.4 else None
    return Member(name, words.type_of(stored), levels, background, origin=origin, chunk=chunk, stored=stored)


def _some_axes(rng, axes):
    return list(axes) if rng.random() < 0.7 else sorted(rng.sample(axes, rng.randint(1, len(axes))))


def _member(rng, name, scalars, levels, origin=(), chunk=0):
    shape = rng.choice(((), (), (), (), (), (2,), (3,), (2, 2), (2, 3)))
    type_ = Type(rng.choice(scalars), shape)
    background = None
    if rng.random() < 0.5 and type_.scalar != "u1":
        values = [
            rng.choice((1, 2, 3, 5, 7)) * (-1 if n.is_signed(type_.scalar) and rng.random() < 0.5 else 1)
            for _ in range(type_.count)
        ]
        background = tuple(map(float, values)) if n.is_float(type_.scalar) else tuple(values)
    return Member(name, type_, levels, background, origin=origin, chunk=chunk)


def _place(rng, node, member):
    given = ""
    if member.background is not None:
        shape = member.type.shape
        value = member.background
        if not shape:
            value = value[0]
        elif len(shape) == 2:
            value = tuple(value[k : k + shape[1]] for k in range(0, len(value), shape[1]))
        given = f", background={value!r}"
    if rng.random() < 0.25:
        return f"{node}.place(mt.types.struct({{'{member.name}': {member.text}}}){given})"
    return f"{node}.place({member.name}={member.text}{given})"
