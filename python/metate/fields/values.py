"""What elements of struct fields are read as: values that write through to the field."""

from __future__ import annotations

from ..errors import RuntimeTypeError_
from ..struct_types import Struct


class StructElement(Struct):
    """An element of a struct field: a Struct whose assigned members are written to the field.

    Members are read when the element is: what kernels write later is seen by reading it again.
    """

    @classmethod
    def read(cls, field, key):
        """The element at `key`."""
        entries = {name: member[key] for name, member in field._members.items()}
        made = cls._of(field.type, entries)
        object.__setattr__(made, "_home", (field, key))
        return made

    @classmethod
    def _of(cls, type_, entries):
        made = cls.__new__(cls)
        object.__setattr__(made, "_type", type_)
        object.__setattr__(made, "_entries", entries)
        return made

    def __setitem__(self, name, value):
        self[name]  # it exists
        field, key = self._home
        field._members[name][key] = value
        self._entries[name] = field._members[name][key]

    def __copy__(self):
        return Struct._of(self._type, dict(self._entries))


def write_struct(field, key, value) -> None:
    """Assigns a struct, a dict of its members or a sequence of them to an element of a struct field."""
    if isinstance(value, (Struct, dict)):
        given = dict(value.items())
    elif isinstance(value, (tuple, list)) and len(value) == len(field._members):
        given = dict(zip(field._members, value))
    else:
        given = {}
    if set(given) != set(field._members):
        raise RuntimeTypeError_(
            f"{field._described()}: expected a struct or dict with members {', '.join(field._members)}, got {value!r}"
        )
    for name, member in field._members.items():
        member[key] = given[name]
