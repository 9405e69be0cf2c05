"""Variables: what a name is bound to by an assignment, and where its value lives.

A name is bound to storage of the kernel (handles.Local), whose type its first assignment sets, or to something
known while compiling (handles.Constant).
"""

from __future__ import annotations

import numpy as np

from . import handles
from .interface import Interface
from .native import describe
from .places import Places
from .static import Reference, Value
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .values import Values
from .walk import Walk


class Variables:
    """Assigns names."""

    def __init__(self, walk: Walk, values: Values, structs: StructOperations, places: Places, interface: Interface):
        self.walk, self.builder = walk, walk.builder
        self.values, self.structs, self.places, self.interface = values, structs, places, interface

    def assign_name(self, target, thing, node):
        """`name = thing`"""
        if isinstance(thing, StructValue):
            self.assign_struct_name(target, thing, node)
            return
        name, scope = target.id, self.walk.frame.scope
        binding = scope.lookup(name)
        is_number = isinstance(thing, (bool, int, float))
        is_local = isinstance(binding, handles.Local)
        if is_local and isinstance(binding.reference, StructValue):
            self.places.store(binding.reference, thing, target, node)
            return
        if is_local and isinstance(thing, (tuple, list)) and binding.reference.type.shape:
            self.places.store(binding.reference, thing, target, node)
            return
        if not isinstance(thing, (Value, Reference, Components)) and not is_number and not self._is_array(thing):
            if is_local:
                held = binding.reference.type.name
                message = f"variable '{name}' holds a value of type {held}, got {describe(thing)}"
                raise self.walk.error("type", message, target)
            self._bind_constant(name, thing, target)
            return
        at = getattr(node, "value", node)
        value = self.values.stored_value(thing, binding.reference.type, at) if is_local else self.values.to_value(thing, at)
        if is_local:
            self._store_local(binding, value, name, target, node)
            return
        if isinstance(binding, handles.Constant) and self.interface.is_parameter(name, binding):
            raise self.interface.read_only(name, target)
        local = self._storage_for(name, value, target, is_number)
        scope.names[name] = local
        self._store_local(local, value, name, target, node)

    def assign_struct_name(self, target, thing, node):
        """`s = ...`: a copy, in a variable of its own."""
        name, scope = target.id, self.walk.frame.scope
        binding = scope.lookup(name)
        if isinstance(binding, handles.Constant) and self.interface.is_parameter(name, binding):
            raise self.interface.read_only(name, target)
        if isinstance(binding, handles.Local):
            self.places.store(binding.reference, thing, target, node)
            return
        hidden = scope.storage().hidden.setdefault(("struct", name), [])
        local = next((one for one in hidden if one.reference.type == thing.type), None)
        if local is None:
            local = handles.Local(self.structs.struct_local(thing, target), target)
            hidden.append(local)
        scope.names[name] = local
        self.places.store(local.reference, thing, target, node)

    def _bind_constant(self, name, thing, target):
        """Binds a name to something known while compiling: where Python would, or not at all."""
        scope, is_conditional = self.walk.frame.scope.owner(name)
        if scope is not None and is_conditional:
            meaning = describe(scope.names[name].value)
            raise self.walk.error(
                "type",
                f"'{name}' stands for {meaning} and cannot change under a condition or in a loop at run time",
                target,
                "use another name for it",
            )
        (scope or self.walk.frame.scope).names[name] = handles.Constant(thing)

    @staticmethod
    def _is_array(thing):
        return isinstance(thing, (np.ndarray, np.generic))

    def _store_local(self, local, value, name, target, node):
        if list(value.type.shape) != list(local.reference.type.shape) and value.type.shape:
            wanted, got = local.reference.type.name, value.type.name
            raise self.walk.error(
                "type",
                f"variable '{name}': expected a value of type {wanted}, set by its first assignment, got {got}",
                getattr(node, "value", node),
                "use another name for it",
            )
        self.places.write_part(target, local.reference, value, f"variable '{name}'")

    def _storage_for(self, name, value, target, is_literal):
        """A variable: the one an earlier branch made under this name and type, or a new one."""
        if self.walk.frame.is_kernel and name == self.interface.result_name and self.walk.depth == 0:
            # Lives where it is returned from, so that parallel loops may accumulate in it.
            if isinstance(self.interface.result, Reference) and (
                value.type == self.interface.result.type or (is_literal and not self.interface.result.type.shape)
            ):
                return handles.Local(self.interface.result, target)
        if name in self.walk.frame.accumulated and self.walk.depth == 0:
            return handles.Local(self.interface.accumulator(name, value.type, target), target)
        hidden = self.walk.frame.scope.storage().hidden.setdefault(name, [])
        for local in hidden:
            if local.reference.type == value.type:
                return local
        local = handles.Local(self.walk.emit(target, self.builder.declare_local, value.type), target)
        hidden.append(local)
        return local
