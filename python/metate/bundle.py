"""`metate build --bundle DIR`: a module, exactly the files that a host of it needs, and a list of them.

What a host needs follows from the call level: the direct and the packed level are in the module's own files, the standard level
is libmetate with its headers, and a driver for each kind of device that the module has code for. Nothing is compiled here.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import platform
import re
import shutil
import struct
import tempfile
from dataclasses import dataclass

from . import native, signing
from .errors import RuntimeValueError_

LIST = "FILES.txt"
LEVELS = ("direct", "standard", "packed")
_HEADERS = ("metate/metate.h", "metate/metate.hpp")  # where hosts begin, in C and in C++
_INCLUDE = re.compile(r'^\s*#\s*include\s*"(metate/[^"]+)"', re.MULTILINE)
_CPUS = {1: "x86_64", 2: "aarch64", 6: "riscv64"}  # METATE_ARCH_* of metate/abi/module.h
_BARE = {7, 8}  # without a system: libmetate does not run there
_DRIVERS = {3: "cuda", 4: "vulkan"}
_ELF = {62: 1, 183: 2, 243: 6, 40: 7}  # e_machine -> METATE_ARCH_*
_PURPOSES = {
    ".metate": "the module: metate_module_open_file, metate::Module::open",
    ".o": "the module for a linker",
    ".a": "the module for a linker, as a static library",
    ".so": "the module for dlopen",
    ".c": "the module for a C compiler",
    ".wasm": "the module for a WebAssembly runtime",
    ".sig": "its signature: metate-run verify --key",
    ".h": "the module's functions: #include it",
}


@dataclass(frozen=True)
class Entry:
    """A file of a bundle: its path in the folder, and what it is for."""

    path: pathlib.PurePosixPath
    purpose: str


def default_level(emit: str) -> str:
    """The call level that hosts of a carrier use most: a .metate file has the standard one only."""
    return {"metate": "standard", "so": "packed"}.get(emit, "direct")


def write(
    module, folder: pathlib.Path, name: str, emit: str, level: str | None = None, key: pathlib.Path | None = None
) -> list[Entry]:
    """Compiles the module, fills the folder, and returns what is in it, beside the list.

    Args:
        module: an `aot.Module`.
        folder: a new or an empty one, or an earlier bundle, whose files go.
        name: of the module's files.
        emit: its carrier.
        level: the call level of the host; default: `default_level`.
        key: a private key that signs the module's files.
    Raises RuntimeValueError_, CompilationError, OSError.
    """
    level = level or default_level(emit)
    if emit == "metate" and level != "standard":
        raise RuntimeValueError_(
            f"--level: expected standard for a .metate file, got '{level}'; the direct and the packed level are in objects"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:  # what fails leaves an earlier bundle as it is
        files = module.save_files(pathlib.Path(made, f"{name}.{emit}"), emit=emit)
        if key:
            for path in [path for path in files if path.suffix != ".h"]:
                signing.sign(path, key)
        if level == "standard" and any(_archs_of(path) & _BARE for path in files):
            raise RuntimeValueError_("--level: expected direct or packed: libmetate does not run on a machine without a system")
        _clear(folder)
        folder.mkdir(exist_ok=True)
        for path in sorted(pathlib.Path(made).iterdir()):
            shutil.move(path, folder / path.name)
    own = sorted(path for path in folder.iterdir() if path.is_file())
    entries = [Entry(pathlib.PurePosixPath(path.name), _PURPOSES.get(path.suffix, "of the module")) for path in own]
    missing = []
    if level == "standard":
        archs = {arch for path in own for arch in _archs_of(path)}
        entries += _headers(folder, archs)
        libraries, missing = _libraries(folder, archs)
        entries += libraries
    _write_list(folder, name, emit, level, module.targets, entries, missing)
    return entries


def _clear(folder: pathlib.Path) -> None:
    """Takes the files of an earlier bundle away. Raises RuntimeValueError_ for what is no bundle's."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RuntimeValueError_(f"--bundle: expected a folder, got the file {folder}")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    known = {LIST}
    if LIST in found:
        lines = (folder / LIST).read_text().splitlines()
        known |= {line.split("\t")[2] for line in lines if not line.startswith("#") and line.count("\t") == 3}
    foreign = sorted(found - known)
    if foreign:
        raise RuntimeValueError_(
            f"--bundle: {folder} has files that no bundle wrote there: {', '.join(foreign[:3])}; name a new or an empty folder"
        )
    for path in found:
        (folder / path).unlink()


def _archs_of(file: pathlib.Path) -> set[int]:
    """The machines that a file of a module has code for, as METATE_ARCH_*."""
    data = file.read_bytes()
    if data.startswith(b"METATE\r\n"):
        descriptor = struct.unpack_from("<Q", data, 64 + 8)[0]  # metate_section.offset of section 0
        offset, count = struct.unpack_from("<II", data, descriptor + 32 + 3 * 8)
        return {struct.unpack_from("<I", data, descriptor + offset + 32 * k)[0] for k in range(count)}
    if data.startswith(b"!<arch>\n"):
        data = data[max(data.find(b"\x7fELF"), 0) :]
    if data.startswith(b"\0asm"):
        return {8}
    if data.startswith(b"\x7fELF"):
        return {_ELF.get(struct.unpack_from("<H", data, 18)[0], 0)}
    return set()


def _headers(folder: pathlib.Path, archs: set[int]) -> list[Entry]:
    """Copies the public headers and what they include."""
    roots = native.include_directories()
    todo = [*_HEADERS, *(f"metate/metate_{_DRIVERS[arch]}.h" for arch in sorted(archs) if arch in _DRIVERS)]
    done: list[str] = []
    while todo:
        name = todo.pop(0)
        if name in done:
            continue
        done.append(name)
        source = next(root / name for root in roots if (root / name).exists())
        _copy(source, folder / "include" / name)
        todo += _INCLUDE.findall(source.read_text())
    what = {"metate/metate.h": "the C API: #include it", "metate/metate.hpp": "the C++ API: #include it"}
    return [Entry(pathlib.PurePosixPath("include", name), what.get(name, "what other headers include")) for name in sorted(done)]


def _libraries(folder: pathlib.Path, archs: set[int]) -> tuple[list[Entry], list[str]]:
    """Copies libmetate and the devices' drivers; (entries, lines about what is not here)."""
    here = platform.machine()
    machines = sorted(_CPUS[arch] for arch in archs if arch in _CPUS)
    missing = [f"libmetate.so for {one}: build Metate there, with cmake -DMETATE_COMPILER=OFF" for one in machines if one != here]
    if machines and here not in machines:
        return [], missing
    parts = {"metate": "the runtime"} | {
        f"metate_{_DRIVERS[arch]}": f"the driver of {_DRIVERS[arch]}" for arch in archs if arch in _DRIVERS
    }
    entries = []
    for part, what in sorted(parts.items()):
        source = native.library_directory() / f"lib{part}.so"
        if not source.exists():
            missing.append(f"{source.name}: this installation of Metate has none")
            continue
        _copy(source, folder / "lib" / source.name)
        entries.append(Entry(pathlib.PurePosixPath("lib", source.name), f"{what}: link it, ship it"))
    return entries, missing


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write_list(folder, name, emit, level, targets, entries, missing) -> None:
    own = [entry.path.name for entry in entries if entry.path.suffix == f".{emit}"]
    linked = "" if emit in ("metate", "so") else f" {own[0]} -lm"
    use = f"cc -Iinclude host.c{linked} -Llib -lmetate" if level == "standard" else f"cc host.c{linked or ' -ldl'}"
    lines = [
        f"# What a host of the module '{name}' needs, for {', '.join(targets)}. Call level: {level}.",
        f"# A host: {use}",
        f"# To check: grep -v '^#' {LIST} | awk -F'\\t' '{{print $1\"  \"$3}}' | sha256sum -c",
        *(f"# Not here: {text}" for text in missing),
        "# SHA-256\tbytes\tfile\twhat it is for",
    ]
    for entry in entries:
        data = (folder / entry.path).read_bytes()
        lines.append(f"{hashlib.sha256(data).hexdigest()}\t{len(data)}\t{entry.path}\t{entry.purpose}")
    (folder / LIST).write_text("\n".join(lines) + os.linesep)
