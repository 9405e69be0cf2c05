"""Metate: data-parallel kernels over sparse trees and arrays, run at once or shipped as modules.

    import metate as mt        # or, for a Taichi program: import metate as ti

Importing this loads neither the compiler nor the runtime: each comes with its first use.
"""

from __future__ import annotations

from . import aot, context, errors, math, types
from .context import Context, arm64, cpu, interp, reset, x64
from .errors import (
    AssertionError_,
    CapacityError,
    CompilationError,
    MetateError,
    NameError_,
    RuntimeError_,
    RuntimeIndexError_,
    SyntaxError_,
    TaichiAssertionError,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
    TreeError,
    TypeError_,
    ZeroDivisionError_,
)
from .frontend.function import func, template
from .intrinsics import *  # noqa: F403  (its __all__: the functions that kernels know)
from .intrinsics import __all__ as _intrinsics
from .kernel import attach_source, kernel
from .types import (
    NAMED_AXES as _axes,
)
from .types import (
    SNodeTreeBuilder,
    axes,
    bf16,
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint8,
    uint16,
    uint32,
    uint64,
)

globals().update(_axes)  # mt.i, mt.ij, mt.ijk, ...

__version__ = "0.1.0"


def init(arch=None, *, threads=None, cpu_max_num_threads=None, **options) -> None:
    """Sets the default context: a new one, in which nothing is compiled yet; without it the defaults hold.

    What belonged to the default context before is freed, except what the program still holds: trees and
    loaded modules stay usable.

    Args:
        arch, threads, options: as Context takes them.
        cpu_max_num_threads: Taichi's name of `threads`.
    Raises RuntimeValueError_, RuntimeTypeError_.
    """
    if threads is not None and cpu_max_num_threads is not None:
        raise errors.RuntimeValueError_("threads: expected it once, got cpu_max_num_threads as well")
    context.set_default(Context(arch, threads=threads if threads is not None else cpu_max_num_threads, **options))


__all__ = [
    "AssertionError_", "CapacityError", "CompilationError", "Context", "MetateError", "NameError_", "RuntimeError_",
    "RuntimeIndexError_", "SNodeTreeBuilder", "SyntaxError_", "TaichiAssertionError", "TaichiCompilationError",
    "TaichiIndexError", "TaichiNameError", "TaichiRuntimeError", "TaichiRuntimeTypeError", "TaichiSyntaxError",
    "TaichiTypeError", "TreeError", "TypeError_", "ZeroDivisionError_", "aot", "arm64", "attach_source", "axes",
    "bf16", "cpu", "errors", "f16", "f32", "f64", "float16", "float32", "float64", "func", "i16", "i32", "i64", "i8",
    "init", "int16", "int32", "int64", "int8", "interp", "kernel", "math", "reset", "template", "types", "u1", "u16",
    "u32", "u64", "u8", "uint16", "uint32", "uint64", "uint8", "x64",
    *_axes, *_intrinsics,
]  # fmt: skip
