"""Metate: data-parallel kernels over sparse trees and arrays, run at once or shipped as modules.

    import metate as mt        # or, for a Taichi program: import metate as ti

Importing this loads neither the compiler nor the runtime: each comes with its first use.
"""

from __future__ import annotations

from . import aot, context, errors, math, types
from .context import arm64, cpu, x64
from .errors import (
    AssertionError_,
    CapacityError,
    CompilationError,
    MetateError,
    NameError_,
    RuntimeError_,
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


def init(
    arch=None, *, cpu=None, threads=None, cpu_max_num_threads=None, default_ip=i32, default_fp=f32, fast_math=False
) -> None:  # fmt: skip
    """Sets the default context; without it everything works with the defaults.

    What was compiled before keeps its code: call it first, as Taichi programs do.

    Args:
        arch: ``mt.cpu`` (the default), or the architecture that this machine has.
        cpu: name of the CPU to compile kernels for, such as ``"x86-64-v3"``; default: this machine's.
        threads: how many threads kernels may use at once; default, and 0: as many as the machine has.
        cpu_max_num_threads: Taichi's name of `threads`.
        default_ip, default_fp: types of integer and floating-point literals.
        fast_math: True lets floating-point operations be reordered.
    Raises RuntimeValueError_.
    """
    from . import runtime
    from .kernel import set_language

    if threads is not None and cpu_max_num_threads is not None:
        raise errors.RuntimeValueError_("threads: expected it once, got cpu_max_num_threads as well")
    count = threads if threads is not None else cpu_max_num_threads
    context.set_target(arch, cpu)
    set_language(default_ip=default_ip, default_fp=default_fp, fast_math=fast_math)
    runtime.set_threads(0 if count is None else count)


__all__ = [
    "AssertionError_", "CapacityError", "CompilationError", "MetateError", "NameError_", "RuntimeError_",
    "SNodeTreeBuilder", "SyntaxError_", "TaichiAssertionError", "TaichiCompilationError", "TaichiIndexError",
    "TaichiNameError", "TaichiRuntimeError", "TaichiRuntimeTypeError", "TaichiSyntaxError", "TaichiTypeError",
    "TreeError", "TypeError_", "aot", "arm64", "attach_source", "axes", "bf16", "cpu", "errors", "f16", "f32", "f64", "float16",
    "float32", "float64", "func", "i16", "i32", "i64", "i8", "init", "int16", "int32", "int64", "int8", "kernel",
    "math", "template", "types", "u1", "u16", "u32", "u64", "u8", "uint16", "uint32", "uint64", "uint8", "x64",
    *_axes, *_intrinsics,
]  # fmt: skip
