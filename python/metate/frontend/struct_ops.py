"""Structs in kernels: construction, members, conversion.

A struct value is its members (structs.py); each operation here is one of its leaves after the other.
"""

from __future__ import annotations

from .. import value_types as _types
from ..struct_types import Struct, bind_members, is_first_member
from . import handles, structs
from .arguments import Arguments
from .diagnostics import suggestion
from .evaluator import Evaluator
from .native import describe, native_type
from .static import Reference, Value
from .structs import StructValue, name_of
from .values import Values
from .walk import Walk


class StructOperations:
    """Makes struct values and takes them apart."""

    def __init__(self, walk: Walk, values: Values, evaluator: Evaluator, arguments: Arguments):
        self.walk, self.builder = walk, walk.builder
        self.values, self.evaluator, self.arguments = values, evaluator, arguments

    #  -- members ----------------------------------------------------------------------------------

    def struct_attribute(self, owner, name, node):
        """A member or method of a struct."""
        if name in owner.parts:
            return owner.parts[name]
        if name in owner.type.methods:
            return handles.BoundMethod(owner, name)
        if name == "keys":
            return tuple(owner.parts)
        known = [*owner.parts, *owner.type.methods]
        raise self.walk.unknown_attribute(owner, name, node, known)

    def struct_member(self, owner, node):
        """`s["a"]`."""
        name = self.evaluator.expr(node.slice)
        if not isinstance(name, str):
            raise self.walk.error("type", f"expected a member's name, got {describe(name)}", node.slice)
        if name not in owner.parts:
            message = f"{owner.describe()} has no member '{name}'; it has {', '.join(owner.parts)}"
            raise self.walk.error("name", message, node.slice, suggestion(name, owner.parts))
        return owner.parts[name]

    #  -- construction -----------------------------------------------------------------------------

    def call_struct(self, type_, node):
        """T(a, b), T(a=..., b=...), T({...}), T(another)."""
        positional, keywords = self.arguments.of(node)
        if len(positional) == 1 and not keywords and isinstance(positional[0], StructValue):
            if set(positional[0].parts) == set(type_.members) and not is_first_member(type_, positional[0]):
                return self.struct_of(type_, positional[0], node, name_of(type_))
        return self._struct_from(type_, positional, keywords, node)

    def _struct_from(self, type_, positional, keywords, node):
        try:
            given = bind_members(type_, positional, keywords)
        except TypeError as error:
            spelled = ", ".join(f"{name}: {member!r}" for name, member in type_.members.items())
            raise self.walk.error("type", f"{name_of(type_)}: {error}", node, f"its members are {spelled}") from None
        parts = {}
        for name, member in type_.members.items():
            value = given.get(name, type_._defaults.get(name))
            if value is None:
                value = {} if isinstance(member, _types.StructType) else 0
            parts[name] = self.fitted_part(member, value, node, f"member '{name}' of {name_of(type_)}")
        return StructValue(type_, parts)

    def struct_of(self, type_, thing, node, what):
        """A struct value of a type from another struct, whose members have the same names, or from a dict."""
        if isinstance(thing, (dict, Struct)):
            return self._struct_from(type_, [dict(thing.items())], {}, node)
        if not isinstance(thing, StructValue):
            raise self.walk.error("type", f"{what}: expected a {name_of(type_)}, got {describe(thing)}", node)
        if set(thing.parts) != set(type_.members):
            wanted, got = ", ".join(type_.members), ", ".join(thing.parts)
            raise self.walk.error("type", f"{what}: expected a {name_of(type_)} with members {wanted}, got one with {got}", node)
        members = type_.members.items()
        return StructValue(type_, {n: self.fitted_part(t, thing.parts[n], node, f"member '{n}' of {what}") for n, t in members})

    def fitted_part(self, type_, thing, node, what):
        """What something is as a value of a scalar, vector, matrix or struct type."""
        if isinstance(type_, _types.StructType):
            if type_.members and _is_scalar(thing):
                return self._struct_from(type_, [thing], {}, node)  # for its first member, whose type it may be again
            return self.struct_of(type_, thing, node, what)
        scalar = getattr(type_, "dtype", type_)
        value = self.values.shaped_value(thing, getattr(type_, "shape", ()), node, scalar)
        return self.walk.emit(node, self.builder.convert, value, native_type(type_), what)

    def call_Struct(self, node):
        """ti.Struct(a=..., b=...): of the type that its values have."""
        positional, keywords = self.arguments.of(node)
        members = dict(keywords)
        if len(positional) == 1 and not members and isinstance(positional[0], StructValue):
            return positional[0]
        for thing in positional:
            if not isinstance(thing, (dict, Struct)):
                raise self.walk.error("type", f"Struct: expected a dict of members, got {describe(thing)}", node)
            members = {**dict(thing.items()), **members}
        return self._untyped_struct(members, node)

    def _untyped_struct(self, members, node):
        methods = members.pop("__struct_methods", {})
        if not members:
            raise self.walk.error("type", "Struct: expected at least one member, got none", node)
        parts = {name: self.untyped_part(thing, node) for name, thing in members.items()}
        type_ = self.walk.compute(node, _types.StructType, {name: structs.type_of(part) for name, part in parts.items()}, methods)
        return StructValue(type_, parts)

    def untyped_part(self, thing, node):
        """What something is as a member of a struct whose type its values make."""
        if isinstance(thing, StructValue):
            return thing
        if isinstance(thing, (dict, Struct)):
            return self._untyped_struct(dict(thing.items()), node)
        if isinstance(thing, (tuple, list)):
            depth = (1, 1) if thing and isinstance(thing[0], (tuple, list)) else (1,)
            return self.values.shaped_value(thing, depth, node)
        return self.values.to_value(thing, node)

    def struct_local(self, thing, node, scope=None):
        """Variables for the leaves of a struct value."""
        place = () if scope is None else (scope,)
        return thing.map(lambda part: self.walk.emit(node, self.builder.declare_local, part.type, *place))

    #  -- choices ----------------------------------------------------------------------------------

    def select_struct(self, condition, yes, no, node):
        """select(c, s, t) of structs: leaf by leaf."""
        yes, no = self.values.settled(yes, node), self.values.settled(no, node)
        for thing in (yes, no):
            if not isinstance(thing, StructValue):
                raise self.walk.error("type", f"select: expected two structs, got {describe(yes)} and {describe(no)}", node)
        no = self.struct_of(yes.type, no, node, "select")
        truth = self.values.truth(condition, node, "select")
        pairs = zip(yes.leaves(), no.leaves())
        chosen = iter([self.walk.emit(node, self.builder.select, truth, a, b) for (_, a), (_, b) in pairs])
        return yes.map(lambda _: next(chosen))


def _is_scalar(thing):
    is_value = isinstance(thing, (Value, Reference)) and not thing.type.shape
    return is_value or isinstance(thing, (bool, int, float))
