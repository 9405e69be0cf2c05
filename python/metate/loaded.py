"""Modules that were opened: `aot.load` and what it gives. Runs where the compiler is absent.

It stands apart from aot.py, which builds modules: this side may know the runtime only.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metate_native import _runtime

from . import runtime
from .argument_packs import ArgPack
from .dim import Dim
from .errors import CallError_, RuntimeLookupError_, RuntimeTypeError_
from .session import Session
from .struct_types import Struct
from .tree_instances import type_from_handle

MODULE_FILES = ("module.metate", "module.so")  # the file's name in a folder that save(output_dir=) wrote
_TREE = 4  # metate_argument_kind: METATE_ARGUMENT_TREE
_DERIVATIVES = {"grad": (1, "grad"), "fwd": (2, "dual")}  # attribute of a kernel -> metate_derivative, of an argument


@dataclass(frozen=True)
class PlannedPool:
    """Memory that a launch needs: a ``"launch"`` one for all of it, or one for each ``"worker"``, `bytes` of all together.

    `maximum` is what it needs whatever the arguments are, None where no Dim bounds it, as are the `bytes` of a plan without
    arguments; `memory` the name of the memory that it is to lie in, where the program gave one.
    """

    name: str
    bytes: int | None
    align: int
    kind: str
    maximum: int | None = None
    memory: str = ""


@dataclass(frozen=True)
class Plan:
    """What a launch needs: `max_workers` it may use (0: no bound), and its pools, which `launch_with` takes from the caller."""

    max_workers: int
    pools: tuple[PlannedPool, ...]


class LoadedKernel:
    """A kernel of an opened module, called like a kernel of this process.

    A struct parameter takes a struct, a dict or, where it is an array of structs, a structured NumPy array or an
    ndarray of structs; its members may also be given one by one, as `parameters` lists them.

    Attributes:
        name: its name in the module.
        parameters: a dict for each: name, dtype, rank, access, ... Members of structs are called ``s.pos``.
        dims: the Dims of its arrays, by name.
    """

    def __init__(self, kernel):
        self._kernel = kernel
        self._dispatcher = _runtime.Dispatcher()
        self._dispatcher.add(kernel)
        self.name = kernel.name
        self.parameters = kernel.parameters
        self.dims = {dim[0]: Dim(*dim) for dim in kernel.dims}
        self._parts = _Parts([_path(parameter) for parameter in self.parameters])
        results = [result["name"].split(".")[1:] for result in kernel.results]
        self._result_paths = results if any(results) else None
        self._derivatives = {}  # "grad", "fwd" -> the LoadedKernel, once its module is whole
        self._primal_parts = None  # of a derivative: those of its kernel's arguments alone, whose gradients it takes

    @property
    def grad(self) -> LoadedKernel:
        """Its derivative in reverse mode: a kernel of its arguments, then of their gradients.

        Given the kernel's arguments alone it takes the gradients that they have, `x.grad` of `x`.
        Raises RuntimeLookupError_ where the module has none: `add_kernel(k, grad=True)` adds it.
        """
        return self._derivative("grad")

    @property
    def fwd(self) -> LoadedKernel:
        """The kernel with its derivative in forward mode: of its arguments, then of their duals.

        Given the kernel's arguments alone it takes the duals that they have, `x.dual` of `x`.
        Raises RuntimeLookupError_ where the module has none: `add_kernel(k, fwd=True)` adds it.
        """
        return self._derivative("fwd")

    def _is_derivative(self, partner):
        """It is one, in reverse mode ("grad") or in forward mode ("dual"): it also takes these of its arguments."""
        self._primal_parts = _Parts([parameter["name"].split(".") for parameter in self.parameters], partner)

    def _derivative(self, name):
        if name not in self._derivatives:
            raise RuntimeLookupError_(
                f"kernel '{self.name}': its module has no derivative of it; add it with add_kernel(..., {name}=True)"
            )
        return self._derivatives[name]

    def __call__(self, *arguments, **keywords):
        """Runs it. Raises RuntimeTypeError_ for a wrong argument, CapacityError, AssertionError_."""
        result = self._dispatcher(*self._given(arguments, keywords))
        return result if self._result_paths is None else _rebuilt(self._result_paths, list(_as_tuple(result)))

    def _reserve_for(self, tree, arguments, keywords):
        """(text, slots): whether a call would find room in the tree, and how many slots each of its pools needs."""
        return self._dispatcher.reserve_for(tree, *self._given(arguments, keywords))

    def plan(self, *arguments, **keywords) -> Plan:
        """What a launch with these arguments needs besides them; runs nothing. Raises as a call does.

        Without arguments, of a kernel that has some: what the largest launch needs, as far as Dims bound it.
        """
        if self.parameters and not arguments and not keywords:
            return Plan(0, tuple(PlannedPool(*pool) for pool in self._kernel.largest_plan()))
        workers, pools = self._dispatcher.plan(*self._given(arguments, keywords))
        return Plan(workers, tuple(PlannedPool(*pool) for pool in pools))

    def launch_with(self, pools, /, *arguments, **keywords):
        """A call with memory of the caller's for what the kernel plans.

        Args:
            pools: a dict of writable contiguous buffers (a NumPy array of bytes, say) by the name of their pool, each of
                at least the pool's `bytes` and aligned to its `align` (see `plan`). Pools without one come from the
                device's allocator.

        Raises before anything runs RuntimeTypeError_ for a name that no pool has, or what is no writable contiguous buffer;
        TreeError for one that is too small or misaligned; RuntimeValueError_ for one that overlaps an argument or another
        pool; and as a call does.
        """
        given = self._given(arguments, keywords)
        names = [pool[0] for pool in self._dispatcher.plan(*given)[1]]
        if unknown := set(pools) - set(names):
            expected = ", ".join(f"'{name}'" for name in names) or "none: it plans no memory"
            raise RuntimeTypeError_(f"kernel '{self.name}': expected pools {expected}; got '{min(unknown)}'")
        for name, memory in pools.items():
            if not _is_lendable(memory):
                what = f"kernel '{self.name}' pool '{name}': expected a writable contiguous buffer"
                raise RuntimeTypeError_(f"{what}, got {type(memory).__name__}")
        result = self._dispatcher.launch_with([pools.get(name) for name in names], *given)
        return result if self._result_paths is None else _rebuilt(self._result_paths, list(_as_tuple(result)))

    def packed(self) -> Any:
        """It as a `tvm_ffi.Function`, of its parameters one by one: numbers, tensors, trees as the bytes of their block.

        Raises RuntimeImportError_ where tvm-ffi is not installed.
        """
        from .packed_functions import function

        return function(self._kernel)

    def packed_session(self) -> Any:
        """A session as a `tvm_ffi.Function`, called with ("set_input", name, value), ("run") and ("get_output", name)."""
        from .packed_functions import function

        return function(self._kernel, by_steps=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its arguments, in order; a struct is one."""
        return tuple(self._parts.names)

    def _given(self, arguments, keywords):
        """One argument for each parameter."""
        parts = self._parts
        if self._primal_parts is not None and len(arguments) + len(keywords) == len(self._primal_parts.names):
            parts = self._primal_parts
        if keywords:
            arguments = self._place(parts, arguments, keywords)
        if parts.are_several and (len(arguments) != len(self.parameters) or len(arguments) == len(parts.names)):
            arguments = self._flattened(parts, arguments)
        return arguments

    def _place(self, parts, arguments, keywords):
        placed = list(arguments)
        for name in parts.names[len(arguments) :]:
            if name not in keywords:
                raise CallError_(f"kernel '{self.name}': argument '{name}' is missing")
            placed.append(keywords.pop(name))
        if keywords:
            names = ", ".join(parts.names)
            raise CallError_(f"kernel '{self.name}': expected arguments {names}, got '{next(iter(keywords))}' as well")
        return placed

    def _flattened(self, parts, arguments):
        """One argument for each parameter, of one for each struct."""
        if len(arguments) != len(parts.names):
            names = ", ".join(parts.names)
            raise CallError_(f"kernel '{self.name}': expected arguments {names}, got {len(arguments)} of them")
        given = dict(zip(parts.names, arguments))
        return [self._member(parts, given, path) for path in parts.paths]

    def _member(self, parts, given, path):
        value = given[path[0]]
        if len(parts.names) == len(self.parameters) and not _is_struct(value):
            return value  # the only member itself
        for name in path[1:]:
            try:
                if name == parts.partner and getattr(value, name, None) is not None:
                    value = getattr(value, name)
                    continue
                value = value.get_member(name) if hasattr(value, "get_member") else value[name]
            except (TypeError, LookupError, ValueError) as error:
                expected = f"a struct with a member '{'.'.join(path[1:])}'" if name != parts.partner else f"one that has a {name}"
                what = f"kernel '{self.name}': argument '{path[0]}': expected {expected}"
                raise RuntimeTypeError_(f"{what}, got {value!r}") from error
        return value

    def signature(self) -> str:
        """Name, parameters and results: ``run1(f: ab_aos)``, ``total(x: ndarray(f64, 1)) -> f64``; behind them the bounds of
        named extents: ``norm(x: f32[n, 3], y: f32[n]), n: 1..4096 by 8``.

        Trees of fields that the kernel uses stand after its own parameters. A kernel that returns a struct or a tuple
        has its scalars, vectors and matrices as results: ``-> (f32, vector(3, f32))``.
        """
        parameters = ", ".join(f"{parameter['name']}: {parameter['text']}" for parameter in self.parameters)
        results = [result["text"] for result in self._kernel.results]
        given = f" -> ({', '.join(results)})" if len(results) > 1 else f" -> {results[0]}" if results else ""
        dims = "".join(f", {name}: {dim.bounds}" for name, dim in self.dims.items())
        return f"{self.name}({parameters}){given}{dims}"

    def __repr__(self) -> str:
        return f"<kernel {self.signature()}>"


class LoadedGraph(LoadedKernel):
    """A graph of an opened module: a kernel whose arguments may also come in a dict, as `Graph.run` takes them."""

    def run(self, args) -> None:
        """Runs its kernels in order, by one launch; args: a value for each argument, by name. Raises as a call does."""
        self(*self._named(args))

    def _reserve_for(self, tree, arguments, keywords):
        is_dict = len(arguments) == 1 and isinstance(arguments[0], Mapping) and not keywords
        return super()._reserve_for(tree, self._named(arguments[0]) if is_dict else arguments, keywords)

    def _named(self, args) -> list:
        """The arguments in order."""
        if not isinstance(args, Mapping) or set(args) != set(self._parts.names):
            what = f"graph '{self.name}': expected a dict with the arguments {', '.join(map(repr, self._parts.names))}"
            if not isinstance(args, Mapping):
                raise CallError_(f"{what}, got {args!r}")
            missing = [name for name in self._parts.names if name not in args]
            raise CallError_(f"{what}; '{missing[0]}' is missing" if missing else f"{what}, got {list(args)}")
        return [args[name] for name in self._parts.names]


def _is_lendable(memory) -> bool:
    """Can its bytes be written?"""
    try:
        with memoryview(memory) as view:
            return not view.readonly and view.c_contiguous
    except TypeError:
        return False


def _is_struct(value) -> bool:
    names = getattr(getattr(value, "dtype", None), "names", None)
    return names is not None or hasattr(value, "get_member") or isinstance(value, (Struct, Mapping, ArgPack))


class _Parts:
    """How a kernel's arguments make up its parameters.

    Attributes:
        paths: of each parameter the names from the argument to the part of it that the parameter takes.
        names: of the arguments.
        are_several: does an argument make up more than a parameter of its name?
        partner: "grad" or "dual" where a part of that name is the argument's gradient or dual.
    """

    def __init__(self, paths, partner=None):
        self.paths, self.partner = paths, partner
        self.names = list(dict.fromkeys(path[0] for path in paths))
        self.are_several = any(len(path) > 1 for path in paths)


def _path(parameter) -> list[str]:
    """Names from the argument to the part of it that a parameter takes; a tree has no parts, whatever its name."""
    return [parameter["name"]] if parameter["kind"] == _TREE else parameter["name"].split(".")


def _as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def _rebuilt(paths, values):
    """Structs and tuples of the parts of a result, each with its path of names and numbers."""
    if paths == [[]]:
        return values[0]
    parts = {}
    for path, value in zip(paths, values, strict=True):
        inner = parts.setdefault(path[0], ([], []))
        inner[0].append(path[1:])
        inner[1].append(value)
    found = {name: _rebuilt(*inner) for name, inner in parts.items()}
    return tuple(found.values()) if next(iter(found)).isdigit() else Struct(found)


class LoadedModule:
    """An opened module: its kernels and tree types by name, also as attributes.

    Attributes:
        name: the module's name.
        producer: compiler name and version that made it.
        kernels: dict of LoadedKernel by name, graphs among them.
        graphs: dict of LoadedGraph by name.
        types: dict of TreeType by name.
        variants: for each payload a dict: cpu, triple, level, features, payload_bytes.
    """

    def __init__(self, handle):
        self.name = handle.name
        self.producer = handle.producer
        self.variants = handle.variants
        self.types = {type_.name: type_from_handle(type_) for type_ in handle.types}
        self.kernels = {
            kernel.name: LoadedGraph(kernel) if kernel.is_graph else LoadedKernel(kernel) for kernel in handle.kernels
        }
        for kernel in self.kernels.values():
            for attribute, (mode, partner) in _DERIVATIVES.items():
                if (name := kernel._kernel.derivative(mode)) is not None:
                    kernel._derivatives[attribute] = self.kernels[name]
                    self.kernels[name]._is_derivative(partner)
        self.graphs = {name: kernel for name, kernel in self.kernels.items() if isinstance(kernel, LoadedGraph)}

    def session(self, name: str) -> Session:
        """A kernel or a graph to be run by steps: set_input, run, get_output. Raises RuntimeLookupError_."""
        if name not in self.kernels:
            raise RuntimeLookupError_(f"module '{self.name}' has no kernel '{name}'; {self._offers()}")
        return Session(self.kernels[name])

    def __getattr__(self, name):
        for table in ("kernels", "types"):
            found = self.__dict__.get(table, {}).get(name)
            if found is not None:
                return found
        raise AttributeError(f"module '{self.__dict__.get('name')}' has no kernel or type '{name}'; {self._offers()}")

    def __getitem__(self, name):
        try:
            return getattr(self, name)
        except AttributeError as error:
            raise RuntimeLookupError_(str(error)) from None

    def _offers(self) -> str:
        return f"its kernels: {', '.join(self.kernels) or 'none'}; its types: {', '.join(self.types) or 'none'}"

    def __repr__(self) -> str:
        return f"<module {self.name}: {self._offers()}>"


def load(path) -> LoadedModule:
    """Opens a module file, or the folder that ``save(output_dir=)`` wrote.

    The whole file is verified before anything of it runs. Raises RuntimeIOError_ when it cannot be
    read, RuntimeError_ when it is damaged, of another version or for another machine.
    """
    file = pathlib.Path(os.fspath(path))
    if file.is_dir():
        found = [file / name for name in MODULE_FILES if (file / name).is_file()]
        file = found[0] if found else file / MODULE_FILES[0]
    return LoadedModule(_runtime.Module.open_file(runtime.device(), str(file)))
