"""Struct values and places of several components: what the front end has for things that IR has no type for.

IR sees scalars, vectors and matrices only. A struct is its members, by name; the components of a vector
that lie apart (a swizzle, a slice, a field with one member for each component) are their places, in
order. Nothing here builds operations: the walker does, part by part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import value_types as _types
from .annotations import leaf_types  # noqa: F401  (offered from here)


@dataclass(frozen=True)
class StructValue:
    """A struct: of values, or a place where each part is one.

    Attributes:
        type: its StructType; methods are looked up there.
        parts: member -> Value, Reference, Components or StructValue, in the type's order.
    """

    type: _types.StructType
    parts: dict

    def describe(self):
        return f"a {name_of(self.type)}"

    def map(self, function):
        """The same struct with `function` applied to what stands for each leaf."""
        made = {
            name: part.map(function) if isinstance(part, StructValue) else function(part) for name, part in self.parts.items()
        }
        return StructValue(self.type, made)

    def leaves(self, path=""):
        """(path such as "pos" or "inner.pos", part) of each leaf, in order."""
        for name, part in self.parts.items():
            if isinstance(part, StructValue):
                yield from part.leaves(f"{path}{name}.")
            else:
                yield path + name, part

    @property
    def is_place(self) -> bool:
        """Can every leaf be assigned?"""
        from metate_native import _compiler

        return all(isinstance(part, (_compiler.Reference, Components)) for _, part in self.leaves())


@dataclass(frozen=True)
class Components:
    """A vector or matrix whose components are places of their own (row by row)."""

    parts: tuple
    shape: tuple

    @property
    def type(self):
        """The DataType of the whole; components have one scalar type."""
        from metate_native import _compiler

        return _compiler.DataType(self.parts[0].type.code, list(self.shape))

    def describe(self):
        return f"a value of type {self.type.name}"


def from_leaves(type_: _types.StructType, make, path="") -> StructValue:
    """A struct of a type; `make(path, leaf type)` gives what stands for each leaf."""
    parts = {}
    for name, member in type_.members.items():
        is_struct = isinstance(member, _types.StructType)
        parts[name] = from_leaves(member, make, f"{path}{name}.") if is_struct else make(path + name, member)
    return StructValue(type_, parts)


def type_of(thing: Any):
    """The package's type of a value, a place or a struct."""
    if isinstance(thing, StructValue):
        return thing.type
    scalar, shape = _types.dtype(thing.type.code), thing.type.shape
    if not shape:
        return scalar
    return _types.VectorType(shape[0], scalar) if len(shape) == 1 else _types.MatrixType(*shape, scalar)


def name_of(type_: _types.StructType) -> str:
    """What an error text calls a struct type."""
    return f"struct {type_.class_name}" if type_.class_name else "struct of " + ", ".join(type_.members)
