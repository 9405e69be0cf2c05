"""Structs in kernels: construction, members, methods, assignment by value.

A struct value is its members (structs.py); each operation here is one of its leaves after the other.
"""

from __future__ import annotations

import ast

from .. import types as _types
from ..struct_object import Struct, bind_members
from . import handles, structs
from .diagnostics import suggestion
from .expressions import Reference
from .function import Function
from .native import describe, native_type
from .structs import Components, StructValue, name_of


def method_function(method) -> Function:
    """A struct's method as something to inline: a plain function is as good as a @func."""
    method = getattr(method, "__func__", method)  # a static method's
    if isinstance(method, Function):
        return method
    found = getattr(method, "_metate_function", None)  # kept with the method: its source is read once
    if found is None:
        found = method._metate_function = Function(method)
    return found


class StructOperations:
    """The part of the walker that knows structs."""

    #  -- members and methods ------------------------------------------------------------------------

    def struct_attribute(self, owner, name, node):
        if name in owner.parts:
            return owner.parts[name]
        if name in owner.type.methods:
            return handles.BoundMethod(owner, name)
        if name == "keys":
            return tuple(owner.parts)
        known = [*owner.parts, *owner.type.methods]
        raise self.unknown_attribute(owner, name, node, known)

    def struct_member(self, owner, node):
        """`s["a"]`."""
        name = self.expr(node.slice)
        if not isinstance(name, str):
            raise self.error("type", f"expected a member's name, got {describe(name)}", node.slice)
        if name not in owner.parts:
            message = f"{owner.describe()} has no member '{name}'; it has {', '.join(owner.parts)}"
            raise self.error("name", message, node.slice, suggestion(name, owner.parts))
        return owner.parts[name]

    def call_struct_method(self, receiver, name, node):
        method = receiver.type.methods[name]
        function = method_function(method)
        return self.call_function(function, node, () if isinstance(method, staticmethod) else (receiver,))

    #  -- construction -------------------------------------------------------------------------------

    def call_struct(self, type_, node):
        """T(a, b), T(a=..., b=...), T({...}), T(another)."""
        positional, keywords = self.arguments(node)
        if len(positional) == 1 and not keywords and isinstance(positional[0], StructValue):
            if set(positional[0].parts) == set(type_.members):
                return self.struct_of(type_, positional[0], node, name_of(type_))
        return self._struct_from(type_, positional, keywords, node)

    def _struct_from(self, type_, positional, keywords, node):
        try:
            given = bind_members(type_, positional, keywords)
        except TypeError as error:
            spelled = ", ".join(f"{name}: {member!r}" for name, member in type_.members.items())
            raise self.error("type", f"{name_of(type_)}: {error}", node, f"its members are {spelled}") from None
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
            raise self.error("type", f"{what}: expected a {name_of(type_)}, got {describe(thing)}", node)
        if set(thing.parts) != set(type_.members):
            wanted, got = ", ".join(type_.members), ", ".join(thing.parts)
            raise self.error("type", f"{what}: expected a {name_of(type_)} with members {wanted}, got one with {got}", node)
        members = type_.members.items()
        return StructValue(type_, {n: self.fitted_part(t, thing.parts[n], node, f"member '{n}' of {what}") for n, t in members})

    def fitted_part(self, type_, thing, node, what):
        """What something is as a value of a scalar, vector, matrix or struct type."""
        if isinstance(type_, _types.StructType):
            return self.struct_of(type_, thing, node, what)
        value = self.shaped_value(thing, getattr(type_, "shape", ()), node)
        return self.emit(node, self.builder.convert, value, native_type(type_), what)

    def call_Struct(self, node):
        """ti.Struct(a=..., b=...): of the type that its values have."""
        positional, keywords = self.arguments(node)
        members = dict(keywords)
        if len(positional) == 1 and not members and isinstance(positional[0], StructValue):
            return positional[0]
        for thing in positional:
            if not isinstance(thing, (dict, Struct)):
                raise self.error("type", f"Struct: expected a dict of members, got {describe(thing)}", node)
            members = {**dict(thing.items()), **members}
        return self._untyped_struct(members, node)

    def _untyped_struct(self, members, node):
        methods = members.pop("__struct_methods", {})
        if not members:
            raise self.error("type", "Struct: expected at least one member, got none", node)
        parts = {name: self.untyped_part(thing, node) for name, thing in members.items()}
        type_ = self.compute(node, _types.StructType, {name: structs.type_of(part) for name, part in parts.items()}, methods)
        return StructValue(type_, parts)

    def untyped_part(self, thing, node):
        if isinstance(thing, StructValue):
            return thing
        if isinstance(thing, (dict, Struct)):
            return self._untyped_struct(dict(thing.items()), node)
        if isinstance(thing, (tuple, list)):
            depth = (1, 1) if thing and isinstance(thing[0], (tuple, list)) else (1,)
            return self.shaped_value(thing, depth, node)
        return self.to_value(thing, node)

    #  -- assignment ---------------------------------------------------------------------------------

    def assign_struct_name(self, target, thing, node):
        """`s = ...`: a copy, in a variable of its own."""
        name, scope = target.id, self.frame.scope
        binding = scope.lookup(name)
        if isinstance(binding, handles.Constant) and self.is_parameter(name, binding):
            raise self.read_only(name, target)
        if isinstance(binding, handles.Local):
            self.store(binding.reference, thing, target, node)
            return
        hidden = scope.storage().hidden.setdefault(("struct", name), [])
        local = next((one for one in hidden if one.reference.type == thing.type), None)
        if local is None:
            local = handles.Local(self.struct_local(thing, target), target)
            hidden.append(local)
        scope.names[name] = local
        self.store(local.reference, thing, target, node)

    def struct_local(self, thing, node, scope=None):
        """Variables for the leaves of a struct value."""
        place = () if scope is None else (scope,)
        return thing.map(lambda part: self.emit(node, self.builder.declare_local, part.type, *place))

    def store_struct(self, place, thing, target, node):
        """Every leaf of a place; the value was computed before."""
        what = f"variable '{target.id}'" if isinstance(target, ast.Name) else ast.unparse(target)
        value = self.settled(self.struct_of(place.type, thing, getattr(node, "value", node), what), node)
        for (path, part), (_, leaf) in zip(place.leaves(), value.leaves()):
            self.write_part(target, part, leaf, f"{what}.{path}")

    def write_part(self, node, part, value, what):
        if isinstance(part, Components):
            self.write_components(node, part, value, what)
        elif isinstance(part, Reference):
            self.write(node, part, value, what)
        else:
            raise self.error("type", f"expected a place that can be assigned, got {describe(part)}", node)

    #  -- choices ------------------------------------------------------------------------------------

    def select_struct(self, condition, yes, no, node):
        """select(c, s, t) of structs: leaf by leaf."""
        yes, no = self.settled(yes, node), self.settled(no, node)
        for thing in (yes, no):
            if not isinstance(thing, StructValue):
                raise self.error("type", f"select: expected two structs, got {describe(yes)} and {describe(no)}", node)
        no = self.struct_of(yes.type, no, node, "select")
        truth = self.truth(condition, node, "select")
        pairs = zip(yes.leaves(), no.leaves())
        chosen = iter([self.emit(node, self.builder.select, truth, a, b) for (_, a), (_, b) in pairs])
        return yes.map(lambda _: next(chosen))

    def print_struct(self, thing, node):
        """Texts and values that print a struct."""
        parts = [f"{thing.type.class_name or 'Struct'}("]
        for k, (name, part) in enumerate(thing.parts.items()):
            parts += [f"{', ' * bool(k)}{name}=", *self.print_parts(part, node)]
        return [*parts, ")"]
