"""Where a field's elements are: what a kernel is specialised on when it mentions a field.

Placements are values: two fields that lie alike in trees of equal types have equal ones. No instance appears here.
"""

from __future__ import annotations

import enum

from ..record import Record
from ..tree_type import TreeType
from ..value_types import DType, MatrixType, VectorType


class Layout(enum.Enum):
    """How components and members of a field lie in memory: side by side in each cell (AOS), or each on its own (SOA)."""

    AOS = 1
    SOA = 2


AOS, SOA = Layout.AOS, Layout.SOA


class Placement(Record):
    """Where a field's elements are in a tree.

    Attributes:
        tree: type of the tree.
        members: the member that holds the elements, or one scalar member for each component (row-major).
        element: type of an element.
        shape: extents of the field, one for each index.
        offset: the field's first index along each dimension: its indices are the tree's coordinates plus this.
    """

    tree: TreeType
    members: tuple[str, ...]
    element: DType | VectorType | MatrixType
    shape: tuple[int, ...]
    offset: tuple[int, ...]
