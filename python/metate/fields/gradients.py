"""Gradients and duals of fields: `x.grad`, `x.dual`, fields of the same elements that are made when they are first asked for.

A *partner* of a field is one of the two. It has a place of its own: by hand, beside its field (`lazy_grad`), or in a tree that
is laid out as its field's (partner_places.py). Without a place it stands for nothing, and its field is a constant to derivatives.
"""

from __future__ import annotations

from typing import Any

from .. import context as _context
from .. import value_types as _types
from ..errors import RuntimeTypeError_, TreeError

KINDS = ("grad", "dual")


def wanted(needs_grad: Any, needs_dual: Any, type_: Any) -> tuple[str, ...]:
    """The kinds of partners that a field of this type is made with. Raises RuntimeTypeError_ where it can have none."""
    kinds = tuple(kind for kind, needed in zip(KINDS, (needs_grad, needs_dual)) if needed)
    if kinds and not _has_floats(type_):
        raise RuntimeTypeError_(f"needs_{kinds[0]}: expected a field of a float type, got {type_!r}")
    return kinds


def partner_of(field, kind: str) -> Any:
    """`x.grad` or `x.dual`, made now if need be; None of integers, partners, and members of trees that have none."""
    if field.partner_kind is not None or not field.dtype.is_float:
        return None
    if _is_over_instance(field):
        return _partner_in_instance(field, kind)
    found = field._partners.get(kind)
    if found is None:
        name = f"{field.name}.{kind}" if field.name else ""
        stored = field._stored and (field.dtype,) * len(field._stored)  # component by component, as the field's own
        made = type(field)(field.element, name, field._given_offset, field._made_at, stored=stored)
        made.partner_kind = kind
        found = field._partners.setdefault(kind, made)
    return found


def placed_partner(field, kind: str) -> Any:
    """The field's partner where it has a place, else None."""
    if _is_over_instance(field):
        return partner_of(field, kind)
    found = field._partners.get(kind)
    return found if found is not None and found._is_placed else None


def _is_over_instance(field) -> bool:
    """Is it a member of a tree's instance (Member.field)?"""
    return field._fixed is not None and not field._leaves


def _partner_in_instance(field, kind: str) -> Any:
    """The same members of the tree that holds the gradient, or dual, of the field's tree; None where that has none."""
    tree, found = getattr(field._tree, kind), field._partners.get(kind)
    if tree is None:
        return None
    if found is None or found._tree is not tree:
        found = type(field)(field.element, f"{field.name}.{kind}", None, field._made_at)
        found.partner_kind = kind
        found._lay_over(tree, field._placement._replace(tree=tree.type))
        _context.current().holdings.partners.add(found)
        field._partners[kind] = found
    return found


def any_partner_of(field, kind: str) -> Any:
    """The partner of a field or of a struct field, one whose members are called so included."""
    return (struct_partner_of if hasattr(type(field), "get_member_field") else partner_of)(field, kind)


def struct_partner_of(field, kind: str) -> Any:
    """The struct field of the partners of a struct field's members; None where no member has one."""
    found = field._partners.get(kind)
    if found is None:
        members = {name: any_partner_of(member, kind) for name, member in field._members.items()}
        members = {name: member for name, member in members.items() if member is not None}
        if not members:
            return None
        type_ = _types.StructType({name: getattr(one, "type", None) or one.element for name, one in members.items()})
        made = type(field)(type_, members, f"{field.name}.{kind}" if field.name else "", field._made_at)
        found = field._partners.setdefault(kind, made)
    return found


def check_needed(field) -> None:
    """Raises TreeError for a field that was made with needs_grad=True and whose gradient has no place when it is used."""
    for kind in field._needs:
        if placed_partner(field, kind) is None:
            hint = f"place x.{kind} as well, or call mt.root.lazy_{kind}()"
            raise TreeError(f"{field._described()}: needs_{kind}: its {_WORDS[kind]} has no place; {hint}")


def check_early(partner) -> None:
    """Raises TreeError for a partner that comes too late: derivatives were compiled in which its field is a constant."""
    if partner._is_late:
        text = "a derivative was computed in which its field is a constant; place it before the first derivative"
        raise TreeError(f"{partner._described()}: {text}")


def clear(kind: str) -> None:
    """Sets all partners of one kind in the current context to zero, in the cells that are active."""
    for field in list(_context.current().holdings.partners):
        if field.partner_kind == kind and field._has_memory:
            field.fill(0)


_WORDS = {"grad": "gradient", "dual": "dual"}


def _has_floats(type_):
    if isinstance(type_, _types.StructType):
        return any(map(_has_floats, type_.members.values()))
    return getattr(type_, "dtype", type_).is_float
