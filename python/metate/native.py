"""Where the native files are: libmetate, its headers, metate-run; for hosts' build systems and for `metate-run` itself.

An installed package has them in `metate_native`; a checkout in its build folder. Loads nothing.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

from .errors import RuntimeLookupError_


def library_directory() -> pathlib.Path:
    """The folder of libmetate.so and its executors. Raises RuntimeLookupError_."""
    return _first("libmetate.so", [root / "lib" for root in _roots()]).parent


def include_directories() -> tuple[pathlib.Path, ...]:
    """The folders that hosts compile with: of metate/metate.h and of metate/abi/. Raises RuntimeLookupError_."""
    sources = [root.parent / "include" for root in _roots()[1:]]
    header = _first("metate/metate.h", [root / "include" for root in _roots()[:1]] + sources)
    include = header.parents[1]
    return (include,) if (include / "metate" / "abi").is_dir() else (include, include.parent / "abi")


def cmake_directory() -> pathlib.Path | None:
    """The folder for CMake's `metate_DIR`; None in a checkout, which has no installed package."""
    folder = library_directory() / "cmake" / "metate"
    return folder if folder.is_dir() else None


def pkgconfig_directory() -> pathlib.Path | None:
    """The folder for PKG_CONFIG_PATH; None in a checkout."""
    folder = library_directory() / "pkgconfig"
    return folder if folder.is_dir() else None


# What `metate config` answers.
ANSWERS = {
    "cmakedir": "the folder for CMake's metate_DIR",
    "pkgconfigdir": "the folder for PKG_CONFIG_PATH",
    "includedir": "the folders of headers",
    "libdir": "the folder of libmetate.so",
    "cflags": "what compilers of hosts are told",
    "libs": "what linkers of hosts are told, with a run path",
}


def answer(what: str) -> str:
    """One of ANSWERS. Raises RuntimeLookupError_."""
    if what in ("cmakedir", "pkgconfigdir"):
        folder = cmake_directory() if what == "cmakedir" else pkgconfig_directory()
        if folder is None:
            raise RuntimeLookupError_(
                f"--{what}: a checkout has none: cmake --install build --component runtime --prefix FOLDER makes it"
            )
        return str(folder)
    if what == "libdir":
        return str(library_directory())
    if what == "libs":
        return f"-L{library_directory()} -lmetate -Wl,-rpath,{library_directory()}"
    prefix = "-I" if what == "cflags" else ""
    return " ".join(f"{prefix}{folder}" for folder in include_directories())


def metate_run() -> pathlib.Path:
    """The program metate-run. Raises RuntimeLookupError_."""
    return _first("metate-run", [root / "bin" for root in _roots()])


def run_metate_run() -> None:
    """The command `metate-run` of an installed package: becomes that program."""
    program = metate_run()
    os.execv(program, [str(program), *sys.argv[1:]])


def _roots() -> list[pathlib.Path]:
    """Where lib/ and bin/ may be: in the package, or in the build folder whose python/metate_native it is."""
    spec = importlib.util.find_spec("metate_native")
    if spec is None or spec.origin is None:
        raise RuntimeLookupError_("metate_native: expected the extensions to be importable; install Metate, or run scripts/build")
    package = pathlib.Path(spec.origin).resolve().parent
    return [package, package.parents[1]]


def _first(name: str, folders) -> pathlib.Path:
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise RuntimeLookupError_(f"{name}: expected it in {' or '.join(map(str, folders))}; install Metate, or run scripts/build")
