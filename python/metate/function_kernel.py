"""A real function as a kernel: `Module.add_function` gives it the entries that kernels have.

The kernel is one call of the function. It stands where the function is defined, has its name, its docstring, and its parameters
with their annotations, so that hosts and messages show the function.
"""

from __future__ import annotations

import ast
import functools

from .errors import RuntimeTypeError_
from .frontend.function import RealFunction, Ref
from .frontend.kernel_source import KernelSource
from .kernel import Kernel

_CALLED = "__metate_called__"  # what the function is called in the kernel


class _CallSource(KernelSource):
    """The source of such a kernel: its text is in no file."""

    def __init__(self, function, text):
        super().__init__(function)
        self._text = text

    @functools.cached_property
    def _definition(self) -> tuple[str, int, ast.FunctionDef | None]:
        tree = ast.parse(self._text).body[0]
        ast.increment_lineno(tree, self.first_line - 1)
        assert isinstance(tree, ast.FunctionDef)
        return self._text, self.first_line, tree


def kernel_of(function: RealFunction) -> Kernel:
    """The kernel that calls it. Raises RuntimeTypeError_ where its annotations do not say what a host gives and gets."""
    if not isinstance(function, RealFunction):
        raise RuntimeTypeError_(f"add_function: expected a real function, got {function!r}; decorate it with @mt.real_func")
    source = function.source
    what = f"add_function: real_func '{source.name}'"
    namespace = {_CALLED: function}
    parameters = []
    for number, (name, parameter) in enumerate(source.parameters.items()):
        if parameter.annotation is parameter.empty or isinstance(parameter.annotation, Ref):
            got = "ref(...), the caller's variable" if isinstance(parameter.annotation, Ref) else "none"
            raise RuntimeTypeError_(
                f"{what}: parameter '{name}': expected the annotation of a value, an array or a tree, got {got}"
            )
        namespace[f"__metate_type{number}__"] = parameter.annotation
        parameters.append(f"{name}: __metate_type{number}__")
    result = source.returns
    if result is None:
        raise RuntimeTypeError_(f"{what}: expected an annotation of its result, got none; write -> mt.f32, say")
    namespace["__metate_result__"] = result
    names = ", ".join(source.parameters)
    text = f"def {source.name}({', '.join(parameters)}) -> __metate_result__:\n    return {_CALLED}({names})\n"
    exec(compile("\n" * (source.first_line - 1) + text, source.file, "exec"), namespace)
    made = namespace[source.name]
    made.__doc__, made.__module__ = source.function.__doc__, source.function.__module__
    kernel = Kernel(made)
    kernel._begin(_CallSource(made, text), {})
    return kernel
