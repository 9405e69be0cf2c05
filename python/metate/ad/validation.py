"""`Tape(validation=True)`: what a derivative reads must still be what its call read.

Each scalar that kernels use has the number of its last write. Calls have rising numbers; a derivative that would take a value
of a later one stops, and what it says becomes an error that names both lines.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from ..active_cells import cells_of
from ..derivative import Derivative
from ..errors import AssertionError_, TreeError
from ..fields.field import Field
from ..graph_kernel import GraphKernel
from ..kernel import Kernel
from ..numbered import CellsChanged
from ..remembered_call import SITES_PER_CALL, RememberedCall, at_hand
from .python_writes import WatchedElements

_STALE = re.compile(
    r"(.*:\d+:\d+: )?kernel .*(gradient of kernel ').+?_grad(': the value of .+ was overwritten since), by write (\d+)\b"
)
_HINT = "keep each step's values in places of their own, x[t, i], or let the kernel read a copy"


class Validation:
    """The numbered calls of a tape, also of those that it does not remember.

    As a watcher of calls (recording.py) it has kernels note what they write, and remembers none.
    """

    def __init__(self) -> None:
        self._calls: dict[int, RememberedCall] = {}
        self._watched: dict[int, WatchedElements] = {}
        self._trees: dict[Any, list[tuple[int, RememberedCall]]] = {}  # by weak reference: versions that calls left

    @property
    def unseen(self) -> Validation:
        """What watches calls that have no part in the gradient."""
        return self

    def call(self, kernel: Kernel, arguments: tuple, keywords: dict) -> Any:
        """A kernel is called that the tape does not remember."""
        if isinstance(kernel, Derivative):
            return kernel.call(arguments, keywords)
        bound = kernel._bind(arguments, keywords)
        if isinstance(kernel, GraphKernel):
            for one, given in kernel.parts(bound):
                self.call(one, given, {})
            return None
        return self.run(kernel, bound, RememberedCall(kernel.__name__))

    def insert(self, function: Any, arguments: tuple) -> None:
        """A function with a gradient of its own is called, which nobody remembers."""

    def wrote(self, write: Any, arguments: tuple) -> None:
        """All elements of a field or array were written, which nobody remembers: their numbers say so."""

    def run(self, kernel: Kernel, bound: tuple, call: RememberedCall) -> Any:
        """Calls a kernel, whose writes note the call's number."""
        self._calls[call.number] = call
        numbered = kernel.numbered
        try:
            with at_hand(call):
                result = numbered.call_bound(bound)
            self._note_cells(call)
            return result
        finally:
            for field in list(numbered.fields):
                self._watch(field)

    def _note_cells(self, call):
        """What cells there are behind a call that asked for them, and which calls change them."""
        for one in call.asked:
            tree = one.tree()
            self._trees.setdefault(one.tree, [])
            if one.key not in call.cells:
                call.cells[one.key] = tree.topology_version, cells_of(tree, one.path)
        for reference, versions in self._trees.items():
            with contextlib.suppress(AttributeError, TreeError):  # the tree is gone
                version = reference().topology_version
                if not versions or versions[-1][0] != version:
                    versions.append((version, call))

    def reverse(self, function: Any, arguments: tuple, is_restored: bool) -> None:
        """Calls the gradient of what a tape remembers, the call at hand.

        is_restored: what the kernel overwrote has been put back.
        """
        if not isinstance(function, Kernel):
            function.grad(*arguments)
            return
        with self._explained_of(function.__name__):
            derivative = function.grad.numbered
            (derivative.call_restored if is_restored else derivative.call_bound)(arguments)

    @contextlib.contextmanager
    def _explained_of(self, name):
        """In the block the derivative of a kernel of this name runs; says where a value was written that it wanted."""
        try:
            yield
        except CellsChanged as error:
            raise self._of_cells(error, name) from None
        except AssertionError_ as error:
            found = self._explained(error, name)
            if found is None:
                raise
            raise found from None

    def close(self) -> None:
        """Fields are themselves again."""
        for one in self._watched.values():
            one.leave()
        self._watched.clear()

    def _watch(self, field):
        if isinstance(field, Field) and id(field) not in self._watched and field._has_memory:
            self._watched[id(field)] = WatchedElements(field, self._remember)

    def _remember(self, call):
        self._calls[call.number] = call

    def _explained(self, error, name):
        found = _STALE.search(str(error))
        if found is None:
            return None
        number, site = divmod(int(found[4]), SITES_PER_CALL)
        call = self._calls.get(number)
        return AssertionError_(f"{found[1] or ''}{found[2]}{name}{found[3]} {_writer(call, site)}; {_HINT}", status=error.status)

    def _of_cells(self, error, name):
        asked, versions = error.asked, self._trees.get(error.asked.tree, [])
        later = [call for version, call in versions[[v for v, _ in versions].index(error.version) + 1 :]]
        who = f"by kernel '{later[0].name}'" if later else "by Python or a derivative"
        file, line, column = asked.place
        return AssertionError_(
            f"{file}:{line}:{column}: gradient of kernel '{name}': which cells of '{asked.shown}' are active is asked here and "
            f"needed again, and was changed since {who}; activate cells before, or give the later ones a tree of their own"
        )


def _writer(call, site):
    """Who wrote: the kernel or Python, and where."""
    if call is None:
        return "in another tape"
    who = call.name if call.name == "Python" else f"kernel '{call.name}'"
    if not call.sites or site >= min(len(call.sites), SITES_PER_CALL - 1):
        return f"by {who}"
    file, line, column = call.sites[site]
    return f"by {who}, at {file}:{line}" + (f":{column}" if column else "")
