"""What a twin takes for a tree: a dictionary from coordinates to values.

It knows the rules of sparsity from the language's description alone.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter

from . import numbers as n
from . import quantised
from .trees import DENSE, POOLS, Member, TreeType


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
        pools = {level[0]: level[4] for m in self.type.members.values() for level in m.levels if level[1] in POOLS}
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
