"""Loops over cells that run in order: one cell after another, in the order in which a tree holds them.

A loop for each axis of each level, from the root down, so that the order follows from coordinates alone: not from slots, which
workers claim as they come. Whether a cell of a level is active is asked when the loop comes to it, how long a list is when the
loop comes to the list.
"""

from __future__ import annotations

from .. import value_types as _types
from ..tree_type import DENSE
from .levels import levels_of
from .native import describe
from .values import Values
from .walk import Walk


class CellLoops:
    """Opens and closes such loops; what stands between is the body."""

    def __init__(self, walk: Walk, values: Values):
        self.walk, self.builder, self.values = walk, walk.builder, values

    def check(self, node, thing, said):
        """An error where there is no order; said: what the loop is over, as the source says it."""
        if any(level.kind == "hash" for level in levels_of(thing.tree.type, thing.name)):
            text = f"a loop over {describe(said)} cannot run in order"
            raise self.walk.error(
                "syntax", text, node, "cells of a hash level have no bounds, so there is no order to walk them in"
            )

    def begin(self, node, thing, going):
        """Over the active cells of a member or level: (its coordinates, i32; what `end` closes). going: as of begin_serial."""
        levels = levels_of(thing.tree.type, thing.name)
        name, opened, along = thing.name.partition("@")[0], [], {}
        for depth, level in enumerate(levels):
            ends = [self._known(extent, node) for extent in level.extents]
            if level.kind == "dynamic":
                ends = [self._emit(node, self.builder.length, thing.tree.native, f"{name}@{depth}", self._flat(along))]
            for axis, extent, end in zip(level.axes, level.extents, ends):
                index = self._emit(node, self.builder.begin_serial, self._known(0, node), end, None, going)
                opened.append(self.builder.end_loop)
                if axis in along:
                    above = self._emit(node, self.builder.binary, "*", along[axis], self._known(extent, node))
                    index = self._emit(node, self.builder.binary, "+", above, index)
                along[axis] = index
            if level.kind not in DENSE:
                active = self._emit(node, self.builder.is_active, thing.tree.native, f"{name}@{depth}", self._flat(along))
                self._emit(node, self.builder.begin_if, active)
                opened.append(self.builder.end_if)
        return [self._emit(node, self.builder.cast, one, _types.i32.code) for one in self._flat(along)], opened

    def end(self, opened):
        """Behind the body."""
        for close in reversed(opened):
            close()

    @staticmethod
    def depth(thing) -> int:
        """How many regions `begin` opens."""
        levels = levels_of(thing.tree.type, thing.name)
        return sum(len(level.axes) + (level.kind not in DENSE) for level in levels)

    def _emit(self, node, operation, *arguments):
        return self.walk.emit(node, operation, *arguments)

    def _known(self, number, node):
        return self.values.constants.typed(number, _types.i32, node)

    @staticmethod
    def _flat(along):
        return [along[axis] for axis in sorted(along)]
