"""Tree types as values, and what lists their levels and members.

A TreeType is structural: levels, extents, names, members, backgrounds; no ids and no memory. Its
text is MLIR's spelling of `!metate.tree<...>`, the contract with the compiler, which alone knows
layouts: the *blob* (abi/metate/abi/tree.h) comes from it on first use, or came with the module the
type was read from. tree_builder.py makes them; tree_instances.py makes instances of them.
"""

from __future__ import annotations

import itertools
import struct
import weakref
from typing import Any, NamedTuple

from . import value_types as _types
from .background import background_text, decode_background
from .errors import TreeError
from .quant_types import computed
from .record import Record

DENSE = ("dense", "quant_array")  # kinds of levels whose cells all exist


class PlaceNode(Record):
    """A member: the leaf of a tree type. `background` is its bytes, None for all zero."""

    name: str
    type: Any
    background: bytes | None = None

    def __str__(self) -> str:
        tail = "" if self.background is None else f", background = {background_text(self.type, self.background)}"
        return f'#metate.place<"{self.name}" : {self.type}{tail}>'


class SharedExponentNode(Record):
    """Quantised members of one word whose exponent is one for all."""

    places: tuple[PlaceNode, ...]

    def __str__(self) -> str:
        return f"#metate.shared_exponent<[{', '.join(map(str, self.places))}]>"


class BitStructNode(Record):
    """A word of `bits` bits in which quantised members lie, from its lowest bit on. It is no level: it stands where one of
    its members would."""

    bits: int
    parts: tuple[PlaceNode | SharedExponentNode, ...]

    @property
    def places(self) -> tuple[PlaceNode, ...]:
        """The members in order."""
        each = [part.places if isinstance(part, SharedExponentNode) else (part,) for part in self.parts]
        return tuple(place for places in each for place in places)

    def __str__(self) -> str:
        return f"#metate.bit_struct<{self.bits}, [{', '.join(map(str, self.parts))}]>"


class LevelNode(Record):
    """A level: its cells lie along `axes` (ascending), `extents` of them, each holding `children`.

    A hash level has no extents; `chunk` is a dynamic level's cells in one slot, `word` the bits of a quant_array's words, else 0.
    """

    kind: str
    axes: tuple[int, ...]
    extents: tuple[int, ...]
    name: str
    depth: int
    children: tuple
    chunk: int = 0
    word: int = 0

    @property
    def members(self) -> tuple:
        """The levels and members in its cells, those of words included."""
        return flat(self.children)

    def __str__(self) -> str:
        letters = _types.Axes(self.axes).letters
        extents = "" if self.kind == "hash" else f"[{', '.join(map(str, self.extents))}], "
        children = ", ".join(map(str, self.children))
        tail = f", chunk = {self.chunk}" if self.kind == "dynamic" else ""
        tail += f", word = {self.word}" if self.kind == "quant_array" else ""
        tail += "" if self.name == f"{self.kind}{self.depth}" else f', name = "{self.name}"'
        return f'#metate.{self.kind}<"{letters}", {extents}[{children}]{tail}>'


class Level(Record):
    """What `T.levels` lists: name, kind, axes, extents (none of a hash level), depth, the parent level's name (None at the
    root), the cells of a dynamic level's chunk (else 0) and the bits of a quant_array's words (else 0)."""

    name: str
    kind: str
    axes: str
    extents: tuple[int, ...]
    depth: int
    parent: str | None
    chunk: int = 0
    word: int = 0


class Member(Record):
    """What `T.members` lists: a member's type (of a quantised one the QuantType), its axes, the extents over them (None:
    without bounds) and its background."""

    name: str
    type: Any
    axes: str
    shape: tuple[int | None, ...]
    background: Any


class LevelStats(NamedTuple):
    """Slots of one pool: `capacity`, `used` now, `peak` since the reset; `bytes` of the pool."""

    capacity: int
    used: int
    peak: int
    bytes: int


class TreeType:
    """A frozen, hashable tree type. Programs have those of tree_instances.py, of which there are instances."""

    __slots__ = ("__weakref__", "_blob", "_branches", "_handles", "_text")

    def __init__(self, branches, blob: bytes | None = None):
        self._branches = tuple(branches)
        self._text = f"!metate.tree<{', '.join(map(str, self._branches))}>"
        self._blob = blob
        self._handles = weakref.WeakKeyDictionary()  # runtime.py: a context's holdings -> _runtime.TreeType

    @property
    def branches(self) -> tuple:
        """The root's children: LevelNode, PlaceNode and BitStructNode values."""
        return self._branches

    @property
    def blob(self) -> bytes:
        """The type blob of abi/metate/abi/tree.h; the compiler writes it on first use."""
        if self._blob is None:
            from .object_cache.shared import layout_of

            self._blob = layout_of(self._text)
        return self._blob

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels, parents before children."""
        found = []
        _visit(self._branches, lambda node, parents: found.append(_level_of(node, parents)), LevelNode)
        return tuple(found)

    @property
    def members(self) -> dict[str, Member]:
        """The members by name, in the order in which they were placed."""
        found = []
        _visit(self._branches, lambda node, parents: found.append(_member_of(node, parents)), PlaceNode)
        return {member.name: member for member in found}

    def grad_type(self) -> TreeType:
        """The type of trees that hold gradients, or duals: the same levels, with a member for each one of a float type, of its
        name and type, whose background is zero. Others, and levels that hold no floats, have none. Of a quantised member
        it is one of the type that is computed with, in a dense level where that is in a quant_array.

        Raises TreeError where no member is of a float type.
        """
        branches = _of_floats(self._branches)
        if not branches:
            names = ", ".join(f"{name}: {one.type!r}" for name, one in self.members.items())
            raise TreeError(f"grad_type: expected a tree with members of a float type, got {names}")
        return self if branches == self._branches else type(self)(branches)

    @property
    def hash(self) -> str:
        """The type's 128-bit hash as 32 hexadecimal digits: equal iff the types are."""
        low, high = struct.unpack_from("<QQ", self.blob, 8)
        return f"{high:016x}{low:016x}"

    def __eq__(self, other) -> bool:
        return isinstance(other, TreeType) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<tree type {self._text}>"

    def __setattr__(self, name, value):
        if name in ("_branches", "_text") and hasattr(self, name):
            raise AttributeError("a tree type is frozen: build another one")
        object.__setattr__(self, name, value)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (type(self), (self._branches, self._blob))


def _of_floats(nodes) -> tuple:
    """Members of float types without backgrounds, in the levels that hold some."""
    found = []
    for node in flat(nodes):
        if isinstance(node, LevelNode):
            if children := _of_floats(node.children):
                found.append(as_dense(node)._replace(children=children))
        elif getattr(node.type, "dtype", node.type).is_float:
            found.append(PlaceNode(node.name, computed(node.type)))
    return tuple(found)


def as_dense(level: LevelNode) -> LevelNode:
    """A level that is a quant_array as a dense one, in which members of other types can stand; others as they are."""
    if level.kind != "quant_array":
        return level
    name = f"dense{level.depth}" if level.name == f"quant_array{level.depth}" else level.name
    return level._replace(kind="dense", name=name, word=0)


def flat(nodes) -> tuple[LevelNode | PlaceNode, ...]:
    """Nodes with the members of words in the words' places."""
    each = [node.places if isinstance(node, BitStructNode) else (node,) for node in nodes]
    return tuple(itertools.chain.from_iterable(each))


def _visit(nodes, action, kind, parents=()):
    for node in flat(nodes):
        if isinstance(node, kind):
            action(node, parents)
        if isinstance(node, LevelNode):
            _visit(node.children, action, kind, (*parents, node))


def _level_of(node, parents) -> Level:
    parent = parents[-1].name if parents else None
    return Level(node.name, node.kind, _types.Axes(node.axes).letters, node.extents, node.depth, parent, node.chunk, node.word)


def _member_of(node, parents) -> Member:
    extents = path_extents(parents)
    axes = tuple(sorted(extents))
    shape = tuple(extents[a] for a in axes)
    return Member(node.name, node.type, _types.Axes(axes).letters, shape, decode_background(node.type, node.background))


def path_extents(parents) -> dict[int, int | None]:
    """Cells along each axis over a path of levels, in any order; None along an axis of a hash level."""
    extents: dict[int, int | None] = {}
    for level in parents:
        for axis, extent in zip(level.axes, level.extents):
            known = extents.get(axis, 1)
            extents[axis] = None if known is None else known * extent
        for axis in level.axes if level.kind == "hash" else ():
            extents[axis] = None
    return extents


def parent_rank(type_: TreeType, level: str) -> int:
    """Coordinates of the cell that a level of this name is in: the axes of the levels above it."""
    return len(set().union(*(above.axes for above in _levels_down_to(type_, level)[:-1])))


def _levels_down_to(type_, name):
    """The levels from the root to the first one of this name."""
    path: list = []
    for level in type_.levels:
        path[level.depth :] = [level]
        if level.name == name:
            return path
    raise KeyError(name)
