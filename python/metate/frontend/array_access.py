"""Arrays in kernels: elements, struct elements, shapes, indices that are held inside."""

from __future__ import annotations

from .. import value_types as _types
from ..struct_types import float_members
from . import handles, structs
from .evaluator import Evaluator
from .values import Values
from .walk import Walk, attribute_name


class ArrayAccess:
    """What arrays say."""

    def __init__(self, walk: Walk, values: Values, evaluator: Evaluator):
        self.walk, self.builder = walk, walk.builder
        self.values, self.evaluator = values, evaluator

    def array_element(self, array, node):
        """`x[i, j]`: a place, or a struct of places."""
        indices = self.evaluator.index_values(node.slice)
        if array.is_clamped:
            indices = self._clamped(array, indices, node)
        if isinstance(array, handles.ArrayHandle):
            return self._element(array, indices, node)
        return structs.from_leaves(array.type, lambda path, _: self._element(array.arrays[path], indices, node))

    def _element(self, array, indices, node):
        place = self.walk.emit(node, self.builder.array_element, array.native, indices)
        if id(array.native) in self.walk.constants:
            place = self.builder.constant_to_derivatives(place)
        return self.builder.clamped(place) if array.is_clamped and place.type.shape else place

    def _clamped(self, array, indices, node):
        """Each index held between the first and the last one. What is wrong about their number, array_element says."""
        flat = []
        for index in indices:
            flat.extend(self.values.unpacked(index, node) if index.type.shape else [index])
        return [self._clamped_index(array, k, index, node) if k < array.ndim else index for k, index in enumerate(flat)]

    def _clamped_index(self, array, axis, index, node):
        one, zero = (self.values.constants.typed(number, _types.i32, node) for number in (1, 0))
        extent = self.walk.emit(node, self.builder.dimension, array.first.native, axis)
        last = self.walk.emit(node, self.builder.binary, "-", extent, one)
        return self.walk.emit(
            node, self.builder.binary, "max", self.walk.emit(node, self.builder.binary, "min", index, last), zero
        )

    def _partner(self, array, kind, node):
        """`x.grad`, `x.dual` of an array argument that has one."""
        captures = self.walk.captures
        if captures.derivative is not None:
            text = f"'{array.name}.{kind}' is used: a kernel that uses an array's derivatives has none itself"
            raise self.walk.error("derivative", text, node)
        if isinstance(array, handles.StructArrayHandle):
            found = {path: captures.array_partner(one, kind, node) for path, one in array.arrays.items()}
            found = {path: one for path, one in found.items() if one is not None}
            partner = handles.StructArrayHandle(float_members(array.type), found, f"{array.name}.{kind}") if found else None
        else:
            partner = captures.array_partner(array, kind, node)
        if partner is None:
            what = "gradient" if kind == "grad" else "dual"
            hint = "make it with one: ti.ndarray(..., needs_grad=True)" if kind == "grad" else "set one: x.dual = ..."
            raise self.walk.error("name", f"{array.describe()} has no {what}", attribute_name(node), hint)
        return partner

    def array_attribute(self, array, name, node):
        """`x.shape` and the like; of an array of structs also the array of a member."""
        known = {"shape": handles.ShapeHandle(array.first), "ndim": array.ndim}
        if isinstance(array, handles.ArrayHandle):
            element = array.native.element
            scalar, shape = _types.dtype(element.code), handles.ElementShape(element.shape)
            known |= {"dtype": scalar, "element_shape": shape, "n": ([*shape, 1, 1])[0], "m": ([*shape, 1, 1])[1]}
        else:
            members = {path.split(".")[0] for path in array.arrays}
            if name in members and name in array.arrays:
                return array.arrays[name]
        if name in known:
            return known[name]
        if name in ("grad", "dual"):
            return self._partner(array, name, node)
        raise self.walk.unknown_attribute(array, name, node, list(known))
