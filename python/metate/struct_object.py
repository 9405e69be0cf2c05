"""Structs outside kernels: `mt.Struct` objects, and `@mt.dataclass`, which makes struct types of classes.

A Struct holds numbers, NumPy arrays and other Structs by name. Inside a kernel the front end makes struct
values instead (frontend/structs.py); nothing here touches memory, the compiler or the runtime.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import value_types as _types

_NOT_METHODS = ("__struct_methods",)


class Struct:
    """Named values, such as what a kernel returns or what an element of a struct field is.

    Args:
        members: a dict of values, or nothing.
        named: more of them. Values are numbers, sequences of numbers, dicts and Structs.

    Members are attributes and items alike: ``s.pos``, ``s["pos"]``; both can be assigned. A method of the
    struct's type is called with the struct as its first argument.
    """

    def __init__(self, members=None, /, **named):
        given = {**_entries_of(members if members is not None else {}), **named}
        given.pop("__struct_methods", None)
        if not given:
            raise TypeError("Struct: expected at least one member, got none")
        entries = {name: _plain(value) for name, value in given.items()}
        object.__setattr__(self, "_type", None)
        object.__setattr__(self, "_entries", entries)

    @classmethod
    def _of(cls, type_, entries):
        """A struct of a type, of entries that fit it already."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_type", type_)
        object.__setattr__(made, "_entries", entries)
        return made

    @property
    def entries(self) -> dict[str, Any]:
        """The members by their names, in order."""
        return dict(self._entries)

    def struct_type(self) -> Any:
        """The StructType: that it was made by, or one of its values' types."""
        return self._type or _types.StructType({name: _type_of(value) for name, value in self._entries.items()})

    def keys(self) -> Iterable[str]:
        """The members' names."""
        return self._entries.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """(name, value) of each member."""
        return self._entries.items()

    def to_dict(self) -> dict:
        """A dict of the members, nested structs as dicts."""
        return {name: value.to_dict() if isinstance(value, Struct) else value for name, value in self._entries.items()}

    def __getitem__(self, name):
        if name not in self._entries:
            raise KeyError(f"no member {name!r}: it has {', '.join(self._entries)}")
        return self._entries[name]

    def __setitem__(self, name, value):
        self[name]  # it exists
        type_ = None if self._type is None else self._type.members[name]
        self._entries[name] = _plain(value) if type_ is None else fitted(type_, value, f"member '{name}'")

    def __getattr__(self, name):
        entries = object.__getattribute__(self, "_entries")
        if name in entries:
            return entries[name]
        methods = self._type.methods if self._type is not None else {}
        if name in methods:
            method = methods[name]
            return functools.partial(getattr(getattr(method, "source", None), "function", method), self)
        raise AttributeError(f"no member '{name}': it has {', '.join(entries)}")

    def __setattr__(self, name, value):
        if name not in self._entries:
            raise AttributeError(f"no member '{name}': it has {', '.join(self._entries)}")
        self[name] = value

    def __dir__(self):
        return [*super().__dir__(), *self._entries, *(self._type.methods if self._type is not None else ())]

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return iter(self._entries)

    def __copy__(self):
        return Struct._of(self._type, dict(self._entries))

    def __eq__(self, other):
        if not isinstance(other, Struct):
            return NotImplemented
        return self.keys() == other.keys() and all(np.array_equal(value, other[name]) for name, value in self.items())

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def make_struct(type_, values, named) -> Struct:
    """What calling a struct type gives: members by position, by name, from a dict or another struct.

    A member that is not given has its default, or zero. Raises TypeError, ValueError.
    """
    given = bind_members(type_, values, named)
    entries = {}
    for name, member in type_.members.items():
        value = given.get(name, type_._defaults.get(name))
        entries[name] = zero(member) if value is None else fitted(member, value, f"member '{name}'")
    return Struct._of(type_, entries)


def bind_members(type_, values, named) -> dict:
    """Member -> what was given for it, of a call's arguments. Raises TypeError."""
    names = list(type_.members)
    if len(values) == 1 and isinstance(values[0], (dict, Struct)) and not named:
        values, named = (), dict(values[0].items())
    if len(values) > len(names):
        raise TypeError(f"expected at most {len(names)} members ({', '.join(names)}), got {len(values)}")
    given = dict(zip(names, values))
    for name, value in named.items():
        if name not in names:
            raise TypeError(f"no member '{name}': it has {', '.join(names)}")
        if name in given:
            raise TypeError(f"member '{name}' is given twice")
        given[name] = value
    return given


def fitted(type_, value, what):
    """A value as a member of the type holds it: a number, an array, or a Struct."""
    if isinstance(type_, _types.StructType):
        if not isinstance(value, (Struct, dict)):
            raise TypeError(f"{what}: expected a struct or a dict of its members, got {value!r}")
        return make_struct(type_, (value,), {})
    if isinstance(type_, _types.DType):
        if np.ndim(value) != 0:
            raise TypeError(f"{what}: expected a number, got {value!r}")
        return type_(value)
    array = np.asarray(value)
    if array.ndim and array.shape != type_.shape:
        raise TypeError(f"{what}: expected shape {type_.shape}, got {array.shape}")
    return type_(array)


def zero(type_):
    """Zero of a scalar, vector or matrix type; a struct of zeros and defaults."""
    return make_struct(type_, (), {}) if isinstance(type_, _types.StructType) else type_(0)


def _entries_of(members):
    if isinstance(members, (dict, Struct)):
        return dict(members.items())
    raise TypeError(f"Struct: expected a dict of members, got {members!r}")


def _plain(value):
    """A member of a struct without a type."""
    if isinstance(value, dict):
        return Struct(value)
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def _type_of(value):
    if isinstance(value, Struct):
        return value.struct_type()
    if isinstance(value, np.ndarray):
        scalar = _types.dtype(value.dtype)
        return _types.vector(value.shape[0], scalar) if value.ndim == 1 else _types.matrix(*value.shape, scalar)
    if isinstance(value, np.generic):
        return _types.dtype(value.dtype)
    return _types.element_type(type(value), "struct member")


def dataclass(cls: type) -> Any:
    """Makes a struct type of a class: annotated names are members, functions are methods.

    A value after an annotation is the member's default. Members and methods of base classes come first;
    methods may be plain functions or @func, take the struct as `self` and may assign its members.

    >>> import metate as mt
    >>> @mt.dataclass
    ... class Ball:
    ...     pos: mt.math.vec3
    ...     radius: mt.f32 = 1.0
    ...     def volume(self):
    ...         return 4.0 / 3.0 * mt.math.pi * self.radius ** 3

    Raises TypeError for an annotation that is no scalar, vector, matrix or struct type.
    """
    if not inspect.isclass(cls):
        raise TypeError(f"dataclass: expected a class, got {cls!r}")
    members, methods, defaults = {}, {}, {}
    for base in reversed(cls.__mro__[:-1]):
        annotations = inspect.get_annotations(base, eval_str=True)
        members.update(annotations)
        for name, thing in vars(base).items():
            if name in annotations:
                defaults[name] = thing
            elif not name.startswith("__") and name not in _NOT_METHODS and callable(thing):
                methods[name] = thing
            elif name in members:
                defaults[name] = thing  # of a member that a base class declares
    return _types.StructType(members, methods, defaults, cls)
