"""`mt._lib.core`: what programs ask Taichi's own core before they choose an arch or a window; the rest of it is not here."""

from __future__ import annotations

import functools
import importlib.util
import sys
import types

from . import devices as _devices
from . import not_here as _not_here

_TEXTS: dict[str, str] = dict.fromkeys(("Arch", "DataType", "Function", "Program", "Type"), "Taichi's own core is not here")


class _Core(types.ModuleType):
    """Which backends there are besides the CPU's. The names are Taichi's."""

    def __getattr__(self, name):
        if name in ("with_cuda", "with_vulkan"):
            return functools.partial(_devices.is_there, name.removeprefix("with_"))
        if name in ("with_amdgpu", "with_dx11", "with_dx12", "with_metal", "with_opengl"):
            return _absent
        if name == "GGUI_AVAILABLE":
            return importlib.util.find_spec("moderngl") is not None
        raise _not_here.error(self.__name__, name, _TEXTS)


def _absent() -> bool:
    """There is no such backend."""
    return False


core = _Core(f"{__name__}.core")
vars()["__path__"] = ()  # a package without files, for `from metate._lib.core import with_cuda`
sys.modules[core.__name__] = core
