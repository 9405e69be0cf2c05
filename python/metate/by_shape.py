"""Code for the extents of a call's arrays.

A kernel that scatters to large arrays (particles to a grid) is fast where the compiler knows how large they are: it plans memory
for that, and puts the iterations in order (Transforms/BinScatters.cpp). Its calls with many particles are compiled for the
extents that they have, as if the annotations said shape=. Calls with few, other kernels, and modules that are compiled ahead
of time have one code for all extents.
"""

from __future__ import annotations

from typing import Any

from .frontend.specialize import ArrayParameter

# Arrays that are shorter hold too few particles to be put in order (LayoutTuning::leastAdds).
LEAST = 1 << 14

MOST = 4  # sets of extents of one specialisation: with one more, calls get the code for any


class ShapesWanted(Exception):
    """Not this specialisation is to be compiled, but one with extents.

    Attributes:
        parameters: that one.
    """

    def __init__(self, parameters: dict[str, Any]):
        super().__init__()
        self.parameters = parameters


class ByShape:
    """Which extents one specialisation has code of its own for.

    Its bucket's lock is held while one is chosen. Guards are made without it: a call may miss the short way once.
    """

    def __init__(self) -> None:
        self._is_wanted = False
        self._seen: set[tuple[Any, ...]] = set()

    def chosen(self, parameters: dict[str, Any], arguments: Any) -> dict[str, Any] | None:
        """The specialisation with the extents of a call's arrays; None: the one for any."""
        extents = extents_of(parameters, arguments) if self._is_wanted else {}
        if not extents:
            return None
        key = tuple(extents.items())
        if key not in self._seen and len(self._seen) == MOST:
            return None
        self._seen.add(key)
        return with_extents(parameters, arguments)

    def tell(self, scatters: bool, parameters: dict[str, Any], arguments: Any) -> None:
        """What the kernel is known to do now. Raises ShapesWanted where that asks for other code for these arguments."""
        self._is_wanted = scatters
        chosen = self.chosen(parameters, arguments)
        if chosen is not None:
            raise ShapesWanted(chosen)

    def guards(self, parameters: dict[str, Any], compiled: dict[str, Any], arguments: Any, starts: Any) -> tuple[Any, ...]:
        """What the dispatcher compares before it launches code for `compiled` where calls are of `parameters` (targets.py)."""
        found = []
        for start, argument, (name, parameter) in zip(starts, arguments, parameters.items()):
            if not isinstance(parameter, ArrayParameter):
                continue
            if not hasattr(argument, "shape"):
                found += [(start, (), (_has_no_shape,))] if self._is_wanted else []
            elif compiled[name].shape != parameter.shape:
                shape = argument.shape
                found.append((start, ("shape",), shape if type(shape) is tuple else (IsShape(shape),)))
            elif self._is_wanted and len(self._seen) < MOST and parameter.ndim > 0 and argument.shape[0] < LEAST:
                found.append((start, ("shape",), (_is_short,)))
        return tuple(found)


def _is_short(shape):
    return shape[0] < LEAST


def _has_no_shape(argument):
    return not hasattr(argument, "shape")


class IsShape:
    """Tells whether a shape that is no tuple, as torch's, is still what it was."""

    __slots__ = ("_shape",)

    def __init__(self, shape: Any):
        self._shape = tuple(shape)

    def __call__(self, shape: Any) -> bool:
        """Has it these extents?"""
        return tuple(shape) == self._shape


def extents_of(parameters: dict[str, Any], arguments: Any) -> dict[str, Any]:
    """The extents of the arrays whose annotations name none, by parameters' names; none: there are not enough particles."""
    found, is_long = {}, False
    for (name, parameter), argument in zip(parameters.items(), arguments):
        if not isinstance(parameter, ArrayParameter) or parameter.shape is not None or not hasattr(argument, "shape"):
            continue
        extents = tuple(argument.shape)[: parameter.ndim]
        if not all(0 < extent < 2**31 for extent in extents):
            return {}
        found[name] = extents
        is_long |= parameter.ndim > 0 and extents[0] >= LEAST
    return found if is_long else {}


def with_extents(parameters: dict[str, Any], arguments: Any) -> dict[str, Any]:
    """The specialisation whose arrays have the extents of a call's."""
    extents = extents_of(parameters, arguments)
    return {name: one._replace(shape=extents[name]) if name in extents else one for name, one in parameters.items()}
