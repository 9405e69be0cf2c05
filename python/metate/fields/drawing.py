"""Trees of fields from their first level to memory: what levels hold, when a type is fixed, who keeps the memory.

builder.py draws a tree, field.py reads it. The memory lives as long as one of the tree's fields, or a level that a
kernel used: they refer to it, the drawing refers to its fields weakly.
"""

from __future__ import annotations

import threading
import weakref

from .. import context as _context
from ..drawn_levels import DrawnLevel, levels_up, nodes_of
from ..errors import TreeError
from ..tree_instances import TreeType
from ..tree_type import DENSE, PlaceNode, path_extents
from ..words import Word


class Leaf:
    """A field, or one component of it, below a level. Once the tree's type is fixed, `name` is the member's."""

    __slots__ = ("above", "component", "field", "label", "name", "type")

    def __init__(self, above, field, component):
        self.above = above  # the level, also where it is in a word there, or the FieldTree
        self.field = weakref.ref(field)
        self.component = component  # its row-major number; None: whole elements
        self.type = field._stored_type(component)
        name = field.name.replace(".", "_") if field.partner_kind else field.name
        self.label = name if component is None or not name else f"{name}_{component}"
        self.name = None

    @property
    def levels(self) -> list:
        """The levels from the one that it is in up to the root."""
        return levels_up(self.above)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Extents over the axes of those levels; see shape_of."""
        return shape_of(self)

    @property
    def tree(self) -> FieldTree:
        """The tree to which it belongs now."""
        return tree_of(self)


class FieldTree:
    """Branches that share one tree.

    Attributes:
        builder: what it was begun on.
        branches: of the root: levels, words and leaves.
        type: the TreeType once it is fixed.
        destroyed: was its memory given back on demand?
    """

    def __init__(self, builder):
        self.builder = builder
        self.lock = threading.RLock()  # the drawing changes, is fixed, gets memory and loses it one at a time
        self.branches = []
        self.type = None
        self.destroyed = False
        self._instance = None  # weak
        self._joined = None  # the tree that took this one's branches

    @property
    def current(self) -> FieldTree:
        """This tree, or the one that it was joined with."""
        tree = self
        while tree._joined is not None:
            tree = tree._joined
        return tree

    def join(self, other: FieldTree) -> None:
        """Takes the other tree's branches: a field has components in both."""
        if other is self:
            return
        for tree in (self, other):
            tree.check_open("place")
        self.branches += other.branches
        other.branches = []
        other._joined = self

    def check_open(self, what: str) -> None:
        """Raises TreeError when nothing can be added any more."""
        if self.destroyed:
            raise TreeError(f"{what}: the tree was destroyed; begin another one with mt.root or a new mt.FieldsBuilder()")
        if self.type is not None:
            raise TreeError(
                f"{what}: the tree is in use and its type is fixed; place all its fields before the first of them is used, "
                "or begin another branch at mt.root"
            )

    def leaves(self) -> list[Leaf]:
        """The leaves in the order of the type's members."""
        return leaves_below(self.branches)

    def fix(self) -> TreeType:
        """The tree's type, which cannot change from now on. Raises TreeError for levels without a field."""
        with self.lock:
            if self.type is None:
                self._name_all()
                self.type = _shared(TreeType(nodes_of(self.branches, lambda leaf: PlaceNode(leaf.name, leaf.type), "a field")))
            return self.type

    def instance(self):
        """The tree's memory (metate.tree.Tree), made at the first call. Raises TreeError after `destroy`."""
        with self.lock:
            if self.destroyed:
                raise TreeError("the tree was destroyed")
            found = self._instance and self._instance()
            if found is None:
                found = self.fix().new()
                self._instance = weakref.ref(found)
                _context.current().holdings.field_memory.add(found)
            for field in self._fields():
                field._memory = found
            return found

    def destroy(self) -> None:
        """Gives the memory back. Raises TreeError while a kernel or a view uses it."""
        with self.lock:
            if self.destroyed:
                return
            found = self._instance and self._instance()
            try:
                if found is not None:
                    found.unbind()
            except TreeError as error:
                raise TreeError(f"destroy: {str(error).removeprefix('unbind: ')}", status=error.status) from None
            self.destroyed = True
            for field in self._fields():
                field._unplace()

    def _fields(self):
        return [field for field in (leaf.field() for leaf in self.leaves()) if field is not None]

    def _name_all(self):
        taken, labels = set(), [leaf.label for leaf in self.leaves()]
        for number, leaf in enumerate(self.leaves()):
            usable = leaf.label.isidentifier() and labels.count(leaf.label) == 1 and not leaf.label.startswith("__")
            leaf.name = _unused(leaf.label if usable else f"v{number}", taken)
        _name_levels(self.branches, 0, set())


def sparse_levels(node) -> list:
    """A level whose cells can be inactive, or the outermost such levels below it."""
    if not isinstance(node, DrawnLevel):
        return []
    return [node] if node.kind not in DENSE else [found for child in node.below for found in sparse_levels(child)]


def in_order(nodes) -> list:
    """Levels, words and leaves, each before those below it: in the order of the type's records."""
    found = []
    for node in nodes:
        found.append(node)
        if not isinstance(node, Leaf):
            found += node.members if isinstance(node, Word) else in_order(node.below)
    return found


def without_words(nodes) -> list:
    """Levels and leaves, those in words included."""
    return [found for node in nodes for found in (node.members if isinstance(node, Word) else (node,))]


def tree_of(node) -> FieldTree:
    """The tree to which a level or leaf belongs now."""
    while not isinstance(node, FieldTree):
        node = node.above
    return node.current


def shape_of(node) -> tuple[int | None, ...]:
    """Extents over the axes of the levels above a leaf, or of a level and those above it; ascending axes. None: no bounds."""
    extents = path_extents(levels_up(node.above if isinstance(node, Leaf) else node))
    return tuple(extents[axis] for axis in sorted(extents))


def leaves_below(nodes) -> list[Leaf]:
    """The leaves below levels, and those among the nodes, in order."""
    flat = without_words(nodes)
    return [leaf for node in flat for leaf in ([node] if isinstance(node, Leaf) else leaves_below(node.below))]


def _unused(name, taken):
    found, number = name, 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def _name_levels(nodes, depth, taken):
    for node in nodes:
        if isinstance(node, DrawnLevel):
            node.label = _unused(node.label or f"{node.kind}{depth}", taken)
            _name_levels(node.below, depth + 1, taken)


def _shared(type_: TreeType) -> TreeType:
    """The current context's TreeType that equals this one: its layout is then computed once for all equal trees."""
    return _context.current().holdings.tree_types.setdefault(str(type_), type_)
