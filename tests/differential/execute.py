"""One launch: arguments are made of a case, a kernel is called, what it left behind is gathered.

Shared by the process that compiles and the one that only loads modules; nothing here may need the
compiler.
"""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np

import metate.errors as errors
from metate.tree_type import TreeType

from .case import Case

_ALIGN = 64


def aligned(data: bytes) -> np.ndarray:
    """A writable copy at an address that a tree's block may have."""
    room = np.empty(len(data) + _ALIGN, np.uint8)
    start = -room.ctypes.data % _ALIGN
    part = room[start : start + len(data)]
    part[:] = np.frombuffer(data, np.uint8)
    return part


def filled(argument, type_: TreeType) -> bytes:
    """The block of a tree argument before the launch."""
    tree = type_.bind(aligned(bytes(type_.bytes())))
    for member, at, value in argument.cells:
        shape = tree[member].type.shape if hasattr(tree[member].type, "shape") else ()
        tree[member][tuple(at)] = np.reshape(np.array(value, dtype=object), shape).tolist() if shape else value
    for member, at in argument.active:
        tree[member].activate(*at)
    return bytes(tree.block)


def arguments_of(case: Case, types: dict[str, TreeType], blocks: dict[str, bytes]) -> list:
    """Fresh arguments, in the order of the kernel's parameters."""
    made = {
        a.name: types[a.type].bind(aligned(blocks[a.name]), reset=False) if a.kind == "tree" else a.make()
        for a in case.arguments
        if a.kind != "same"
    }
    return [made[a.of if a.kind == "same" else a.name] for a in case.arguments]


def launch(call, case: Case, types, blocks) -> dict:
    """What the kernel leaves: "status", "printed", "return", each array by name, each member as name.member."""
    arguments = arguments_of(case, types, blocks)
    passed = [value for argument, value in zip(case.arguments, arguments) if argument.kind != "static"]
    text, status, result = io.StringIO(), None, None
    try:
        with contextlib.redirect_stdout(text), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(*passed)
    except errors.MetateError as error:
        status = f"{type(error).__name__}: {error}"
    found = {"status": status, "printed": sorted(text.getvalue().splitlines())}
    if case.returns is not None and status is None:
        found["return"] = np.atleast_1d(np.array(result))
    for argument, value in zip(case.arguments, arguments):
        if argument.kind == "array":
            found[argument.name] = np.ascontiguousarray(value)
        elif argument.kind == "tree":
            for name in value.type.members:
                coordinates, values = value[name].cells()
                order = np.lexsort(coordinates.T[::-1])
                found[f"{argument.name}.{name} cells"] = coordinates[order]
                found[f"{argument.name}.{name}"] = values[order]
    return found
