"""What code may depend on of an object from outside a kernel: kinds of objects, keys that are equal for those that are alike.

Fields, levels and structs are known by what they offer, so that nothing of the runtime is loaded here.
"""

from __future__ import annotations

import collections
import enum
import types as python_types
import weakref

from ..lazy_numpy import is_array, numpy_class
from ..quant_types import QuantType
from ..record import Record
from .levels import levels_above

_PLAIN = frozenset((bool, int, float, str, bytes, complex, type(None), type(Ellipsis)))
_SEQUENCES = (tuple, list, collections.deque)
MOST_COMPARED = 64  # elements of an array that is compared by its contents; of others each element that is read


def is_field(thing) -> bool:
    """A view of members of a tree instance (metate.fields.Field, by what it offers)."""
    return hasattr(type(thing), "_placement")


def is_struct_field(thing) -> bool:
    """Fields by name (metate.fields.StructField)."""
    return hasattr(type(thing), "get_member_field")


def is_struct(thing) -> bool:
    """Values by name (metate.Struct)."""
    return hasattr(type(thing), "struct_type")


def is_level(thing) -> bool:
    """A level of a tree of fields (metate.fields.SNode)."""
    return hasattr(type(thing), "_tree_type")


def kind_of(thing) -> str | None:
    """ "field", "struct", "level", or None for anything else."""
    if is_field(thing):
        return "field"
    return "struct" if is_struct_field(thing) else "level" if is_level(thing) else None


def place_of(thing):
    """Where a field or level is, as far as code depends on it."""
    return thing._placement if is_field(thing) else (thing._tree_type, thing.name)


def is_identity(thing) -> bool:
    """Code, types and modules: they stand for themselves and are not looked into."""
    kinds = (type, python_types.ModuleType, python_types.FunctionType, python_types.BuiltinFunctionType, enum.Enum)
    return isinstance(thing, kinds) or getattr(type(thing), "__module__", "").startswith("metate.")


def is_plain(thing) -> bool:
    """A number, a text, None: a value without parts and without an identity of its own."""
    return type(thing) in _PLAIN


def key_of(thing):
    """What of an object code may depend on before it is looked into; hashable, equal for objects that are alike."""
    if type(thing) is float:
        return float, thing.hex()  # tells -0.0 from 0.0, and a NaN is equal to itself
    if type(thing) is complex:
        return complex, repr(thing)
    if is_plain(thing):
        return type(thing), thing
    if is_field(thing) or is_level(thing):
        return "field", place_of(thing)
    if is_struct_field(thing):
        return "struct", tuple((name, key_of(member)) for name, member in thing._members.items())
    if isinstance(thing, _SEQUENCES):
        return type(thing), tuple(map(key_of, thing))
    if isinstance(thing, (set, frozenset)):
        return type(thing), tuple(map(key_of, thing))  # in their order, in which loops over them are unrolled
    if isinstance(thing, dict) or is_struct(thing):
        return type(thing), tuple((name, key_of(value)) for name, value in thing.items())
    if isinstance(thing, (numpy_class("ndarray"), numpy_class("generic"))):
        contents = thing.tobytes() if thing.size <= MOST_COMPARED and not thing.dtype.hasobject else None
        return type(thing), thing.dtype.str, thing.shape, contents
    if isinstance(thing, python_types.FunctionType) and _is_closed(thing):
        return "code", thing.__code__, key_of(thing.__defaults__), key_of(_closed_over(thing)), id(thing.__globals__)
    if is_identity(thing):
        return "is", thing
    return _key_of_others(thing)


def _key_of_others(thing):
    if isinstance(thing, (range, slice)):
        return type(thing), key_of(thing.start), key_of(thing.stop), key_of(thing.step)
    if isinstance(thing, python_types.MethodType):
        return "method", key_of(thing.__func__), key_of(thing.__self__)
    for plain in (int, float, str, bytes):
        if isinstance(thing, plain):
            return type(thing), key_of(plain(thing)), "object"
    return "object", type(thing)


def is_covered(thing) -> bool:
    """Does its key say all that code may learn of it, so that none of its elements needs a look?"""
    if is_array(thing):
        return thing.size <= MOST_COMPARED and not thing.dtype.hasobject
    return key_of(thing) != ("object", type(thing))


class Same:
    """An object that is equal to itself alone, and not kept where it can be referred to weakly."""

    __slots__ = ("_id", "_reference")

    def __init__(self, thing):
        try:
            self._reference = weakref.ref(thing)
        except TypeError:
            self._reference = lambda: thing
        self._id = id(thing)

    def __eq__(self, other):
        return isinstance(other, Same) and self._reference() is not None and self._reference() is other._reference()

    def __hash__(self):
        return self._id


class Has(Record):
    """Asks an object whether it has an attribute."""

    name: str

    def __call__(self, thing):
        return hasattr(thing, self.name)


class Hides(Record):
    """Asks an object whether it has something of its own under the name of its class's method."""

    name: str

    def __call__(self, thing):
        return self.name in getattr(thing, "__dict__", ())


class HasPartner(Record):
    """Asks a field whether its gradient ("grad") or dual has a place."""

    name: str

    def __call__(self, thing):
        return thing._partner(self.name) is not None


class Whole(Record):
    """Asks for all that a Python function may find in an object whose key says only its type: an array's contents, or
    which object it is."""

    def __call__(self, thing):
        if is_array(thing) and not thing.dtype.hasobject:
            return thing.tobytes()
        return Same(thing)


def _is_closed(function) -> bool:
    """Is it its code and plain values alone, so that a lambda written in a loop is one function?"""
    values = (*(function.__defaults__ or ()), *_closed_over(function))
    return all(map(is_plain, values)) and not function.__kwdefaults__


def _closed_over(function) -> tuple:
    """The values that it closes over; the cell itself of one that has none yet."""
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(cell)
    return tuple(found)


def short(thing) -> str:
    """What signatures and differences call an object."""
    kind = kind_of(thing)
    if kind == "field":
        return describe_place(thing._placement)
    if kind == "struct":
        return f"struct field({', '.join(f'{name}: {short(member)}' for name, member in thing._members.items())})"
    if kind == "level":
        return f"level {thing.name} of {thing._tree_type}"
    if is_plain(thing) or isinstance(thing, (tuple, list, dict)):
        text = repr(thing)
        return text if len(text) <= 60 else text[:57] + "..."
    return getattr(thing, "__qualname__", None) or f"{type(thing).__qualname__} object"


def describe_place(placement) -> str:
    """`field(f32, (16, 16))`, as signatures show it; with its levels and neighbours where there is more than that."""
    if isinstance(placement, tuple):
        return f"level {placement[1]}"
    parts = [repr(placement.element), str(placement.shape)]
    if any(placement.offset):
        parts.append(f"offset={placement.offset}")
    if len(placement.members) > 1:
        parts.append("soa")
    members = placement.tree.members
    types = [members[name].type for name in placement.members]
    if any(isinstance(one, QuantType) for one in types):
        parts.append(f"as {', '.join(dict.fromkeys(map(repr, types)))}")
    levels = levels_above(placement.tree, placement.members[0])
    if any(level.kind != "dense" for level in levels) or len(levels) > 1:
        parts.append(" ".join(f"{level.kind}{list(level.extents)}" for level in levels))
    others = len(members) - len(placement.members)
    if others:
        parts.append(f"with {others} other{'s' * (others > 1)}")
    return f"field({', '.join(parts)})"
