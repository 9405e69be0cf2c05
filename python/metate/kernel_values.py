"""Structs and tuples between Python and a kernel: a call's arguments taken apart, its results put together.

In the kernel each scalar, vector and matrix of a struct is an argument of its own (frontend/interface.py). Kernels
without structs and tuples never come here.
"""

from __future__ import annotations

from . import value_types as _types
from .errors import RuntimeTypeError_, RuntimeValueError_
from .frontend.annotations import is_tuple_annotation, leaf_types, tuple_annotation
from .struct_types import Struct, bind_members, zero
from .vector_types import array_reader


class Shape:
    """How a kernel's parameters and result are laid out over its arguments.

    Attributes:
        starts: number of each parameter's first argument.
        count: how many arguments there are.
    """

    def __init__(self, parameters, returns):
        self._structs = [p.annotation if isinstance(p.annotation, _types.StructType) else None for p in parameters.values()]
        self._names, self._has_structs = list(parameters), any(self._structs)
        self._returns, self._rebuilt = returns, _rebuilder(returns)
        self.starts, self.count = [], 0
        for type_ in self._structs:
            self.starts.append(self.count)
            self.count += 1 if type_ is None else sum(1 for _ in leaf_types(type_))

    @property
    def is_plain(self) -> bool:
        """Is every parameter one argument and the result a single one?"""
        parts = (_types.StructType, _types.VectorType, _types.MatrixType)
        is_scalar = not isinstance(self._returns, parts) and not is_tuple_annotation(self._returns)
        return is_scalar and not self._has_structs

    def flattened(self, arguments, kernel) -> list | tuple:
        """The arguments with the structs' parts in place of structs. Raises RuntimeTypeError_, RuntimeValueError_."""
        if not self._has_structs:
            return arguments
        found = []
        for name, type_, argument in zip(self._names, self._structs, arguments):
            if type_ is None:
                found.append(argument)
                continue
            if argument.__class__ is Struct and argument._type is type_:
                found.extend(_whole_parts(type_, argument))
                continue
            try:
                found.extend(_parts(type_, argument, f"argument '{name}'"))
            except (TypeError, ValueError) as error:
                kind = RuntimeTypeError_ if isinstance(error, TypeError) else RuntimeValueError_
                raise kind(f"{kernel}: {error}") from None
        return found

    def gathered(self, arguments) -> list:
        """One argument for each parameter; of a struct its type stands there."""
        return [arguments[start] if type_ is None else type_ for start, type_ in zip(self.starts, self._structs)]

    def result(self, values):
        """What the kernel returns, of what its results hold."""
        if values is None:
            return None
        return self._rebuilt(iter(values if isinstance(values, tuple) else (values,)))


def _parts(type_, argument, what):
    """The leaves of a struct argument, as they were given: the runtime checks each. Raises TypeError."""
    if not isinstance(argument, (Struct, dict)):
        raise TypeError(f"{what}: expected a struct or a dict of its members, got {argument!r}")
    try:
        given = bind_members(type_, (argument,), {})
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    for name, member in type_.members.items():
        value = given.get(name, type_._defaults.get(name))
        value = zero(member) if value is None else value
        if isinstance(member, _types.StructType):
            yield from _parts(member, value, f"{what}: member '{name}'")
        else:
            yield value


def _whole_parts(type_, argument):
    """The leaves of a struct that was made by the type."""
    entries = argument._entries
    for name, member in type_._members:
        value = entries[name]
        if not isinstance(member, _types.StructType):
            yield value
        elif value._type is member:
            yield from _whole_parts(member, value)
        else:
            yield from _parts(member, value, f"member '{name}'")


def _rebuilder(annotation):
    """What makes a result of an iterator over the values of its parts, and takes those off it."""
    if is_tuple_annotation(annotation):
        parts = [_rebuilder(part) for part in tuple_annotation(annotation)]
        return lambda values: tuple([part(values) for part in parts])
    if isinstance(annotation, _types.StructType):
        members = [(name, _rebuilder(member)) for name, member in annotation.members.items()]
        return lambda values: annotation({name: member(values) for name, member in members})
    if isinstance(annotation, (_types.VectorType, _types.MatrixType)):
        read = array_reader(annotation)
        return lambda values: read(next(values))
    return next
