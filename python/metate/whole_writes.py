"""Fields and arrays whose elements are all written at once by Python: `fill`, `from_numpy`, `copy_from`.

To tapes and forward mode (metate.ad) they are calls with derivatives, as those of kernels are. Writes of gradients and duals
themselves are none.
"""

from __future__ import annotations

from typing import Any

from . import recording


class WholeWrite:
    """One of the methods, as watchers of calls see it: called with a field or array and what it was given.

    Args:
        name: the method's.
        is_copy: is what it is given a field or array that may have a derivative itself? Otherwise it is a constant.
    """

    def __init__(self, name: str, is_copy: bool = False):
        self.__name__, self._is_copy = name, is_copy

    def __call__(self, target: Any, given: Any) -> None:
        """Does it again."""
        getattr(target, self.__name__)(given)

    def done(self, target: Any, given: Any) -> None:
        """Tells who watches calls (recording.count says whether any are open) that it was done."""
        watcher = recording.innermost()
        if watcher is not None and not target._is_partner:
            watcher.wrote(self, (target, given))

    def grad(self, target: Any, given: Any) -> None:
        """In reverse mode: hands the gradient of what was written on to what it was copied from, and sets it to zero."""
        gradient, source = target._partner("grad"), self._source(given, "grad")
        if gradient is None or gradient is source:
            return
        if source is not None:
            source.from_numpy(source.to_numpy() + gradient.to_numpy())
        gradient.fill(0)

    def dual(self, target: Any, given: Any) -> None:
        """In forward mode: the dual of what was copied, or zero."""
        dual, source = target._partner("dual"), self._source(given, "dual")
        if dual is None:
            return
        if source is None:
            dual.fill(0)
        else:
            dual.copy_from(source)

    def _source(self, given, kind):
        return given._partner(kind) if self._is_copy else None

    def __repr__(self):
        return f"<{self.__name__} of a field or an array>"


FILL, FROM_NUMPY, FROM_TORCH = WholeWrite("fill"), WholeWrite("from_numpy"), WholeWrite("from_torch")
COPY_FROM = WholeWrite("copy_from", is_copy=True)
