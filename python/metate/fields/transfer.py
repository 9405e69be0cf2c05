"""Whole fields to and from arrays.

Copies go to and from the active cells: what Taichi's loops over a field visit. Nothing here knows a layout.
"""

from __future__ import annotations

import itertools
import math

from .. import value_types as _types
from ..conversion import filling, to_members
from ..errors import RuntimeTypeError_, RuntimeValueError_, TreeError
from ..lazy_numpy import np
from ..quant_types import QuantType
from ..tree_blob import dense_form, is_always_active
from . import again


def to_numpy(field, dtype, keep_dims) -> np.ndarray:
    """See Field.to_numpy."""
    _check_bounded(field, "to_numpy")
    found = field._elements.to_array()
    if keep_dims and field.ndim == 1:
        found = found[..., None]
    return found if dtype is None else found.astype(_numpy_of(dtype), copy=False)


def view(field) -> np.ndarray:
    """See Field.numpy_view."""
    tree, members = field._tree, field._member_indices()
    form = dense_form(tree.type.blob, members[0])
    numpy = field.dtype.numpy
    why = None
    if any(isinstance(one, QuantType) for one in field._stored or ()):
        why = f"its numbers are bits of words, {', '.join(dict.fromkeys(map(repr, field._stored)))}"
    elif form is None:
        why = "it is below a level whose cells come and go"
    elif tree._is_elsewhere():
        why = "it lies on a device, where the host does not reach it"
    elif field._is_split() and len(members) > 1:
        why = "its components lie apart; write x.get_scalar_field(k), or use layout=mt.Layout.AOS"
    elif numpy is None:
        why = "NumPy has no bf16"
    strides = {} if why else _strides(form[1])
    if why is None and strides is None:
        why = "an axis is split between levels"
    if why is not None:
        raise TreeError(f"{field._described()}: numpy_view: its memory is no strided array: {why}; to_numpy() copies it")
    return _strided(field, form[0], strides, getattr(field.element, "shape", ()))


def _strided(field, offset, strides, inner):
    """The array at an offset of the tree, with elements of shape `inner`."""
    numpy = field.dtype.numpy
    last = [numpy.itemsize * int(np.prod(inner[k + 1 :])) for k in range(len(inner))]
    outer = [strides[axis] for axis in sorted(strides)]
    raw = np.frombuffer(
        field._tree.block, np.uint8
    )  # of a memoryview, np.ndarray would keep the tree only, not the memory in place
    return np.ndarray(field.shape + inner, numpy, raw, field._tree._root_offset() + offset, (*outer, *last))


def is_dense(field) -> bool:
    """See Field.is_dense."""
    return is_always_active(field._tree.type.blob, field._member_indices()[0])


def _check_bounded(field, what):
    """An array has extents; raises TreeError for a field that has none."""
    if None in field.shape:
        text = "expected a field with bounds, got one below a hash level, whose cells are at any coordinates"
        raise TreeError(f"{field._described()}: {what}: {text}; loop over it in a kernel")


def _strides(dimensions):
    """Axis -> bytes from one index to the next; None where that is not one number."""
    digits = {axis: [] for axis, _, _ in dimensions}
    for axis, extent, stride in reversed(dimensions):
        if extent > 1:
            digits[axis].append((extent, stride))
    for each in digits.values():
        if any(stride != inner * extent for (extent, inner), (_, stride) in itertools.pairwise(each)):
            return None
    return {axis: each[0][1] if each else 0 for axis, each in digits.items()}


def from_array(field, array) -> None:
    """See Field.from_numpy."""
    _check_bounded(field, "from_numpy")
    shape = field.shape + getattr(field.element, "shape", ())
    if len(shape) == field.ndim + 1 and np.shape(array) == (*field.shape, 1, shape[-1]):
        array = np.reshape(array, shape)  # vectors as matrices of one row
    array = to_members(field.dtype, shape, array, f"{field._described()}: from_numpy")
    if field._elements.take(array):
        return
    parts = np.moveaxis(array.reshape(*field.shape, -1), -1, 0) if field._is_split() else (array,)
    for member, part in zip(field._member_indices(), parts):
        field._tree._write_dense(member, np.ascontiguousarray(part))
    _was_written(field)


def fill(field, value) -> None:
    """See Field.fill."""
    if not _fill_by_kernel(field, value):
        field._elements.fill(filling(field.element, value))


def _fill_by_kernel(field, value):
    """Whether a kernel has filled it: with one number, which its type holds."""
    dtype, number = field.element, value
    is_simple = dtype in (_types.f32, _types.f64) or (isinstance(dtype, _types.DType) and dtype.is_integer)
    if not is_simple or field._stored is not None or None in field.shape or not isinstance(value, (int, float)):
        return False
    if dtype.is_float:
        return again.was_run("fill_real", field._tree, field._member_indices()[0], field, float(value))
    if (isinstance(value, float) and not math.isfinite(value)) or not dtype.holds(number := int(value)):
        return False
    signed = number - (1 << 64) if number >> 63 > 0 else number
    return again.was_run("fill_whole", field._tree, field._member_indices()[0], field, signed)


def copy(field, other) -> None:
    """See Field.copy_from."""
    if getattr(other, "element", None) is None:
        raise RuntimeTypeError_(f"{field._described()}: copy_from: expected a field, got {other!r}")
    shape, given = field.shape + getattr(field.element, "shape", ()), other.shape + getattr(other.element, "shape", ())
    if shape != given:
        raise RuntimeValueError_(f"{field._described()}: copy_from: expected a field of shape {shape}, got {given}")
    if field.dtype is not other.dtype or field.dtype.numpy is None or field._is_split() != other._is_split():
        return from_array(field, other.to_numpy())
    if _are_alike(field, other) and again.was_run("copy_from", field._tree, field._member_indices()[0], field, other):
        return
    for to, member in zip(field._member_indices(), other._member_indices(), strict=True):
        field._tree._write_dense(to, np.ascontiguousarray(_member(other, member)))
    _was_written(field)


def _are_alike(field, other):
    """Are they such that a kernel which assigns elements copies them as they are?"""
    forms = [(one.element, one.offset, one._stored) for one in (field, other)]
    return forms[0] == forms[1] and field._stored is None and None not in field.shape and again.is_here(other._tree)


def _was_written(field):
    """Tells who looks at what is written (ad/python_writes.py)."""
    tell = getattr(field._elements, "was_written", None)
    if tell is not None:
        tell()


def _member(field, member):
    """A member as an array: its memory, or a copy where that is no strided array."""
    form = None if field._tree._is_elsewhere() else dense_form(field._tree.type.blob, member)
    strides = form and _strides(form[1])
    inner = () if field._is_split() else getattr(field.element, "shape", ())
    return _strided(field, form[0], strides, inner) if strides else field._tree._read_dense(member)


def _numpy_of(dtype):
    if isinstance(dtype, _types.DType):
        return dtype.numpy if dtype.numpy is not None else np.dtype(np.float32)
    return np.dtype(dtype)
