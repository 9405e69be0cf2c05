"""Modules that were opened: `aot.load` and what it gives. Runs where the compiler is absent.

It stands apart from aot.py, which builds modules: this side may know the runtime only.
"""

from __future__ import annotations

import os
import pathlib

from metate_native import _runtime

from . import runtime
from .errors import RuntimeLookupError_, RuntimeTypeError_
from .tree import type_from_handle

MODULE_FILE = "module.metate"  # the file's name in a folder that save(output_dir=) wrote


class LoadedKernel:
    """A kernel of an opened module, called like a kernel of this process.

    Attributes:
        name: its name in the module.
        parameters: a dict for each: name, dtype, rank, access, ...
    """

    def __init__(self, kernel):
        self._kernel = kernel
        self._dispatcher = _runtime.Dispatcher()
        self._dispatcher.add(kernel)
        self.name = kernel.name
        self.parameters = kernel.parameters

    def __call__(self, *arguments, **keywords):
        """Runs it. Raises RuntimeTypeError_ for a wrong argument, CapacityError, AssertionError_."""
        if keywords:
            arguments = self._place(arguments, keywords)
        return self._dispatcher(*arguments)

    def _place(self, arguments, keywords):
        placed = list(arguments)
        for parameter in self.parameters[len(arguments) :]:
            if parameter["name"] not in keywords:
                raise RuntimeTypeError_(f"kernel '{self.name}': argument '{parameter['name']}' is missing")
            placed.append(keywords.pop(parameter["name"]))
        if keywords:
            names = ", ".join(parameter["name"] for parameter in self.parameters)
            raise RuntimeTypeError_(f"kernel '{self.name}': expected arguments {names}, got '{next(iter(keywords))}' as well")
        return placed

    def signature(self) -> str:
        """Name, parameters and result: ``run1(f: ab_aos)``, ``total(x: ndarray(f64, 1)) -> f64``."""
        parameters = ", ".join(f"{parameter['name']}: {parameter['text']}" for parameter in self.parameters)
        result = self._kernel.result
        return f"{self.name}({parameters})" + (f" -> {result['text']}" if result else "")

    def __repr__(self) -> str:
        return f"<kernel {self.signature()}>"


class LoadedModule:
    """An opened module: its kernels and tree types by name, also as attributes.

    Attributes:
        name: the module's name.
        producer: compiler name and version that made it.
        kernels: dict of LoadedKernel by name.
        types: dict of TreeType by name.
        variants: for each payload a dict: cpu, triple, level, features, payload_bytes.
    """

    def __init__(self, handle):
        self.name = handle.name
        self.producer = handle.producer
        self.variants = handle.variants
        self.types = {type_.name: type_from_handle(type_) for type_ in handle.types}
        self.kernels = {kernel.name: LoadedKernel(kernel) for kernel in handle.kernels}

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
        file = file / MODULE_FILE
    return LoadedModule(_runtime.Module.open_file(runtime.device(), str(file)))
