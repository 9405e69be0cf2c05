"""Argument packs: several arguments of a kernel under one name (`types.argpack`).

A pack is taken apart before anything else looks at it: a kernel with `p: argpack(a=..., s=...)` has the parameters `p.a` and
`p.s`. In the kernel `p.a` is that parameter; outside, a call gives a pack, of which the parts become arguments.
"""

from __future__ import annotations

from typing import Any

from . import value_types as _types
from .errors import RuntimeTypeError_
from .frontend.function import Template
from .parameters import Parameter
from .tree_type import TreeType


class ArgPackType:
    """Types of several arguments by their names; called with values it makes an ArgPack.

    Args:
        members: name -> scalar (or bool, int, float), vector, matrix, struct, ndarray, tree or pack type, or template().
    Raises TypeError for another member, and without any.
    """

    __slots__ = ("_members",)

    def __init__(self, members: dict[str, Any]):
        if not members:
            raise TypeError("argpack: expected at least one member, got none")
        for name, type_ in members.items():
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
                raise TypeError(f"argpack member name: expected an identifier without _ before it, got {name!r}")
            if not _is_member(type_):
                expected = "a scalar, vector, matrix, struct, ndarray, tree or argpack type or template()"
                raise TypeError(f"argpack member '{name}': expected {expected}, got {type_!r}")
        self._members = tuple((name, _types.ndarray() if _is_bare(type_) else type_) for name, type_ in members.items())

    @property
    def members(self) -> dict[str, Any]:
        """The members' types by their names, in order."""
        return dict(self._members)

    def __call__(self, *values: Any, **named: Any) -> ArgPack:
        """A pack: of a dict, of values in order or by name. Raises RuntimeTypeError_ where one is missing or too much."""
        names = [name for name, _ in self._members]
        if len(values) == 1 and isinstance(values[0], dict) and not named:
            values, named = (), values[0]
        given = {**dict(zip(names, values)), **named}
        if len(values) + len(named) != len(names) or set(given) != set(names):
            got = ", ".join([repr(value) for value in values] + [f"{name}=..." for name in named])
            raise RuntimeTypeError_(f"argpack: expected values of {', '.join(names)}, got ({got})")
        return ArgPack(self, given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArgPackType) and self._members == other._members

    def __hash__(self) -> int:
        return hash(self._members)

    def __repr__(self) -> str:
        return f"argpack({', '.join(f'{name}={type_!r}' for name, type_ in self._members)})"


class ArgPack:
    """Values of several arguments: attributes, which can be set. Arrays and trees are the same objects as were given."""

    __slots__ = ("_type", "_values")

    def __init__(self, type_: ArgPackType, values: dict[str, Any]):
        object.__setattr__(self, "_type", type_)
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"argpack: no member '{name}'; it has {', '.join(self._values)}")
        return self._values[name]

    def __setattr__(self, name, value):
        if name not in self._values:
            raise AttributeError(f"argpack: no member '{name}'; it has {', '.join(self._values)}")
        self._values[name] = value

    def __getitem__(self, name):
        return self._values[name]

    def __repr__(self):
        return f"argpack({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


def flat_parameters(parameters: dict[str, Parameter]) -> dict[str, Parameter]:
    """The parameters with members of packs in place of packs, by paths such as `p.a`."""
    found = {}
    for name, parameter in parameters.items():
        if isinstance(parameter.annotation, ArgPackType):
            for path, type_ in leaves_of(parameter.annotation, name):
                found[path] = parameter._replace(annotation=type_, default=Parameter.empty)
        else:
            found[name] = parameter
    return found


def flat_arguments(packs: dict[str, ArgPackType], parameters, arguments, kernel: str) -> list:
    """The same of a call's arguments, one for each of `parameters`. Raises RuntimeTypeError_ where one is no such pack."""
    found = []
    for name, argument in zip(parameters, arguments):
        if name in packs:
            _add_parts(packs[name], argument, f"{kernel}: argument '{name}'", found)
        else:
            found.append(argument)
    return found


def _add_parts(type_, argument, what, found):
    if not isinstance(argument, ArgPack) or argument._type != type_:
        raise RuntimeTypeError_(f"{what}: expected a pack of {type_!r}, got {argument!r}")
    for name, member in type_.members.items():
        value = argument._values[name]
        if isinstance(member, ArgPackType):
            _add_parts(member, value, f"{what}: member '{name}'", found)
        else:
            found.append(value)


def leaves_of(type_: ArgPackType, path: str):
    """(path, type) of each member that is no pack, in order; paths begin with `path`."""
    for name, member in type_.members.items():
        if isinstance(member, ArgPackType):
            yield from leaves_of(member, f"{path}.{name}")
        else:
            yield f"{path}.{name}", member


def _is_bare(type_):
    return type_ is _types.ndarray or type_ is _types.NDArray


def _is_member(type_):
    kinds = (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType, _types.NDArrayType, TreeType, Template)
    return isinstance(type_, (*kinds, ArgPackType)) or _types.is_python_scalar(type_) or _is_bare(type_)
