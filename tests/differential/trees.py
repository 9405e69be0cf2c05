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
    """A member of a random type: `levels` is [(number of the level, kind, axes, extents, name or None)]."""

    def __init__(self, name, type_, levels, background):
        self.name, self.type, self.levels, self.background = name, type_, levels, background
        self.axes = sorted({axis for _, _, axes, _, _ in levels for axis in axes})
        self.shape = tuple(
            math.prod(extents[axes.index(axis)] for _, _, axes, extents, _ in levels if axis in axes) for axis in self.axes
        )

    @property
    def is_sparse(self) -> bool:
        return any(kind != "dense" for _, kind, _, _, _ in self.levels)

    @property
    def level(self) -> str:
        """The kind of tree that it stands in, as coverage calls it."""
        return "/".join(kind for _, kind, _, _, _ in self.levels)


class TreeType:
    """Members by name and the text that builds the type."""

    def __init__(self, members, text):
        self.members = {member.name: member for member in members}
        self.text = text

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


def _branch(rng, rank, kinds, prefix, scalars, count, members, lines):
    axes = [_some_axes(rng, rank) for _ in kinds]
    missing = set(range(rank)) - {axis for some in axes for axis in some}
    axes[-1] = sorted({*axes[-1], *missing})
    most = {1: 40, 2: 14, 3: 6}[rank]
    left = [most] * rank
    levels, text, chain = [], "b", []
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
        chain.append(text)
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
