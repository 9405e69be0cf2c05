"""Machines besides the CPU that kernels run on: which archs they are, how a device of one is opened, what is compiled for it.

A driver is a library beside libmetate, which is loaded when a device of it is opened. Nothing here knows contexts.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

from .errors import RuntimeError_, RuntimeValueError_

if TYPE_CHECKING:
    from metate_native import _runtime

# Architectures, as Context(arch=) takes them.
CUDA, VULKAN, SIMT = "cuda", "vulkan", "simt"
GPU = "gpu"  # the first of these that is there
LAVAPIPE = "vulkan:lavapipe"  # the target of Mesa's CPU device
_GPUS = (CUDA, VULKAN)
ARCHS = (GPU, CUDA, VULKAN, SIMT)

_THREADS = "METATE_NUM_THREADS"

# Devices that something of the program still refers to: later ones are opened on their machines.
_open: weakref.WeakSet[_runtime.Device] = weakref.WeakSet()
_opening = threading.Lock()  # one at a time, so that two threads get one machine


class NoDeviceError(RuntimeValueError_):
    """There is no such machine here; the text says why, as its driver does."""


def open_device(arch: str, threads: int | None, profile: bool, launch_timeout: float = 0) -> _runtime.Device:
    """A device of an arch, ``"cpu"`` or one of ARCHS.

    Devices of one of ARCHS share a machine while any of them lives: what lies in the memory of one is in reach of the
    others' kernels, as it is on the CPU. Once it is lost the next one is opened on a machine of its own.

    Args:
        threads: as of a context; None: as the environment says.
        profile: launches are timed.
        launch_timeout: seconds that a kernel of debug mode may run; 0: as long as it likes.
    Raises NoDeviceError.
    """
    device = _open_one(arch, threads, profile)
    device.launch_timeout = launch_timeout
    return device


def _open_one(arch, threads, profile):
    from metate_native import _runtime

    threads = _threads_of_environment() if threads is None else threads
    if arch not in ARCHS:
        return _runtime.Device(threads, profile)
    reasons = []
    for driver in _GPUS if arch == GPU else (arch,):
        try:
            return _device_of(driver, threads, profile)
        except RuntimeError_ as error:
            reason = str(error).removeprefix(f"{driver}: ")
            reasons.append(reason if driver == arch else f"{driver}: {reason}")
    raise NoDeviceError(f"there is no device for {arch!r}: {'; '.join(reasons)}")


def _device_of(driver, threads, profile):
    """A device of a driver, beside another one where there is one that works. Raises RuntimeError_."""
    from metate_native import _runtime

    with _opening:
        beside = next((device for device in list(_open) if device.driver == driver and _works(device)), None)
        made = _runtime.Device(threads, profile, driver, beside)
        _open.add(made)
    return made


def _works(device):
    try:
        device.wait()
    except RuntimeError_:  # said again by whoever uses what lies there
        return False
    return True


def target_of(device: _runtime.Device) -> str:
    """The target that code for a device is made for."""
    if device.driver == CUDA:
        return f"cuda:compute_{device.level}"
    if device.driver == VULKAN and "llvmpipe" in device.name:
        return LAVAPIPE
    return device.driver


def limits_of(device: _runtime.Device) -> str:
    """What a device that is for tests cannot do, in words; "" of others."""
    if target_of(device) != LAVAPIPE:
        return ""
    return "Mesa's lavapipe, for tests: 65,535 turns of all loops of an invocation, 80 conditions inside of one another"


def is_there(arch: str) -> bool:
    """Can a device of an arch be opened?"""
    try:
        open_device(arch, None, False)
    except NoDeviceError:
        return False
    return True


def _threads_of_environment() -> int:
    text = os.environ.get(_THREADS, "0")
    if not text.isdecimal():
        raise RuntimeValueError_(f"{_THREADS}: expected a number of threads, or 0 for all of the machine, got {text!r}")
    return int(text)
