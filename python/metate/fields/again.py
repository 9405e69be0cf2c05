"""What Python does to whole fields and levels of a device again and again: by kernels.

The host works on a copy of a tree's block, there and back, which takes as long as the block is large. A kernel has to be compiled
first: so the first time goes by the copy, and what is done once more by a kernel. Kernels know fields, so this does not
know them: device_work.py names them.
"""

from __future__ import annotations

from typing import Any

from .. import context as _context
from .. import recording


class ByKernel:
    """The kernels that do such work on a device, as device_work.py names them while metate is imported."""

    deactivate_all: Any = None
    copy_from: Any = None
    fill_real: Any = None
    fill_whole: Any = None


def was_run(name: str, tree: Any, number: int, *arguments: Any) -> bool:
    """Whether the kernel of that name has done the work; False: the caller does it, since it is the first time, or no device's.

    Args:
        name: of a kernel of ByKernel.
        tree: what is worked on; it remembers what was done.
        number: of the level or member.
        arguments: the kernel's.
    """
    if recording.count or not is_here(tree):
        return False
    if (name, number) not in tree._by_host:
        tree._by_host.add((name, number))
        return False
    getattr(ByKernel, name)(*arguments)
    return True


def is_here(tree: Any) -> bool:
    """Does a tree lie on the current context's device, where the host does not reach it?"""
    return tree._is_elsewhere() and _context.current().holdings in tree.type._handles
