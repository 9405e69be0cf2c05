"""One launch: arguments are made of a case, a kernel is called, what it left behind is gathered.

Shared by the process that compiles and the one that only loads modules; nothing here may need the
compiler.
"""

from __future__ import annotations

import contextlib
import functools
import io
import tempfile
import warnings
from dataclasses import dataclass, field

import numpy as np

import metate as mt
import metate.errors as errors
from metate import devices
from metate.tree_instances import TreeType

from .case import Case, is_parameter, is_passed
from .draws import KEY
from .properties import Broken, Reserving, put_in_order
from .rules import Type
from .trees import DENSE

_ALIGN = 64
_SLOTS = 512  # more than the serial statements of a case take, given up and taken again


def aligned(data: bytes) -> np.ndarray:
    """A writable copy at an address that a tree's block may have."""
    room = np.empty(len(data) + _ALIGN, np.uint8)
    start = -room.ctypes.data % _ALIGN
    part = room[start : start + len(data)]
    part[:] = np.frombuffer(data, np.uint8)
    return part


@functools.cache
def _host():
    """A context of the CPU, for blocks that go to a device."""
    return mt.Context()


def bound(type_: TreeType, block: bytes):
    """A tree of the current context that is as the block says; on a device a copy, in the device's memory."""
    if mt.context.current().options.arch not in devices.ARCHS:
        return type_.bind(aligned(block), reset=False)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/tree"
        with _host():
            tree = type_.bind(aligned(block), reset=False)
            tree.save(path)
            capacity = {level: one.capacity for level, one in tree.stats().items()}
        has_names = not any("[" in level for level in capacity)  # several levels of one name
        return type_.load(path, capacity=capacity if has_names else None)


@dataclass
class Fields:
    """The trees in which a case's fields lie; can be pickled without `live`.

    Attributes:
        blobs, blocks: of each tree its type and the block before the launch.
        members: "tree argument.member" -> (number of the tree, its members, one for each component or one).
        hidden: what the compiled kernel takes after its own arguments: numbers of trees, None for a random key.
        live: the trees that the fields have in this process.
    """

    blobs: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    members: dict = field(default_factory=dict)
    hidden: list = field(default_factory=list)
    live: list = field(default_factory=list)

    def trees(self):
        """Fresh trees like those of the fields."""
        return [bound(TreeType.from_blob(blob), block) for blob, block in zip(self.blobs, self.blocks)]

    def restored(self):
        """The fields' own trees, as they were before any launch."""
        for tree, block in zip(self.live, self.blocks):
            tree.block[:] = block
        return self.live

    def __getstate__(self):
        return {**self.__dict__, "live": []}


def _capacity(case: Case, type_: TreeType, given=None) -> dict:
    """Slots of the levels whose greatest extents are not enough: slots that a task gives up count until it ends."""
    growing = ("hash", "pointer", "dynamic") if "deactivate(" in case.twin else ("hash",)
    return {level.name: _SLOTS for level in type_.levels if level.kind in growing} | (given or {})


def filled(case: Case, argument, type_: TreeType) -> bytes:
    """The block of a tree argument before the launch."""
    capacity = _capacity(case, type_, argument.capacity)
    tree = type_.bind(aligned(bytes(type_.bytes(capacity))), capacity)
    members = case.tree_type(argument.type).members
    for number, (member, at, value) in enumerate([*argument.history, *argument.cells]):
        if argument.history and number == len(argument.history):
            tree.deactivate_all()
        shape, at = members[member].type.shape, _moved(at, members[member].origin)
        tree[member][at] = np.reshape(np.array(value, dtype=object), shape).tolist() if shape else value
    for member, at in argument.active:
        tree[member].activate(*_moved(at, members[member].origin))
    for member, at in argument.gone:
        tree[member].deactivate(*_moved(at, members[member].origin))
    if argument.is_sorted:
        put_in_order(tree, members.items())
    return bytes(tree.block)


def _moved(at, origin) -> tuple:
    return tuple(k + first for k, first in zip(at, origin))


def fields_of(case: Case, namespace: dict) -> Fields:
    """The fields that the kernel's text made, with their elements before the launch."""
    made = Fields()
    for argument in case.arguments:
        if argument.kind != "tree" or argument.form != "fields":
            continue
        described = case.tree_type(argument.type).members
        for member in described.values():
            one = eval(member.handle, namespace)
            known = [k for k, tree in enumerate(made.live) if tree is one._tree]
            if not known:
                made.live.append(one._tree)
                made.blobs.append(one._tree.type.blob)
            made.members[f"{argument.name}.{member.name}"] = (known or [len(made.live) - 1])[0], one._placement.members
        for position, (name, at, value) in enumerate([*argument.history, *argument.cells]):
            if argument.history and position == len(argument.history):
                _clear(made, argument, made.live)
            number, members = made.members[f"{argument.name}.{name}"]
            _write(made.live[number], members, _moved(at, described[name].origin), value, described[name].type.shape)
        for name, at in argument.active:
            number, members = made.members[f"{argument.name}.{name}"]
            made.live[number][members[0]].activate(*_moved(at, described[name].origin))
        for name, at in argument.gone:
            number, members = made.members[f"{argument.name}.{name}"]
            made.live[number][members[0]].deactivate(*_moved(at, described[name].origin))
    for tree in made.live:
        capacity = _capacity(case, tree.type)
        if capacity:
            tree.migrate(capacity)
    _sort(case, made, made.live, [None] * len(case.arguments))
    made.blocks = [bytes(tree.block) for tree in made.live]
    return made


def _clear(fields, argument, trees):
    """Deactivates every cell of the trees that a case's fields lie in, where cells can be inactive."""
    for tree in {number: trees[number] for name, (number, _) in fields.members.items()
                 if name.startswith(f"{argument.name}.")}.values():  # fmt: skip
        if any(level.kind not in DENSE for level in tree.type.levels):
            tree.deactivate_all()


def _sort(case, fields, trees, values):
    """Puts the slots of the trees in order of which the case says so; `trees` are those of fields, `values` the arguments."""
    for argument, value in zip(case.arguments, values):
        if argument.kind != "tree" or not argument.is_sorted:
            continue
        described = case.tree_type(argument.type).members
        if argument.form == "tree":
            if value is not None:
                put_in_order(value, described.items())
            continue
        parts: dict = {}
        for name, member in described.items():
            number, members = fields.members[f"{argument.name}.{name}"]
            parts.setdefault(number, []).append((members[0], member))
        for number, members in parts.items():
            put_in_order(trees[number], members)


def _write(tree, members, at, value, shape):
    if len(members) > 1:
        for member, part in zip(members, value):
            tree[member][at] = part
    else:
        tree[members[0]][at] = np.reshape(np.array(value, dtype=object), shape).tolist() if shape else value


def _records(case, argument):
    """The array of structs before the launch."""
    members = case.tree_type(argument.type).members
    extents = next(iter(members.values())).shape
    made = mt.ndarray(mt.types.struct(**{name: _type(member.type) for name, member in members.items()}), extents)
    for name, at, value in argument.cells:
        shape = members[name].type.shape
        part = made.get_member(name)
        part[tuple(at)] = np.reshape(np.array(value, dtype=object), shape).tolist() if shape else value
    return made


def _type(type_):
    scalar = getattr(mt, type_.scalar)
    return {0: lambda: scalar, 1: lambda n: mt.types.vector(n, scalar), 2: lambda n, m: mt.types.matrix(n, m, scalar)}[
        len(type_.shape)
    ](*type_.shape)


def _made(case, argument, types, blocks):
    if argument.kind == "tree" and argument.form == "records":
        return _records(case, argument)
    if argument.kind == "tree":
        return bound(types[argument.type], blocks[argument.name])
    made = argument.make()
    if argument.kind == "array" and argument.holder == "ndarray":
        array = mt.ndarray(_type(Type(argument.scalar, tuple(argument.shape))), argument.extents)
        array.from_numpy(made)
        return array
    return made


def arguments_of(case: Case, types: dict[str, TreeType], blocks: dict[str, bytes], namespace=None) -> list:
    """Fresh arguments, one for each of the case's; None for fields, and for handles without a namespace to find them in."""
    made = {}
    for a in case.arguments:
        if a.kind == "handle":
            made[a.name] = None if namespace is None else namespace[a.name]
        elif a.kind != "same":
            made[a.name] = _made(case, a, types, blocks) if is_parameter(a) else None
    return [made[a.of if a.kind == "same" else a.name] for a in case.arguments]


def launch(call, case: Case, types, blocks, fields: Fields) -> dict:
    """What a compiled kernel leaves: "status", "printed", "return", each array by name, each member as name.member."""
    arguments, trees = arguments_of(case, types, blocks), fields.trees()
    passed = [value for argument, value in zip(case.arguments, arguments) if is_passed(argument)]
    passed += [KEY if number is None else trees[number] for number in fields.hidden]
    return _launched(call, passed, case, arguments, trees, fields)


def launch_kernel(kernel, case: Case, types, blocks, fields: Fields, namespace, reserves=False) -> dict:
    """The same, called as a user calls it: with the fields themselves. `reserves`: slots are counted before; "counted" is of
    how many trees that was possible."""
    arguments, trees = arguments_of(case, types, blocks, namespace), fields.restored()
    passed = [value for argument, value in zip(case.arguments, arguments) if is_parameter(argument)]
    if not reserves:
        return _launched(kernel, passed, case, arguments, trees, fields)
    counting = [(v, True) for a, v in zip(case.arguments, arguments) if a.kind == "tree" and a.form == "tree"]
    counting += [(tree, False) for tree in trees]
    call = Reserving(kernel, counting, "deactivate(" in case.twin)
    found = _launched(call, passed, case, arguments, trees, fields)
    return found | {"counted": call.counted}


def _launched(call, passed, case, arguments, trees, fields):
    text, status, result = io.StringIO(), None, None
    try:
        with contextlib.redirect_stdout(text), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(*passed)
            if case.again is not None:
                for argument, value in zip(case.arguments, arguments):
                    if argument.name in case.again:
                        _clear(fields, argument, trees) if argument.form == "fields" else value.deactivate_all()
                _sort(case, fields, trees, arguments)
                result = call(*passed)
        if not any(argument.kind == "tree" and argument.capacity for argument in case.arguments):
            _sort(case, fields, trees, arguments)
    except (errors.MetateError, Broken) as error:
        status = f"{type(error).__name__}: {error}"
    for tree in [*trees, *(v for a, v in zip(case.arguments, arguments) if a.kind == "tree" and a.form == "tree")]:
        try:
            tree.check()
        except errors.MetateError as error:
            status = f"check: {error}"
    found = {"status": status, "printed": sorted(text.getvalue().splitlines())}
    if case.returns is not None and status is None:
        found |= {name: np.atleast_1d(np.array(value)) for name, value in case.results_of(result).items()}
    for argument, value in zip(case.arguments, arguments):
        if argument.kind == "array":
            found[argument.name] = np.ascontiguousarray(value.to_numpy() if argument.holder == "ndarray" else value)
        elif argument.kind == "tree" and argument.form == "records":
            for name, values in value.to_numpy().items():
                coordinates = np.array(list(np.ndindex(value.shape)), np.int64)
                flat = values.reshape(len(coordinates), *values.shape[len(value.shape) :])
                _take(found, f"{argument.name}.{name}", coordinates, flat)
        elif argument.kind == "tree" and argument.form == "fields":
            for member in case.members[argument.type]:
                name = f"{argument.name}.{member[0]}"
                number, members = fields.members[name]
                _take(found, name, *_cells(trees[number], members, member[2]))
        elif argument.kind == "tree":
            for name in value.type.members:
                _take(found, f"{argument.name}.{name}", *value[name].cells())
    return found


def _cells(tree, members, shape):
    """Coordinates and values of a field whose components may lie apart."""
    if len(members) == 1:
        return tree[members[0]].cells()
    parts = [tree[member].cells() for member in members]
    for coordinates, _ in parts[1:]:
        np.testing.assert_array_equal(coordinates, parts[0][0])
    values = np.stack([values for _, values in parts], -1)
    return parts[0][0], values.reshape(len(values), *shape)


def _take(found, name, coordinates, values):
    order = np.lexsort(coordinates.T[::-1]) if coordinates.shape[1] else np.arange(len(coordinates))
    found[f"{name} cells"] = coordinates[order]
    found[name] = values[order]
