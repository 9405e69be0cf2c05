"""Tree types of which a program makes instances, in memory of the process or its own.

The instances are tree.py's, which loads the runtime; it is imported when the first one is made.
"""

from __future__ import annotations

from typing import Any

from . import tree_type as _values
from .tree_blob import branches_of


class TreeType(_values.TreeType):
    """A frozen, hashable tree type; made by ``SNodeTreeBuilder().….build()`` or read from a module."""

    __slots__ = ()

    @classmethod
    def from_blob(cls, blob: bytes) -> TreeType:
        """The type that a type blob describes. The runtime has checked the blob before it gets here."""
        return cls(branches_of(blob), bytes(blob))

    @property
    def align(self) -> int:
        """Bytes to which an instance's memory must be aligned."""
        return _tree().type_align(self)

    def bytes(self, capacity: Any = None) -> int:
        """Bytes of an instance.

        Args:
            capacity: slots of each growing level: a dict of level names, or one int for all of
                them; a level left out gets its full extent.
        Raises TreeError for an unknown level, a capacity below 1 or one above 2**32.
        """
        return _tree().type_bytes(self, capacity)

    def new(self, capacity: Any = None, needs_grad: bool = False, needs_dual: bool = False) -> Any:
        """An instance in memory of this process, zero-copy visible to NumPy.

        Without `capacity` each level may grow to its full extent, as far as the reserved address
        range (at most 64 GiB) holds it; pages are taken from the system when first written.

        Args:
            needs_grad: True makes a tree of `grad_type()` as well, the tree's `grad`, in memory of its own.
            needs_dual: the same, its `dual`, for derivatives in forward mode.
        Raises TreeError for capacities as `bytes` does, and where no member is of a float type.
        """
        made = _tree().new(self, capacity)
        for kind, is_needed in (("grad", needs_grad), ("dual", needs_dual)):
            if is_needed:
                setattr(made, kind, _tree().new_partner(self, capacity))
        return made

    def bind(self, buffer: Any, capacity: Any = None, reset: bool = True, grad: Any = None, dual: Any = None) -> Any:
        """An instance in the caller's memory.

        Args:
            buffer: anything with a writable, contiguous buffer (NumPy array, mmap, memoryview); kept alive, never resized.
            capacity: as for `bytes`; None: the most that fits in the buffer.
            reset: False takes the block that is in the buffer, after a full check of it.
            grad: a buffer for the tree's gradient, an instance of `grad_type()`, which becomes its `grad`; or such a tree.
            dual: the same for its `dual`.
        Raises TreeError when a buffer is too small or misaligned; the text says what is needed.
        """
        made = _tree().bind(self, buffer, capacity, reset)
        for kind, given in (("grad", grad), ("dual", dual)):
            if given is not None:
                setattr(made, kind, _tree().bind_partner(self, given, capacity, reset))
        return made

    def load(self, path: Any, capacity: Any = None, read_only: bool = False) -> Any:
        """An instance out of a file that `t.save(path)` wrote, after a full check of it.

        Args:
            path: the file.
            capacity: as for `new`: the tree gets memory of its own, and may grow.
            read_only: maps the file instead: nothing is copied, nothing may be written, and the file must not change.
        Raises TreeError where the file holds no tree, a damaged one, or one of another type.
        """
        return _tree().load(self, path, capacity, read_only)


def type_from_handle(handle) -> TreeType:
    """The Python value of a type that libmetate has read from a module."""
    from . import runtime

    type_ = TreeType.from_blob(handle.blob)
    runtime.adopt_type(type_, handle)
    return type_


def _tree():
    from . import tree

    return tree
