"""Trees and arrays of the same form as others, with the number of the last write in place of each scalar (metate.written).

They are made when a kernel whose writes have numbers first uses the tree or array, and live as long as that.
"""

from __future__ import annotations

from typing import Any

from . import value_types as _types
from .tree_type import LevelNode, PlaceNode, TreeType, as_dense, flat


def element_of_numbers(element: Any) -> Any:
    """The type of the numbers of an element: i64 for each scalar of it."""
    if isinstance(element, _types.VectorType):
        return _types.VectorType(element.n, _types.i64)
    if isinstance(element, _types.MatrixType):
        return _types.MatrixType(element.n, element.m, _types.i64)
    return _types.i64


def type_of_numbers(type_: TreeType) -> Any:
    """The type of a tree of numbers: the same members at the same coordinates.

    What is not written has the number 0, also in cells that are not there. So a mask is not needed, and a list, which would only
    grow at its end, has slots that come one by one.
    """
    return type(type_)(_nodes(type_.branches, 0))


def _nodes(nodes, depth):
    return tuple(_node(one, depth) for one in flat(nodes))


def _node(node, depth):
    if isinstance(node, PlaceNode):
        return PlaceNode(node.name, element_of_numbers(node.type))
    if node.kind != "dynamic":
        node = as_dense(node)
        kind = "dense" if node.kind == "bitmasked" else node.kind
        return LevelNode(kind, node.axes, node.extents, node.name, depth, _nodes(node.children, depth + 1))
    (cells,) = node.extents
    inner = LevelNode("dense", node.axes, (node.chunk,), f"{node.name}_cells", depth + 1, _nodes(node.children, depth + 2))
    return LevelNode("pointer", node.axes, (-(-cells // node.chunk),), node.name, depth, (inner,))
