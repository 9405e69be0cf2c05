"""Random tree types, and what a twin takes for a tree: a dictionary from coordinates to values.

A type is described by plain data (so that a saved case needs no pickle): its members with the levels
above them. The twin's tree knows the rules of sparsity from the language's description alone.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter

from . import numbers as n
from . import quantised, words
from .rules import Type
from .table import ALL_LEVELS

LETTERS = "ijkl"
DENSE = ("dense", "quant_array")  # levels of which all cells exist
_POOLS = ("pointer", "hash", "dynamic")


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
        return [depth for depth, level in enumerate(self.levels) if level[1] in _POOLS]

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


def activating(function):
    """The twin of a @real_func: `no_activate` of the loop that calls it does not hold in it."""

    @functools.wraps(function)
    def call(*arguments):
        kept = [(tree, tree.still) for tree in arguments if isinstance(tree, TwinTree)]
        for tree, _ in kept:
            tree.still = set()
        try:
            return function(*arguments)
        finally:
            for tree, still in kept:
                tree.still = still

    return call


class _Reference:
    """A quantised member of a cell, as a `twins.Place`."""

    def __init__(self, tree, name, at):
        self.tree, self.where = tree, (name, at)

    def get(self):
        return self.tree.get(*self.where)

    def put(self, value):
        self.tree.put(*self.where, value)

    def put_part(self, k, value):
        self.tree.put_part(*self.where, k, value)

    def change(self, op, function, value):
        self.tree.change(*self.where, op, function, value)


class TwinTree:
    """A tree of a twin: values of cells that were written, and the slots of growing levels that are active."""

    def __init__(self, type_: TreeType):
        self.type = type_
        self.values = {name: {} for name in type_.members}
        self.slots = set()  # (number of a growing level, coordinates along the axes so far)
        self.defaults = {}
        self.is_full = False  # a list was appended to that had its greatest length
        self.still = set()  # members whose stores leave inactive cells alone
        self.groups = {}  # name -> components of members that share an exponent
        for name, member in type_.members.items():
            zero = 0.0 if n.is_float(member.type.scalar) else 0
            value = member.background or (zero,) * member.type.count
            if member.stored is not None:  # of a background what a store leaves of it; groups have ones that all of it hold
                value = tuple(quantised.encode(form, part) for (form, _), part in zip(member.stored, value))
                for k, (_, group) in enumerate(member.stored):
                    if group:
                        self.groups.setdefault(group, []).append((name, k))
            self.defaults[name] = value if member.type.shape or member.stored is not None else value[0]

    def inside(self, name, at) -> bool:
        return all(0 <= x < extent for x, extent in zip(at, self.type.members[name].shape))

    def _path(self, member, at):
        """(kind, number, coordinates so far by axis) of the levels above a cell that are not dense."""
        below, at = dict(zip(member.axes, member.shape)), dict(zip(member.axes, at))
        key = {}
        for number, kind, axes, extents, _ in member.levels:
            for axis, extent in zip(axes, extents):
                below[axis] //= extent
                key[axis] = at[axis] // below[axis]
            if kind not in DENSE:
                yield kind, number, dict(key), axes

    def _slots(self, member, at):
        return [(number, tuple(sorted(key.items()))) for _, number, key, _ in self._path(member, at)]

    def active(self, name, at) -> int:
        member = self.type.members[name]
        return int(self.inside(name, at) and all(slot in self.slots for slot in self._slots(member, at)))

    def activate(self, name, at) -> int:
        """Whether it is active then. A list grows up to the cell."""
        if not self.inside(name, at):
            return 0
        for kind, number, key, (axis, *_) in self._path(self.type.members[name], at):
            for k in range(key[axis]) if kind == "dynamic" else ():
                self.slots.add((number, tuple(sorted({**key, axis: k}.items()))))
            self.slots.add((number, tuple(sorted(key.items()))))
        return 1

    def deactivate(self, name, at):
        """The cell of the last level that is not dense; a whole list, whatever its coordinate along its own axis."""
        member = self.type.members[name]
        if not self.inside(name, at):
            return
        kind, number, key, axes = list(self._path(member, at))[-1]
        if kind == "dynamic":
            del key[axes[0]]
        gone = {slot for slot in self.slots if slot[0] == number and key.items() <= dict(slot[1]).items()}
        self.slots -= gone
        for other in self.type.members.values():
            if number in [level[0] for level in other.levels]:
                kept = {at: v for at, v in self.values[other.name].items() if self.active(other.name, at)}
                self.values[other.name] = kept

    def length(self, name, at) -> int:
        """Of the list that the cell is in."""
        member = self.type.members[name]
        if not self.inside(name, at):
            return 0
        _, number, key, (axis, *_) = list(self._path(member, at))[-1]
        del key[axis]
        return sum(slot[0] == number and key.items() <= dict(slot[1]).items() for slot in self.slots)

    def append(self, name, at, value, offset=0) -> int:
        """At the end of the list that the cell is in: the index, counted from `offset`; -1 where it is full or there is none."""
        if not self.inside(name, at):
            return -1
        member = self.type.members[name]
        position = member.axes.index(member.levels[-1][2][0])
        index = self.length(name, at)
        if index >= member.shape[position]:
            self.is_full = True
            return -1
        self.put(name, (*at[:position], index, *at[position + 1 :]), value)
        return index + offset

    def clear(self):
        """No cell that can be inactive is active."""
        self.slots.clear()
        for name, member in self.type.members.items():
            if member.is_sparse:
                self.values[name].clear()

    def needed(self) -> dict:
        """Slots that each level with a pool has taken, by the level's name; of a list, chunks of one cell."""
        pools = {level[0]: level[4] for m in self.type.members.values() for level in m.levels if level[1] in _POOLS}
        return {name: sum(slot[0] == number for slot in self.slots) for number, name in pools.items()}

    def used(self, number) -> int:
        """Slots of a level in use: its active cells, of lists their chunks."""
        found = [dict(key) for level, key in self.slots if level == number]
        member = next(m for m in self.type.members.values() if number in [level[0] for level in m.levels])
        kind, (axis, *_) = next(level[1:3] for level in member.levels if level[0] == number)
        if kind != "dynamic":
            return len(found)
        lengths = Counter(tuple(sorted((k, x) for k, x in key.items() if k != axis)) for key in found)
        return sum(-(-length // member.chunk) for length in lengths.values())

    def loop(self, items):
        """The items of a loop in which stores may leave inactive cells alone, in each iteration from some statement on."""
        for item in items:
            self.still.clear()
            yield item
        self.still.clear()

    def get(self, name, at):
        member, value = self.type.members[name], self.values[name].get(tuple(at), self.defaults[name])
        if member.stored is None:
            return value
        value = tuple(quantised.decode(form, part) for (form, _), part in zip(member.stored, value))
        return value if member.type.shape else value[0]

    def put(self, name, at, value):
        if self._may_put(name, at):
            member = self.type.members[name]
            if member.stored is None:
                self.values[name][tuple(at)] = value
                return
            self._store(member, tuple(at), dict(enumerate(value if member.type.shape else (value,))))

    def write(self, name, at, value):
        """What a host's write of an element does: of a quantised one its components, one after the other."""
        if self.type.members[name].stored is None or not self.type.members[name].type.shape:
            self.put(name, at, value)
        else:
            for k, part in enumerate(value):
                self.put_part(name, at, k, part)

    def put_part(self, name, at, k, value):
        """One component of a quantised member."""
        if self._may_put(name, at):
            self._store(self.type.members[name], tuple(at), {k: value})

    def change(self, name, at, op, function, value):
        """An atomic operation on a quantised member; `function` is the one of the compute type."""
        if not self._may_put(name, at):
            return
        member, at = self.type.members[name], tuple(at)
        for k, (form, group) in enumerate(member.stored):
            part = value[k] if isinstance(value, tuple) else value
            before = self.values[name].get(at, self.defaults[name])
            if group:
                self._store(member, at, {k: function(quantised.decode(form, before[k]), part)})
            else:
                after = quantised.combined(form, op, function, before[k], part)
                self.values[name][at] = (*before[:k], after, *before[k + 1 :])

    def place(self, name, at):
        """The place as functions are given it."""
        return _Reference(self, name, at)

    def _may_put(self, name, at) -> bool:
        """Activates the cell unless its stores leave inactive ones alone."""
        may = self.inside(name, at) and (name not in self.still or self.active(name, at))
        if may:
            self.activate(name, at)
        return may

    def _store(self, member, at, given):
        """Components by their numbers; those that share an exponent together."""
        group = member.stored[0][1]
        if not group:
            for k, value in given.items():
                self._keep(member.name, at, k, quantised.encode(member.stored[k][0], value))
            return
        places = self.groups[group]
        forms = [self.type.members[name].stored[position][0] for name, position in places]
        values = [self.values[name].get(at, self.defaults[name])[position] for name, position in places]
        for k, value in given.items():
            values[places.index((member.name, k))] = value
        for (name, position), kept in zip(places, quantised.together(forms, values)):
            self._keep(name, at, position, kept)

    def _keep(self, name, at, k, stored):
        before = self.values[name].get(at, self.defaults[name])
        self.values[name][at] = (*before[:k], stored, *before[k + 1 :])

    def cells(self, name):
        """The active cells of a member now."""
        member = self.type.members[name]
        if not member.is_sparse:
            return list(itertools.product(*map(range, member.shape)))
        return [at for at in itertools.product(*map(range, member.shape)) if self.active(name, at)]

    def in_order(self, name):
        """The active cells of a member, as a loop that runs in order comes to them."""

        def walk(levels, key, slots):
            if not levels:
                yield tuple(key[axis] for axis in sorted(key))
                return
            (number, kind, axes, extents, _), *rest = levels
            if kind == "dynamic":
                extents = (sum(slot[0] == number and key.items() <= dict(slot[1]).items() for slot in self.slots),)
            for local in itertools.product(*map(range, extents)):
                own = {axis: key.get(axis, 0) * extent + at for axis, extent, at in zip(axes, extents, local)}
                slot = number, tuple(sorted({**key, **own}.items()))
                needed = slots if kind in DENSE else [*slots, slot]
                if kind in DENSE or all(one in self.slots for one in needed):
                    yield from walk(rest, {**key, **own}, needed)

        return walk(self.type.members[name].levels, {}, [])

    def level_cells(self, number):
        """The active cells of a level, in its own coordinates."""
        _, extents = self.type.level_axes(number)
        for member in self.type.members.values():
            numbers = [level[0] for level in member.levels]
            if number not in numbers:
                continue
            above = Member("", member.type, member.levels[: numbers.index(number) + 1], None)
            return [
                at for at in itertools.product(*map(range, extents)) if all(slot in self.slots for slot in self._slots(above, at))
            ]
        raise KeyError(number)
