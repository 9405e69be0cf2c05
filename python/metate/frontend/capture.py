"""What a kernel uses from outside its parameters: fields, and what it reads of template arguments' objects.

While a kernel is walked, Captures gives each field the tree that it is a view of, as a hidden argument,
and notes what the code came to depend on: the *placement* of each field, which fields share a tree, and
the values that were read through a template argument (`self.n`). A compiled instance fits other arguments
of the kernel iff all of that is equal for them (requirements.py). Nothing here launches.

Hidden arguments come after the kernel's own, in the order in which the code first mentions them:

- a tree for each distinct tree, named after the field's variable, `root0`, `root1`, ... where the code uses
  fields of a tree that holds others as well;
- a scalar for each `captures.value(name, dtype, provider)`, with a new value for each launch;
- an array or tree for each argument's gradient or dual that is used, `x.grad`.

In a walk for a derivative each field, array and tree that has a gradient (or dual) brings that along.
"""

from __future__ import annotations

import types as python_types

import numpy as np

from . import handles
from .function import Function
from .keys import (
    Has,
    HasPartner,
    Hides,
    Whole,
    is_covered,
    is_identity,
    is_plain,
    is_struct,
    is_struct_field,
    key_of,
    kind_of,
    place_of,
)
from .requirements import CapturedField, Guard, HiddenNumbers, HiddenPartner, HiddenTree, HiddenValue, Path, Requirements


class Captures:
    """The captures of one kernel while it is walked.

    Args:
        walk: has the builder, gives errors their place.
        names: of the kernel's arguments; hidden ones get others.
    """

    def __init__(self, walk, names):
        self._walk = walk
        self._taken = set(names)
        self._origins = {}  # id of an object -> (the object, its path from an argument)
        self._fields = {}  # id of a field -> (the field, its handle)
        self._trees = {}  # id of a tree -> (the tree, number of its hidden argument, its handle)
        self._outside = {}  # id of an object that the code reaches without the arguments -> the object
        self._values = {}  # name -> (HiddenValue, Value)
        self._partners = {}  # (name of an array or tree, kind) -> the handle of its gradient or dual
        self.derivative = None  # "grad" or "dual": the walk is for a derivative, which takes these of all that it uses
        self.numbering = None  # numbering.Numbering: writes have numbers, which derivatives look at
        self._seen = set()  # guards
        self.requirements = Requirements()

    def argument(self, index, thing):
        """A template argument: what is read through it is noted."""
        self._enter(thing, Path(index))

    def attribute(self, owner, name, thing):
        """`owner.name` was read while compiling and gave `thing`."""
        origin = self._origins.get(id(owner))
        if origin is None:
            self.outside(thing)
            return
        if _is_of_class(owner, name):
            self._guard(origin[1].asked(Hides(name)), False)
            return
        path = origin[1].attribute(name)
        self._guard(path, thing)
        self._enter(thing, path)

    def item(self, owner, key, thing):
        """`owner[key]` was read while compiling; of large arrays, and of objects that make up their elements, these count."""
        origin = self._origins.get(id(owner))
        if origin is None:
            self.outside(thing)
        if origin is None or is_covered(owner):
            return
        try:
            hash(key)
        except TypeError:  # a slice
            self.whole(owner)
            return
        self._guard(origin[1].item(key), thing)
        if not isinstance(owner, np.ndarray):
            self._enter(thing, origin[1].item(key))

    def whole(self, *things, deep=True):
        """Python code saw these while compiling, and may have asked them anything; deep: elements of containers as well."""
        for thing in things:
            if isinstance(thing, (tuple, list)):
                self.whole(*(thing if deep else ()))
                continue
            origin = self._origins.get(id(thing))
            if origin is not None and not is_covered(thing):
                question = Whole()
                self._guard(origin[1].asked(question), question(thing))

    def has(self, owner, name):
        """It was asked while compiling whether `owner` has an attribute."""
        origin = self._origins.get(id(owner))
        if origin is not None:
            question = Has(name)
            self._guard(origin[1].asked(question), question(owner))

    def _guard(self, path, thing):
        guard = Guard(path, key_of(thing))
        if guard not in self._seen:
            self._seen.add(guard)
            self.requirements.guards.append(guard)

    def parent(self, thing, n, above):
        """`thing.parent(n)` of a field or level was asked for while compiling and gave `above`."""
        origin = self._origins.get(id(thing))
        if origin is not None:
            self._enter(above, origin[1].parent(n))

    def _enter(self, thing, path):
        """Remembers where an object, and what it contains, comes from."""
        if isinstance(thing, (tuple, list)):
            for k, element in enumerate(thing):
                self._enter(element, path.item(k))
        elif isinstance(thing, dict):
            for key, element in thing.items():
                self._enter(element, path.item(key))
        elif isinstance(thing, python_types.MethodType):
            self._enter(thing.__self__, path.attribute("__self__"))
        elif is_struct_field(thing):
            for name, member in thing._members.items():
                self._enter(member, path.member(name))
        elif is_struct(thing):
            for name, element in thing.entries.items():
                self._enter(element, path.attribute(name))
        elif kind_of(thing) is None and is_identity(thing):
            return
        if is_plain(thing):
            return
        first = self._origins.setdefault(id(thing), (thing, path))[1]
        if _is_told_apart(thing):
            if first != path:
                self.requirements.require_same(first, path)
            if id(thing) in self._outside:
                self.requirements.require_same(path, Path(None, (), thing))

    def outside(self, thing):
        """The code reached this without the arguments: where it came as an argument too, the code holds for it alone."""
        if id(thing) in self._outside or is_plain(thing):
            return
        parts = ()
        if isinstance(thing, (tuple, list)):
            parts = thing
        elif isinstance(thing, dict):
            parts = thing.values()
        elif is_struct_field(thing):
            parts = thing._members.values()
        elif kind_of(thing) is None and (is_identity(thing) or not _is_told_apart(thing)):
            return
        self._outside[id(thing)] = thing
        for part in parts:
            self.outside(part)
        origin = self._origins.get(id(thing))
        if origin is not None and _is_told_apart(thing):
            self.requirements.require_same(origin[1], Path(None, (), thing))

    def path_of(self, thing):
        origin = self._origins.get(id(thing))
        return origin[1] if origin is not None else Path(None, (), thing)

    def field(self, field, name, node, struct=None):
        """The handle of a field; name: of its variable, struct: the handle that it is a member of. Its tree becomes a hidden
        argument, named after the variable that covers all of it."""
        found = self._fields.get(id(field))
        if found is not None:
            return found[1]
        placement = field._placement
        covered = name if len(placement.tree.members) == len(placement.members) else None
        if struct is not None and covered is None and _counts(struct.field, field._tree) == len(placement.tree.members):
            covered = struct.name
        slot, native = self._tree(field._tree, placement.tree, covered, node)
        handle = handles.FieldHandle(native, placement, name or field.name or "field", field)
        self._fields[id(field)] = field, handle
        for member in placement.members:  # what messages call it
            self._walk.builder.name_member(native.native, member, handle.name, list(placement.offset))
        self.requirements.fields.append(CapturedField(self.path_of(field), placement, slot))
        if self.derivative is not None and field.dtype.is_float and getattr(field, "partner_kind", None) is None:
            self._relate(field, handle, node)
        return handle

    def _relate(self, field, handle, node):
        """Tells the builder where the derivatives of a field's members are; without a place for them it is a constant."""
        kind = self.derivative
        partner = field._partner(kind)
        origin = self._origins.get(id(field))
        if origin is not None:
            self._guard(origin[1].asked(HasPartner(kind)), partner is not None)
        if partner is None:
            return
        if (partner.shape, partner.offset) != (field.shape, field.offset):
            where, found = (
                f"{one.shape} from {one.offset} on" if any(one.offset) else f"{one.shape}" for one in (field, partner)
            )
            text = f"'{handle.name}.{kind}' is placed in cells of shape {found}: expected those of '{handle.name}', {where}"
            raise self._walk.error("derivative", text, node)
        self.attribute(field, kind, partner)
        other = self.field(partner, f"{handle.name}.{kind}", node)
        for member, derivative in zip(handle.placement.members, other.placement.members, strict=True):
            tree, other_tree = handle.tree.native, other.tree.native
            self._walk.emit(node, self._walk.builder.tree_derivative, tree, member, other_tree, derivative)

    def array_partner(self, array, kind, node):
        """The handle of an array argument's gradient or dual, which becomes a hidden argument; None where it has none."""
        found = self._partners.get((array.name, kind))
        contiguous = dict(array.partners).get(kind)
        if found is None and contiguous is not None:
            name = self.unique(f"{array.name}.{kind}")
            element, rank = array.native.element, array.native.rank
            native = self._walk.emit(node, self._walk.builder.array_argument, name, element, rank, contiguous)
            self._add(HiddenPartner(name, array.argument, kind, array.part))
            found = self._partners[array.name, kind] = handles.ArrayHandle(native, name, array.is_clamped)
        return found

    def tree_partner(self, tree, kind, node):
        """The same of a tree that is an argument: a tree of the type's `grad_type()`."""
        found = self._partners.get((tree.name, kind))
        if found is None and kind in tree.partners:
            name, type_ = self.unique(f"{tree.name}.{kind}"), tree.type.grad_type()
            native = self._walk.emit(node, self._walk.builder.tree_argument, name, str(type_))
            self._add(HiddenPartner(name, tree.argument, kind))
            found = self._partners[tree.name, kind] = handles.TreeHandle(native, type_, name)
        return found

    def level(self, level, name, node):
        """The handle of a level of a tree of fields; its tree becomes a hidden argument."""
        found = self._fields.get(id(level))
        if found is None:
            slot, native = self._tree(level._tree, level._tree_type, None, node)
            found = self._fields[id(level)] = level, handles.LevelHandle(native, level.name, level)
            self.requirements.fields.append(CapturedField(self.path_of(level), place_of(level), slot))
        return found[1]

    def _tree(self, tree, type_, name, node):
        """(number, handle) of the hidden argument that is a tree; name: None where it holds more than one field."""
        found = self._trees.get(id(tree))
        if found is None:
            name = self.unique(name) if name else self.unique("root", 0)
            native = self._walk.emit(node, self._walk.builder.tree_argument, name, str(type_))
            slot = self._add(HiddenTree(name, type_))
            found = self._trees[id(tree)] = tree, slot, handles.TreeHandle(native, type_, name)
            if self.numbering is not None:
                self.numbering.tree(native, type_, name, node, lambda name, type_: HiddenNumbers(name, type_, slot))
        return found[1:]

    def value(self, name, dtype, provider):
        """A hidden scalar argument: a `_compiler.Value` that each launch gives anew.

        The same name gives the same value.

        Args:
            name: of the argument, as ahead-of-time modules show it.
            dtype: a scalar type of the package (DType).
            provider: called once for a context with its holdings, `provider(holdings)`; gives a callable without
                parameters that is called at each launch and returns a number. That callable must not keep the
                holdings alive: let it belong to an object of its own.
        """
        found = self._values.get(name)
        if found is None:
            from .native import native_type

            unique = self.unique(name)
            hidden = HiddenValue(unique, dtype, provider)
            value = self._walk.builder.value_argument(unique, native_type(dtype))
            self._add(hidden)
            found = self._values[name] = hidden, value
        return found[1]

    def hide(self, hidden):
        """The argument that was declared last is a hidden one."""
        self._add(hidden)

    def _add(self, hidden):
        self.requirements.hidden.append(hidden)
        return len(self.requirements.hidden) - 1

    def unique(self, name, number=None):
        """A name for an argument that none has: `name` itself, or with a number, from `number` on."""
        candidate = name if number is None else f"{name}{number}"
        number = number or 0
        while candidate in self._taken:
            number += 1
            candidate = f"{name}{number}"
        self._taken.add(candidate)
        return candidate


def _is_told_apart(thing) -> bool:
    """Is there more to it than its key says, so that it matters which of several alike it is?"""
    return kind_of(thing) is not None or not is_covered(thing)


def _is_of_class(owner, name) -> bool:
    """Is `owner.name` code that its class defines? The class is a guard already, so that this needs none."""
    if name in getattr(owner, "__dict__", ()):
        return False
    for base in type(owner).__mro__:
        if name in base.__dict__:
            thing = base.__dict__[name]
            code = (python_types.FunctionType, staticmethod, classmethod, Function)
            return isinstance(thing, code) or hasattr(type(thing), "__metate_kernel__")
    return False


def _counts(struct, tree) -> int:
    """How many members of a tree the fields of a struct field are."""
    members = struct._members.values()
    return sum(
        _counts(one, tree) if is_struct_field(one) else len(one._placement.members) * (one._tree is tree) for one in members
    )
