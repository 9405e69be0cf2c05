"""StructField: several fields of one shape under one name."""

from __future__ import annotations

from typing import Any

from ..errors import RuntimeTypeError_, RuntimeValueError_
from . import gradients
from .values import StructElement, write_struct


class StructField:
    """A field of structs; made by `mt.Struct.field`, ``StructType.field`` and `mt.field` of a struct type.

    Its members are fields: ``s.pos``, ``s["pos"]``. ``s[i]`` reads an element; ``s[i].pos = ...`` and ``s[i] = struct``
    write it. ``s.grad`` and ``s.dual`` are struct fields of the members' gradients and duals, unless a member is called so.

    Attributes:
        type: the StructType of the elements.
        name: the name it was given, or "".
    """

    __slots__ = ("__weakref__", "_made_at", "_members", "_partners", "name", "type")
    _is_struct_field = True  # how the front end tells it

    def __init__(self, type_, members, name="", made_at=None):
        set_ = object.__setattr__  # ours refuses every assignment
        set_(self, "type", type_)
        set_(self, "name", name)
        set_(self, "_members", members)
        set_(self, "_made_at", made_at)
        set_(self, "_partners", {})

    @property
    def keys(self) -> list[str]:
        """Names of the members."""
        return list(self._members)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, one for each index. Raises TreeError before it is placed."""
        return self._first().shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each dimension."""
        return self._first().offset

    def parent(self, n: int = 1) -> Any:
        """The level n above the first member's elements."""
        return self._first().parent(n)

    @property
    def snode(self) -> Any:
        """The first member's `snode`."""
        return self._first().snode

    def get_member_field(self, key: str) -> Any:
        """The field of a member."""
        return self[self._known(key)]

    def is_active(self, *indices: Any) -> bool:
        """Whether the element's cells are active."""
        return all(member.is_active(*indices) for member in self._members.values())

    def to_numpy(self) -> dict:
        """A dict from member names to new arrays; nested structs are nested dicts."""
        return {name: member.to_numpy() for name, member in self._members.items()}

    def from_numpy(self, arrays: Any) -> None:
        """Copies from a dict of arrays, one for each member. Raises RuntimeTypeError_, RuntimeValueError_."""
        for name, array in self._by_member(arrays, "from_numpy").items():
            self._members[name].from_numpy(array)

    def to_torch(self, device: Any = None) -> dict:
        """A dict from member names to new tensors."""
        return {name: member.to_torch(device) for name, member in self._members.items()}

    def from_torch(self, tensors: Any) -> None:
        """Copies from a dict of tensors, one for each member."""
        for name, tensor in self._by_member(tensors, "from_torch").items():
            self._members[name].from_torch(tensor)

    def fill(self, value: Any) -> None:
        """Sets every active element: to a number in each component, or to the members of a dict or struct."""
        is_number = not hasattr(value, "items")
        given = dict.fromkeys(self._members, value) if is_number else self._by_member(value, "fill")
        for name, each in given.items():
            self._members[name].fill(each)

    def copy_from(self, other: Any) -> None:
        """Copies another struct field with the same members. Raises RuntimeTypeError_, RuntimeValueError_."""
        if not isinstance(other, StructField) or other.keys != self.keys:
            raise RuntimeTypeError_(
                f"{self._described()}: copy_from: expected a struct field with members {', '.join(self._members)}, got {other!r}"
            )
        for name, member in self._members.items():
            member.copy_from(other._members[name])

    def _by_member(self, given, what):
        found = dict(given.items()) if hasattr(given, "items") else {}
        if set(found) != set(self._members):
            got = ", ".join(found) or repr(given)
            raise RuntimeValueError_(f"{self._described()}: {what}: expected a dict with {', '.join(self._members)}, got {got}")
        return found

    def _known(self, name):
        if name not in self._members:
            raise KeyError(f"{self._described()} has no member '{name}'; its members: {', '.join(self._members)}")
        return name

    def _first(self):
        return next(iter(self._members.values()))

    def _place_parts(self):
        for member in self._members.values():
            yield from member._place_parts()

    def _described(self):
        return f"struct field '{self.name}'" if self.name else f"the struct field made at {self._made_at}"

    def __getattr__(self, name):
        if name in self._members:
            return self._members[name]
        if name in gradients.KINDS:
            return gradients.struct_partner_of(self, name)
        raise AttributeError(f"{self._described()} has no member '{name}'; its members: {', '.join(self._members)}")

    def __setattr__(self, name, value):
        raise AttributeError(f"cannot assign to '{name}' of a struct field; assign to an element: s.{name}[i] = value")

    def __getitem__(self, key):
        return self._members[self._known(key)] if isinstance(key, str) else StructElement.read(self, key)

    def __setitem__(self, key, value):
        if isinstance(key, str):
            raise RuntimeTypeError_(f"{self._described()}: a member cannot be replaced; write s.{key}.copy_from(...)")
        write_struct(self, key, value)

    def __len__(self) -> int:
        return len(self._first())

    def __repr__(self):
        shape = f", shape {self.shape}" if self._first()._is_placed else ", not placed"
        return f"<struct field{' ' + self.name if self.name else ''} of {', '.join(self._members)}{shape}>"

    @property
    def _is_placed(self):
        return self._first()._is_placed
