"""`mt.lang`: the paths of modules of Taichi that programs import from, `mt.lang.ops` say, with the public names in them."""

from __future__ import annotations

import importlib
import sys
import types

from . import not_here as _not_here

_PARTS = (
    "any_array", "common_ops", "enums", "exception", "expr", "field", "impl", "kernel_impl", "matrix", "matrix_ops", "mesh",
    "misc", "ops", "runtime_ops", "simt", "snode", "source_builder", "struct", "util",
)  # fmt: skip


class _Part(types.ModuleType):
    """One of Taichi's modules: every public name of metate is in it."""

    def __getattr__(self, name):
        return _public(self.__name__, name)


def _public(module, name):
    if name.startswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    package = importlib.import_module(__name__.rpartition(".")[0])
    for place in (package, package.types, package.math, package.errors, package.config):
        if name in vars(place) or name in getattr(place, "__all__", ()):
            return getattr(place, name)
    raise _not_here.error(module, name)


def __getattr__(name):
    if name in _PARTS:
        return sys.modules[f"{__name__}.{name}"]
    return _public(__name__, name)


vars()["__path__"] = ()  # a package without files: its parts are made here
for _part in _PARTS:
    sys.modules.setdefault(f"{__name__}.{_part}", _Part(f"{__name__}.{_part}"))
del _part
