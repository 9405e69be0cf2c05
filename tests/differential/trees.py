"""Random tree types, and what a twin takes for a tree: a dictionary from coordinates to values.

A type is described by plain data (so that a saved case needs no pickle): its members with the levels
above them. The twin's tree knows the rules of sparsity from the language's description alone.
"""

from __future__ import annotations

import itertools
import math

from . import numbers as n
from .table import LEVELS, Type

LETTERS = "ijkl"


class Member:
    """A member of a random type: `levels` is [(number of the level, kind, axes, extents, name or None)].

    Of a field `handle` is how a kernel names it, and `offset` the first index along each dimension.
    """

    def __init__(self, name, type_, levels, background, handle=None, offset=()):
        self.name, self.type, self.levels, self.background = name, type_, levels, background
        self.handle, self.offset = handle, tuple(offset)
        self.axes = sorted({axis for _, _, axes, _, _ in levels for axis in axes})
        self.shape = tuple(
            math.prod(extents[axes.index(axis)] for _, _, axes, extents, _ in levels if axis in axes) for axis in self.axes
        )

    @property
    def is_part(self) -> bool:
        """Is it a member of a struct field?"""
        return self.handle is not None and self.handle.rpartition(".")[2] == self.name and self.name[-1] in "pq"

    @property
    def is_sparse(self) -> bool:
        return any(kind != "dense" for _, kind, _, _, _ in self.levels)

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

    def level_axes(self, number):
        """(axes, extents over the whole tree) of a level's own coordinates."""
        for member in self.members.values():
            numbers = [level[0] for level in member.levels]
            if number in numbers:
                above = member.levels[: numbers.index(number) + 1]
                part = Member("", Type("i32"), above, None)
                return part.axes, part.shape
        raise KeyError(number)


def random_type(rng, prefix: str, scalars, rank=None, chain=None) -> TreeType:
    """A type of one to three branches.

    Args:
        prefix: of its members' names.
        scalars: what its members may hold.
        chain: the kinds of the first branch's levels; None: any.
    """
    rank = rank or rng.choice((1, 1, 2, 2, 2, 3))
    count = itertools.count()
    members, lines = [], ["b = mt.types.SNodeTreeBuilder()"]
    for branch in range(rng.choice((1, 1, 1, 2, 3))):
        kinds = chain if branch == 0 and chain else rng.choice(LEVELS)
        _branch(rng, rank, kinds, f"{prefix}{branch}", scalars, count, members, lines)
    return TreeType(members, "\n".join([*lines, "{name} = b.build()"]) + "\n")


def random_fields(rng, prefix: str, scalars, chain=None) -> TreeType:
    """Fields of one to three branches, as `random_type`; or fields that have a shape of their own."""
    rank = rng.choice((1, 1, 2, 2, 2, 3))
    count = itertools.count()
    made = _Fields(rng, prefix, scalars, rank)
    made.lines.append("b = mt.FieldsBuilder()")
    for branch in range(rng.choice((1, 1, 1, 2, 3))):
        if not (chain and branch == 0) and rng.random() < 0.45:
            made.shaped(f"{prefix}{branch}", next(count))
            continue
        kinds = chain if branch == 0 and chain else rng.choice(LEVELS)
        levels, text = _levels(rng, rank, kinds, count)
        made.placed(f"{prefix}{branch}", levels, text)
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

    def __init__(self, rng, prefix, scalars, rank):
        self.rng, self.scalars, self.rank = rng, scalars, rank
        self.lines, self.members, self.handles = [], [], []

    def _offset(self):
        return tuple(self.rng.randint(-3, 4) for _ in range(self.rank)) if self.rng.random() < 0.4 else (0,) * self.rank

    def _made(self, name, levels, given, offset):
        """A field or a struct field of a name; `given`: what its text says besides the type."""
        rng, more = self.rng, f", {given}" if given else ""
        self.handles.append(name)
        if rng.random() < 0.3:
            parts = [_member(rng, f"{name}{letter}", self.scalars, levels) for letter in "pq"[: rng.randint(1, 2)]]
            inside = ", ".join(f'"{part.name}": {part.type.text}' for part in parts)
            self.lines.append(f"{name} = mt.Struct.field({{{inside}}}{more})")
            self.members += [Member(p.name, p.type, levels, None, f"{name}.{p.name}", offset) for p in parts]
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
        self.members.append(Member(name, type_, levels, None, name, offset))

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

    def placed(self, name, levels, text):
        """Fields below a level."""
        offset = self._offset()
        self.lines.append(f"n_{name} = {text}")
        names = [f"{name}{'abc'[k]}" for k in range(self.rng.choice((1, 2, 2, 3)))]
        for one in names:
            self._made(one, levels, "", offset)
        given = f", offset={offset}" if any(offset) else ""
        if self.rng.random() < 0.5:
            self.lines.append(f"n_{name}.place({', '.join(names)}{given})")
        else:
            self.lines += [f"n_{name}.place({one}{given})" for one in names]


def _levels(rng, rank, kinds, count):
    """(levels, text) of nested levels."""
    axes = [_some_axes(rng, rank) for _ in kinds]
    missing = set(range(rank)) - {axis for some in axes for axis in some}
    axes[-1] = sorted({*axes[-1], *missing})
    most = {1: 40, 2: 14, 3: 6}[rank]
    left = [most] * rank
    levels, text = [], "b"
    for depth, (kind, some) in enumerate(zip(kinds, axes)):
        extents = []
        for axis in some:
            extent = rng.choice([e for e in (1, 2, 3, 4, 5, 7, 8, 16, 32) if e <= left[axis]])
            left[axis] = max(left[axis] // extent, 1)
            extents.append(extent)
        number = next(count)
        name = f"level{number}" if rng.random() < 0.5 else None
        levels = [*levels, (number, kind, tuple(some), tuple(extents), name or f"{kind}{depth}")]
        letters = "".join(LETTERS[axis] for axis in some)
        sizes = str(extents[0]) if len(set(extents)) == 1 else str(tuple(extents))
        naming = f', name="{name}"' if name else ""
        text = f'{text}.{kind}(mt.axes("{letters}"), {sizes}{naming})'
    return levels, text


def _branch(rng, rank, kinds, prefix, scalars, count, members, lines):
    levels, text = _levels(rng, rank, kinds, count)
    node = f"n{len(members)}"
    lines.append(f"{node} = {text}")
    for number in range(rng.choice((1, 2, 2, 3))):
        member = _member(rng, f"{prefix}{'abc'[number]}", scalars, levels)
        members.append(member)
        lines.append(_place(rng, node, member))


def _some_axes(rng, rank):
    return list(range(rank)) if rng.random() < 0.7 else sorted(rng.sample(range(rank), rng.randint(1, rank)))


def _member(rng, name, scalars, levels):
    shape = rng.choice(((), (), (), (), (), (2,), (3,), (2, 2), (2, 3)))
    type_ = Type(rng.choice(scalars), shape)
    background = None
    if rng.random() < 0.5 and type_.scalar != "u1":
        values = [
            rng.choice((1, 2, 3, 5, 7)) * (-1 if n.is_signed(type_.scalar) and rng.random() < 0.5 else 1)
            for _ in range(type_.count)
        ]
        background = tuple(map(float, values)) if n.is_float(type_.scalar) else tuple(values)
    return Member(name, type_, levels, background)


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
        return f"{node}.place(mt.types.struct({{'{member.name}': {member.type.text}}}){given})"
    return f"{node}.place({member.name}={member.type.text}{given})"


class TwinTree:
    """A tree of a twin: values of cells that were written, and the slots of growing levels that are active."""

    def __init__(self, type_: TreeType):
        self.type = type_
        self.values = {name: {} for name in type_.members}
        self.slots = set()  # (number of a growing level, coordinates along the axes so far)
        self.defaults = {}
        for name, member in type_.members.items():
            zero = 0.0 if n.is_float(member.type.scalar) else 0
            value = member.background or (zero,) * member.type.count
            self.defaults[name] = value if member.type.shape else value[0]

    def inside(self, name, at) -> bool:
        return all(0 <= x < extent for x, extent in zip(at, self.type.members[name].shape))

    def _path(self, member, at):
        """The growing levels' slots above a cell."""
        below, at = dict(zip(member.axes, member.shape)), dict(zip(member.axes, at))
        key = {}
        for number, kind, axes, extents, _ in member.levels:
            for axis, extent in zip(axes, extents):
                below[axis] //= extent
                key[axis] = at[axis] // below[axis]
            if kind != "dense":
                yield number, tuple(sorted(key.items()))

    def active(self, name, at) -> int:
        member = self.type.members[name]
        if not self.inside(name, at):
            return 0
        return int(all(slot in self.slots for slot in self._path(member, at)))

    def activate(self, name, at) -> int:
        """Whether it is active then."""
        if self.inside(name, at):
            self.slots.update(self._path(self.type.members[name], at))
        return int(self.inside(name, at))

    def get(self, name, at):
        return self.values[name].get(tuple(at), self.defaults[name])

    def put(self, name, at, value):
        if self.inside(name, at):
            self.activate(name, at)
            self.values[name][tuple(at)] = value

    def cells(self, name):
        """The active cells of a member now."""
        member = self.type.members[name]
        if not member.is_sparse:
            return list(itertools.product(*map(range, member.shape)))
        return [at for at in itertools.product(*map(range, member.shape)) if self.active(name, at)]

    def level_cells(self, number):
        """The active cells of a level, in its own coordinates."""
        _, extents = self.type.level_axes(number)
        for member in self.type.members.values():
            numbers = [level[0] for level in member.levels]
            if number not in numbers:
                continue
            above = Member("", member.type, member.levels[: numbers.index(number) + 1], None)
            return [
                at for at in itertools.product(*map(range, extents)) if all(slot in self.slots for slot in self._path(above, at))
            ]
        raise KeyError(number)
