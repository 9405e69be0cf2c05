"""What a compiled instance asks of the arguments that it is used for, and which hidden arguments it takes.

Objects that came as arguments are not kept: they are found by their path from one.
"""

from __future__ import annotations

from typing import Any

from ..record import Record
from .keys import describe_place, key_of, place_of, short


class Path(Record):
    """How an object is found again: attributes and subscripts from argument number `root`, or the object itself."""

    root: int | None
    steps: tuple = ()
    fixed: Any = None
    _compared = ("root", "steps")

    @property
    def is_argument(self) -> bool:
        """An argument itself, or what it contains as a tuple, a dict or a struct field."""
        return self.root is not None and all(kind in ("item", "member") for kind, _ in self.steps)

    def attribute(self, name):
        return Path(self.root, (*self.steps, ("attribute", name)), self.fixed)

    def item(self, key):
        return Path(self.root, (*self.steps, ("item", key)), self.fixed)

    def member(self, name):
        return Path(self.root, (*self.steps, ("member", name)), self.fixed)

    def parent(self, n):
        return Path(self.root, (*self.steps, ("parent", n)), self.fixed)

    def asked(self, question):
        """The answer to a question about the object (keys.Has, keys.Whole)."""
        return Path(self.root, (*self.steps, ("asked", question)), self.fixed)

    def find(self, arguments):
        """The object there now. Raises AttributeError, LookupError, TypeError."""
        thing = self.fixed if self.root is None else arguments[self.root]
        for kind, name in self.steps:
            if kind == "attribute":
                thing = getattr(thing, name)
            elif kind == "parent":
                thing = thing.parent(name)
            elif kind == "asked":
                thing = name(thing)
            else:
                thing = thing[name] if kind == "item" else thing._members[name]
        return thing

    def text(self, names):
        """The path as a person writes it, such as `self.grid[0]`; names: of the arguments."""
        text = names[self.root] if self.root is not None else type(self.fixed).__name__
        for kind, name in self.steps:
            if kind != "asked":
                text += f"[{name!r}]" if kind == "item" else ".parent()" if kind == "parent" else f".{name}"
            elif hasattr(name, "name"):
                text += f".{name.name}"
        return text


class Guard(Record):
    """The code holds where the object at `path` has this key."""

    path: Path
    key: Any


class CapturedField(Record):
    """A field that the code uses: its placement there, and the hidden argument that is its tree."""

    path: Path
    placement: Any
    slot: int


class HiddenTree(Record):
    """A hidden argument: a tree."""

    name: str
    type: Any


class HiddenNumbers(HiddenTree):
    """A hidden argument: the numbers of the last writes (write_numbers.py) of the tree that is hidden argument number `of`."""

    of: int


class HiddenValue(Record):
    """A hidden argument: a scalar. `provider(holdings)` gives the callable that is asked at each launch."""

    name: str
    dtype: Any
    provider: Any


class HiddenPartner(Record):
    """A hidden argument: the attribute `kind` ("grad", "dual") of the array or tree that is argument number `argument`,
    or of a part of it, an array of a struct's member; "_numbers": those of the last writes of an array or tree."""

    name: str
    argument: int
    kind: str
    part: int | None = None


class Requirements:
    """What an instance asks of the arguments that it is used for; empty for a kernel that uses nothing from outside.

    Attributes:
        guards: what was read through template arguments.
        same: pairs of paths at which one object was.
        fields: the fields that are used.
        hidden: HiddenTree, HiddenValue and HiddenPartner, in the order of the kernel's last arguments.
        warnings: (text, file, line) of what compiling it warned of.
        said: what else compiling it told the user: static_print.
        before: of a derivative, (argument, member, what users call it) of what is to hold what it held before the primal ran;
            the member of an array is empty.
        brief_extent: launches whose arrays have no larger extent are over in no time; -1: none is known to be.
        scatters: does it add to places of arrays that it computes, so that code for their extents may be faster (by_shape.py)?
    """

    def __init__(self):
        self.guards: list[Guard] = []
        self.same: list[tuple[Path, Path]] = []
        self.fields: list[CapturedField] = []
        self.hidden: list[HiddenTree | HiddenValue | HiddenPartner] = []
        self.warnings: list[tuple[str, str, int]] = []
        self.said: list[str] = []
        self.before: list[tuple[str, str, str]] = []
        self.brief_extent = -1
        self.scatters = False

    def difference(self, arguments, names=()):
        """None if the instance fits these arguments of the kernel, else what is different, as text."""
        for guard in self.guards:
            try:
                thing = guard.path.find(arguments)
            except (AttributeError, LookupError, TypeError):
                return f"{guard.path.text(names)} is missing"
            if key_of(thing) != guard.key:
                return f"{guard.path.text(names)}: {short(thing)}"
        return self._difference_of_identity(arguments, names) or self._difference_of_fields(arguments, names)

    def require_same(self, one, other):
        """The code took what is at two paths for one object."""
        if not any(pair == (one, other) and pair[1].fixed is other.fixed for pair in self.same):
            self.same.append((one, other))

    def _difference_of_identity(self, arguments, names):
        for one, other in self.same:
            try:
                is_same = one.find(arguments) is other.find(arguments)
            except (AttributeError, LookupError, TypeError):
                return f"{other.text(names)} is missing"
            if not is_same:
                if other.root is None:
                    return f"{one.text(names)} is not what the kernel also uses from outside"
                return f"{one.text(names)} and {other.text(names)} are not the same"
        return None

    def _difference_of_fields(self, arguments, names):
        trees = {}
        for captured in self.fields:
            try:
                found = captured.path.find(arguments)
            except (AttributeError, LookupError, TypeError):
                return f"{captured.path.text(names)} is missing"
            if place_of(found) != captured.placement:
                return f"field {captured.path.text(names)}: {short(found)}"
            tree = found._tree
            if trees.setdefault(captured.slot, tree) is not tree:
                return f"field {captured.path.text(names)} is of another tree than the field before"
        if len({id(tree) for tree in trees.values()}) != len(trees):
            return "fields share a tree"
        return None

    def trees(self, arguments):
        """The tree for each HiddenTree, None for each other hidden argument; for arguments without a difference."""
        found = [None] * len(self.hidden)
        for captured in self.fields:
            if found[captured.slot] is None:
                found[captured.slot] = captured.path.find(arguments)._tree
        for slot, one in enumerate(self.hidden):
            if isinstance(one, HiddenNumbers):
                found[slot] = found[one.of]._numbers
        return found

    def texts(self):
        """(name, text) of each hidden argument that is no template argument itself."""
        for number, one in enumerate(self.hidden):
            used = [captured for captured in self.fields if captured.slot == number]
            if isinstance(one, (HiddenPartner, HiddenNumbers)) or (used and all(captured.path.is_argument for captured in used)):
                continue
            yield one.name, ", ".join(describe_place(captured.placement) for captured in used) or repr(one.dtype)
