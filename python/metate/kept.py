"""What a kernel overwrites and its derivative needs: kept before the call, and put back while the derivative runs."""

from __future__ import annotations

import contextlib
from typing import Any

from .lazy_numpy import np


class MemberPlace:
    """A member of a tree. What is put back goes to the cells that are active then; those that were not hold the background."""

    def __init__(self, tree: Any, member: str, name: str):
        self._tree, self._number, self.name = tree, tree._indices[member], name
        self.key = id(tree), self._number
        self._has_bounds = None not in tree.type.members[member].shape  # none below a hash level

    def save(self) -> Any:
        return self._tree._read_dense(self._number) if self._has_bounds else self._tree._cells(self._number)

    def restore(self, values: Any) -> None:
        if self._has_bounds:
            self._tree._write_dense(self._number, values)
            return
        for coordinates, value in zip(values[0].tolist(), values[1]):
            self._tree._write(self._number, tuple(coordinates), value)


class ArrayPlace:
    """An array that was an argument: one of the package's, NumPy's, or torch's on the CPU."""

    def __init__(self, array: Any, name: str):
        self._array, self.name = array, name
        self.key = id(array), None

    def save(self) -> Any:
        return self._view().copy()

    def restore(self, values: Any) -> None:
        self._view()[...] = values

    def _view(self):
        if hasattr(self._array, "detach"):
            return self._array.detach().numpy()
        values = self._array._values() if hasattr(self._array, "_values") else self._array
        return np.asarray(values)


class Overwritten:
    """What a kernel overwrites of what its derivative needs, of one set of arguments.

    Args:
        arguments: one for each parameter; names: of the parameters.
        statics: numbers of those that the code was made for.
        requirements: of the derivative's code (frontend.requirements).
        guards: (number of an argument, (), (check,)): what else holds of these.
        places: what it overwrites.
    """

    def __init__(self, arguments, names, statics, requirements, guards, places):
        self._arguments, self._names, self._statics = arguments, names, statics
        self._requirements, self._guards = requirements, guards
        self.places, self._trees = places, requirements.trees(arguments)

    def fits(self, arguments: tuple) -> bool:
        """Are these the same, but for numbers that the code is not made for?"""
        return (
            len(arguments) == len(self._arguments)
            and all(
                one is known or (type(one) is type(known) and isinstance(one, (int, float)) and k not in self._statics)
                for k, (one, known) in enumerate(zip(arguments, self._arguments))
            )
            and self._requirements.difference(arguments, self._names) is None
            and all(one is known for one, known in zip(self._requirements.trees(arguments), self._trees))
            and all(check(arguments[number]) for number, _, (check,) in self._guards)
        )


class Kept:
    """Values of places as they were before one call."""

    def __init__(self, places: list[Any]):
        self._values = [(place, place.save()) for place in places]

    def run_back(self, derivative: Any, arguments: tuple, latest: dict[Any, tuple[Any, Any]]) -> None:
        """Puts them back, and calls the derivative."""
        self.put_back(latest)
        derivative.call_restored(arguments)

    def put_back(self, latest: dict[Any, tuple[Any, Any]], keys: set | None = None) -> None:
        """Writes them to their places, or to those with such keys alone. `latest` gets what these hold now, unless it knows them:
        (place, values) by key."""
        for place, values in self._values:
            if keys is not None and place.key not in keys:
                continue
            if place.key not in latest:
                latest[place.key] = place, place.save()
            place.restore(values)


@contextlib.contextmanager
def putting_back():
    """Gives a dict for `Kept.put_back`; at the block's end places hold again what they held at its beginning."""
    latest: dict[Any, tuple[Any, Any]] = {}
    try:
        yield latest
    finally:
        for place, values in reversed(latest.values()):  # of two views of one memory the first one knows what was there
            place.restore(values)
