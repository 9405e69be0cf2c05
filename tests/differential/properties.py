"""What must hold whatever a kernel does: of sorting a tree's slots, and of counting them before a launch."""

from __future__ import annotations

import re

import numpy as np

import metate.errors as errors


class Broken(Exception):
    """A property that does not hold."""


# -- sorting ------------------------------------------------------------------------------------------------


def put_in_order(tree, members) -> None:
    """Sorts the tree. Raises Broken unless all cells stay, slots have the numbers 1 to n in Z-order, and sorting again does
    nothing.

    Args:
        members: [(name in the tree, its `trees.Member`)], those whose slots' order is looked at.
    """
    before = _content(tree)
    tree.sort()
    tree.check()
    if _content(tree) != before:
        raise Broken("sort: cells have changed")
    for name, level in tree.stats().items():
        if level.peak != level.used:
            raise Broken(f"sort: level '{name}' has {level.used} slots in use, numbers up to {level.peak}")
    for name, member in members:
        if member.pools:
            _check_order(name, member, tree[name].cells()[0])
    if tree._is_elsewhere():
        return
    block = bytes(tree.block)
    tree.sort()
    if bytes(tree.block) != block:
        raise Broken("sort: a second one changes the tree")


def _content(tree) -> dict:
    """Active cells and values of each member, the cells in order."""
    found = {}
    for name in tree.type.members:
        coordinates, values = tree[name].cells()
        order = np.lexsort(coordinates.T[::-1]) if coordinates.shape[1] else np.arange(len(coordinates))
        found[name] = (coordinates[order].tobytes(), values[order].tobytes())
    return found


def _check_order(name, member, coordinates):
    """A walk goes by slots: those of the last level that has some come in Z-order, of each list from its beginning."""
    depth = member.pools[-1]
    below = dict.fromkeys(member.axes, 1)
    for _, _, axes, extents, _ in member.levels[depth + 1 :]:
        for axis, extent in zip(axes, extents):
            below[axis] *= extent
    _, kind, own, _, _ = member.levels[depth]
    if kind == "dynamic":
        below[own[0]] *= member.chunk
    above = {axis for level in member.levels[: depth + 1] for axis in level[2]}
    listed = own[0] if kind == "dynamic" else None
    last = None
    for cell in coordinates.tolist():
        slot = {axis: at // below[axis] for axis, at in zip(member.axes, cell) if axis in above}
        if last is not None and slot != last and not _precedes(last, slot, listed):
            raise Broken(f"sort: {name}: the slot at {slot} comes after that at {last}")
        last = slot


def _precedes(one, other, listed) -> bool:
    """In Z-order; along a list within the list. The axis decides whose coordinates differ in the highest bit."""
    differing = {axis: (one[axis] ^ other[axis]) & 0xFFFFFFFF for axis in one if axis != listed}
    most = max((difference.bit_length() for difference in differing.values()), default=0)
    deciding = next((axis for axis, difference in differing.items() if most and difference.bit_length() == most), listed)
    return deciding is not None and one[deciding] < other[deciding]


# -- counting -----------------------------------------------------------------------------------------------


def _most(tree, what) -> dict:
    """The most slots of each level, by the name that `migrate` takes: branches may have levels of one name."""
    found: dict = {}
    for name, level in tree.stats().items():
        name = name.partition("[")[0]
        found[name] = max(found.get(name, 1), getattr(level, what))
    return found


class Reserving:
    """A kernel that is launched when each of its trees has the slots that it says it needs, and no others if `tight`.

    Calling it raises Broken where the launch runs out of slots, or uses another number of them, or counting changes a tree.
    """

    def __init__(self, kernel, trees, gives_up):
        """`trees`: [(a tree, may it move?)]; `gives_up`: the kernel deactivates cells, so that it may need fewer slots."""
        self.kernel, self.trees, self.gives_up = kernel, trees, gives_up
        self.counted = 0  # trees whose slots were counted, in all launches

    def __call__(self, *passed):
        needed = [self._reserve(tree, may_move, passed) for tree, may_move in self.trees]
        try:
            result = self.kernel(*passed)
        except errors.CapacityError as error:
            if all(slots is not None for slots in needed) and "greatest length" not in str(error):
                raise Broken(f"reserve: {needed} are not enough: {error}") from None
            raise
        for (tree, _), slots in zip(self.trees, needed):
            used = {name: level.used for name, level in tree.stats().items()}
            if slots is not None and not self._fits(used, slots):
                raise Broken(f"reserve: counted {slots}, used {used}")
        return result

    def _fits(self, used, slots) -> bool:
        if self.gives_up:
            return used.keys() == slots.keys() and all(used[name] <= slots[name] for name in slots)
        return used == slots

    def _reserve(self, tree, may_move, passed):
        """The slots of each level; None where they cannot be counted."""
        before, roomy = bytes(tree.block), _most(tree, "capacity")
        try:
            if may_move:
                tree.sort()
                tree.migrate(_most(tree, "used"))
                before = bytes(tree.block)
            needed = self._asked(tree, passed)
        except errors.CapacityError as error:
            if re.search("a list would be longer", str(error)) or not may_move:
                needed = None
            else:
                self._unchanged(tree, before)
                tree.migrate(error.capacities)
                before = bytes(tree.block)
                needed = self._asked(tree, passed)
        if needed is None:
            if may_move:
                tree.migrate(roomy)
            return None
        self._unchanged(tree, before)
        self.counted += 1
        return needed

    def _asked(self, tree, passed):
        try:
            return tree.reserve_for(self.kernel, *passed)
        except errors.CapacityError:
            raise
        except errors.MetateError as error:
            if not re.search("cannot be counted|expected a tree that is an argument of kernel", str(error)):
                raise
            return None  # of fields the kernel may mention none of a tree

    @staticmethod
    def _unchanged(tree, before):
        if bytes(tree.block) != before:
            raise Broken("reserve: counting has changed the tree")
