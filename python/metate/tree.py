"""Tree instances in this process: memory, host access to cells, statistics.

A Tree is libmetate's tree (`_runtime.Tree`) with Python's manners; kernels take it as an argument.
Layouts, links and activation are libmetate's: nothing here interprets a block. The compiler is not
needed: a type brings its blob.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from metate_native import _runtime

from . import context as _context
from . import runtime
from .conversion import filling, to_members
from .errors import CapacityError, RuntimeIndexError_, TreeError
from .lazy_numpy import is_array, np, numpy_class
from .tree_type import DENSE, LevelNode, LevelStats, TreeType, flat
from .write_numbers import type_of_numbers

_PLACE, _DYNAMIC, _BIT_STRUCT = 4, 6, 8  # metate_level_kind of a member, of a list, of a word that members share
_CAPACITY = 8  # METATE_E_CAPACITY


def type_bytes(type_: TreeType, capacity) -> int:
    return runtime.type_handle(type_).size(_capacities(type_, capacity))[0]


def type_align(type_: TreeType) -> int:
    return runtime.type_handle(type_).size(None)[1]


def new(type_: TreeType, capacity):
    return Tree(type_, _capacities(type_, capacity), None, True)


def bind(type_: TreeType, buffer, capacity, reset: bool):
    if not reset and capacity is not None:
        raise TreeError("bind: capacity: expected None with reset=False, for the block has its own, got " + repr(capacity))
    if buffer is None:
        raise TreeError("bind: buffer: expected a writable, contiguous buffer, got None; T.new() makes its own memory")
    return Tree(type_, _capacities(type_, capacity), buffer, bool(reset))


def new_partner(type_: TreeType, capacity):
    """A tree for gradients or duals of one that has this capacity."""
    return new(type_.grad_type(), _of_its_levels(type_, capacity))


def bind_partner(type_: TreeType, given, capacity, reset: bool):
    """A tree for gradients or duals in the caller's memory, or the one that is given."""
    if isinstance(given, Tree):
        return given
    return bind(type_.grad_type(), given, _of_its_levels(type_, capacity), reset)


def _of_its_levels(type_: TreeType, capacity):
    """The capacities of those levels that its gradient has, too."""
    known = {level.name for level in type_.grad_type().levels}
    checked = _capacities(type_, capacity)
    return None if checked is None else {name: slots for name, slots in checked.items() if name in known}


def load(type_: TreeType, path, capacity, read_only: bool):
    if read_only and capacity is not None:
        raise TreeError(
            "load: capacity: expected None with read_only=True, for the file is mapped as it is, got " + repr(capacity)
        )
    return Tree(type_, _capacities(type_, capacity), None, not read_only, os.fspath(path))


def _capacities(type_: TreeType, capacity):
    """Capacity as a dict from level names to slots, or None."""
    if capacity is None:
        return None
    names = [level.name for level in type_.levels if level.kind not in (*DENSE, "bitmasked")]
    if not isinstance(capacity, Mapping):
        capacity = dict.fromkeys(names, capacity)
    for name, slots in capacity.items():
        if name not in names:
            raise TreeError(f"capacity: expected a level that grows ({', '.join(names) or 'this type has none'}), got {name!r}")
        if isinstance(slots, bool) or not hasattr(slots, "__index__") or not 1 <= slots.__index__() < 1 << 32:
            raise TreeError(f"capacity of '{name}': expected 1 to 2**32 - 1 slots, got {slots!r}")
    return {name: slots.__index__() for name, slots in capacity.items()}


class Tree(_runtime.Tree):
    """An instance of a tree type; made by ``T.new()`` and ``T.bind(buffer)``.

    ``t[i, j].a`` and ``t.a[i, j]`` read a member; assigning to them activates the cell. A member
    whose name is taken by a method is ``t["name"]``.
    """

    def __init__(self, type_: TreeType, capacities, buffer, reset: bool, path: str = ""):
        handle = runtime.type_handle(type_)
        super().__init__(handle, capacities, buffer, reset, path)
        levels = handle.levels
        set_ = super().__setattr__  # ours refuses every assignment
        set_("_type", type_)
        set_("_partners", {})
        set_("_by_host", set())  # what was done through the host's copy of the block once (fields/again.py)
        set_("_indices", {name: index for index, kind, name, _, _ in levels if kind == _PLACE})
        set_("_infos", type_.members)
        set_("_level_names", _unique_names(levels))
        set_("_own_names", {index: name for index, _, name, _, _ in levels})
        set_("_level_indices", {name: index for index, name in self._level_names.items()})

    @property
    def type(self) -> TreeType:
        """The tree's type."""
        return self._type

    @functools.cached_property
    def _numbers(self) -> Any:
        """The tree of the numbers of its last writes (write_numbers.py), made when it is first asked for."""
        type_: Any = type_of_numbers(self._type)
        return _context.current().holdings.tree_types.setdefault(str(type_), type_).new()

    @property
    def grad(self) -> Tree | None:
        """The tree that holds its gradient; None: it is a constant to derivatives.

        It may be assigned: another tree of `type.grad_type()`, or None. Raises TreeError for any other.
        """
        return self._partners.get("grad")

    @grad.setter
    def grad(self, tree: Tree | None):
        self._set_partner("grad", tree)

    @property
    def dual(self) -> Tree | None:
        """The tree that holds its dual, the derivative in forward mode, as `grad` holds the gradient."""
        return self._partners.get("dual")

    @dual.setter
    def dual(self, tree: Tree | None):
        self._set_partner("dual", tree)

    def _set_partner(self, kind, tree):
        """Raises TreeError for what is no tree of `type.grad_type()`, and for the tree itself."""
        if tree is None:
            self._partners.pop(kind, None)
            return
        if tree is self or not isinstance(tree, Tree) or tree.type != self._type.grad_type():
            raise TreeError(f"{kind}: expected another tree of {self._type.grad_type()!r}, got {tree!r}")
        self._partners[kind] = tree

    @property
    def bytes(self) -> int:
        """Bytes of the block."""
        return self._bytes()

    @property
    def block(self) -> memoryview:
        """The whole block as a memoryview; the tree cannot be unbound while it lives."""
        return memoryview(self)

    @property
    def topology_version(self) -> int:
        """A number that changes whenever the set of active cells changes."""
        return self._topology_version()

    def stats(self) -> dict[str, LevelStats]:
        """Slots of each growing level, by its name (``name[k]`` when several branches have that name)."""
        return {
            self._level_names[level]: LevelStats(capacity, used, peak, size)
            for level, _, capacity, used, peak, size in self._stats()
        }

    def is_active(self, *coordinates) -> bool:
        """Whether the cell at these coordinates is active; where branches differ, ask a member: ``t.a.is_active(i, j)``."""
        return self._only_member("is_active").is_active(*coordinates)

    def activate(self, *coordinates) -> None:
        """Activates the cell; its members read as background. Raises CapacityError."""
        self._only_member("activate").activate(*coordinates)

    def deactivate(self, *coordinates) -> None:
        """Deactivates the cell: it reads as background, and its slots are free again; where branches differ, ask a member."""
        self._only_member("deactivate").deactivate(*coordinates)

    def deactivate_all(self, level: str | None = None) -> None:
        """Deactivates every cell of the tree, or of one level (its name as in `stats()`)."""
        self._deactivate_all(0 if level is None else self._level(level, "deactivate_all"))

    def append(self, *coordinates, level: str | None = None) -> int:
        """Activates one more cell of a list and returns its index; it holds the background.

        Args:
            coordinates: of the cell that holds the list: all axes but the list's own.
            level: the name of the dynamic level; None where the tree has one.
        Raises CapacityError where the list or the level's pool is full.
        """
        return self._append(self._list(level, "append"), _coordinates(coordinates) if coordinates else ())

    def length(self, *coordinates, level: str | None = None) -> int:
        """Cells of a list, at the coordinates of the cell that holds it; 0 where that is inactive."""
        return self._length(self._list(level, "length"), _coordinates(coordinates) if coordinates else ())

    def migrate(self, capacity=None, buffer=None) -> None:
        """Moves the tree into other memory, with other capacities, and goes on there; from any state, also an exhausted one.
        Where slots have greater numbers than the new capacity they are first put in order, as by `sort()`.

        Args:
            capacity: as for `T.new`; with a buffer, None is the most that fits.
            buffer: anything with a writable, contiguous buffer; None: memory of the tree's own.
        Raises CapacityError where a level is too small for what is in use: then the tree stays where it is.
        """
        self._migrate(_capacities(self._type, capacity), buffer)

    def reserve_for(self, kernel, *arguments, **keywords) -> dict[str, int]:
        """Whether ``kernel(*arguments)`` would find room in this tree, one of its arguments; nothing is changed.

        The kernel, or graph, counts the cells that it would activate, given what its arguments hold now. Where that depends on
        what it writes itself an error says what, and in which line. A graph's arguments come in one dict, as for its `run`.

        Returns a dict from each growing level's name to the slots that it needs, those in use included: exact, but for a
        kernel that also deactivates cells in an earlier loop; then it may be more than is needed.
        Raises CapacityError where a level is too small; ``t.migrate(capacity=error.capacities)`` makes room for the call.
        RuntimeError_ where the slots cannot be counted, or for a kernel of a module that was built with reserve=False.
        """
        receiver = getattr(kernel, "__self__", None)
        if not hasattr(kernel, "_reserve_for"):
            raise TreeError(f"reserve_for: expected a kernel, got {kernel!r}")
        if receiver is not None:
            arguments = (receiver, *arguments)
        text, slots = kernel._reserve_for(self, arguments, keywords)
        stats = self.stats()
        needed = dict(zip(stats, slots, strict=True))
        if text:
            raise self._too_small(text, needed, stats)
        return needed

    def _too_small(self, text, needed, stats) -> CapacityError:
        capacities = {}  # by the names that `migrate` takes: branches of one name share theirs
        for level, name in self._level_names.items():
            if name in needed:
                own = self._own_names[level]
                capacities[own] = max(capacities.get(own, 1), needed[name], stats[name].capacity)
        worst = max(needed, key=lambda name: needed[name] - stats[name].capacity)
        return CapacityError(
            text, level=worst, needed=needed[worst], capacity=stats[worst].capacity, capacities=capacities, status=_CAPACITY
        )

    def save(self, path) -> None:
        """Writes the tree with its type to a file, which holds what is in use; `T.load(path)` reads it."""
        self._save(os.fspath(path))

    def _level(self, name: str, what: str) -> int:
        if name not in self._level_indices:
            raise TreeError(f"{what}: expected a level ({', '.join(self._level_indices)}), got {name!r}")
        return self._level_indices[name]

    def _list(self, name: str | None, what: str) -> int:
        lists = [number for number, kind, *_ in runtime.type_handle(self._type).levels if kind == _DYNAMIC]
        if name is not None:
            return self._level(name, what)
        if len(lists) != 1:
            names = ", ".join(self._level_names[number] for number in lists) or "none"
            raise TreeError(f"{what}: level: expected the name of a dynamic level, for this tree has {names}")
        return lists[0]

    def _only_member(self, what: str) -> Member:
        if len({_growing_path(self._type.branches, name) for name in self._indices}) > 1:
            raise TreeError(
                f"{what}: expected a tree whose members are active together, got branches; "
                f"ask a member: {' or '.join(f't.{name}.{what}(...)' for name in self._indices)}"
            )
        return self[next(iter(self._indices))]

    def __getitem__(self, key):
        if not isinstance(key, str):
            return Cell(self, _coordinates(key))
        if key not in self._indices:
            raise TreeError(f"expected a member ({', '.join(self._indices)}), got '{key}'")
        return Member(self, key)

    def __getattr__(self, name):
        indices = self.__dict__.get("_indices", {})
        if name in indices:
            return Member(self, name)
        if name in self.__dict__.get("_level_indices", {}):
            return Level(self, name)
        raise AttributeError(f"tree has no member or method '{name}'; its members: {', '.join(indices)}")

    def __setattr__(self, name, value):
        if name in ("grad", "dual"):
            return super().__setattr__(name, value)
        raise AttributeError(f"cannot assign to '{name}' of a tree; assign to a cell: t.{name}[i, j] = value")

    def __repr__(self) -> str:
        return f"<tree of type {self._type}>"


class Member:
    """`t.a`: one member of an instance; it keeps the instance alive."""

    __slots__ = ("_index", "_info", "_name", "_tree")

    def __init__(self, tree: Tree, name: str):
        self._tree = tree
        self._name = name
        self._index = tree._indices[name]
        self._info = tree._infos[name]

    @property
    def type(self):
        """The member's scalar, vector, matrix or quantised type."""
        return self._info.type

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents over the whole tree, one for each of its axes."""
        return self._info.shape

    @property
    def background(self):
        """What an inactive cell reads as."""
        return self._info.background

    def __getitem__(self, key):
        value = self._tree._read(self._index, self._at(_coordinates(key)))
        if is_array(value):
            value.flags.writeable = False  # a copy: writing to it would change nothing
        return value

    def __setitem__(self, key, value):
        self._tree._write(self._index, self._at(_coordinates(key)), value)

    def is_active(self, *coordinates) -> bool:
        """Whether the member's cell at these coordinates is active."""
        return self._tree._is_active(self._index, self._at(_coordinates(coordinates)))

    def activate(self, *coordinates) -> None:
        """Activates the cell; it then holds the background. Raises CapacityError."""
        self._tree._activate(self._index, self._at(_coordinates(coordinates)))

    def deactivate(self, *coordinates) -> None:
        """Deactivates the cell of the innermost level above that can be inactive, with all that it holds.

        Cells of a list end together: `t.deactivate_all(level)` or, in a kernel, the list's `deactivate()`.
        """
        self._tree._deactivate(self._index, self._at(_coordinates(coordinates)))

    def field(self) -> Any:
        """The member as a field: kernels read and write it by `template()` arguments or where they close over it, whatever
        its name and its tree's type are. It has elements and arrays like any field; its levels are the tree's.
        """
        from .fields.new_field import field_over

        return field_over(self._tree, self._name)

    def to_numpy(self) -> np.ndarray:
        """A new dense array over `shape` (then a vector's or matrix' dimensions); inactive cells are background."""
        return self._tree._read_dense(self._index)

    def from_numpy(self, array: Any) -> None:
        """Copies a dense array over `shape` (then a vector's or matrix' dimensions) into the active cells.

        Args:
            array: NumPy's, torch's, anything with DLPack or a buffer, nested sequences; numbers are converted as NumPy does.
        Raises RuntimeValueError_ for another shape, RuntimeTypeError_ for what are no numbers.
        """
        type_ = self._info.type
        shape = self._info.shape + tuple(getattr(type_, "shape", ()))
        given = to_members(getattr(type_, "dtype", type_), shape, array, f"member '{self._name}': from_numpy")
        self._tree._write_dense(self._index, given)

    def fill(self, value: Any) -> None:
        """Sets every active cell: to a number in each component, or to a sequence of the element's shape."""
        type_ = self._info.type
        element, offset = list(getattr(type_, "shape", ())), [0] * len(self._info.shape)
        elements = _runtime.Elements(self._tree, [self._index], element, offset, f"member '{self._name}'")
        elements.fill(filling(type_, value))

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The active cells: coordinates int64[n, axes] and values [n, ...], in one unspecified order."""
        return self._tree._cells(self._index)

    def _at(self, coordinates):
        if len(coordinates) != len(self._info.shape):
            axes = ", ".join(self._info.axes)
            raise RuntimeIndexError_(
                f"member '{self._name}': expected {len(self._info.shape)} coordinates ({axes}), got {len(coordinates)}"
            )
        return coordinates

    def __repr__(self) -> str:
        return f"<member {self._name}: {self._info.type!r} of {self._tree!r}>"


class Level:
    """`t.pointer0`: one level of an instance, by its name in `stats()`; it keeps the instance alive.

    Coordinates are those of the level's own cells.
    """

    __slots__ = ("_index", "_name", "_tree")

    def __init__(self, tree: Tree, name: str):
        self._tree = tree
        self._name = name
        self._index = tree._level_indices[name]

    def is_active(self, *coordinates) -> bool:
        """Whether the level's cell at these coordinates is active."""
        return self._tree._is_active(self._index, _coordinates(coordinates) if coordinates else ())

    def activate(self, *coordinates) -> None:
        """Activates the cell, and those above it. Raises CapacityError."""
        self._tree._activate(self._index, _coordinates(coordinates) if coordinates else ())

    def deactivate(self, *coordinates) -> None:
        """Deactivates the cell with all that it holds; of a dynamic level the whole list, at the cell that holds it."""
        self._tree._deactivate(self._index, _coordinates(coordinates) if coordinates else ())

    def deactivate_all(self) -> None:
        """Deactivates every cell of the level."""
        self._tree._deactivate_all(self._index)

    def append(self, *coordinates) -> int:
        """Appends a cell to a dynamic level's list, named by the cell that holds it; returns its index. Raises CapacityError."""
        return self._tree._append(self._index, _coordinates(coordinates) if coordinates else ())

    def length(self, *coordinates) -> int:
        """The length of a dynamic level's list, named by the cell that holds it."""
        return self._tree._length(self._index, _coordinates(coordinates) if coordinates else ())

    def __repr__(self) -> str:
        return f"<level {self._name} of {self._tree!r}>"


class Cell:
    """`t[i, j]`: one cell of an instance; its members are attributes that read and write."""

    __slots__ = ("_coordinates", "_tree")

    def __init__(self, tree: Tree, coordinates):
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "_coordinates", coordinates)

    def __getattr__(self, name):
        return self._member(name)[self._coordinates]

    def __setattr__(self, name, value):
        self._member(name)[self._coordinates] = value

    def _member(self, name) -> Member:
        if name not in self._tree._indices:
            raise AttributeError(f"cell has no member '{name}'; its members: {', '.join(self._tree._indices)}")
        return Member(self._tree, name)

    def __repr__(self) -> str:
        return f"<cell {self._coordinates} of {self._tree!r}>"


def _coordinates(key) -> tuple:
    """One index, or several in a tuple, a list or an array, as a tuple; the runtime checks each."""
    if isinstance(key, tuple):
        return _coordinates(key[0]) if len(key) == 1 and isinstance(key[0], (tuple, list, numpy_class("ndarray"))) else key
    return tuple(key) if isinstance(key, (list, numpy_class("ndarray"))) else (key,)


def _growing_path(branches, member: str):
    """The innermost growing level above a member, as a path of child numbers; () when none grows."""
    path = _path_to(branches, member)
    last = max((i for i, (node, _) in enumerate(path) if node.kind not in DENSE), default=-1)
    return tuple(number for _, number in path[: last + 1])


def _path_to(nodes, member: str):
    """(level, its number among its siblings) from the root to the level that holds the member."""
    for number, node in enumerate(nodes):
        if isinstance(node, LevelNode):
            below = _path_to(node.children, member)
            if below is not None:
                return [(node, number), *below]
        elif member in (place.name for place in flat([node])):
            return []
    return None


def _unique_names(levels) -> dict[int, str]:
    """Names for `stats` by level index: a name that several levels have gets their number. Words are no levels."""
    levels = [level for level in levels if level[1] not in (_PLACE, _BIT_STRUCT)]
    names = [name for _, _, name, _, _ in levels]
    seen: dict[str, int] = {}
    found = {}
    for index, _, name, _, _ in levels:
        number = seen[name] = seen.get(name, -1) + 1
        found[index] = f"{name}[{number}]" if names.count(name) > 1 else name
    return found
