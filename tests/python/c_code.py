"""Kernels as C: what a context's JIT is, with source that a C compiler of this machine makes code of.

METATE_TEST_C=gcc (or another compiler's command) has all tests run so. Needs nothing of a test.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import metate  # noqa: F401 -- its module of kernels
from metate.errors import CompilationError

COMPILER = os.environ.get("METATE_TEST_C")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


class _StaticModule(ctypes.Structure):
    """struct metate_static_module of generated headers."""

    _fields_ = [
        ("descriptor", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("entries", ctypes.POINTER(ctypes.c_void_p)),
        ("entry_count", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


def with_c_names(module):
    """The module, or one like it whose symbols C can have: kernels of one process are called as the user likes."""
    from metate_native import _compiler

    text = module.text(True)
    named = re.sub(r"@([A-Za-z_]\w*)\.([\w.$]+)", lambda match: "@" + re.sub(r"\W", "_", f"{match[1]}.{match[2]}"), text)
    if named == text:
        return module
    renamed = _compiler.SourceModule("module")
    renamed.parse(named)
    return renamed


def name_in(header: str) -> str:
    """The module's name, by its header."""
    return header.split("Kernels of the module '", 1)[1].split("'", 1)[0]


class Loaded:
    """A module of a shared object; the object stays as long as the process."""

    def __init__(self, library: pathlib.Path, name: str):
        self._library = ctypes.CDLL(str(library))
        module = _StaticModule.in_dll(self._library, f"{name}_module")
        self.descriptor = ctypes.string_at(module.descriptor, module.bytes)
        self.entries = [module.entries[k] for k in range(module.entry_count)]


def compile_file(source: pathlib.Path, output: pathlib.Path, *options: str, compiler: str = "gcc") -> pathlib.Path:
    """Compiles a generated file; all warnings are errors."""
    command = [*compiler.split(), *STRICT, *options, str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompilationError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return output


class Compiler:
    """Compiles modules of kernels as `_compiler.Jit` does."""

    def __init__(self, compiler: str, *options: str):
        self.compiler, self.options = compiler, options
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0

    def compile(self, module, choices, told=None) -> Loaded:
        from metate_native import _compiler

        choices.targets = ["c"]
        header, files = _compiler.build_static(with_c_names(module), choices)
        self.count += 1
        folder = pathlib.Path(self.folder.name, str(self.count))
        folder.mkdir()
        name = name_in(header)
        (folder / f"{name}.h").write_text(header)
        (folder / f"{name}.c").write_bytes(files[0])
        made = compile_file(
            folder / f"{name}.c", folder / f"{name}.so", "-O1", "-shared", "-fPIC", *self.options, "-lm", compiler=self.compiler
        )
        return Loaded(made, name)


def settle() -> None:
    """Has contexts of the CPU compile so, where METATE_TEST_C names a compiler."""
    if COMPILER is None:
        return
    kernel = sys.modules["metate.kernel"]  # metate.kernel is the decorator
    make = kernel._compiler_of

    def compiler_of(holdings, options):
        if options.arch != "cpu":
            return make(holdings, options)
        if not isinstance(holdings.compiler, Compiler):
            holdings.compiler = Compiler(COMPILER)
        return holdings.compiler

    kernel._compiler_of = compiler_of
