"""Putting fields below a level: what `place` checks and does."""

from __future__ import annotations

import itertools

from ..drawn_levels import check_element
from ..errors import TreeError
from ..quant_types import QuantType
from ..words import Word, bits_of, least_word
from .drawing import FieldTree, Leaf, tree_of
from .gradients import check_early


def place(node, fields, offset) -> None:
    """Puts fields below a level or FieldTree, all of them or, after an error, none.

    Args:
        fields: fields, components of them, struct fields, BitpackedFields, and (nested) lists of those.
        offset: first index along each dimension: int, sequence, or None for the fields' own.
    Raises TreeError.
    """
    units = _units(fields, is_array=getattr(node, "kind", None) == "quant_array")
    parts = [part for _, groups in units for group, _ in groups for part in group]
    if not parts:
        raise TreeError("place: expected at least one field, got none")
    tree_of(node).check_open("place")
    rank = 0 if isinstance(node, FieldTree) else len(node.shape)
    seen = set()
    for field, component in parts:
        _check_free(field, component, seen)
        field._check_offset(offset, rank)
    if getattr(node, "kind", None) == "quant_array":
        _check_array(node, units)
    with tree_of(node).lock:
        below = node.branches if isinstance(node, FieldTree) else node.below
        for bits, groups in units:
            _put(node, below, bits, groups, offset)


def parts_of(fields) -> list:
    """(field, component or None) of fields, components, struct fields and (nested) lists of them, in order. Raises TreeError."""
    return [part for thing in _flat(fields) for part in _parts(thing)]


def _put(node, below, bits, groups, offset):
    word = Word(bits) if bits else None
    if word is not None:
        below.append(word)
    for parts, shares in groups:
        leaves = [Leaf(node, field, component) for field, component in parts]
        if word is None:
            below += leaves
        else:
            word.add(leaves, shares)
        for leaf, (field, _) in zip(leaves, parts):
            field._placed(leaf, offset)


def _units(fields, is_array):
    """What lies in a cell side by side: (bits of a word, or 0 where there is none; groups of parts, and do they share an
    exponent). is_array: in a quant_array, where a field needs no word."""
    units = []
    for is_packed, things in itertools.groupby(_flat(fields), lambda thing: hasattr(thing, "_words")):
        if is_packed:
            units += [word for packed in things for word in packed._words()]
            continue
        parts = [part for thing in things for part in _parts(thing)]
        if is_array:
            units += [(0, [([part], False)]) for part in parts]
            continue
        for _, own in itertools.groupby(parts, lambda part: id(part[0])):
            units += _words_of(list(own))
    return units


def _words_of(parts):
    """Units of parts of one field: those that are quantised in one word if they fit, else in one each."""
    types = {part: part[0]._stored_type(part[1]) for part in parts}
    quantised = [part for part in parts if isinstance(types[part], QuantType)]
    bits = least_word(bits_of([types[part] for part in quantised], False))
    plain = [(0, [([part], False)]) for part in parts if part not in quantised]
    if not quantised:
        return plain
    if bits is not None:
        return [(bits, [([part], False) for part in quantised]), *plain]
    return [*((least_word(types[part].bits), [([part], False)]) for part in quantised), *plain]


def _check_array(level, units):
    """Raises TreeError where a quant_array level cannot take these."""
    count = sum(len(group) for _, groups in units for group, _ in groups)
    if count != 1 or units[0][0]:
        got = "BitpackedFields" if units[0][0] else f"{count} fields or components"
        raise TreeError(f"quant_array: expected one quantised scalar field in it, got {got}; give each a quant_array of its own")
    field, component = units[0][1][0][0][0]
    check_element(level, field._described(), field._stored_type(component))


def _flat(fields):
    for thing in fields:
        if isinstance(thing, (list, tuple)):
            yield from _flat(thing)
        else:
            yield thing


def _parts(thing):
    parts = getattr(thing, "_place_parts", None)
    if parts is None:
        raise TreeError(f"place: expected fields such as mt.field(mt.f32), got {thing!r}")
    return parts()


def _check_free(field, component, seen):
    check_early(field)
    placed = {leaf.component for leaf in field._leaves}
    over = field._is_placed and not placed  # a member of an instance
    taken = over or None in placed or component in placed or (component is None and placed)
    if taken or (field, component) in seen or (field, None) in seen:
        part = "" if component is None else f" component {component} of"
        raise TreeError(f"place:{part} {field._described()} has a place already, in {_where(field)}; make another field")
    seen.add((field, component))


def _where(field):
    for leaf in field._leaves:
        return f"a tree of shape {list(leaf.shape)}"
    return f"a tree of shape {list(field.shape)}" if field._is_placed else "this call"
