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
