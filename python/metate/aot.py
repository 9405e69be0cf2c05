"""Ahead-of-time modules: `Module` builds them, `load` opens them.

    m = mt.aot.Module(targets=["x86-64-v3"])
    m.add_type(sn1, "ab_aos")
    m.add_kernel(run1)
    m.save("ab.metate")      # a file that libmetate opens
    m.save("ab.so")          # the same as a shared object, which tvm-ffi and C programs load, too: ab.so and ab.h
    m.save("ab.o")           # and for a linker: ab.o and ab.h
    m.save("ab.c")           # and for any C compiler: ab.c and ab.h

Building needs the compiler, opening the runtime: each is imported by the call that needs it, so a
program that only opens modules never loads the compiler.
"""

from __future__ import annotations

import copy
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from . import carriers, compile_options, context
from .carriers import CARRIERS
from .errors import CompilationError, RuntimeTypeError_, RuntimeValueError_
from .frontend.specialize import TreeParameter
from .tree_type import TreeType

if TYPE_CHECKING:
    from typing import Unpack

    from metate_native import _compiler

    from .compile_options import CompilerKeywords
    from .frontend.graph_parts import Place
    from .loaded import LoadedModule

MODULE_FILE = "module.metate"  # the file's name in a folder that save(output_dir=) writes
_MODES = {"grad": "reverse", "fwd": "forward"}  # attributes of a kernel -> what its derivative is in a module
SOURCE = "c"  # the target, and the carrier, of C source


class TargetInfo(NamedTuple):
    """A target that has a name: what it is, and the carriers of modules for it (what ``save`` may be told to emit)."""

    name: str
    what: str
    carriers: tuple[str, ...]


def targets() -> tuple[TargetInfo, ...]:
    """The targets that modules are built for, on any machine; CPUs of an architecture are ``ARCHITECTURE:CPU`` besides.

    >>> import metate as mt
    >>> [target.name for target in mt.aot.targets() if target.name.startswith("thumbv7em")]
    ['thumbv7em-none-eabi', 'thumbv7em-none-eabihf']
    """
    from metate_native import _compiler

    return tuple(TargetInfo(name, what, tuple(carriers.split(", "))) for name, what, carriers in _compiler.targets())


def load(path: str | os.PathLike[str]) -> LoadedModule:
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
        targets: names of targets, as `targets()` lists them: ``"native"``, ``"x86-64-v3"``, ``"aarch64"``, ...; a CPU's name, or
            ``ARCHITECTURE:CPU``; default: what kernels of the current context run on, its
            device or this machine's CPU; of objects, which are a CPU's, this machine's. One payload is made for each; the host
            picks the best one that it can run.
        name: the module's name; default: the file's that it is saved to.
        reserve: whether kernels that activate cells bring the code that counts them first, for ``t.reserve_for(kernel, ...)``
            and metate_tree_reserve_for.
        options: the compiler's, as the manual's table has them: ``debug=True``, ``contract=False``, ``deterministic=True``, ...
            Hosts of kernels with a ``sanitizer`` are built with ``-fsanitize=`` of the same name; others refuse to open the
            module. ``nontemporal_bytes`` is to be more than the hosts' last-level caches.
    """

    def __init__(
        self, arch=None, *, targets=None, name=None, reserve=True, **options: Unpack[CompilerKeywords],
    ):  # fmt: skip
        if arch is not None and targets is not None:
            raise RuntimeValueError_(f"targets: expected arch or targets, got both: {arch!r} and {targets!r}")
        given = _checked_targets([arch] if arch is not None else targets)
        self._targets = given or (context.current().options.device_target or context.cpu,)
        self._object_targets = given or (context.cpu,)
        self._name = name
        self._types: dict[str, TreeType] = {}
        self._kernels: dict[str, tuple[object, dict | None, bool]] = {}  # name -> (kernel, specialisation, may_alias)
        self._places: dict[str, tuple[dict[str, str], Place]] = {}  # of a kernel's pools, and who says so, by the kernel's name
        self._derived: list[tuple[str, str, str]] = []  # (kernel, mode, the kernel whose derivative it is)
        self._planned: tuple[tuple[str, str], ...] = ()
        self._options = compile_options.checked(options, "Module.__init__")
        self._reserve = bool(reserve)

    @property
    def name(self) -> str | None:
        """The module's name; None: the file's that it is saved to."""
        return self._name

    @property
    def targets(self) -> tuple[str, ...]:
        """The machines that a module file is built for."""
        return self._targets

    @property
    def planned(self) -> tuple[tuple[str, str], ...]:
        """Once it is built: graphs that have intermediates, and how their memory was planned."""
        return self._planned

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

    def add_field(self, name: str, field: Any) -> Module:
        """Names the type of the tree that a field is a view of, so that hosts find it, make and bind one.

        Kernels that use fields need no call of this: their trees' types are offered under the names of their hidden
        arguments, unless they have been given one here. A struct field in one tree has one type; of one whose members
        have trees of their own each is called ``NAME_MEMBER``.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        members = getattr(field, "_members", None)
        if members is None and not hasattr(type(field), "_placement"):
            raise RuntimeTypeError_(f"add_field: expected a field, got {field!r}")
        if members is None:
            return self.add_type(field._placement.tree, name)
        trees = {id(member._tree): member._placement.tree for member in members.values()}
        if len(trees) == 1:
            return self.add_type(next(iter(trees.values())), name)
        for member, part in members.items():
            self.add_field(f"{name}_{member}", part)
        return self

    def add_kernel(
        self,
        kernel: Any,
        template_args: dict[str, Any] | None = None,
        name: str | None = None,
        *,
        may_alias: bool = False,
        grad: bool = False,
        fwd: bool = False,
        place: dict[str, str] | None = None,
    ) -> Module:
        """Adds a kernel under a name, by default the function's; hosts find it by that name.

        A kernel that uses fields keeps their trees as named arguments after its own (the field's variable name;
        ``root0``, ``root1`` for trees that hold several fields): ``kernel.signature()`` of the opened module,
        ``metate-run inspect`` and generated headers show them, and the host binds its own memory to them.

        A launch whose arguments overlap one that the kernel writes is an error of the host (METATE_E_ALIAS),
        unless `may_alias` is true: then the kernel is compiled for that, and is slower where alias facts matter.

        Args:
            kernel: a kernel, or one of an object of a data-oriented class: ``solver.step``.
            template_args: a dict from names of template parameters to what stands for them: fields, objects,
                values, functions; for a tree its type, for an array ``mt.types.ndarray(dtype, ndim)``. Array parameters
                of any dtype or ndim are completed by it, too. One kernel may be added several times with different ones,
                under different names. (A name may stand here, too.)
            name: the kernel's name in the module.
            grad: True adds its derivative in reverse mode as well, under the name ``NAME_grad``; hosts find it by the kernel
                (``kernel.grad``, metate_kernel_derivative). It takes the same arguments, then the gradient of each array of
                a float type, in the same order, ``x.grad`` of ``x``; an array annotated with ``needs_grad=False`` is a
                constant. Trees of gradients are named arguments as those of fields are.
            fwd: True adds the kernel with its derivative in forward mode in the same way: ``NAME_fwd``, ``kernel.fwd``,
                ``x.dual``.
            place: a dict from names of pools, memory that the kernel plans, to the memories that they are to lie in, by names
                that the host knows: ``{"intermediates": "sram"}``. Plans, ``metate-run inspect`` and headers say them.
        All other annotations must say everything that compiling needs: an array's dtype and ndim. What they leave
        open is a TypeError_ at that parameter when the module is built.
        Raises RuntimeTypeError_, RuntimeValueError_, and CompilationError for incomplete template arguments.
        """
        from .derivative import Derivative
        from .kernel import Kernel

        if isinstance(template_args, str):
            template_args, name = None, template_args
        if isinstance(getattr(kernel, "__func__", None), Kernel):
            receiver = next(iter(kernel.__func__.source.parameters))
            kernel, template_args = kernel.__func__, {receiver: kernel.__self__, **(template_args or {})}
        if not isinstance(kernel, Kernel):
            raise RuntimeTypeError_(f"add_kernel: expected a kernel, got {kernel!r}; decorate the function with @mt.kernel")
        name = _checked_name(name if name is not None else kernel.__name__, "add_kernel")
        for pool, memory in (place or {}).items():
            _checked_name(pool, "add_kernel: place")
            _checked_name(memory, f"add_kernel: place of '{pool}'")
        if name in self._kernels:
            raise RuntimeValueError_(f"add_kernel: expected a name of its own for each kernel, got '{name}' twice")
        if template_args is not None and not isinstance(template_args, dict):
            raise RuntimeTypeError_(f"add_kernel: template_args: expected a dict, got {template_args!r}")
        derivatives = {mode: getattr(kernel, mode) for mode, is_wanted in (("grad", grad), ("fwd", fwd)) if is_wanted}
        for mode in derivatives:
            if f"{name}_{mode}" in self._kernels:
                raise RuntimeValueError_(f"add_kernel: expected a name of its own for each kernel, got '{name}_{mode}' twice")
        is_open = template_args or kernel.needs_specialising or isinstance(kernel, Derivative)
        self._kernels[name] = (kernel, kernel.specialise(template_args) if is_open else None, bool(may_alias))
        if place:
            self._places[name] = (dict(place), _users_place())
        for mode, derivative in derivatives.items():
            self._kernels[f"{name}_{mode}"] = (derivative, derivative.specialise(template_args), bool(may_alias))
            self._derived.append((f"{name}_{mode}", _MODES[mode], name))
        return self

    def add_graph(
        self,
        name: str,
        graph: Any,
        template_args: dict[str, Any] | None = None,
        *,
        may_alias: bool = False,
        place: dict[str, str] | None = None,
    ) -> Module:
        """Adds a graph under a name: for hosts it is a kernel, which takes the graph's arguments and runs its kernels.

        Trees of fields that its kernels use are named arguments after the graph's own, as `add_kernel` says; so is
        ``random_seed`` where they use random numbers.

        Args:
            name: the graph's name in the module.
            graph: what `GraphBuilder.compile` made.
            template_args: a dict from names of TEMPLATE arguments to what stands for them.
            may_alias, place: as of `add_kernel`.
        Raises RuntimeTypeError_, RuntimeValueError_, CompilationError.
        """
        from .graph import Graph

        if not isinstance(graph, Graph):
            raise RuntimeTypeError_(
                f"add_graph: expected a graph, got {graph!r}; make one with mt.graph.GraphBuilder().compile()"
            )
        return self.add_kernel(graph.kernel, template_args, name, may_alias=may_alias, place=place)

    def add_function(self, function: Any, name: str | None = None) -> Module:
        """Adds a real function under a name, by default its own: for hosts it is a kernel that calls it once.

        Args:
            function: what ``@mt.real_func`` made. Its parameters are annotated with what a host gives (values, arrays,
                trees), and so is its result.
            name: the function's name in the module.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        from .function_kernel import kernel_of

        return self.add_kernel(kernel_of(function), None, name)

    def run_optimizations(self, level: int = 2) -> Module:
        """Sets how hard the compiler tries, 0 to 3, as a C compiler's -O; default 2. Raises RuntimeValueError_."""
        if level not in (0, 1, 2, 3) or isinstance(level, bool):
            raise RuntimeValueError_(f"run_optimizations: level: expected 0 to 3, got {level!r}")
        self._options["opt_level"] = level
        return self

    def build(self, name: str = "module") -> bytes:
        """Compiles everything; returns the bytes of a .metate file: the same ones for the same input.

        Raises CompilationError: a wrong kernel, with its place, or an unknown target.
        """
        from metate_native import _compiler

        return self._built(_compiler.build_module, name, self.choices())

    def _built(self, build, name: str, choices):
        """What the compiler makes of everything, and what it says of the memory of graphs."""
        from metate_native import _compiler

        source = self.source_module(name)
        try:
            built = build(source, choices)
        except _compiler.CompileError as error:
            raise CompilationError(str(error)) from None
        self._planned = tuple(source.planned_memory())
        return built

    def source_module(self, name: str = "module") -> _compiler.SourceModule:
        """The import stage's IR of all types and kernels, as a `_compiler.SourceModule`."""
        from metate_native import _compiler

        module = _compiler.SourceModule(self._name or name)
        for type_name in self._types:
            self._refuse_kernel_called(type_name, "of a tree type", "give the kernel another name (name=), or the type")
        for type_name, type_ in self._types.items():
            problem = module.add_named_type(type_name, str(type_))
            if problem:
                raise CompilationError(f"type '{type_name}': {problem}")
        named = dict(self._types)
        for kernel_name, (kernel, parameters, may_alias) in self._kernels.items():
            hidden = _renamed(kernel, kernel_name).import_into(
                module, parameters, may_alias, debug=self._options["debug"], asserts=self._options["asserts"] or None
            )
            if getattr(kernel, "_own", {}).get("debug"):
                module.check(kernel_name)
            if text := _documentation_of(kernel):
                module.document(kernel_name, text)
            if kernel_name in self._places:
                places, at = self._places[kernel_name]
                for pool, memory in places.items():
                    module.place_pool(kernel_name, pool, memory, at.file, at.line, at.column)
            for type_name, type_ in self._names_of_hidden(named, kernel_name, hidden):
                module.add_named_type(type_name, str(type_))
                named[type_name] = type_
        for kernel_name, mode, primal in self._derived:
            module.add_derived(kernel_name, mode, primal)
            for name, type_ in self._names_of_gradients(named, kernel_name):
                module.add_named_type(name, str(type_))
                named[name] = type_
        return module

    def _names_of_gradients(self, named, kernel_name):
        """(name, type) of the gradients of a derivative's trees whose types have names: `T_grad` of `T`."""
        parameters = (self._kernels[kernel_name][1] or {}).values()
        trees = [one.type for one in parameters if isinstance(one, TreeParameter) and one.partners]
        for name, type_ in list(named.items()):
            if type_ in trees and f"{name}_grad" not in named and type_.grad_type() not in named.values():
                what = f"of the type of the gradients of '{name}'"
                hint = f"give the kernel another name (name=), or the gradients' type: add_type({name}.grad_type(), ...)"
                self._refuse_kernel_called(f"{name}_grad", what, hint)
                yield f"{name}_grad", type_.grad_type()

    def _refuse_kernel_called(self, name, what, hint):
        """Raises at the kernel of that name, where there is one: kernels and types are attributes of one module."""
        if name in self._kernels:
            from .frontend.diagnostics import located

            source = self._kernels[name][0].source
            raise located(
                "form", f"kernel '{name}': expected a name of its own in the module, got that {what}", source, source.tree, hint
            )

    def _names_of_hidden(self, named, kernel_name, hidden):
        """(name, type) for trees of fields that have been given none: their hidden arguments' names."""
        given = list(self._types.values())
        for argument, type_ in hidden:
            if type_ in given or named.get(argument) == type_:
                continue
            taken = named.keys() | self._kernels.keys()
            name = argument if argument not in taken else f"{kernel_name}_{argument}"
            if name not in taken:
                yield name, type_

    def choices(self) -> _compiler.Choices:
        """Targets, optimisation level and kind of code of a module file as the compiler takes them."""
        return self._choices(self.targets_for("metate"))

    def targets_for(self, emit: str) -> tuple[str, ...]:
        """The targets whose code a carrier (of `save`) holds: of ``"c"`` those of source, of others the module's own."""
        from metate_native import _compiler

        given = self._targets if emit == "metate" else self._object_targets
        sources = tuple(target for target in given if target.split(":")[0] == SOURCE)
        others = tuple(target for target in given if target not in sources)
        if emit == SOURCE:
            if not sources:  # one file for all of them
                try:
                    wanted = {_compiler.source_target(target) for target in others}
                except _compiler.CompileError as error:
                    raise CompilationError(str(error)) from None
                sources = (wanted.pop() if len(wanted) == 1 else SOURCE,)
            return sources
        if not others:
            raise RuntimeValueError_(f"save: code of target {sources[0]!r} is C source: expected a .c file, got emit={emit!r}")
        return others

    def _choices(self, targets: tuple[str, ...]) -> _compiler.Choices:
        choices = compile_options.choices(compile_options.CompilerOptions(**self._options), list(targets))
        choices.reserve = "beside" if self._reserve else ""
        return choices

    def build_library(self, name: str = "module") -> tuple[str, list[bytes]]:
        """Compiles everything for programs that load it: the C header, and for each target a shared object.

        Each has, of each kernel, a direct entry (``NAME_KERNEL``), its part of the module ``NAME_module``, and a packed entry
        that tvm-ffi finds by the kernel's name; `load` opens it as well. The same bytes for the same input.
        Raises CompilationError as build_static does.
        """
        from metate_native import _compiler

        return self._built(_compiler.build_library, name, self._choices(self.targets_for("so")))

    def build_static(self, name: str = "module", emit: str = "o") -> tuple[str, list[bytes]]:
        """Compiles everything for a linker: the C header, and for each target a relocatable object, or (``emit="c"``) a C file.

        Each object has, of each kernel, a direct entry (``NAME_KERNEL``), its part of the linked module
        ``NAME_module`` and a packed entry (``__tvm_ffi_NAME_KERNEL``). The same bytes for the same input.
        Raises CompilationError as build does, and for names that C does not have.
        """
        from metate_native import _compiler

        return self._built(_compiler.build_static, name, self._choices(self.targets_for(emit)))

    def archive_of(self, data: bytes, member: str) -> bytes:
        """A static library of one object, which is called `member` in it."""
        from metate_native import _compiler

        return _compiler.make_archive(data, member)

    def wasm_of(self, data: bytes) -> bytes:
        """A WebAssembly module of one object. Raises CompilationError for another machine's object."""
        from metate_native import _compiler

        try:
            return _compiler.make_wasm(data)
        except _compiler.CompileError as error:
            raise CompilationError(str(error)) from None

    def save(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        output_dir: str | os.PathLike[str] | None = None,
        emit: str | None = None,
    ) -> pathlib.Path:
        """Compiles and writes the module; returns the file's path.

        Args:
            path: the file, or a folder that exists.
            output_dir: a folder, made if need be; the file in it is ``module.metate``.
            emit: the carrier: ``"metate"``, ``"so"`` (a shared object), ``"o"`` (an object), ``"a"`` (a static library of it),
                ``"c"`` (C99 for any compiler, of one thread where the module's targets have no system) or ``"wasm"``
                (a WebAssembly module of it, for the target wasm32); default: what the file's suffix says, else
                ``"metate"``. All but the first come with a C header beside them, ``ab.h`` for ``ab.o``, and are for one
                machine: with several targets each is called after its own, ``ab.x86-64-v3.o``, and the first one's path is
                returned.
        Raises RuntimeValueError_, CompilationError, OSError. Each file is complete or not there.
        """
        return self.save_files(path, output_dir=output_dir, emit=emit)[0]

    def save_files(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        output_dir: str | os.PathLike[str] | None = None,
        emit: str | None = None,
    ) -> list[pathlib.Path]:
        """Does what `save` does, and returns all files that it wrote: one of each target, and last the C header, if any."""
        if (path is None) == (output_dir is None):
            raise RuntimeValueError_(f"save: expected either path or output_dir, got {path!r} and {output_dir!r}")
        file = pathlib.Path(os.fspath(path if output_dir is None else output_dir))
        is_folder = output_dir is not None or file.is_dir()
        emit = carriers.checked(emit, "" if is_folder else file.suffix)
        if is_folder:
            file = (file / MODULE_FILE).with_suffix(f".{emit}")
            file.parent.mkdir(parents=True, exist_ok=True)
        built = CARRIERS[emit].build(self, file.stem)
        files = [file]
        if len(built.files) > 1:
            files = [file.with_name(f"{file.stem}.{target.replace(':', '-')}{file.suffix}") for target in self.targets_for(emit)]
        for one, data in zip(files, built.files, strict=True):
            _write(one, data)
        if built.header is not None:
            files.append(file.with_suffix(".h"))
            _write(files[-1], built.header.encode())
        return files


ModuleBuilder = ModuleBilder = Module  # the RFC's names, the second as its listing has it


def _documentation_of(kernel) -> str:
    """A kernel's docstring, as hosts of the module are shown it; empty of one without, and of a graph."""
    import inspect

    function = getattr(kernel.source, "function", None)
    return inspect.cleandoc(function.__doc__) if function is not None and function.__doc__ else ""


def _renamed(kernel, name: str):
    """The kernel under another name in the module's IR."""
    if kernel.source.name == name:
        return kernel
    twin = copy.copy(kernel)
    twin.source = copy.copy(kernel.source)
    twin.source.name = name
    return twin


def _users_place() -> Place:
    """Where the program calls what is here."""
    from .graph_match import place_in

    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return place_in(frame)


def _write(file: pathlib.Path, data: bytes) -> None:
    """The file is complete or not there."""
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def _checked_targets(targets) -> tuple[str, ...]:
    """The targets that are asked for; none: nobody says."""
    if targets is None:
        return ()
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
