"""How trees of fields are drawn: `root`, FieldsBuilder and their levels.

Each level or placement that is added to a builder itself begins a tree of its own: such branches share nothing, and
types of small trees are equal more often. They stay one tree where components of one field connect them. The first
use of a field fixes its tree's type and makes the memory; `finalize` fixes all trees of a builder.
"""

from __future__ import annotations

import weakref
from typing import Any

from .. import context as _context
from ..drawn_levels import Drawn, DrawnLevel, levels_up
from ..errors import TreeError
from ..tree_type import LevelStats, TreeType
from . import again, drawing, partner_places
from .drawing import FieldTree, tree_of
from .place import place


class _Fields(Drawn):
    """What levels of fields can be added to: a builder or a level."""

    __slots__ = ()

    def children(self) -> list:
        """Levels and fields directly below."""
        return self.get_children()

    def lazy_grad(self) -> None:
        """Places the gradients of all float fields below that have none, each in the cells of its field.

        Raises TreeError: the tree is in use.
        """
        self._place_partners("grad")

    def lazy_dual(self) -> None:
        """Places the duals of all float fields below, as `lazy_grad` does."""
        self._place_partners("dual")

    def _place_partners(self, kind):
        partner_places.place_beside(self.below, kind)


class SNode(_Fields, DrawnLevel):
    """A level of a tree of fields; made by ``mt.root.dense(...)`` and the like.

    Attributes:
        kind, axes, extents, chunk, word, label: as of drawn_levels.DrawnLevel.
        above: the level above, or the FieldTree.
        below: levels, words and drawing.Leaf objects below.
    """

    __slots__ = ("__weakref__", "_memory")

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._memory = None

    def place(self, *fields: Any, offset: Any = None) -> SNode:
        """Puts fields into each cell of this level.

        Args:
            fields: fields that have no place yet: scalar, vector, matrix or struct fields, BitpackedFields, or lists of them.
                Quantised fields that are in no BitpackedFields get words of their own. A quant_array takes one such scalar.
            offset: the first index along each dimension, an int or one for each; default: the field's own, else 0.
        Returns this level. Raises TreeError.
        """
        place(self, fields, offset)
        return self

    def parent(self, n: int = 1) -> Any:
        """The level n above this one; the root or builder above the outermost level, None beyond."""
        node = self
        for _ in range(n):
            if not isinstance(node, SNode):
                return None
            node = node.above.builder if isinstance(node.above, FieldTree) else node.above
        return node

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells over the whole tree, along each axis of this level and those above."""
        return drawing.shape_of(self)

    @property
    def snode(self) -> SNode:
        """The level itself."""
        return self

    def get_children(self) -> list:
        """Levels and fields directly below."""
        return _children(self.below)

    def is_active(self, *indices: Any) -> bool:
        """Whether the cell at these coordinates of the level's own is active."""
        return self._tree._is_active(self._number(), _flat(indices))

    def activate(self, *indices: Any) -> None:
        """Activates the cell at these coordinates of the level's own. Raises CapacityError."""
        self._tree._activate(self._number(), _flat(indices))

    def deactivate(self, *indices: Any) -> None:
        """Deactivates the cell at these coordinates of the level's own, with all below it.

        Of a dynamic level: the coordinates are those of the cell that the list is in, and the whole list is emptied.
        """
        self._tree._deactivate(self._number(), _flat(indices))

    def stats(self) -> LevelStats:
        """Slots of this level: capacity, used now, peak, bytes. Raises TreeError for levels without slots (dense, bitmasked)."""
        number = self._number()
        for level, _, *figures in self._tree._stats():
            if level == number:
                return LevelStats(*figures)
        raise TreeError(f"stats: expected a level with slots (pointer, dynamic, hash), got a {self.kind} level")

    def length(self, *indices: Any) -> int:
        """The length of a dynamic level's list, in the cell at these coordinates. Raises TreeError for other levels."""
        self._check_list("length")
        return self._tree._length(self._number(), _flat(indices))

    def append(self, indices: Any, value: Any = None) -> int:
        """Appends to a dynamic level's list, in the cell at these coordinates.

        Args:
            indices: the coordinates, an int for a single one; () where no level is above.
            value: of the new element of the only field below; None leaves the background.
        Returns its index. Raises TreeError for other levels, CapacityError where the list has its greatest length.
        """
        self._check_list("append")
        where = list(_flat((indices,)))
        index = self._tree._append(self._number(), tuple(where))
        if value is not None:
            (field,) = self.get_children()
            axes = sorted({axis for level in levels_up(self) for axis in level.axes})
            where.insert(axes.index(self.axes[0]), index)
            field[tuple(k + offset for k, offset in zip(where, field.offset))] = value
        return index

    def deactivate_all(self) -> None:
        """Makes every cell of this level, or of the sparse levels below it, inactive: its fields read as their background.

        Raises TreeError: a kernel is at work in the tree.
        """
        tree_of(self).fix()
        for level in drawing.sparse_levels(self):
            tree, number = level._tree, level._number()
            if not again.was_run("deactivate_all", tree, number, level):
                tree._deactivate_all(number)

    def _check_list(self, what):
        if self.kind != "dynamic":
            raise TreeError(f"{what}: expected a dynamic level, got a {self.kind} level")

    def _number(self) -> int:
        """The level's number in its tree's type: its record in the blob."""
        tree = tree_of(self)
        tree.fix()
        return 1 + drawing.in_order(tree.branches).index(self)

    @property
    def name(self) -> str:
        """The level's name in its tree's type, which is fixed by this."""
        tree_of(self).fix()
        return self.label

    @property
    def _tree_type(self) -> TreeType:
        return tree_of(self).fix()

    @property
    def _tree(self):
        """The instance of its tree (metate.tree.Tree), made now if need be."""
        if self._memory is None or tree_of(self).destroyed:
            self._memory = None
            self._memory = tree_of(self).instance()
        return self._memory

    def _add(self, kind, axes, dimensions, name, size=None):
        tree_of(self).check_open(kind)
        child = SNode(self, kind, axes, dimensions, name, size)
        self.below.append(child)
        return child

    def __repr__(self):
        return " => ".join(["root", *(f"{level.kind} {list(level.shape)}" for level in reversed(levels_up(self)))])


class FieldsBuilder(_Fields):
    """Builds trees of fields as `mt.root` does, with an end of its own.

    >>> import metate as mt
    >>> builder, x = mt.FieldsBuilder(), mt.field(mt.f32)
    >>> _ = builder.dense(mt.ij, (4, 4)).place(x)
    >>> tree = builder.finalize()
    >>> x.shape
    (4, 4)
    >>> tree.destroy()
    """

    __slots__ = ("__weakref__", "_finalized", "_is_root", "_trees")

    def __init__(self):
        self._is_root = False
        self._trees = []  # weak references: levels and fields keep their tree
        self._finalized = False

    def place(self, *fields: Any, offset: Any = None) -> FieldsBuilder:
        """Puts fields of a single element (shape ``()``) into a tree; arguments as for SNode.place."""
        self._check_open("place")
        place(self._new_tree(), fields, offset)
        return self

    def finalize(self, raise_warning: bool = True) -> SNodeTree:
        """Fixes what was built; the builder takes nothing more.

        Args:
            raise_warning: for Taichi's sake; nothing warns.
        Returns the SNodeTree, whose `destroy` gives the memory back. Raises TreeError: finalized before, nothing placed.
        """
        self._check_open("finalize")
        trees = self._living()
        if not any(tree.leaves() for tree in trees):
            raise TreeError("finalize: expected at least one field, got an empty builder; call place(...)")
        for tree in trees:
            tree.fix()
        self._finalized = True
        return SNodeTree(trees)

    def deactivate_all(self) -> None:
        """Makes every cell of the builder's trees inactive that can be; see `SNode.deactivate_all`."""
        for tree in self._living():
            for branch in tree.branches:
                if isinstance(branch, SNode):
                    branch.deactivate_all()

    def parent(self, n: int = 1) -> None:
        """None: nothing stands above a builder."""
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """(): the root is one cell."""
        return ()

    def get_children(self) -> list:
        """Levels and fields directly below, of trees that are still referred to."""
        return [child for tree in self._living() for child in _children(tree.branches)]

    def _place_partners(self, kind):
        self._check_open(f"lazy_{kind}")
        for tree in self._living():
            if tree.type is None:
                partner_places.place_beside(tree.branches, kind)

    def _living(self):
        self._trees = [ref for ref in self._trees if ref() is not None]
        trees = [ref() for ref in self._trees]
        return [tree for tree in trees if tree is not None and tree.branches]

    def _check_open(self, what):
        if self._finalized:
            raise TreeError(f"{what}: the builder was finalized; make another one: mt.FieldsBuilder()")

    def _new_tree(self) -> FieldTree:
        tree = FieldTree(root if self._is_root else self)
        self._trees.append(weakref.ref(tree))
        return tree

    def _add(self, kind, axes, dimensions, name, size=None):
        self._check_open(kind)
        tree = self._new_tree()
        tree.branches.append(SNode(tree, kind, axes, dimensions, name, size))
        return tree.branches[0]

    def __repr__(self):
        return "root"


class SNodeTree:
    """What FieldsBuilder.finalize returns: the memory of its fields."""

    def __init__(self, trees):
        self._trees = trees

    def destroy(self) -> None:
        """Gives the memory back; its fields can be placed anew, and until then using one is an error.

        Raises TreeError: destroyed before; a kernel or a view of the memory still uses it.
        """
        if all(tree.destroyed for tree in self._trees):
            raise TreeError("destroy: the tree was destroyed before")
        for tree in self._trees:
            tree.destroy()

    @property
    def types(self) -> list[TreeType]:
        """Types of its trees."""
        return [tree.type for tree in self._trees]


class Root(_Fields):
    """`mt.root`: a builder that never ends, the current context's. Each level added to it begins another tree."""

    __slots__ = ()

    def place(self, *fields: Any, offset: Any = None) -> Root:
        """Puts fields of a single element (shape ``()``) into a tree; arguments as for SNode.place."""
        builder().place(*fields, offset=offset)
        return self

    def deactivate_all(self) -> None:
        """Makes every cell of the current context's root inactive that can be; see `SNode.deactivate_all`."""
        builder().deactivate_all()

    def lazy_grad(self) -> None:
        """Places the gradients of all float fields of the current context that have none: of fields that were placed by hand
        in their cells, of fields that were made with a shape in trees of their own. Trees in use stay as they are."""
        self._place_partners("grad")

    def lazy_dual(self) -> None:
        """Places the duals of all float fields, as `lazy_grad` does."""
        self._place_partners("dual")

    def _place_partners(self, kind):
        builder()._place_partners(kind)
        partner_places.lay_out_partners(kind, FieldsBuilder)

    def parent(self, n: int = 1) -> None:
        """None: nothing stands above the root."""
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """(): the root is one cell."""
        return ()

    def get_children(self) -> list:
        """Levels and fields directly below, of trees that are still referred to."""
        return builder().get_children()

    def _add(self, kind, axes, dimensions, name, size=None):
        return builder()._add(kind, axes, dimensions, name, size)

    def __repr__(self):
        return "root"


root = Root()


def builder() -> FieldsBuilder:
    """The builder behind `root` in the current context."""
    holdings = _context.current().holdings
    if holdings.root is None:
        holdings.root = FieldsBuilder()
        holdings.root._is_root = True
    return holdings.root


def _flat(indices) -> tuple:
    """Indices given one by one, or as one sequence or vector, as a tuple."""
    if len(indices) == 1 and hasattr(indices[0], "__len__"):
        return tuple(int(index) for index in indices[0])
    return tuple(indices)


def _children(nodes):
    found = [node.field() if isinstance(node, drawing.Leaf) else node for node in drawing.without_words(nodes)]
    return [*dict.fromkeys(node for node in found if node is not None)]  # once, also where components lie apart
