"""Ahead-of-time modules: `Module` builds them, `load` opens them.

    m = mt.aot.Module(targets=["x86-64-v3"])
    m.add_type(sn1, "ab_aos")
    m.add_kernel(run1)
    m.save("ab.metate")

Building needs the compiler, opening the runtime: each is imported by the call that needs it, so a
program that only opens modules never loads the compiler.
"""

from __future__ import annotations

import copy
import os
import pathlib

from .errors import CompilationError, RuntimeTypeError_, RuntimeValueError_
from .types import TreeType

MODULE_FILE = "module.metate"  # the file's name in a folder that save(output_dir=) writes


def load(path):
    """Opens a module file, or a folder that ``save(output_dir=)`` wrote; see metate.loaded.

    Its kernels and tree types are attributes: ``load("ab.metate").run1(tree)``. Works without the
    compiler. Raises RuntimeIOError_ when it cannot be read, RuntimeError_ when it does not fit.
    """
    from .loaded import load as open_module

    return open_module(path)


class Module:
    """A module being built: named tree types and kernels for one or more machines.

    Args:
        arch: one target, as the RFC spells it: ``mt.x64``.
        targets: names of targets: ``"native"``, ``"x86-64-v3"``, ``"aarch64"``, a CPU's name, or
            ``ARCHITECTURE:CPU``; default: this machine. One payload is made for each; the host
            picks the best one that it can run.
        name: the module's name; default: the file's that it is saved to.
        sanitizer: ``"thread"`` or ``"address"``: instruments the kernels for hosts that are built with
            ``-fsanitize=`` of the same name; other hosts refuse to open the module. For tests.
        contract: whether products and sums may become fused multiply-adds, which round once; without,
            each operation rounds on its own, as in NumPy.
        debug: whether the kernels stop at wrong accesses, divisions and activations, with the place in
            the source.
    """

    def __init__(self, arch=None, *, targets=None, name=None, sanitizer=None, contract=True, debug=False):
        if arch is not None and targets is not None:
            raise RuntimeValueError_(f"targets: expected arch or targets, got both: {arch!r} and {targets!r}")
        self._targets = _checked_targets([arch] if arch is not None else targets)
        self._name = name
        self._types: dict[str, TreeType] = {}
        self._kernels: dict[str, tuple[object, bool]] = {}  # name -> (kernel, may_alias)
        self._level = 2
        if sanitizer not in (None, "thread", "address"):
            raise RuntimeValueError_(f"sanitizer: expected 'thread' or 'address', got {sanitizer!r}")
        self._sanitizer = sanitizer
        self._contract = bool(contract)
        self._debug = bool(debug)

    @property
    def targets(self) -> tuple[str, ...]:
        """The machines it is built for."""
        return self._targets

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels added so far."""
        return tuple(self._kernels)

    def add_type(self, type_: TreeType, name: str | None = None) -> Module:
        """Adds a tree type under a name, by which hosts find it; types that kernels use need not be added.

        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        if not isinstance(type_, TreeType):
            raise RuntimeTypeError_(f"add_type: expected a tree type, got {type_!r}; call .build() on a builder")
        name = _checked_name(name if name is not None else f"type{len(self._types)}", "add_type")
        if self._types.get(name, type_) != type_:
            raise RuntimeValueError_(f"add_type: expected a name of its own for each type, got '{name}' twice")
        self._types[name] = type_
        return self

    def add_kernel(self, kernel, name: str | None = None, *, may_alias: bool = False) -> Module:
        """Adds a kernel under a name, by default the function's; hosts find it by that name.

        A launch whose arguments overlap one that the kernel writes is an error of the host (METATE_E_ALIAS),
        unless `may_alias` is true: then the kernel is compiled for that, and is slower where alias facts matter.

        The annotations must say everything that compiling needs: an array's dtype and ndim, no
        template(). What they leave open is a TypeError_ at that parameter when the module is built.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        from .kernel import Kernel

        if not isinstance(kernel, Kernel):
            raise RuntimeTypeError_(f"add_kernel: expected a kernel, got {kernel!r}; decorate the function with @mt.kernel")
        name = _checked_name(name if name is not None else kernel.__name__, "add_kernel")
        if name in self._kernels:
            raise RuntimeValueError_(f"add_kernel: expected a name of its own for each kernel, got '{name}' twice")
        self._kernels[name] = (kernel, bool(may_alias))
        return self

    def run_optimizations(self, level: int = 2) -> Module:
        """Sets how hard the compiler tries, 0 to 3, as a C compiler's -O; default 2. Raises RuntimeValueError_."""
        if level not in (0, 1, 2, 3) or isinstance(level, bool):
            raise RuntimeValueError_(f"run_optimizations: level: expected 0 to 3, got {level!r}")
        self._level = level
        return self

    def build(self, name: str = "module") -> bytes:
        """Compiles everything; returns the bytes of a .metate file: the same ones for the same input.

        Raises CompilationError: a wrong kernel, with its place, or an unknown target.
        """
        from metate_native import _compiler

        try:
            return _compiler.build_module(self.source_module(name), self.choices())
        except _compiler.CompileError as error:
            raise CompilationError(str(error)) from None

    def source_module(self, name: str = "module"):
        """The import stage's IR of all types and kernels, as a `_compiler.SourceModule`."""
        from metate_native import _compiler

        module = _compiler.SourceModule(self._name or name)
        for type_name, type_ in self._types.items():
            problem = module.add_named_type(type_name, str(type_))
            if problem:
                raise CompilationError(f"type '{type_name}': {problem}")
        for kernel_name, (kernel, may_alias) in self._kernels.items():
            _renamed(kernel, kernel_name).import_module(may_alias=may_alias, module=module)
        return module

    def choices(self):
        """Targets, optimisation level and kind of code as the compiler takes them."""
        from metate_native import _compiler

        choices = _compiler.Choices()
        choices.targets = list(self._targets)
        choices.opt_level = self._level
        choices.sanitizer = self._sanitizer or ""
        choices.contract = self._contract
        choices.debug = self._debug
        return choices

    def save(self, path=None, *, output_dir=None) -> pathlib.Path:
        """Compiles and writes the module; returns the file's path.

        Args:
            path: the file, or a folder that exists.
            output_dir: a folder, made if need be; the file in it is ``module.metate``.
        Raises RuntimeValueError_, CompilationError, OSError. The file is complete or not there.
        """
        if (path is None) == (output_dir is None):
            raise RuntimeValueError_(f"save: expected either path or output_dir, got {path!r} and {output_dir!r}")
        file = pathlib.Path(os.fspath(path if output_dir is None else output_dir))
        if output_dir is not None or file.is_dir():
            file = file / MODULE_FILE
            file.parent.mkdir(parents=True, exist_ok=True)
        data = self.build(file.stem)
        partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(data)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)
        return file


ModuleBuilder = ModuleBilder = Module  # the RFC's names, the second as its listing has it


def _renamed(kernel, name: str):
    """The kernel under another name in the module's IR."""
    if kernel.source.name == name:
        return kernel
    twin = copy.copy(kernel)
    twin.source = copy.copy(kernel.source)
    twin.source.name = name
    return twin


def _checked_targets(targets) -> tuple[str, ...]:
    if targets is None:
        return ("native",)
    if isinstance(targets, str):
        targets = [targets]
    names = tuple(targets)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise RuntimeValueError_(f"targets: expected names such as 'x86-64-v3', got {targets!r}")
    if len(set(names)) != len(names):
        raise RuntimeValueError_(f"targets: expected each once, got {', '.join(names)}")
    return names


def _checked_name(name, what: str) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise RuntimeValueError_(f"{what}: name: expected an identifier, got {name!r}")
    return name
