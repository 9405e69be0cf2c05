"""Kernels whose writes have numbers, and derivatives that look at them: where these are, what the call's is (metate.written)."""

from __future__ import annotations

from .. import value_types as _types
from ..write_numbers import element_of_numbers, type_of_numbers
from .native import native_type
from .requirements import HiddenPartner
from .specialize import ArrayParameter

NUMBERS = "_numbers"  # the attribute of trees and arrays


class Numbering:
    """Declares the numbers of what a kernel uses.

    Args:
        walk: of the kernel.
        provider: gives launches the number of their call (remembered_call.CallNumbers).
    """

    def __init__(self, walk, provider):
        self._walk, self._provider = walk, provider

    def tree(self, native, type_, name, node, hidden) -> None:
        """Of a tree; hidden(name, type): the hidden argument that has them."""
        builder, captures = self._walk.builder, self._walk.captures
        numbers, unique = type_of_numbers(type_), captures.unique(f"{name}.numbers")
        found = self._walk.emit(node, builder.tree_argument, unique, str(numbers))
        captures.hide(hidden(unique, numbers))
        self._walk.emit(node, builder.tree_written, native, found, self._call())

    def argument(self, handle, parameter, number, node) -> None:
        """Of the tree or array that is argument `number`; without numbers, what others do with it is not seen."""
        builder, captures = self._walk.builder, self._walk.captures
        if isinstance(parameter, ArrayParameter):
            contiguous = dict(parameter.partners).get(NUMBERS)
            if contiguous is None:
                return
            name = captures.unique(f"{handle.name}.numbers")
            element = native_type(element_of_numbers(parameter.element))
            found = self._walk.emit(node, builder.array_argument, name, element, handle.native.rank, contiguous)
            captures.hide(HiddenPartner(name, number, NUMBERS))
            self._walk.emit(node, builder.array_written, handle.native, found, self._call())
        else:
            hidden = lambda name, type_: HiddenPartner(name, number, NUMBERS)
            self.tree(handle.native, handle.type, handle.name, node, hidden)

    def _call(self):
        return self._walk.captures.value("call", _types.i64, self._provider)
