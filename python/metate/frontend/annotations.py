"""What annotations say: results `-> (a, b)`, the parts of structs. For the front end and for who calls kernels alike."""

from __future__ import annotations

import typing

from .. import value_types as _types


def is_tuple_annotation(annotation) -> bool:
    """Does it name several results?"""
    return isinstance(annotation, (tuple, list)) or typing.get_origin(annotation) is tuple


def tuple_annotation(annotation) -> tuple:
    """The annotations of the parts."""
    return tuple(annotation) if isinstance(annotation, (tuple, list)) else typing.get_args(annotation)


def leaf_types(type_: _types.StructType, path=""):
    """(path, scalar, vector or matrix type) of each leaf of a struct type, in order."""
    for name, member in type_.members.items():
        if isinstance(member, _types.StructType):
            yield from leaf_types(member, f"{path}{name}.")
        else:
            yield path + name, member
