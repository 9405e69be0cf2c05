"""`mt.field`, `mt.Vector.field`, `mt.Matrix.field`, `mt.Struct.field`: what they take, checked, and the fields they make."""

from __future__ import annotations

import math
from typing import Any

from .. import context as _context
from .. import value_types as _types
from ..default_types import scalar_type
from ..errors import OrderError_, RuntimeTypeError_, RuntimeValueError_
from ..quant_types import QuantType, computed
from .builder import FieldsBuilder
from .gradients import any_partner_of, wanted
from .new_field import caller, new_field
from .partner_places import lay_out
from .placement import Layout
from .struct_field import StructField


def field(
    dtype: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
) -> Any:
    """A field of scalars (or of vectors, matrices or structs, when `dtype` is such a type).

    Args:
        dtype: type of the elements; Python's int and float are the context's default types. Of a quantised type,
            `mt.types.quant.int(5)`, numbers are stored as it says; elements are of its compute type.
        shape: extents: an int or a sequence of ints; () for a single element; None: it is placed later, by `mt.root`.
        order: letters of the indices from outermost to innermost in memory, such as "ji"; default row-major.
        name: for messages and for the member's name in the tree's type.
        offset: the first index along each dimension; default 0.
        needs_grad, needs_dual: True gives it a gradient, `x.grad`, or a dual, `x.dual`: with a shape in memory of its own,
            else it is to be placed as well, by hand or by `mt.root.lazy_grad()`. Of structs each member of a float type has one.
    Returns a Field or StructField. Raises RuntimeTypeError_, RuntimeValueError_, TreeError.
    """
    type_ = _element(dtype)
    needs = wanted(needs_grad, needs_dual, type_)
    return _finish(_unplaced(type_, name, offset, needs), needs, shape, order, offset, Layout.AOS)


def vector_field(n, dtype, shape=None, order=None, name="", offset=None, needs_grad=False, needs_dual=False, layout=Layout.AOS):
    """`mt.Vector.field`: a field of vectors of n components; further arguments as for `field`.

    Args:
        dtype: type of the components; or a list of n types, quantised or not, that have one compute type.
        layout: Layout.SOA gives each component memory of its own.
    """
    element, stored = _with_components((n,), dtype)
    needs = wanted(needs_grad, needs_dual, element)
    return _finish(new_field(element, name, offset, needs, stored), needs, shape, order, offset, layout)


def matrix_field(
    n, m, dtype, shape=None, order=None, name="", offset=None, needs_grad=False, needs_dual=False, layout=Layout.AOS
):
    """`mt.Matrix.field`: a field of matrices of n rows and m columns; further arguments as for `vector_field`.

    A list of types is one of n lists of m.
    """
    element, stored = _with_components((n, m), dtype)
    needs = wanted(needs_grad, needs_dual, element)
    return _finish(new_field(element, name, offset, needs, stored), needs, shape, order, offset, layout)


def struct_field(
    members: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
) -> Any:
    """`mt.Struct.field`: a field of structs, from a dict of member names to types; further arguments as for `vector_field`."""
    type_ = members if isinstance(members, _types.StructType) else _types.StructType(members)
    needs = wanted(needs_grad, needs_dual, type_)
    return _finish(_unplaced(type_, name, offset, needs), needs, shape, order, offset, layout)


def _unplaced(type_, name, offset, needs):
    if isinstance(type_, _types.StructType):
        members = {key: _unplaced(t, f"{name}_{key}" if name else "", offset, needs) for key, t in type_.stored.items()}
        return StructField(type_.of_values(), members, name, caller())
    stored = (type_,) if isinstance(type_, QuantType) else None
    return new_field(computed(type_), name, offset, needs if getattr(type_, "dtype", type_).is_float else (), stored)


def _finish(made, needs, shape, order, offset, layout):
    """Gives the field its memory's shape, if it has one."""
    if shape is None:
        if order is not None:
            raise OrderError_(f"order: expected a shape with it, got order={order!r} alone; give shape=, or place the field")
        return made
    extents = _shape(shape)
    form = extents, None if order is None else _order(order, len(extents)), offset, layout
    lay_out(FieldsBuilder(), made, *form)
    for kind in needs:
        lay_out(FieldsBuilder(), any_partner_of(made, kind), *form)
    _context.current().holdings.shaped[made] = form
    return made


def _shape(shape):
    numbers = (shape,) if hasattr(shape, "__index__") and not isinstance(shape, bool) else shape
    try:
        found = tuple(n.__index__() for n in numbers if not isinstance(n, bool))
        if len(found) != len(tuple(numbers)):
            raise TypeError
    except (TypeError, AttributeError):
        raise RuntimeTypeError_(f"shape: expected integers, got {shape!r}") from None
    if len(found) > _types.MAX_AXES:
        raise RuntimeValueError_(f"shape: expected at most {_types.MAX_AXES} dimensions, got {len(found)}")
    if any(n < 1 for n in found):
        raise RuntimeValueError_(f"shape: expected extents of at least 1, got {shape!r}")
    return found


def _order(order, rank):
    letters = _types.LETTERS[:rank]
    if not isinstance(order, str) or sorted(order) != sorted(letters):
        raise OrderError_(f"order: expected each of the letters {letters!r} once for {rank} dimensions, got {order!r}")
    return [letters.index(letter) for letter in order]


def _scalar(dtype):
    try:
        return scalar_type(dtype)
    except TypeError as error:
        raise RuntimeTypeError_(f"field: {error}") from None


def _element(dtype):
    if isinstance(dtype, (_types.VectorType, _types.MatrixType, _types.StructType, QuantType)):
        return dtype
    return _scalar(dtype)


def _with_components(shape, dtype):
    """(element type, the types in which components are stored or None where they are its own) of a vector or matrix field."""
    whole = _types.element_of(_types.f32, shape)  # checks the extents
    types = _component_types(whole.shape, dtype) if isinstance(dtype, (list, tuple)) else [dtype] * math.prod(whole.shape)
    types = [one if isinstance(one, QuantType) else _scalar(one) for one in types]
    scalars = list(dict.fromkeys(map(computed, types)))
    if len(scalars) > 1:
        text = f"expected components of one type, or of quantised types with one compute type, got {types!r}"
        raise RuntimeTypeError_(f"field: dtype: {text}; give quant types compute=")
    is_quantised = any(isinstance(one, QuantType) for one in types)
    return _types.element_of(scalars[0], whole.shape), tuple(types) if is_quantised else None


def _component_types(shape, given):
    """The types of a list, or of a list of lists, row by row."""
    rows = [given] if len(shape) == 1 else given
    flat = [one for row in rows if isinstance(row, (list, tuple)) for one in row]
    if len(shape) == 2 and shape[1] == 1 and not flat:
        flat = list(given)  # a column, as Taichi takes it
    elif len(rows) != (1 if len(shape) == 1 else shape[0]) or any(
        not isinstance(r, (list, tuple)) or len(r) != shape[-1] for r in rows
    ):
        flat = []
    if len(flat) != math.prod(shape):
        wanted = f"a list of {shape[0]} types" if len(shape) == 1 else f"a list of {shape[0]} lists of {shape[1]} types"
        raise RuntimeTypeError_(f"field: dtype: expected a type or {wanted}, got {given!r}")
    return flat
