"""A case: the texts of a kernel and of its twin with all that they are called with, as plain data.

What the generator makes, what runs, and what is saved as a regression test. A case can be written as
JSON and read back.
"""

from __future__ import annotations

import itertools
import json
import math
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from types import SimpleNamespace

import numpy as np

from . import numbers as n
from . import trees as _trees
from . import twin_trees as _twin_trees
from . import twins
from .draws import Draws, caller, inside, numbered, unrolled
from .rules import Type


def _extent_text(extent: int) -> str:
    """A dimension that has this extent in a call: a number, any, or a Dim, which is the same for equal extents."""
    if extent % 5 == 0:
        return str(extent) if extent else "None"
    multiple = extent & -extent
    return f"mt.Dim('d{extent}', min={extent // 2}, max={2 * extent + 1}, multiple={multiple})"


@dataclass
class Array:
    """An array argument; `data` holds its components in row-major order."""

    name: str
    scalar: str
    shape: tuple[int, ...]  # of an element
    extents: tuple[int, ...]
    data: list
    strides: str = "plain"  # or "transposed", "gaps", "backwards"
    is_declared: bool = True  # the annotation says dtype and ndim
    kind: str = "array"
    holder: str = "numpy"  # or "ndarray": passed as mt.ndarray

    @property
    def annotation(self) -> str:
        if not self.is_declared and not self.shape:
            return "mt.types.ndarray()"
        dimensions = f"ndim={len(self.extents)}"
        if self.extents and (sum(self.extents) + len(self.name)) % 3 == 0:  # what is always the same needs no draw
            dimensions = f"shape=({', '.join(map(_extent_text, self.extents))},)"
        return f"mt.types.ndarray(dtype={Type(self.scalar, tuple(self.shape)).text}, {dimensions})"

    def make(self) -> np.ndarray:
        whole = (*self.extents, *self.shape)
        values = np.array(self.data, _NUMPY[self.scalar]).reshape(whole)
        if self.strides == "transposed":
            return np.ascontiguousarray(values.transpose()).transpose()
        if self.strides == "gaps":
            wide = np.zeros((*self.extents[:-1], self.extents[-1] * 2, *self.shape), values.dtype)
            wide[(slice(None),) * (len(self.extents) - 1) + (slice(None, None, 2),)] = values
            return wide[(slice(None),) * (len(self.extents) - 1) + (slice(None, None, 2),)]
        if self.strides == "backwards":
            return np.ascontiguousarray(values[::-1])[::-1]
        return values

    def twin(self) -> dict:
        count = math.prod(self.shape)
        places = itertools.product(*map(range, self.extents))
        if not self.shape:
            return dict(zip(places, self.data))
        parts = [tuple(self.data[k : k + count]) for k in range(0, len(self.data), count)]
        return dict(zip(places, parts))


@dataclass
class Value:
    """A scalar, vector or matrix by value."""

    name: str
    scalar: str
    shape: tuple[int, ...]
    data: list
    kind: str = "value"

    @property
    def annotation(self) -> str:
        return Type(self.scalar, tuple(self.shape)).text

    def make(self):
        if not self.shape:
            return self.data[0]
        if self.scalar == "bf16":
            return np.array(self.data, np.float32).reshape(self.shape).tolist()
        return np.array(self.data, _NUMPY[self.scalar]).reshape(self.shape)

    def twin(self):
        return tuple(self.data) if self.shape else self.data[0]


@dataclass
class Bundle:
    """A struct by value; `parts`: each the path ("a"; of a struct in it "b.a"), scalar type, shape and components."""

    name: str
    parts: list
    kind: str = "bundle"

    def _nested(self, leaf, whole):
        """`leaf` of each value, and of each struct `whole` of its members."""

        def of(parts):
            names = dict.fromkeys(path.partition(".")[0] for path, *_ in parts)
            return whole({name: member(name, [part for part in parts if part[0].partition(".")[0] == name]) for name in names})

        def member(name, parts):
            if parts[0][0] == name:
                _, scalar, shape, data = parts[0]
                return leaf(Value(name, scalar, tuple(shape), data))
            return of([(path.partition(".")[2], *rest) for path, *rest in parts])

        return of(self.parts)

    @property
    def annotation(self) -> str:
        text = lambda members: f"mt.types.struct({', '.join(f'{name}={of}' for name, of in members.items())})"
        return self._nested(lambda value: value.annotation, text)

    def make(self):
        return self._nested(lambda value: value.make(), dict)

    def twin(self):
        return self._nested(lambda value: value.twin(), lambda members: SimpleNamespace(**members))


@dataclass
class Static:
    """The value of a template parameter."""

    name: str
    data: int
    kind: str = "static"
    annotation = "mt.template()"

    def make(self):
        return self.data

    def twin(self):
        return self.data


@dataclass
class Same:
    """An array that is passed already, under a second name: arguments that overlap."""

    name: str
    of: str
    annotation: str
    kind: str = "same"


@dataclass
class Handle:
    """A template argument: a field, or an object that has fields; the kernel's text before it makes it."""

    name: str
    kind: str = "handle"
    annotation = "mt.template()"


@dataclass
class Tree:
    """A tree argument: the cells that are written and those that are only activated before the call.

    Attributes:
        form: "tree"; "fields": its members are fields, which the kernel mentions and which are no parameter;
            "records": its members are those of an array of structs.
        history: cells that were written before all of them were deactivated, as in `cells`, which come after.
        gone: cells, as in `active` but not in lists, that are deactivated at last.
        capacity: slots of its levels by name, fewer than the kernel may need; only the kernel's writes go there.
        is_sorted: its slots are put in order before each launch and after the last.
    """

    name: str
    type: str
    cells: list  # [member, coordinates, value]
    active: list  # [member, coordinates]
    kind: str = "tree"
    form: str = "tree"

    @property
    def annotation(self) -> str:
        return f"mt.types.ndarray(dtype={self.type}, ndim={self.ndim})" if self.form == "records" else self.type

    ndim: int = 0  # of records
    history: list = field(default_factory=list)
    gone: list = field(default_factory=list)
    capacity: dict = field(default_factory=dict)
    is_sorted: bool = False


_NUMPY = {"u1": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64} | {
    s: np.dtype(("int" if s[0] == "i" else "uint") + s[1:]) for s in n.INTEGERS
}
_KINDS = {"array": Array, "value": Value, "bundle": Bundle, "static": Static, "tree": Tree, "same": Same, "handle": Handle}


def is_parameter(argument) -> bool:
    """Does the kernel have a parameter for it?"""
    return getattr(argument, "form", None) != "fields"


def is_passed(argument) -> bool:
    """Is it an argument of the compiled kernel, before the hidden ones?"""
    return argument.kind not in ("static", "handle") and is_parameter(argument)


@dataclass
class Case:
    """Attributes as in Program; `members` describes each tree type for its twin."""

    name: str
    kernel: str
    twin: str
    arguments: list
    trees: dict = field(default_factory=dict)  # name -> text that builds it
    members: dict = field(default_factory=dict)  # name -> what a Member is made of, its type as scalar and shape
    contract: bool = False
    tolerances: dict = field(default_factory=dict)  # written name -> {"ulp": 4, "signless": true}
    returns: list | None = None  # "return", or of a struct "return.member", scalar, shape
    again: list | None = None  # launched twice: trees whose cells are all deactivated in between
    covered: list = field(default_factory=list)
    seed: int | None = None
    program: object = field(default=None, repr=False)  # what it was written from, for `reduce`; not saved

    def rewritten(self, program, arguments) -> Case:
        """The same case with the texts of a changed program."""
        return replace(
            self,
            kernel=program.kernel_text(),
            twin=program.twin_text() if self.twin else "",
            arguments=arguments,
            program=program,
        )

    def results_of(self, result) -> dict:
        """What a call gave, by the names in `returns`."""
        names = [name for name, _, _ in self.returns or ()]
        return {name: attrgetter(name[len("return.") :])(result) if "." in name else result for name in names}

    @property
    def overlaps(self) -> bool:
        """Must it be compiled for overlapping arguments?"""
        return any(argument.kind == "same" for argument in self.arguments)

    def tree_type(self, name) -> _trees.TreeType:
        members = [
            _trees.Member(
                m, Type(s, tuple(shape)), [tuple(map(_tupled, level)) for level in levels], _tupled(background), *of_field
            )
            for m, s, shape, levels, background, *of_field in self.members[name]
        ]
        return _trees.TreeType(members, self.trees[name])

    def prologue(self) -> str:
        """Text that builds the tree types."""
        return "".join(text.replace("{name}", name) for name, text in self.trees.items())

    def run_twin(self):
        """(what the twin returns, arguments after it, lines that it printed, what it ends with or None)."""
        lines = []
        namespace = {**twins.functions_of(self.twin), "inf": math.inf, "nan": math.nan, "output": lines.append, "show": show}
        namespace["product"] = itertools.product
        namespace |= {
            "activating": _twin_trees.activating,
            "draws": Draws(),
            "inside": inside,
            "caller": caller,
            "unrolled": unrolled,
            "Record": SimpleNamespace,
            "copied": deepcopy,
            "Place": twins.Place,
        }
        exec(compile(numbered(self.twin), f"<twin of {self.name}>", "exec"), namespace)
        made = {argument.name: self._twin_of(argument) for argument in self.arguments if argument.kind not in ("same", "handle")}
        arguments = [made.get(argument.of if argument.kind == "same" else argument.name) for argument in self.arguments]
        status = result = None
        for launch in range(1 if self.again is None else 2):
            for name in self.again if launch else ():
                if name in made:
                    made[name].clear()
            try:
                result = namespace[self.name](*(a for a, given in zip(arguments, self.arguments) if given.kind != "handle"))
            except AssertionError as error:
                status = f"AssertionError_: {error}"
            if status is None and any(a.kind == "tree" and _is_exhausted(a, made[a.name]) for a in self.arguments):
                status = "CapacityError"
            if status is not None:
                break
        return result, arguments, lines, status

    def _twin_of(self, argument):
        if argument.kind != "tree":
            return argument.twin()
        tree = _twin_trees.TwinTree(self.tree_type(argument.type))
        for member, at, value in argument.cells:
            tree.write(member, tuple(at), _tupled(value))
        for member, at in argument.active:
            tree.activate(member, tuple(at))
        for member, at in argument.gone:
            tree.deactivate(member, tuple(at))
        return tree

    def save(self, path) -> None:
        """Writes it as JSON, texts as lists of lines."""
        data = asdict(replace(self, program=None))
        del data["program"]
        data["kernel"], data["twin"] = self.kernel.splitlines(), self.twin.splitlines()
        data["trees"] = {name: text.splitlines() for name, text in self.trees.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=1) + "\n")

    @classmethod
    def load(cls, path) -> Case:
        data = json.loads(path.read_text())
        data["kernel"], data["twin"] = ("\n".join(data[key]) + "\n" for key in ("kernel", "twin"))
        data["trees"] = {name: "\n".join(lines) + "\n" for name, lines in data["trees"].items()}
        data["arguments"] = [_argument(given) for given in data["arguments"]]
        data["members"] = {
            name: [[m, s, *map(_tupled, of_type)] for m, s, *of_type in members] for name, members in data["members"].items()
        }
        return cls(**data)


def _is_exhausted(argument, tree) -> bool:
    """Has the twin's tree more than fits?"""
    return tree.is_full or any(taken > argument.capacity.get(name, taken) for name, taken in tree.needed().items())


def _argument(given):
    kind = _KINDS[given["kind"]]
    return kind(**{key: _tupled(value) if key in ("shape", "extents") else value for key, value in given.items()})


def _tupled(value):
    return tuple(map(_tupled, value)) if isinstance(value, (list, tuple)) else value


def show(value, scalar: str, shape=()) -> str:
    """A value as `print` in a kernel writes it."""
    if shape:
        parts = [show(part, scalar) for part in value]
        if len(shape) == 1:
            return f"[{', '.join(parts)}]"
        rows = [f"[{', '.join(parts[k : k + shape[1]])}]" for k in range(0, len(parts), shape[1])]
        return f"[{', '.join(rows)}]"
    if scalar == "u1":
        return str(bool(value))
    if n.is_float(scalar):
        return str(np.float32(value)) if scalar == "f32" else repr(float(value))
    return str(value)
