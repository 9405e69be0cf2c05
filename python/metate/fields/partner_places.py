"""Where fields with a shape, gradients and duals are placed: in trees of their own, or in the cells of their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import context as _context
from .. import value_types as _types
from ..errors import RuntimeTypeError_
from .drawing import FieldTree, Leaf, leaves_below, tree_of
from .gradients import any_partner_of, check_early, partner_of, placed_partner
from .placement import Layout
from .struct_field import StructField


def place_beside(nodes: list, kind: str) -> None:
    """Gives each float field below levels and leaves a partner in the same cells, unless it has one."""
    leaves = [leaf for leaf in leaves_below(nodes) if leaf.field() is not None]
    placed = {id(field) for field in (leaf.field() for leaf in leaves) if placed_partner(field, kind) is not None}
    for leaf in leaves:
        field: Any = leaf.field()
        partner = partner_of(field, kind) if id(field) not in placed else None
        if partner is None:
            continue
        tree = tree_of(leaf)
        with tree.lock:
            tree.check_open(f"lazy_{kind}")
            check_early(partner)
            partner._given_offset = field._offset
            above = _beside_array(leaf.above) if getattr(leaf.above, "kind", None) == "quant_array" else leaf.above
            beside = Leaf(above, partner, leaf.component)
            (tree.branches if isinstance(above, FieldTree) else above.below).append(beside)
            partner._placed(beside, None)


def _beside_array(level):
    """A new dense level beside a quant_array, of its extents: a partner is not quantised."""
    made = type(level)(level.above, "dense", _types.Axes(level.axes), level.extents, None)
    above = level.above
    (above.branches if isinstance(above, FieldTree) else above.below).append(made)
    return made


def lay_out_partners(kind: str, new_builder: Callable[[], Any]) -> None:
    """Gives the current context's fields that were made with a shape partners of this kind, where they can have one."""
    for made, form in list(_context.current().holdings.shaped.items()):
        partner = any_partner_of(made, kind)
        if partner is not None and not partner._is_placed and made._is_placed:
            lay_out(new_builder(), partner, *form)


def lay_out(builder: Any, made: Any, extents, axes, offset, layout) -> None:
    """Places a field below an empty builder; axes: from outermost to innermost, None where one level has them all."""
    parts = list(made._place_parts())
    if layout is Layout.SOA:
        groups = [[part] for part in _components(made)]
    elif layout is Layout.AOS:
        groups = [parts]
    else:
        raise RuntimeTypeError_(f"layout: expected mt.Layout.AOS or mt.Layout.SOA, got {layout!r}")
    for group in groups:
        level = builder
        if axes is None and extents:
            level = builder.dense(_types.axes(*range(len(extents))), extents)
        for axis in axes or ():
            level = level.dense(_types.axes(axis), extents[axis])
        level.place(*[_Part(*part) for part in group], offset=offset)


class _Part:
    """One field or component, as `place` takes it."""

    def __init__(self, field, component):
        self._place_parts = lambda: [(field, component)]


def _components(made):
    """(field, component) of each memory that SOA keeps apart: members of structs whole, as in Taichi."""
    if isinstance(made, StructField):
        return list(made._place_parts())
    if made.ndim == 0:
        return [(made, None)]
    return [(made, k) for k in range(made.n * made.m)]
