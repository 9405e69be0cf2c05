"""BitpackedFields: quantised fields that share a word in each cell."""

from __future__ import annotations

from typing import Any

from ..errors import PackingError_
from ..words import check_fits, check_group, size_of_word
from .place import parts_of


class BitpackedFields:
    """Quantised fields that lie in the bits of one word, to be placed below a level: ``node.place(packed)``.

    Args:
        max_num_bits: bits of the word: 8, 16, 32 or 64. The fields take so many together at most.

    >>> import metate as mt
    >>> x, y = mt.field(mt.types.quant.int(5)), mt.field(mt.types.quant.fixed(11, max_value=2.0))
    >>> packed = mt.BitpackedFields(max_num_bits=16)
    >>> packed.place(x, y)
    >>> _ = mt.root.dense(mt.i, 4).place(packed)
    """

    def __init__(self, max_num_bits: int):
        self._bits = size_of_word("BitpackedFields", max_num_bits)
        self._groups: list[tuple[list, bool]] = []

    def place(self, *fields: Any, shared_exponent: bool = False) -> None:
        """Puts fields into the word, behind those that are there.

        Args:
            fields: quantised fields that have no place yet, components of them (`x.get_scalar_field(k)`), struct fields, or
                lists of those.
            shared_exponent: True: they are at least two of quant.float types with as many bits of exponent, which is stored
                once for all.
        Raises PackingError_ where they do not fit into the word, or for fields that are not quantised; TreeError.
        """
        parts = parts_of(fields)
        if any(
            component in [leaf.component for leaf in field._leaves] for group, _ in self._groups for field, component in group
        ):
            raise PackingError_("BitpackedFields.place: expected to get fields before it is placed itself; make another one")
        added: list = [(parts, True)] if shared_exponent else [([part], False) for part in parts]
        known = [part for group, _ in self._groups for part in group]
        for field, component in parts:
            if (field, component) in known or parts.count((field, component)) > 1:
                raise PackingError_(f"BitpackedFields.place: expected each field once, got {named(field, component)} twice")
        check_group("BitpackedFields.place", [_shown(part) for part in parts], shared_exponent)
        groups = [([_shown(part) for part in group], shares) for group, shares in [*self._groups, *added]]
        check_fits("BitpackedFields.place", self._bits, groups)
        self._groups += added

    def _words(self) -> list[tuple[int, list[tuple[list, bool]]]]:
        """What a level gets: (bits of a word, its groups of (field, component))."""
        if not self._groups:
            raise PackingError_("place: expected BitpackedFields with at least one field, got an empty one; call its place(...)")
        return [(self._bits, self._groups)]

    def __repr__(self):
        return f"<bitpacked fields of {self._bits} bits: {', '.join(_shown(p)[0] for g, _ in self._groups for p in g) or 'none'}>"


def named(field: Any, component: int | None) -> str:
    """What messages call a field or a component of one."""
    return field._described() if component is None else f"component {component} of {field._described()}"


def _shown(part):
    field, component = part
    return named(field, component), field._stored_type(component)
