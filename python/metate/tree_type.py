"""Tree types: the builder that makes them and the value it makes.

A TreeType is structural: levels, extents, names, members, backgrounds; no ids and no memory. Its
text is MLIR's spelling of `!metate.tree<...>`, the contract with the compiler, which alone knows
layouts: the *blob* (abi/metate/abi/tree.h) comes from it on first use, or came with the module the
type was read from. Nothing here touches instances: see tree.py.
"""

from __future__ import annotations

import struct
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import value_types as _types
from .background import background_text, decode_background, encode_background
from .errors import TreeError

_MOST_CELLS_OF_AN_AXIS = (1 << 31) - 1  # coordinates are 32-bit in a block


@dataclass(frozen=True)
class PlaceNode:
    """A member: the leaf of a tree type. `background` is its bytes, None for all zero."""

    name: str
    type: Any
    background: bytes | None = None

    def __str__(self) -> str:
        tail = "" if self.background is None else f", background = {background_text(self.type, self.background)}"
        return f'#metate.place<"{self.name}" : {self.type}{tail}>'


@dataclass(frozen=True)
class LevelNode:
    """A level: its cells lie along `axes` (ascending), `extents` of them, each holding `children`.

    A hash level has no extents; `chunk` is a dynamic level's cells in one slot, else 0.
    """

    kind: str
    axes: tuple[int, ...]
    extents: tuple[int, ...]
    name: str
    depth: int
    children: tuple
    chunk: int = 0

    def __str__(self) -> str:
        letters = _types.Axes(self.axes).letters
        extents = "" if self.kind == "hash" else f"[{', '.join(map(str, self.extents))}], "
        children = ", ".join(map(str, self.children))
        tail = f", chunk = {self.chunk}" if self.kind == "dynamic" else ""
        tail += "" if self.name == f"{self.kind}{self.depth}" else f', name = "{self.name}"'
        return f'#metate.{self.kind}<"{letters}", {extents}[{children}]{tail}>'


@dataclass(frozen=True)
class Level:
    """What `T.levels` lists: name, kind, axes, extents (none of a hash level), depth, the parent level's name (None at the
    root) and the cells of a dynamic level's chunk (else 0)."""

    name: str
    kind: str
    axes: str
    extents: tuple[int, ...]
    depth: int
    parent: str | None
    chunk: int = 0


@dataclass(frozen=True)
class Member:
    """What `T.members` lists: a member's type, its axes, the extents over them (None: without bounds) and its background."""

    name: str
    type: Any
    axes: str
    shape: tuple[int | None, ...]
    background: Any


class TreeType:
    """A frozen, hashable tree type; made by ``SNodeTreeBuilder().….build()`` or read from a module."""

    __slots__ = ("__weakref__", "_blob", "_branches", "_handles", "_text")

    def __init__(self, branches, blob: bytes | None = None):
        self._branches = tuple(branches)
        self._text = f"!metate.tree<{', '.join(map(str, self._branches))}>"
        self._blob = blob
        self._handles = weakref.WeakKeyDictionary()  # runtime.py: a context's holdings -> _runtime.TreeType

    @classmethod
    def from_blob(cls, blob: bytes) -> TreeType:
        """The type that a type blob describes. The runtime has checked the blob before it gets here."""
        from .tree_blob import branches_of

        return cls(branches_of(blob), bytes(blob))

    @property
    def branches(self) -> tuple:
        """The root's children: LevelNode and PlaceNode values."""
        return self._branches

    @property
    def blob(self) -> bytes:
        """The type blob of abi/metate/abi/tree.h; the compiler writes it on first use."""
        if self._blob is None:
            from metate_native import _compiler

            self._blob = bytes(_compiler.tree_type_blob(self._text))
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

    @property
    def hash(self) -> str:
        """The type's 128-bit hash as 32 hexadecimal digits: equal iff the types are."""
        low, high = struct.unpack_from("<QQ", self.blob, 8)
        return f"{high:016x}{low:016x}"

    @property
    def align(self) -> int:
        """Bytes to which an instance's memory must be aligned."""
        return _tree().type_align(self)

    def bytes(self, capacity: Any = None) -> int:
        """Bytes of an instance.

        Args:
            capacity: slots of each growing level: a dict of level names, or one int for all of
                them; a level left out gets its full extent.
        Raises TreeError for an unknown level, a capacity below 1 or one above 2**32.
        """
        return _tree().type_bytes(self, capacity)

    def new(self, capacity: Any = None) -> Any:
        """An instance in memory of this process, zero-copy visible to NumPy.

        Without `capacity` each level may grow to its full extent, as far as the reserved address
        range (at most 64 GiB) holds it; pages are taken from the system when first written.
        """
        return _tree().new(self, capacity)

    def bind(self, buffer: Any, capacity: Any = None, reset: bool = True) -> Any:
        """An instance in the caller's memory.

        Args:
            buffer: anything with a writable, contiguous buffer (NumPy array, mmap, memoryview); kept alive, never resized.
            capacity: as for `bytes`; None: the most that fits in the buffer.
            reset: False takes the block that is in the buffer, after a full check of it.
        Raises TreeError when the buffer is too small or misaligned; the text says what is needed.
        """
        return _tree().bind(self, buffer, capacity, reset)

    def load(self, path: Any, capacity: Any = None, read_only: bool = False) -> Any:
        """An instance out of a file that `t.save(path)` wrote, after a full check of it.

        Args:
            path: the file.
            capacity: as for `new`: the tree gets memory of its own, and may grow.
            read_only: maps the file instead: nothing is copied, nothing may be written, and the file must not change.
        Raises TreeError where the file holds no tree, a damaged one, or one of another type.
        """
        return _tree().load(self, path, capacity, read_only)

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
        return (TreeType, (self._branches, self._blob))


def _tree():
    from . import tree  # the instances; imported late: types exist without the runtime

    return tree


def _visit(nodes, action, kind, parents=()):
    for node in nodes:
        if isinstance(node, kind):
            action(node, parents)
        if isinstance(node, LevelNode):
            _visit(node.children, action, kind, (*parents, node))


def _level_of(node, parents) -> Level:
    parent = parents[-1].name if parents else None
    return Level(node.name, node.kind, _types.Axes(node.axes).letters, node.extents, node.depth, parent, node.chunk)


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


class _Draft:
    """A level under construction, or the root (kind None): what the builder's calls return."""

    def __init__(self, builder, parent, kind=None, axes=(), extents=(), name=None, chunk=0):
        self._builder = builder
        self._parent = parent
        self._kind = kind
        self._axes = axes
        self._extents = extents
        self._name = name
        self._chunk = chunk
        self._children: list = []

    def dense(self, axes: Any, extents: Any, *, name: str | None = None) -> _Draft:
        """Adds a level whose cells all exist.

        Args:
            axes: ``mt.ij`` and the like.
            extents: cells along each axis: an int for all of them, or one for each, in the order of `axes`.
            name: the level's name; default: kind and depth, such as ``dense1`` (in several branches
                alike: a capacity for that name then goes to each of those levels).
        Returns the new level. Raises TreeError.
        """
        return self._add("dense", axes, extents, name)

    def pointer(self, axes: Any, extents: Any, *, name: str | None = None) -> _Draft:
        """Adds a level whose cells exist once they are activated; arguments as for `dense`."""
        return self._add("pointer", axes, extents, name)

    def bitmasked(self, axes: Any, extents: Any, *, name: str | None = None) -> _Draft:
        """Adds a level that has memory for all its cells and a bit for each: is it active? Arguments as for `dense`."""
        return self._add("bitmasked", axes, extents, name)

    def dynamic(self, axis: Any, extent: int, chunk_size: int | None = None, *, name: str | None = None) -> _Draft:
        """Adds a level of lists, each of which grows along one axis by ``append``.

        Args:
            axis: ``mt.i`` and the like, which no other level above or below has.
            extent: the greatest length.
            chunk_size: cells for which memory is taken at once; default: the whole extent.
            name: as for `dense`.
        Returns the new level. Raises TreeError.
        """
        return self._add("dynamic", axis, extent, name, chunk_size)

    def hash(self, axes: Any, *, name: str | None = None) -> _Draft:
        """Adds a level whose cells are at any 32-bit coordinates, negative ones too.

        Args:
            axes: ``mt.ij`` and the like, which no level above has.
            name: as for `dense`.
        Returns the new level. Raises TreeError.
        """
        return self._add("hash", axes, (), name)

    def place(self, *members: Any, background: Any = None, **named: Any) -> _Draft:
        """Puts members into each cell of this level.

        Args:
            members: struct types (all their members) or members of one (``s.a``).
            background: what an inactive cell reads as: a number, a sequence for vectors, or a
                dict from member names to those; default 0.
            named: further members: ``place(phi=mt.f32)``.
        Returns this level. Raises TreeError: a name placed twice, a type that cannot be placed.
        """
        chosen = _members_of(members, named)
        if not chosen:
            raise TreeError("place: expected at least one member, got none; write place(s), place(s.a) or place(a=mt.f32)")
        backgrounds = _backgrounds_of(chosen, background)
        for name, type_ in chosen:
            if name in self._builder._members:
                raise TreeError(
                    f"place: expected a name of its own for each member of a tree, got '{name}' twice; rename one of them"
                )
            self._builder._members.add(name)
            self._children.append(PlaceNode(name, type_, backgrounds[name]))
        return self

    def build(self) -> TreeType:
        """The type of the whole tree, whichever of its levels this is called on. Raises TreeError."""
        return self._builder._build()

    def _add(self, kind, axes, extents, name, chunk=None):
        numbers, sizes = axes_and_extents(kind, axes, extents)
        check_extents(kind, numbers, sizes, _drafts_above(self))
        if name is not None:
            self._builder._claim(name)
        child = _Draft(self._builder, self, kind, numbers, sizes, name, chunk_of(kind, sizes, chunk))
        self._children.append(child)
        return child

    @property
    def kind(self) -> str | None:
        """The level's kind; None of the root."""
        return self._kind

    @property
    def axes(self) -> tuple[int, ...]:
        """The numbers of the axes along which this level's cells lie, ascending."""
        return self._axes

    @property
    def extents(self) -> tuple[int, ...]:
        """How many cells there are along each of `axes`."""
        return self._extents


class SNodeTreeBuilder(_Draft):
    """Builds a tree type: each call on the builder itself starts a branch at the root.

    >>> import metate as mt
    >>> str(mt.types.SNodeTreeBuilder().dense(mt.i, 4).place(a=mt.f32).build())
    '!metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>'
    """

    def __init__(self):
        super().__init__(self, None)
        self._members: set[str] = set()
        self._names: set[str] = set()

    def _claim(self, name):
        if not isinstance(name, str) or not name.isidentifier():
            raise TreeError(f"level name: expected an identifier, got {name!r}")
        if name in self._names:
            raise TreeError(f"level name: expected a name of its own for each level, got '{name}' twice; rename one of them")
        self._names.add(name)

    def _build(self) -> TreeType:
        if not self._children:
            raise TreeError("build: expected at least one member in the tree, got an empty tree; call place(...)")
        type_ = TreeType(_freeze(child, 0) for child in self._children)
        depths: dict[str, int] = {}
        for level in type_.levels:
            if depths.setdefault(level.name, level.depth) != level.depth:
                raise TreeError(
                    f"build: expected a name of its own for each level, got '{level.name}' at depths "
                    f"{depths[level.name]} and {level.depth}; rename one of them"
                )
        return type_


def _freeze(node, depth):
    if isinstance(node, PlaceNode):
        return node
    if not node._children:
        raise TreeError(
            f"build: expected a member or a level under each level, got none under {node._kind} at depth {depth}; "
            "call place(...) on it"
        )
    name = node._name or f"{node._kind}{depth}"
    children = tuple(_freeze(child, depth + 1) for child in node._children)
    return LevelNode(node._kind, node._axes, node._extents, name, depth, children, node._chunk)


def _drafts_above(node):
    found = []
    while node is not None and node._kind is not None:
        found.append(node)
        node = node._parent
    return found


def check_extents(kind, numbers, sizes, above) -> None:
    """Raises TreeError where a level of these axes and extents cannot stand below the levels `above`, innermost first."""
    for axis in numbers:
        letter = _types._LETTERS[axis]
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
                f"{kind}: expected at most {_MOST_CELLS_OF_AN_AXIS} cells along axis {_types._LETTERS[axis]}, "
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
    if not isinstance(axes, _types.Axes):
        try:
            axes = _types.axes(*axes) if isinstance(axes, (tuple, list)) else _types.axes(axes)
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
    return not isinstance(value, (bool, np.ndarray)) and hasattr(value, "__index__")


def _members_of(members, named):
    chosen = []
    for member in members:
        if isinstance(member, _types.StructType):
            chosen += member.members.items()
        elif isinstance(member, _types.StructMember):
            chosen.append((member.name, member.type))
        else:
            raise TreeError(
                f"place: expected a struct type or a member of one, got {member!r}; give a type alone a name: place(a={member!r})"
            )
    chosen += named.items()
    for index, (name, type_) in enumerate(chosen):
        try:
            chosen[index] = (name, _types.element_type(type_, f"place: member '{name}'"))
        except TypeError as error:
            raise TreeError(str(error)) from None
    return chosen


def _backgrounds_of(chosen, background):
    given = background if isinstance(background, dict) else dict.fromkeys((n for n, _ in chosen), background)
    for name in given:
        if name not in dict(chosen):
            raise TreeError(f"place: background: expected names of placed members, got '{name}'")
    return {name: encode_background(name, type_, given.get(name)) for name, type_ in chosen}
