"""Which compiler an entry is of: its front end, its extension, LLVM, this machine. Loads none of it.

Front end, extension and NumPy are known by the sizes and times of their files, the extension by its build's number as well. Which
library of LLVM it takes is known where it is loaded only: an entry notes the file (`loaded_libraries`), and a reader looks
whether it is still that file.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

from .._version import __version__
from .digest import blake2b

FORMAT = 2  # of entries; another number for each change of what they hold or of what keys are made of

_LIBRARIES = ("libLLVM", "libMLIR")
_MOST_CPU_TEXT = 1 << 16  # bytes of /proc/cpuinfo that hold its first processor


def compiler_identity() -> str | None:
    """16 hexadecimal digits, equal for compilers that make the same code for this machine; None without a compiler."""
    extension = _extension()
    if extension is None:
        return None
    parts = [FORMAT, __version__, sys.version_info[:3], _numpy(), sys.platform, _cpu_text()]
    parts += [_state(extension), _build_id(extension), *_front_end()]
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def loaded_libraries() -> list[tuple[str, int, int]]:
    """(path, size, time) of the compiler's libraries that this process has mapped; empty where the system does not say."""
    try:
        with open("/proc/self/maps") as file:
            maps = file.read()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/") and any(n in line for n in _LIBRARIES)}
    return sorted((path, *state) for path in paths if (state := _state(path)))


def is_still_there(library: tuple[str, int, int]) -> bool:
    """Is the file that `loaded_libraries` saw unchanged?"""
    return _state(library[0]) == tuple(library[1:])


def _extension() -> str | None:
    """The file of the compiler's extension, found and not loaded."""
    try:
        found = importlib.util.find_spec("metate_native._compiler")
    except ImportError:
        return None
    return found.origin if found is not None else None


def _numpy():
    """What NumPy, which computes constants, is known by; it is found and not loaded."""
    found = importlib.util.find_spec("numpy")
    return _state(found.origin) if found is not None and found.origin is not None else None


def _state(path) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def _build_id(path) -> bytes:
    """The note that linkers put near the beginning of a library (NT_GNU_BUILD_ID); empty without one."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return b""
    at = head.find(b"\x14\0\0\0\x03\0\0\0GNU\0")
    return head[at + 12 : at + 32] if at >= 0 else b""


def _front_end():
    """What the package's Python files are known by. Packed into a program they have no files: the program's state is it."""
    found = []
    _add_files(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "", found)
    return found or [_state(sys.executable), _state(sys.argv[0])]


def _add_files(folder, below, found):
    """Adds (path below the package, (size, time)) of each file of Python in a folder."""
    try:
        with os.scandir(folder) as opened:
            entries = sorted(opened, key=lambda entry: entry.name)
    except OSError:  # packed into a program
        return
    for entry in entries:
        if entry.name.endswith((".py", *importlib.machinery.BYTECODE_SUFFIXES)):
            found.append((below + entry.name, _state(entry.path)))
        elif entry.name != "__pycache__" and entry.is_dir():
            _add_files(entry.path, f"{below}{entry.name}/", found)


def _cpu_text() -> str:
    """What `native` means: the first processor as the system describes it, but for what changes while it runs."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            text = file.read(_MOST_CPU_TEXT).decode(errors="replace")
    except OSError:
        import platform

        return f"{platform.machine()} {platform.processor()}"
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
    lines = [line for line in text.partition("\n\n")[0].splitlines() if line.startswith(wanted)]
    return "\n".join(lines)
