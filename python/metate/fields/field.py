"""Field: one named array of scalars, vectors or matrices, as a view of a tree's member.

Memory, layout and activation are the tree's. Struct fields are struct_field.py's, bulk copies transfer.py's.
"""

from __future__ import annotations

import contextlib
from typing import Any

from .. import context as _context
from .. import recording
from ..errors import FieldLoopError_, OffsetError_, RuntimeIndexError_, TreeError
from ..lazy_numpy import np
from ..tree_type import DENSE, path_extents
from ..value_types import DType
from ..whole_writes import COPY_FROM, FILL, FROM_NUMPY
from . import gradients, transfer
from .component import Component
from .placed_node import PlacedNode
from .placement import Placement


class Field:
    """A field; made by `mt.field`, `mt.Vector.field` and `mt.Matrix.field`.

    ``x[i, j]`` reads an element, assigning to it writes one (and activates its cell); ``x[None]`` is the element of a
    field of shape ``()``. A vector or matrix that was read is a copy whose components write through:
    ``x[i][0] = 1``, ``x[i].y = 2``.

    Attributes:
        element: type of an element: DType, VectorType or MatrixType. Of a quantised field it is what is computed with.
        name: the name it was given, or "".
        partner_kind: "grad" or "dual" of what is a field's gradient or dual; None of others.
    """

    __slots__ = (
        "__weakref__",
        "_elements",
        "_fixed",
        "_given_offset",
        "_is_late",
        "_leaves",
        "_made_at",
        "_memory",
        "_needs",
        "_offset",
        "_partners",
        "_stored",
        "_value_of",
        "_was_destroyed",
        "element",
        "name",
        "partner_kind",
    )

    def __init__(self, element, name="", offset=None, made_at=None, needs=(), stored=None):
        self.element = element
        self._stored = stored  # the types in which components are stored, where they are quantised; else None
        self.name = name
        self.partner_kind = None
        self._is_late = False  # of a partner: its field is a constant in a derivative that was compiled
        self._needs = needs  # kinds of partners (gradients.py) that it is not used without
        self._partners = {}  # kind -> field
        self._made_at = made_at
        self._given_offset = offset
        self._leaves = []
        self._unplace()

    # ---- where it is ----

    @property
    def dtype(self) -> DType:
        """Scalar type of the elements."""
        return self.element if isinstance(self.element, DType) else self.element.dtype

    @property
    def n(self) -> int:
        """Rows of an element; 1 for a scalar."""
        return getattr(self.element, "n", 1)

    @property
    def m(self) -> int:
        """Columns of an element; 1 for a scalar or vector."""
        return getattr(self.element, "m", 1)

    @property
    def ndim(self) -> int:
        """Dimensions of an element: 0, 1 or 2."""
        return len(getattr(self.element, "shape", ()))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, one for each index. Raises TreeError before the field is placed."""
        return self._first_leaf().shape if self._fixed is None else self._fixed.shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each dimension; zeros without an offset."""
        return self._offset or (0,) * len(self.shape)

    @property
    def _placement(self) -> Placement:
        if self._fixed is None:
            leaves = self._all_leaves()
            gradients.check_needed(self)
            type_ = leaves[0].tree.fix()
            self._fixed = Placement(type_, tuple(leaf.name for leaf in leaves), self.element, self.shape, self.offset)
        return self._fixed

    @property
    def _tree(self):
        """The instance (metate.tree.Tree) in which its elements are; made at the first use."""
        if self._memory is None:
            self._all_leaves()
            self._leaves[0].tree.instance()
        return self._memory

    def parent(self, n: int = 1) -> Any:
        """The level n above the field's elements; the root or builder above the outermost one, None beyond."""
        leaf = self._first_leaf()
        levels = leaf.levels
        if not levels:
            return leaf.above.builder if n == 1 else None
        return levels[0].parent(n - 1)

    @property
    def snode(self) -> PlacedNode:
        """The field's own place in its tree, below `parent()`."""
        return PlacedNode(self)

    @property
    def grad(self) -> Any:
        """The field of its gradient, of the same elements; to be placed, unless it was made with needs_grad. None of integers."""
        return gradients.partner_of(self, "grad")

    @property
    def dual(self) -> Any:
        """The field of its dual, the derivative in forward mode; as `grad`, for needs_dual."""
        return gradients.partner_of(self, "dual")

    def get_scalar_field(self, *indices: int) -> Component:
        """One component of a vector field, ``x.get_scalar_field(k)``, or matrix field, ``x.get_scalar_field(i, j)``."""
        shape = getattr(self.element, "shape", ())
        if len(indices) != len(shape) or not all(0 <= k < extent for k, extent in zip(indices, shape)):
            raise RuntimeIndexError_(f"{self._described()}: get_scalar_field: expected indices within {shape}, got {indices}")
        return Component(self, indices[0] * self.m + (indices[1] if len(indices) > 1 else 0))

    # ---- elements ----

    def __getitem__(self, key):
        found = self._elements[key]
        return found if found.__class__ is not bytearray else self._value_of(self, key, found)

    def __setitem__(self, key, value):
        self._elements[key] = value

    def __getattr__(self, name):
        if name == "_elements":  # set by the first use of an element
            return self._open()
        if name == "_value_of":  # set by the first read of a vector
            from .element_value import element_value

            self._value_of = element_value
            return element_value
        raise AttributeError(f"{self._described()} has no attribute '{name}'")

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError(f"{self._described()}: a field of shape () has no length")
        return shape[0]

    def __iter__(self):
        raise FieldLoopError_(f"{self._described()}: loop over it in a kernel, or over x.to_numpy()")

    def is_active(self, *indices: Any) -> bool:
        """Whether the element's cell is active."""
        return self._elements.is_active(indices)

    def activate(self, *indices: Any) -> None:
        """Activates the element's cell. Raises CapacityError."""
        self._elements.activate(indices)

    def deactivate(self, *indices: Any) -> None:
        """Deactivates the element's cell, with all that is in it: the cell of the innermost level that is not dense.

        Below a dynamic level: empties the list in the cell at these indices, one less than the field has.
        """
        level = self._sparse_level("deactivate")
        level.deactivate(*self._indices_in(level, indices))

    def append(self, *indices_and_value: Any) -> int:
        """Below a dynamic level: appends the last argument to the list in the cell at the indices before it.

        Returns the element's index along the list. Raises CapacityError, TreeError.
        """
        *indices, value = indices_and_value
        level = self._sparse_level("append")
        level._check_list("append")
        where = list(self._indices_in(level, indices))
        axes = sorted({axis for each in self._first_leaf().levels for axis in each.axes})
        position = axes.index(level.axes[0])
        index = level.append(where) + self.offset[position]
        key = [*(k for k in indices)]
        key.insert(position, index)
        self[tuple(key)] = value
        return index

    def length(self, *indices: Any) -> int:
        """Below a dynamic level: the length of the list in the cell at these indices."""
        level = self._sparse_level("length")
        level._check_list("length")
        return level.length(*self._indices_in(level, indices))

    def _sparse_level(self, what):
        """The innermost level above that is not dense. Raises TreeError."""
        for level in self._first_leaf().levels:
            if level.kind not in DENSE:
                return level
        raise TreeError(f"{self._described()}: {what}: expected a level above it whose cells can be inactive, got dense ones")

    def _indices_in(self, level, indices):
        """Indices of the field in a level's own coordinates; of a list, of the cell that it is in."""
        levels = self._first_leaf().levels
        axes = sorted({axis for each in levels for axis in each.axes})
        offset = dict(zip(axes, self.offset))
        wanted = [axis for axis in axes if level.kind != "dynamic" or axis != level.axes[0]]
        if len(indices) != len(wanted):
            raise RuntimeIndexError_(f"{self._described()}: expected {len(wanted)} indices, got {len(indices)}")
        below = path_extents(levels[: levels.index(level)])
        own = {axis for each in levels[levels.index(level) + (level.kind == "dynamic") :] for axis in each.axes}
        return [(k - offset[axis]) // below.get(axis, 1) for axis, k in zip(wanted, indices) if axis in own]

    def _open(self):
        from metate_native import _runtime

        tree, placement = self._tree, self._placement
        members = [tree._indices[name] for name in placement.members]
        shape = list(getattr(self.element, "shape", ()))
        self._elements = _runtime.Elements(tree, members, shape, list(placement.offset), self._described())
        return self._elements

    # ---- whole fields ----

    def to_numpy(self, dtype: Any = None, keep_dims: bool = False) -> np.ndarray:
        """A new array over `shape`, then an element's dimensions; inactive cells read as 0.

        Args:
            dtype: NumPy or Metate scalar type of the result; default the field's own (float32 for bf16).
            keep_dims: True gives vectors a last dimension of 1.
        """
        return transfer.to_numpy(self, dtype, keep_dims)

    def from_numpy(self, array: Any) -> None:
        """Copies an array of the field's shape, then an element's dimensions, into the active cells.

        Args:
            array: NumPy's, torch's, anything with DLPack or a buffer, nested sequences; numbers are converted as NumPy does.
        Raises RuntimeValueError_ for another shape, RuntimeTypeError_ for what are no numbers.
        """
        if not self._elements.take(array):
            transfer.from_array(self, array)
        if recording.count:
            FROM_NUMPY.done(self, array)

    @property
    def is_dense(self) -> bool:
        """Whether all of its cells are always active."""
        return transfer.is_dense(self)

    def numpy_view(self) -> np.ndarray:
        """The field's own memory as an array over `shape`, then an element's dimensions: writing to it writes the field.

        The memory cannot be given back while the view lives. Raises TreeError where the memory has no such form: below a
        pointer level, for bf16 and quantised types, where an axis is split between levels, for components that lie apart.
        """
        return transfer.view(self)

    def to_torch(self, device: Any = None) -> Any:
        """A new torch tensor with what `to_numpy` gives. Raises ImportError without torch."""
        import torch

        found = torch.from_numpy(self.to_numpy())
        return found if device is None else found.to(device)

    def from_torch(self, tensor: Any) -> None:
        """`from_numpy` of a tensor on any device."""
        self.from_numpy(tensor)

    def fill(self, value: Any) -> None:
        """Sets every active cell's element: a number, or a sequence of an element's shape."""
        transfer.fill(self, value)
        if recording.count:
            FILL.done(self, value)

    def copy_from(self, other: Any) -> None:
        """Copies the other field's elements into the active cells; both must have one shape. Raises RuntimeValueError_."""
        transfer.copy(self, other)
        if recording.count:
            COPY_FROM.done(self, other)

    # ---- for place.py and drawing.py ----

    def _place_parts(self):
        """(field, component) of what is placed: whole elements, but quantised components one by one."""
        if self._stored is None or isinstance(self.element, DType):
            yield self, None
        else:
            for component in range(self.n * self.m):
                yield self, component

    def _stored_type(self, component):
        """The type of the member that holds whole elements (None), or a component."""
        if self._stored is not None:
            return self._stored[component or 0]
        return self.element if component is None else self.dtype

    def _check_offset(self, offset, rank):
        """The offset for `rank` dimensions, as a tuple or None."""
        given = offset if offset is not None else self._given_offset
        if given is None:
            return None
        numbers = (given,) * rank if not isinstance(given, (tuple, list)) else given
        if len(numbers) != rank or not all(hasattr(n, "__index__") and not isinstance(n, bool) for n in numbers):
            raise OffsetError_(
                f"place: {self._described()}: offset: expected {rank} integers, one for each dimension, got {given!r}"
            )
        return tuple(n.__index__() for n in numbers) if any(numbers) else None

    def _placed(self, leaf, offset):
        if self._leaves:
            self._leaves[0].tree.join(leaf.tree)
        self._leaves.append(leaf)
        if self.partner_kind is not None:
            _context.current().holdings.partners.add(self)
        self._offset = self._check_offset(offset, len(leaf.shape))
        self._was_destroyed = False

    def _unplace(self):
        self._was_destroyed = bool(self._leaves)
        self._leaves = []
        self._offset = None
        self._let_go()

    def _let_go(self):
        """Forgets the memory and everything that points into it."""
        self._memory = None
        self._fixed = None
        with contextlib.suppress(AttributeError):
            del self._elements

    @property
    def _is_placed(self) -> bool:
        return bool(self._leaves) or self._fixed is not None

    @property
    def _is_partner(self) -> bool:
        return self.partner_kind is not None

    def _partner(self, kind):
        """Its gradient ("grad") or dual where that has a place, else None."""
        return gradients.placed_partner(self, kind)

    def _is_constant_now(self, kind):
        """A derivative was compiled without its partner, which can have no place from now on."""
        if self._partner(kind) is None and (partner := gradients.partner_of(self, kind)) is not None:
            partner._is_late = True

    @property
    def _has_memory(self) -> bool:
        """Has its tree memory already? It is made at the first use."""
        return self._memory is not None

    def _lay_over(self, tree, placement):
        """Makes it a field over a member of an instance, which nobody has drawn: without a place among levels."""
        self._fixed, self._memory = placement, tree

    def _first_leaf(self):
        if not self._leaves:
            raise TreeError(self._missing())
        return self._leaves[0]

    def _all_leaves(self):
        """The leaves, one or one for each component, in the components' order."""
        self._first_leaf()
        if self._leaves[0].component is None:
            return self._leaves
        count = self.n * self.m
        if len(self._leaves) != count:
            missing = sorted(set(range(count)) - {leaf.component for leaf in self._leaves})
            raise TreeError(f"{self._described()}: components {missing} have no place; place them as well")
        shapes = list(dict.fromkeys(leaf.shape for leaf in self._leaves))
        if len(shapes) > 1:
            raise TreeError(f"{self._described()}: expected components of one shape, got {shapes[1]} and {shapes[0]}")
        return sorted(self._leaves, key=lambda leaf: leaf.component)

    def _is_split(self):
        return bool(self._leaves) and self._leaves[0].component is not None

    def _member_indices(self):
        indices = self._tree._indices
        return [indices[name] for name in self._placement.members]

    def _missing(self):
        if self._fixed is not None:
            return f"{self._described()} is a member of an instance: its levels are that tree's, t.<level>"
        if self._was_destroyed:
            return f"{self._described()} was destroyed with its tree; place it again before it is used"
        return (
            f"{self._described()} has no place: give it a shape, mt.field(mt.f32, shape=...), or place it, "
            "mt.root.dense(mt.i, n).place(x)"
        )

    def _described(self):
        return f"field '{self.name}'" if self.name else f"the field made at {self._made_at}" if self._made_at else "the field"

    def __str__(self):
        return str(self.to_numpy()) if self._is_placed else repr(self)

    def __repr__(self):
        if not self._is_placed:
            return f"<field {self.name + ' ' if self.name else ''}of {self.element!r}, not placed>"
        return f"<field {self.name + ' ' if self.name else ''}of {self.element!r}, shape {self.shape}>"


class ScalarField(Field):
    """A field of scalars."""

    __slots__ = ()


class MatrixField(Field):
    """A field of vectors or matrices."""

    __slots__ = ()
