"""Which cells of a tree are active, as one number: have they changed between two times?"""

from __future__ import annotations

from typing import Any

from . import recording
from . import value_types as _types
from .fields.new_field import field_over
from .frontend.function import template
from .intrinsics import atomic_add, grouped, static
from .kernel import kernel
from .ndarray import ndarray
from .tree_type import LevelNode, PlaceNode, flat


def cells_of(tree: Any, path: str) -> int:
    """A number of 64 bits that is another one where other cells of a member or level (`path`) of the tree are active.

    Of a level the cells of a member in it count.
    """
    fields = tree.__dict__.setdefault("_fields_of_cells", {})
    found = fields.get(path)
    if found is None:
        found = fields[path] = field_over(tree, _member_at(tree.type.branches, path.partition("@")[0]))
    total = ndarray(_types.u64, 1)
    with recording.watching(None):
        _add_cells(found, total)
    return int(total[0])


def _member_at(nodes, name):
    """The member of this name, or the first one in the level of this name."""
    for node in flat(nodes):
        if node.name == name:
            return _first_member(node)
        found = _member_at(node.children, name) if isinstance(node, LevelNode) else None
        if found is not None:
            return found
    return None


def _first_member(node):
    while not isinstance(node, PlaceNode):
        node = node.members[0]
    return node.name


@kernel
def _add_cells(field: template(), total: _types.ndarray(_types.u64, 1)):
    for cell in grouped(field):
        number = _types.u64(0x1E3779B97F4A7C15)
        for k in static(range(cell.n)):
            number = (number ^ _types.u64(_types.u32(cell[k]))) * _types.u64(0x2545F4914F6CDD1D)
            number = number ^ (number >> 29)
        atomic_add(total[0], number * _types.u64(0x369DEA0F31A53F85))
