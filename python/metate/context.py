"""What kernels of the default context are compiled for: a value that `init` replaces.

Threads are runtime.py's, the language's options kernel.py's. This file knows neither the compiler
nor the runtime.
"""

from __future__ import annotations

import platform

from .errors import RuntimeValueError_

# Architectures, as init(arch=) and aot.ModuleBuilder(arch=) take them: names of targets.
cpu = "native"
x64 = "x86-64"
arm64 = "aarch64"
_MACHINES = {x64: ("x86_64", "AMD64"), arm64: ("aarch64", "arm64")}

_target = [cpu]


def target() -> str:
    """The compiler's name of the CPU that kernels are compiled for: ``native``, ``x86-64-v3``, ..."""
    return _target[0]


def set_target(arch=None, name=None) -> None:
    """Sets what kernels are compiled for from now on.

    Args:
        arch: None, ``mt.cpu``, or the architecture that this machine has.
        name: a CPU's name; None = this machine's CPU.
    Raises RuntimeValueError_.
    """
    if arch not in (None, cpu, "cpu", *_MACHINES):
        raise RuntimeValueError_(f"arch: expected mt.cpu, mt.x64 or mt.arm64, got {arch!r}")
    if arch in _MACHINES and platform.machine() not in _MACHINES[arch]:
        raise RuntimeValueError_(
            f"arch: expected this machine's, {platform.machine()}, got {arch!r}; mt.aot.Module builds for other machines"
        )
    if name is not None and (not isinstance(name, str) or not name):
        raise RuntimeValueError_(f"cpu: expected a CPU's name such as 'x86-64-v3', got {name!r}")
    _target[0] = name or cpu
