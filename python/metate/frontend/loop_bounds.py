"""What boxed loops run over: (begin, end, step) of each dimension."""

from __future__ import annotations

from .. import intrinsics
from . import handles
from .arguments import Arguments
from .static import Reference, Value
from .values import Values
from .walk import Walk


class LoopBounds:
    """Gives the bounds of ranges, boxes, arrays and dense fields."""

    def __init__(self, walk: Walk, arguments: Arguments, values: Values):
        self.walk, self.arguments, self.values = walk, arguments, values

    def of_range(self, call):
        """range(end), range(begin, end), range(begin, end, step)."""
        things, _ = self.arguments.of(call, names=())
        if not 1 <= len(things) <= 3:
            raise self.walk.error("type", f"range: expected 1 to 3 arguments, got {len(things)}", call)
        spots = self.arguments.spots(call, things)
        values = [self.values.to_value(thing, at) for thing, at in zip(things, spots)]
        if len(values) == 3 and self.walk.builder.known_integer(values[2]) == 0:
            raise self.walk.error("type", "range: expected a step other than zero, got 0", spots[2])
        if len(values) == 1:
            return self.values.to_value(0, call), values[0], None
        return values[0], values[1], values[2] if len(values) == 3 else None

    def of_call(self, call):
        """ndrange(...): each argument is an extent or (begin, end)."""
        things, _ = self.arguments.of(call, names=())
        bounds = []
        for thing, at in zip(things, self.arguments.spots(call, things)):
            if isinstance(thing, (Value, Reference)) and thing.type.shape:
                thing = tuple(self.values.unpacked(thing, at))  # a vector of two: (begin, end)
            if isinstance(thing, (tuple, list)) and len(thing) != 2:
                raise self.walk.error("form", f"ndrange: expected an extent or (begin, end), got a tuple of {len(thing)}", at)
            low, high = thing if isinstance(thing, (tuple, list)) else (0, thing)
            bounds.append((self.values.to_value(low, at), self.values.to_value(high, at), None))
        return bounds

    def of_box(self, box: intrinsics.Box, node):
        """An ndrange(...) that was made outside of the kernel."""
        return [(self.values.to_value(low, node), self.values.to_value(high, node), None) for low, high in box.bounds]

    def of_array(self, array, node):
        """The indices of an array."""
        zero = self.values.to_value(0, node)
        return [(zero, extent, None) for extent in self.values.unpacked(handles.ShapeHandle(array), node)]

    def is_single(self, bounds) -> bool:
        """Is there one iteration? Taichi's programs say `for _ in range(1)` to have what stands in it run in order."""
        builder = self.walk.builder
        known = [(builder.known_integer(low), builder.known_integer(high)) for low, high, _ in bounds]
        return all(None not in pair and pair[1] - pair[0] == 1 for pair in known)
