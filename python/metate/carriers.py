"""What a module can be saved as: one row a carrier. `Module.save` and `metate build` know them through this table alone.

Must not compile: a row says which of the builder's methods does, and what the files are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from .errors import RuntimeValueError_

if TYPE_CHECKING:
    from collections.abc import Callable


class Builder(Protocol):
    """What a carrier asks of `metate.aot.Module`."""

    @property
    def name(self) -> str | None: ...

    def build(self, name: str) -> bytes: ...
    def build_static(self, name: str, emit: str = ...) -> tuple[str, list[bytes]]: ...
    def build_library(self, name: str) -> tuple[str, list[bytes]]: ...
    def archive_of(self, data: bytes, member: str) -> bytes: ...
    def wasm_of(self, data: bytes) -> bytes: ...


class Built(NamedTuple):
    """What a carrier's files hold."""

    files: list[bytes]  # one of all targets, or one of each
    header: str | None = None  # the C header beside them


class Carrier(NamedTuple):
    """One way to save a module; its name is the file's suffix, and what ``emit=`` may be."""

    what: str  # for help
    build: Callable[[Builder, str], Built]  # of a builder and the module's name


def _object(module: Builder, name: str) -> Built:
    header, objects = module.build_static(name)
    return Built(objects, header)


def _archive(module: Builder, name: str) -> Built:
    header, objects = module.build_static(name)
    return Built([module.archive_of(data, f"{name}.o") for data in objects], header)


def _source(module: Builder, name: str) -> Built:
    """The source includes the header by the file's name, whatever the module's is."""
    header, files = module.build_static(name, "c")
    include = f'#include "{module.name or name}.h"'.encode()
    return Built([file.replace(include, f'#include "{name}.h"'.encode(), 1) for file in files], header)


def _wasm(module: Builder, name: str) -> Built:
    header, objects = module.build_static(name)
    return Built([module.wasm_of(data) for data in objects], header)


def _library(module: Builder, name: str) -> Built:
    header, libraries = module.build_library(name)
    return Built(libraries, header)


CARRIERS = {
    "metate": Carrier("a file that libmetate opens, for all targets", lambda module, name: Built([module.build(name)])),
    "so": Carrier("a shared object that C programs, tvm-ffi and libmetate load, with a C header beside it", _library),
    "o": Carrier("an object for a linker, with a C header beside it", _object),
    "a": Carrier("a static library of that object, with the header", _archive),
    "c": Carrier("C99 source for any compiler, with a C header beside it", _source),
    "wasm": Carrier("a WebAssembly module of that object", _wasm),
}


def checked(emit: str | None, suffix: str) -> str:
    """The carrier that is asked for, by name or by the file's suffix. Raises RuntimeValueError_."""
    by_suffix = suffix[1:] if suffix[1:] in CARRIERS else None
    if suffix == ".h":
        raise RuntimeValueError_("save: a .h file is the header beside a module: name the module's file, such as ab.o")
    if emit is None:
        if suffix in (".dylib", ".dll"):
            raise RuntimeValueError_(f"save: {suffix} files cannot be made: expected {_suffixes()}")
        return by_suffix or "metate"
    if emit not in CARRIERS:
        raise RuntimeValueError_(f"save: emit: expected one of {', '.join(CARRIERS)}, got {emit!r}")
    if by_suffix not in (None, emit):
        raise RuntimeValueError_(f"save: emit: expected '{by_suffix}' for a {suffix} file, got {emit!r}")
    return emit


def _suffixes() -> str:
    *most, last = (f".{name}" for name in CARRIERS)
    return f"{', '.join(most)} or {last}"
