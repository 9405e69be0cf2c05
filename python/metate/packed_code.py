"""Code for other machines than the CPU: the bytes of a module, which the device's driver loads.

What a context's JIT and interpreter are for the CPU (kernel.py), the Packer is for a device. Nothing here runs anything.
"""

from __future__ import annotations

from typing import Any


class Packed:
    """What a module was compiled to.

    Attributes:
        data: the bytes of a module file.
    """

    def __init__(self, data: bytes):
        self.data = data


class Packer:
    """Compiles modules for a device."""

    def compile(self, module: Any, choices: Any, told: Any = None) -> Packed:
        """Takes a `_compiler.SourceModule` through all stages; it is used up. A `_compiler.Report` is filled."""
        from metate_native import _compiler

        if told is None:
            return Packed(bytes(_compiler.build_module(module, choices)))
        _compiler.explain(module, choices, told)
        return Packed(bytes(_compiler.pack(module)))
