"""What `x.snode` is: a field's own place in its tree. It draws nothing and owns nothing."""

from __future__ import annotations

from typing import Any


class PlacedNode:
    """``x.snode``: where a field is, below the level that holds it."""

    __slots__ = ("_field",)

    kind = "place"

    def __init__(self, field):
        self._field = field

    def parent(self, n: int = 1) -> Any:
        """The level n above."""
        return self._field.parent(n)

    @property
    def shape(self) -> tuple[int, ...]:
        """The field's shape."""
        return self._field.shape

    @property
    def snode(self) -> PlacedNode:
        """The place itself."""
        return self

    def __repr__(self):
        return f"{self._field.parent()!r} => place {list(self.shape)}"
