"""NumPy, imported by the first use that needs it: importing it takes longer than all that a program of cached kernels does.

Modules that every program loads take `np` from here and ask whether something is NumPy's by `is_array` and `numpy_class`:
before NumPy is imported nothing is, and asking does not import it. Modules that are loaded for arrays, or that compile, import
NumPy as usual.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import TypeIs
else:

    class _OnUse:
        """Stands for the module: each of its names is taken from it when it is first used."""

        def __getattr__(self, name):
            import numpy

            found = getattr(numpy, name)
            setattr(self, name, found)
            return found

    np = _OnUse()


def numpy_class(name: str) -> Any:
    """A class of NumPy's for isinstance; () where NumPy is not imported: nothing is an instance of it."""
    return getattr(sys.modules.get("numpy"), name, ())


def is_array(thing: Any) -> TypeIs[np.ndarray]:
    """Is it a NumPy array?"""
    return isinstance(thing, numpy_class("ndarray"))
