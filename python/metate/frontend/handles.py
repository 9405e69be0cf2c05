"""What an expression may stand for besides values: trees, members, cells, arrays, and variables.

These are the front end's own objects; values and references are the builder's (`_compiler.Value`,
`_compiler.Reference`), and anything else is a Python object known while compiling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TreeHandle:
    """A tree argument."""

    native: Any
    type: Any
    name: str
    argument: int | None = None  # which one of the kernel's; None of a tree of fields
    partners: tuple = ()  # "grad", "dual": those that it has

    def describe(self):
        return f"tree '{self.name}'"


@dataclass(frozen=True)
class MemberHandle:
    """`f.a`: one member over the whole tree."""

    tree: TreeHandle
    name: str

    @property
    def shape(self):
        return self.tree.type.members[self.name].shape

    def describe(self):
        return f"member '{self.name}' of tree '{self.tree.name}'"


@dataclass(frozen=True)
class LevelHandle:
    """`f.pointer0`: one level of a tree."""

    tree: TreeHandle
    name: str
    level: Any = None  # the object of metate.fields, of a level of a tree of fields
    place: Any = None  # of `x.snode`, which stands for the level that holds x: the field x

    def describe(self):
        return f"level '{self.name}' of tree '{self.tree.name}'"


@dataclass(frozen=True)
class CellHandle:
    """`f[i, j]`: one cell, of which members are taken by attribute."""

    tree: TreeHandle
    indices: tuple

    def describe(self):
        return f"a cell of tree '{self.tree.name}'"


@dataclass(frozen=True)
class ArrayHandle:
    """An array argument."""

    native: Any
    name: str
    is_clamped: bool = False  # an index outside means the nearest element
    argument: int | None = None  # which one of the kernel's
    partners: tuple = ()  # (kind, has no gaps) of its gradient ("grad") and its dual
    part: int | None = None  # of an array of structs: which one of its members' arrays

    @property
    def ndim(self):
        return self.native.rank

    @property
    def first(self):
        return self

    def describe(self):
        return f"array '{self.name}' of {self.native.rank} dimensions"


@dataclass(frozen=True)
class StructArrayHandle:
    """An array of structs: an array for each leaf, by its path (`pos`, `inner.pos`)."""

    type: Any
    arrays: dict
    name: str

    @property
    def first(self):
        return next(iter(self.arrays.values()))

    @property
    def ndim(self):
        return self.first.ndim

    @property
    def is_clamped(self):
        return self.first.is_clamped

    def describe(self):
        return f"array '{self.name}' of {self.ndim} dimensions"


ARRAYS = (ArrayHandle, StructArrayHandle)


@dataclass(frozen=True)
class BuilderHandle:
    """A sparse matrix builder: the arrays of its triplets, by name (metate/triplets.py)."""

    arrays: dict
    type: Any
    name: str

    def describe(self):
        return f"sparse matrix builder '{self.name}'"


@dataclass(frozen=True)
class PackHandle:
    """An argument pack: what its members stand for, by name."""

    type: Any
    members: dict
    name: str

    def describe(self):
        return f"argument pack '{self.name}'"


@dataclass(frozen=True)
class EntryHandle:
    """`K[i, j]` of a builder: something can be added to it, and nothing else."""

    builder: BuilderHandle
    indices: tuple

    def describe(self):
        return f"an entry of {self.builder.describe()}"


@dataclass(frozen=True)
class FieldHandle:
    """A field: members of a tree, which is a hidden argument; its indices are the tree's coordinates plus an offset."""

    tree: TreeHandle
    placement: Any
    name: str
    field: Any  # the object of metate.fields

    @property
    def shape(self):
        return self.placement.shape

    @property
    def element(self):
        return self.placement.element

    def describe(self):
        return f"field '{self.name}'"


@dataclass(frozen=True)
class StructFieldHandle:
    """A struct field: fields by name, each of which becomes a FieldHandle when it is used."""

    field: Any  # the object of metate.fields
    name: str
    outer: Any = None  # the StructFieldHandle that this one is a member of, the outermost one

    def describe(self):
        return f"struct field '{self.name}'"


FIELDS = (FieldHandle, StructFieldHandle)
LEVELS = (MemberHandle, LevelHandle)


@dataclass(frozen=True)
class ListHandle:
    """`x[i]` with one index less than x has: a list, of a field or member below a dynamic level."""

    field: Any  # the handle of the field or member
    indices: tuple

    def describe(self):
        return f"a list of {self.field.describe()}"


@dataclass(frozen=True)
class ShapeHandle:
    """`x.shape` of an array: its extents, each read when it is used."""

    array: ArrayHandle

    def describe(self):
        return f"the shape of array '{self.array.name}'"


class ElementShape(tuple):
    """`x.element_shape` of an array: its elements' extents; called, as Taichi's code does, a list of them."""


@dataclass(frozen=True)
class TextParts:
    """An f-string: texts and values."""

    parts: tuple

    def describe(self):
        return "an f-string"


@dataclass(frozen=True)
class BoundMethod:
    """A method of a value, before it is called."""

    receiver: Any
    name: str

    def describe(self):
        return f"method '{self.name}'"


@dataclass
class Local:
    """A variable that lives in the kernel."""

    reference: Any
    node: Any


@dataclass
class Constant:
    """A name bound to something known while compiling, or to a value that does not change."""

    value: Any
    is_left: bool = False  # by an unrolled loop that is over: another loop may take the name


@dataclass
class Scope:
    """The names of a block.

    `kind` is "function", "loop" (a loop at run time), "branch" (of an if at run time) or "static" (an
    iteration of an unrolled loop).
    """

    kind: str
    parent: Scope | None = None
    names: dict = field(default_factory=dict)
    hidden: dict = field(default_factory=dict)  # name -> Locals of branches that ended, for reuse
    absent: dict = field(default_factory=dict)  # name -> why it cannot be read here

    def lookup(self, name):
        scope = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def why_absent(self, name):
        scope = self
        while scope is not None:
            if name in scope.absent:
                return scope.absent[name]
            scope = scope.parent
        return None

    def storage(self):
        """The scope in whose region variables are made."""
        scope = self
        while scope.kind not in ("function", "loop"):
            scope = scope.parent
        return scope

    def owner(self, name):
        """(scope that binds the name, is there a condition or loop at run time in between)."""
        scope, is_conditional = self, False
        while scope is not None and name not in scope.names:
            is_conditional = is_conditional or scope.kind != "static"
            scope = scope.parent
        return scope, is_conditional

    def visible(self):
        found, scope = {}, self
        while scope is not None:
            found = {**scope.names, **found}
            scope = scope.parent
        return found


@dataclass
class Loop:
    """A loop being walked. `active` and `going` are u1 locals: this iteration goes on, the loop goes on."""

    is_static: bool
    is_parallel: bool
    depth: int  # of run-time regions around its body
    active: Any = None
    going: Any = None


@dataclass
class Frame:
    """A function being walked: the kernel, or a @func inlined into it."""

    source: Any
    scope: Scope
    closed: dict = field(default_factory=dict)  # of a def in a kernel: the names around it
    caller: Frame | None = None
    call: Any = None  # the call's node, in the caller's source
    entry: int = 0  # the builder's scope at entry
    loops: list = field(default_factory=list)
    live: Any = None  # u1 local: has not returned yet; None where the only return stands last
    result: Any = None  # what the only return gives
    returns: list = field(default_factory=list)  # early returns: for each set of types, the variables of the values
    which: Any = None  # i32 local: the number of the set that was returned
    depth: int = 0  # of run-time regions around its call
    accumulated: Any = ()  # variables that parallel loops of the function change in place
    has_returned: bool = False  # under a condition at run time
    structure: Any = None  # a returned thing, for how the values are nested
    annotation: Any = None  # of the result
    may_end: bool = False  # without a return that gives a value, though others do: it is called, not inlined

    @property
    def is_kernel(self):
        return self.caller is None

    @property
    def nesting(self) -> int:
        """How many calls it stands in."""
        return 0 if self.caller is None else self.caller.nesting + 1
