"""Arguments of a packed function that its callers do not give: the fields that its kernel uses, the keys of random numbers."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from .dtypes import dtype
from .errors import MetateError, RuntimeTypeError_
from .frontend.requirements import HiddenTree, HiddenValue

SCALAR = 1  # metate_argument_kind


class Argument(ctypes.Structure):
    """metate_argument of a scalar or a tree."""

    _fields_ = [("kind", ctypes.c_uint32), ("dtype", ctypes.c_uint32), ("rows", ctypes.c_uint32), ("columns", ctypes.c_uint32),
                ("bits", ctypes.c_uint64)]  # fmt: skip

    @property
    def is_integer(self) -> bool:
        """Is it a scalar of an integer type?"""
        return self.kind == SCALAR and dtype(self.dtype).kind != "float"

    @property
    def value(self) -> int:
        """An integer's."""
        of = dtype(self.dtype)
        low = self.bits & (1 << of.bits) - 1
        return low - (low >> of.bits - 1 << of.bits) if of.kind == "int" else low


class HiddenArguments:
    """Those of one function: the process's own trees, which stay as long as it, and values that each launch gets anew.

    Args:
        kernel: the Kernel; its context at a call is where the values come from, as in an ordinary call.
        instance: what it was compiled to.
    Raises RuntimeTypeError_ for a derivative's.
    """

    def __init__(self, kernel: Any, instance: Any):
        self._kernel, self._requirements = kernel, instance.requirements
        self._names = [parameter["name"] for parameter in instance.kernel.parameters]
        requirements = instance.requirements
        for one in requirements.hidden:
            if not isinstance(one, (HiddenTree, HiddenValue)):
                raise RuntimeTypeError_(
                    f"{kernel.__name__}: packed: it takes '{one.name}', which belongs to an argument: callers of tvm-ffi give "
                    "arrays and no gradients; make a module of it"
                )
        self._trees = requirements.trees(())
        self._used = threading.local()  # trees of the launches that run on a thread, the innermost last

    def __len__(self) -> int:
        return len(self._trees)

    def give(self, own: list[Argument], arguments: list[Argument]) -> str:
        """Fills in a launch's arguments, whose trees are then in use; `own`: the caller's. A text says why none is."""
        used: list = []
        try:
            if (draws := getattr(self._kernel, "draws", None)) is not None:  # of a graph, whose loops may be as long as they say
                draws.args = {name: one.value for name, one in zip(self._names, own) if one.is_integer}
            for argument, one, tree in zip(arguments, self._requirements.hidden, self._trees):
                if tree is None:
                    argument.bits = one.provider(self._kernel._home())()
                    continue
                argument.bits = tree._begin_use()
                used.append(tree)
        except MetateError as error:
            _end(used)
            return f"{self._difference() or error}: call packed() again, which compiles it for what there is now"
        self._used.__dict__.setdefault("launches", []).append(used)
        return ""

    def take_back(self) -> None:
        """The launch is over."""
        _end(self._used.launches.pop())

    def _difference(self):
        try:
            return self._requirements.difference(())
        except MetateError as error:
            return str(error)


def _end(used):
    for tree in used:
        tree._end_use()
