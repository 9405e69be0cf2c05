"""Struct types, and their values outside kernels: `mt.Struct` objects.

A Struct holds numbers, NumPy arrays and other Structs by name. Inside a kernel the front end makes struct
values instead (frontend/structs.py); nothing here touches memory, the compiler or the runtime.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any

from .default_types import by_context, scalar_type
from .dtypes import DType, dtype
from .lazy_numpy import is_array, np, numpy_class
from .quant_types import QuantType, computed
from .record import Record
from .vector_types import MatrixType, VectorType, element_of


class StructMember(Record):
    """`s.a`: one member of a struct type, to be placed in a tree."""

    struct: StructType
    name: str

    @property
    def type(self) -> Any:
        """The member's type, as a tree holds it."""
        return self.struct.stored[self.name]

    def __repr__(self) -> str:
        return f"<member {self.name}: {self.type!r}>"


class StructType:
    """Named members in order, with methods and defaults. ``s.a`` is a placeable handle of member `a`; `s.members` is a dict.

    Two struct types are equal iff they have equal members in equal order and the same methods. Called from
    Python it makes a `Struct`; called in a kernel, a struct value. A member of a quantised type is one in trees and
    fields; values have the type that it is computed with.

    Args:
        members: name -> scalar, vector, matrix, struct or quantised type; under `__struct_methods`, methods as below.
        methods: name -> function whose first parameter is the struct.
        defaults: name -> value where a call leaves a member out; a member without one is zero.
        wrapped: the class that @dataclass was put on.
    """

    __slots__ = ("_class", "_defaults", "_members", "_methods", "_stored")

    def __init__(self, members, methods=None, defaults=None, wrapped=None):
        members = dict(members)
        methods = {**members.pop("__struct_methods", {}), **(methods or {})}
        checked = {}
        for name, type_ in members.items():
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("__") or name == "members":
                raise TypeError(f"struct member name: expected an identifier other than 'members', got {name!r}")
            checked[name] = element_type(type_, f"struct member '{name}'", allow_struct=True, allow_quantised=True)
        for name, method in methods.items():
            if name in checked or not callable(method):
                what = "another name than a member's" if name in checked else "a function"
                raise TypeError(f"struct method '{name}': expected {what}, got {method!r}")
        object.__setattr__(self, "_stored", tuple(checked.items()))
        object.__setattr__(self, "_members", tuple((name, computed(type_)) for name, type_ in checked.items()))
        object.__setattr__(self, "_methods", tuple(sorted(methods.items())))
        object.__setattr__(self, "_defaults", dict(defaults or {}))
        object.__setattr__(self, "_class", wrapped)

    @property
    def members(self) -> dict[str, Any]:
        """The members' types by their names, in order, as values have them."""
        return dict(self._members)

    @property
    def stored(self) -> dict[str, Any]:
        """The same as trees and fields hold them: the quantised types of those that are quantised."""
        return dict(self._stored)

    def of_values(self) -> Any:
        """The type of its values: without quantised types, at any depth."""
        members = {n: t.of_values() if isinstance(t, StructType) else t for n, t in self._members}
        if all(members[n] is t for n, t in self._stored):
            return self
        return type(self)(members, self.methods, self._defaults, self._class)

    @property
    def has_values(self) -> bool:
        """Is there a scalar, vector or matrix in it? A struct of methods alone takes no memory."""
        return any(not isinstance(type_, StructType) or type_.has_values for _, type_ in self._members)

    @property
    def methods(self) -> dict[str, Any]:
        """The functions that its values have, by their names."""
        return dict(self._methods)

    @property
    def class_name(self) -> str | None:
        """The name of the class that @dataclass was put on."""
        return getattr(self._class, "__name__", None)

    def has_members_of(self, other: Any) -> bool:
        """Equal but for the methods?"""
        if not isinstance(other, StructType) or [n for n, _ in self._members] != [n for n, _ in other._members]:
            return False
        pairs = zip(self.members.values(), other.members.values())
        return all(a.has_members_of(b) if isinstance(a, StructType) else a == b for a, b in pairs)

    def __call__(self, *values, **named):
        return make_struct(self, values, named)

    def __mro_entries__(self, bases):
        """`class B(A)` where A was made by @dataclass derives from A's class."""
        if self._class is None:
            raise TypeError("a struct type made by struct(...) has no class to derive from: use @dataclass")
        return (self._class,)

    def __getattr__(self, name):
        if not name.startswith("__") and any(name == n for n, _ in object.__getattribute__(self, "_members")):
            return StructMember(self, name)
        raise AttributeError(f"struct has no member '{name}': it has {', '.join(n for n, _ in self._members)}")

    def __setattr__(self, name, value):
        raise AttributeError("a struct type is frozen: build another one")

    def __eq__(self, other):
        return isinstance(other, StructType) and self._stored == other._stored and self._methods == other._methods

    def __hash__(self):
        return hash(("struct", self._members, self._methods))

    def __repr__(self) -> str:
        return "struct({" + ", ".join(f"{n!r}: {t!r}" for n, t in self._stored) + "})"

    def __reduce__(self):
        if self._class is not None:  # the class itself is no longer under its name
            return (_by_name, (self._class.__module__, self._class.__qualname__))
        return (type(self), (self.stored, self.methods, self._defaults))


def float_members(type_: StructType) -> StructType | None:
    """The struct type of those members that are of a float type, members of members included; None: there are none."""
    found = {}
    for name, member in type_.members.items():
        if isinstance(member, StructType):
            if (inner := float_members(member)) is not None:
                found[name] = inner
        elif getattr(member, "dtype", member).is_float:
            found[name] = member
    return StructType(found) if found else None


def _by_name(module, name):
    """What stands under a name of a module, which unpickling a dataclass means."""
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def element_type(value: Any, what: str, allow_struct: bool = False, allow_quantised: bool = False) -> Any:
    """Checks that `value` is a scalar, vector or matrix type (or a struct or quantised type); returns it. Raises TypeError."""
    if allow_quantised and isinstance(value, QuantType):
        return value
    if isinstance(value, (VectorType, MatrixType)) or (allow_struct and isinstance(value, StructType)):
        return by_context(value)
    try:
        return scalar_type(value)
    except TypeError:
        expected = f"a scalar, vector{', matrix or struct' if allow_struct else ' or matrix'} type"
        hint = ": quantised numbers are in trees and fields alone" if isinstance(value, QuantType) else ""
        raise TypeError(f"{what}: expected {expected}, got {value!r}{hint}") from None


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
        return self._type or StructType({name: _type_of(value) for name, value in self._entries.items()})

    @property
    def keys(self) -> list[str]:
        """The members' names."""
        return list(self._entries)

    def items(self) -> Iterable[tuple[str, Any]]:
        """(name, value) of each member."""
        return self._entries.items()

    def to_dict(self) -> dict:
        """A dict of the members, nested structs as dicts; vectors and matrices are copies."""
        return {name: _copied(value) for name, value in self._entries.items()}

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
        return set(self) == set(other) and all(np.array_equal(value, other[name]) for name, value in self.items())

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
    if len(values) == 1 and not named and _is_whole(type_, values[0]):
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


def _is_whole(type_, value) -> bool:
    """Is it a struct of this type, not one for its first member? A dict always is."""
    if not isinstance(value, Struct):
        return isinstance(value, dict)
    return not is_first_member(type_, value)


def is_first_member(type_, value) -> bool:
    """Is the sole argument of a call of the type, a struct, its first member's? By the names in it, at any depth."""
    first = next(iter(type_.members.values()), None)
    return isinstance(first, StructType) and _has_names_of(first, value)


def _has_names_of(type_, value) -> bool:
    """Has a struct, of Python or of a kernel, the members of the type, and each struct in it those of its own?"""
    parts = _parts_of(value)
    if parts is None or set(parts) != set(type_.members):
        return False
    nested = [(member, parts[name]) for name, member in type_.members.items() if _parts_of(parts[name]) is not None]
    return all(isinstance(member, StructType) and _has_names_of(member, part) for member, part in nested)


def _parts_of(value):
    """The members of a struct, of Python or of a kernel, by name; None of anything else."""
    parts = value if isinstance(value, (Struct, dict)) else getattr(value, "parts", None)
    return parts if isinstance(parts, (Struct, dict)) else None


def fitted(type_, value, what):
    """A value as a member of the type holds it: a number, an array, or a Struct."""
    if isinstance(type_, StructType):
        if isinstance(value, (bool, int, float, numpy_class("generic"))):
            return make_struct(type_, (value,), {})  # for its first member, whose type it may be again
        if not isinstance(value, (Struct, dict)):
            raise TypeError(f"{what}: expected a struct or a dict of its members, got {value!r}")
        return make_struct(type_, (value,), {})
    if isinstance(type_, DType):
        if not isinstance(value, (bool, int, float)) and np.ndim(value) != 0:
            raise TypeError(f"{what}: expected a number, got {value!r}")
        return type_(value)
    array = np.asarray(value)
    if array.ndim and array.shape != type_.shape:
        raise TypeError(f"{what}: expected shape {type_.shape}, got {array.shape}")
    return type_(array)


def zero(type_):
    """Zero of a scalar, vector or matrix type; a struct of zeros and defaults."""
    return make_struct(type_, (), {}) if isinstance(type_, StructType) else type_(0)


def _entries_of(members):
    if isinstance(members, (dict, Struct)):
        return dict(members.items())
    raise TypeError(f"Struct: expected a dict of members, got {members!r}")


def _copied(value):
    """A member as `to_dict` gives it."""
    if isinstance(value, Struct):
        return value.to_dict()
    return value.copy() if is_array(value) else value


def _plain(value):
    """A member of a struct without a type."""
    if isinstance(value, dict):
        return Struct(value)
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def _type_of(value):
    if isinstance(value, Struct):
        return value.struct_type()
    if is_array(value):
        scalar = dtype(value.dtype)
        return element_of(scalar, value.shape)
    if isinstance(value, numpy_class("generic")):
        return dtype(value.dtype)
    return element_type(type(value), "struct member")
