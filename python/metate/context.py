"""The default context's settings: what kernels are compiled for, and default types.

A value that `init` replaces; compiled code is cached under it. The device with its threads is
runtime.py's: this file knows neither the compiler nor the runtime.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from . import types as _types
from .errors import RuntimeValueError_

# Architectures, as init(arch=) and aot.ModuleBuilder(arch=) take them: names of targets.
cpu = "native"
x64 = "x86-64"
arm64 = "aarch64"
_MACHINES = {x64: ("x86_64", "AMD64"), arm64: ("aarch64", "arm64")}


@dataclass(frozen=True)
class Settings:
    """What code is compiled for in this process.

    Attributes:
        target: the compiler's name of the CPU: ``native``, ``x86-64-v3``, ...
        default_ip: type of integer literals and of `int`.
        default_fp: type of floating-point literals and of `float`.
    """

    target: str = cpu
    default_ip: _types.DType = _types.i32
    default_fp: _types.DType = _types.f32


_current = [Settings()]


def current() -> Settings:
    """The default context's settings."""
    return _current[0]


def make_settings(arch=None, cpu=None, default_ip=None, default_fp=None) -> Settings:
    """Settings from what `init` was given; None means the default. Raises RuntimeValueError_."""
    if arch not in (None, "native", "cpu", *_MACHINES):
        raise RuntimeValueError_(f"arch: expected mt.cpu, mt.x64 or mt.arm64, got {arch!r}")
    if arch in _MACHINES and platform.machine() not in _MACHINES[arch]:
        raise RuntimeValueError_(
            f"arch: this machine is {platform.machine()}, got {arch!r}; kernels for other machines are built by mt.aot.Module"
        )
    if cpu is not None and not isinstance(cpu, str):
        raise RuntimeValueError_(f"cpu: expected a CPU's name such as 'x86-64-v3', got {cpu!r}")
    plain = Settings()
    integer = plain.default_ip if default_ip is None else _types.dtype(default_ip)
    real = plain.default_fp if default_fp is None else _types.dtype(default_fp)
    if not integer.is_integer:
        raise RuntimeValueError_(f"default_ip: expected an integer type such as mt.i32, got {integer!r}")
    if not real.is_float:
        raise RuntimeValueError_(f"default_fp: expected a floating-point type such as mt.f32, got {real!r}")
    return Settings(cpu or plain.target, integer, real)


def use(settings: Settings) -> None:
    """Makes `settings` the default context's: what is compiled from now on is compiled for them."""
    _current[0] = settings
