"""Levels while a tree is drawn: what can be added to what, and the tree type's nodes that come of it.

Shared by the builder of tree types (tree_builder.py) and by trees of fields (fields/builder.py), which
differ in what they place: members, or fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .errors import TreeError
from .lazy_numpy import is_array
from .quant_types import QuantType
from .tree_type import BitStructNode, LevelNode, PlaceNode, path_extents
from .value_types import LETTERS, Axes
from .value_types import axes as axes_of
from .words import Word, least_word, size_of_word

_MOST_CELLS_OF_AN_AXIS = (1 << 31) - 1  # coordinates are 32-bit in a block
_OTHER_NAMES = {  # of Taichi's earlier versions
    "bit_struct": "quantised fields share a word by p = mt.BitpackedFields(max_num_bits=32), p.place(x, y), node.place(p)",
    "bit_array": "write quant_array(axes, dimensions, max_num_bits=32)",
}


class Drawn(ABC):
    """What levels can be added to: a root, a builder or a level."""

    __slots__ = ()

    def dense(self, axes: Any, dimensions: Any, *, name: str | None = None) -> Any:
        """Adds a level whose cells all exist.

        Args:
            axes: ``mt.ij`` and the like.
            dimensions: cells along each axis: an int for all of them, or one for each, in the order of `axes`.
            name: the level's name in the tree's type; default: kind and depth, such as ``dense1``.
        Returns the new level. Raises TreeError.
        """
        return self._add("dense", axes, dimensions, name)

    def pointer(self, axes: Any, dimensions: Any, *, name: str | None = None) -> Any:
        """Adds a level whose cells exist once they are activated; arguments as for `dense`."""
        return self._add("pointer", axes, dimensions, name)

    def bitmasked(self, axes: Any, dimensions: Any, *, name: str | None = None) -> Any:
        """Adds a level that has memory for all its cells and a bit for each: is it active? Arguments as for `dense`."""
        return self._add("bitmasked", axes, dimensions, name)

    def dynamic(self, axis: Any, dimension: Any, chunk_size: int | None = None, *, name: str | None = None) -> Any:
        """Adds a level of lists, each of which grows along one axis by ``append``.

        Args:
            axis: ``mt.i`` and the like, which no other level above or below has.
            dimension: the greatest length.
            chunk_size: cells for which memory is taken at once; default: all.
            name: as for `dense`.
        Returns the new level. Raises TreeError.
        """
        return self._add("dynamic", axis, dimension, name, chunk_size)

    def hash(self, axes: Any, dimensions: Any = None, *, name: str | None = None) -> Any:
        """Adds a level whose cells are at any 32-bit coordinates, negative ones too.

        Args:
            axes: ``mt.ij`` and the like, which no level above has.
            dimensions: nothing: the level has no bounds.
            name: as for `dense`.
        Returns the new level. Raises TreeError.
        """
        if dimensions is not None:
            raise TreeError(
                f"hash: expected axes only, got dimensions {dimensions!r}: a hash level has no bounds; write hash(axes)"
            )
        return self._add("hash", axes, (), name)

    def quant_array(self, axes: Any, dimensions: Any, max_num_bits: int = 32, *, name: str | None = None) -> Any:
        """Adds a level of the numbers of one quantised member or field, as many in each word as fit; all of them exist.

        Args:
            max_num_bits: bits of a word: 8, 16, 32 or 64.
            axes, dimensions, name: as for `dense`.
        Returns the new level, in which one quantised scalar is placed, and nothing else. Raises TreeError.
        """
        return self._add("quant_array", axes, dimensions, name, max_num_bits)

    @abstractmethod
    def _add(self, kind, axes, dimensions, name, size=None):
        """Adds a level of a kind below this one; returns it. size: of a chunk of a dynamic level, of a quant_array's word."""

    def __getattr__(self, name):
        if name in _OTHER_NAMES:
            raise TreeError(f"{name}: there is no level of this name; {_OTHER_NAMES[name]}")
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")


class DrawnLevel(Drawn):
    """A level.

    Attributes:
        above: the level above, or what the tree begins with.
        kind: "dense", "bitmasked", "pointer", "dynamic", "hash" or "quant_array".
        axes: axes along which its cells lie, ascending.
        extents: cells along them within one cell of the level above; none of a hash level.
        chunk: cells of a slot of a dynamic level; 0 of others.
        word: bits of a quant_array's words; 0 of others.
        label: the name that it was given, or None.
        below: levels below, and what is placed: members, and words (words.Word) with members in them.
    """

    __slots__ = ("above", "axes", "below", "chunk", "extents", "kind", "label", "word")

    def __init__(self, above, kind, axes, dimensions, name, size=None):
        if getattr(above, "kind", None) == "quant_array":
            raise TreeError(f"{kind}: expected no level below a quant_array, which holds one quantised member; put it above")
        self.axes, self.extents = axes_and_extents(kind, axes, dimensions)
        check_extents(kind, self.axes, self.extents, levels_up(above))
        if name is not None and (not isinstance(name, str) or not name.isidentifier()):
            raise TreeError(f"level name: expected an identifier, got {name!r}")
        self.kind = kind
        self.chunk = chunk_of(kind, self.extents, size)
        self.word = size_of_word(kind, size) if kind == "quant_array" else 0
        self.label = name
        self.above = above
        self.below: list = []


def check_element(level, name: str, type_: Any) -> None:
    """Raises TreeError where a member of this name and type cannot be what a quant_array level holds."""
    if not isinstance(type_, QuantType):
        raise TreeError(f"quant_array: expected a quantised type such as mt.types.quant.int(1, False), got {name} of {type_!r}")
    if level.below:
        raise TreeError(f"quant_array: expected one member in it, got {name} as well; give it a quant_array of its own")
    if type_.bits > level.word:
        larger = least_word(type_.bits)
        raise TreeError(
            f"quant_array: expected a type of at most {level.word} bits, got {name} of {type_.bits}; write max_num_bits={larger}"
        )


def levels_up(node) -> list:
    """The levels from a level up to the root, itself included; none of what a tree begins with."""
    found = []
    while isinstance(node, DrawnLevel):
        found.append(node)
        node = node.above
    return found


def nodes_of(drawn, member_of, what: str, depth: int = 0) -> tuple[LevelNode | PlaceNode | BitStructNode, ...]:
    """The nodes of a tree type for levels and what is placed.

    Args:
        drawn: levels with their labels, words, and what stands for members.
        member_of: the PlaceNode of what stands for a member.
        what: is placed in levels, such as "a field", for messages.
        depth: of these.
    Raises TreeError for a level with nothing in it.
    """
    return tuple(_node_of(one, member_of, what, depth) for one in drawn)


def _node_of(level, member_of, what, depth):
    if isinstance(level, Word):
        return level.node_of(member_of)
    if not isinstance(level, DrawnLevel):
        return member_of(level)
    if not level.below:
        extents = path_extents(levels_up(level))
        raise TreeError(
            f"{level.kind} level {[extents[axis] for axis in sorted(extents)]} at depth {depth}: expected {what} or a level "
            "under it, got none; call place(...) on it"
        )
    below = nodes_of(level.below, member_of, what, depth + 1)
    name = level.label or f"{level.kind}{depth}"
    return LevelNode(level.kind, level.axes, level.extents, name, depth, below, level.chunk, level.word)


def check_extents(kind, numbers, sizes, above) -> None:
    """Raises TreeError where a level of these axes and extents cannot stand below the levels `above`, innermost first."""
    for axis in numbers:
        letter = LETTERS[axis]
        others = [level.kind for level in above if axis in level.axes]
        if "dynamic" in others or (kind == "dynamic" and others):
            raise TreeError(
                f"{kind}: expected axis {letter} of a dynamic level in no other level above or below it, got it in "
                f"{' and '.join(dict.fromkeys((*reversed(others), kind)))}; give the dynamic level an axis of its own"
            )
        if kind == "hash" and others:
            raise TreeError(
                f"hash: expected axes that no level above has, got {letter}, which {others[0]} has; put the hash level above it"
            )
    bounded = path_extents(level for level in above if level.kind != "hash")
    for axis, size in zip(numbers, sizes):
        if bounded.get(axis, 1) * size > _MOST_CELLS_OF_AN_AXIS:
            raise TreeError(
                f"{kind}: expected at most {_MOST_CELLS_OF_AN_AXIS} cells along axis {LETTERS[axis]}, "
                f"got {bounded.get(axis, 1) * size} with the levels above; use smaller extents"
            )


def chunk_of(kind, sizes, chunk) -> int:
    """Cells of a slot of a dynamic level; 0 of other levels. Raises TreeError."""
    if kind != "dynamic":
        return 0
    if chunk is None:
        return sizes[0]
    if not _is_integer(chunk) or not 1 <= chunk.__index__():
        raise TreeError(f"dynamic: expected a chunk_size of at least 1, got {chunk!r}")
    return min(chunk.__index__(), sizes[0])


def axes_and_extents(kind, axes, extents):
    """Axes ascending and the extents beside them; none of a hash level."""
    if not isinstance(axes, Axes):
        try:
            axes = axes_of(*axes) if isinstance(axes, (tuple, list)) else axes_of(axes)
        except (TypeError, ValueError) as error:
            raise TreeError(f"{kind}: expected axes such as mt.ij, got {axes!r}") from error
    if kind == "hash":
        return tuple(sorted(axes.numbers)), ()
    if kind == "dynamic" and len(axes) != 1:
        raise TreeError(f"dynamic: expected one axis such as mt.i, got {axes!r}")
    given = [extents] * len(axes) if _is_integer(extents) else extents
    try:
        given = list(given) * (len(axes) if len(given) == 1 else 1)
        sizes = [int(e.__index__()) for e in given if _is_integer(e)]
        complete = len(sizes) == len(given) == len(axes)
    except TypeError:
        complete = False
    if not complete:
        raise TreeError(f"{kind}: expected one extent or {len(axes)} of them for {axes!r}, got {extents!r}")
    if min(sizes) < 1:
        raise TreeError(f"{kind}: expected extents of at least 1, got {extents!r}")
    pairs = sorted(zip(axes.numbers, sizes))
    return tuple(a for a, _ in pairs), tuple(e for _, e in pairs)


def _is_integer(value) -> bool:
    return not isinstance(value, bool) and not is_array(value) and hasattr(value, "__index__")
