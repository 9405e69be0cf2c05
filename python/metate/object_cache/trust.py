"""Whose functions give the same result in every process, so that their names stand for them in descriptions."""

from __future__ import annotations

import sys

_OWN = __name__.partition(".")[0]
_TRUSTED = frozenset(
    ("builtins", "math", "_math", "cmath", "operator", "_operator", "numpy", "functools", "_functools", "itertools",
     "collections", "abc", "_abc", "typing", "enum", "dataclasses", "types", "numbers", "fractions", "string", "_collections",
     "argparse")
)  # fmt: skip
_NOT_TRUSTED = ("numpy.random", "numpy.f2py", "numpy.ctypeslib")
_UNPREDICTABLE = frozenset(
    ("input", "open", "globals", "locals", "eval", "exec", "compile", "__import__", "id", "hash", "breakpoint",
     "fromfile", "load", "loadtxt", "genfromtxt", "memmap", "setattr", "delattr")
)  # fmt: skip


def is_own(module: str | None) -> bool:
    """Is it a module of this package? The compiler's identity covers these."""
    return (module or "").partition(".")[0] == _OWN


def is_trusted(module: str | None) -> bool:
    """Do the functions of this module depend on their arguments alone?"""
    name = module or ""
    return name.partition(".")[0] in _TRUSTED and not name.startswith(_NOT_TRUSTED)


def is_unpredictable(function) -> bool:
    """Is it one of the few functions there that do not?"""
    return getattr(function, "__name__", "") in _UNPREDICTABLE


def is_native_class(cls: type) -> bool:
    """Does it come from a compiled extension, so that its objects may hold what Python does not show?"""
    if cls is object or cls in (int, float, str, bytes):
        return False
    module = sys.modules.get(cls.__module__)
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return cls.__module__ == "builtins" or origin == "built-in" or str(origin).endswith((".so", ".pyd"))
