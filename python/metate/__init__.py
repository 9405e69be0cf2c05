"""Metate: data-parallel kernels over sparse trees and arrays, run at once or shipped as modules.

    import metate as mt        # or, for a Taichi program: import metate as ti

Importing this loads neither the compiler nor the runtime: each comes with its first use.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace as _SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import context, errors, math, types, ui
from . import derivative as _derivative  # noqa: F401  (so that kernels have derivatives)
from . import device_work as _device_work  # noqa: F401  (so that fields of a device have its kernels)
from . import devices as _devices
from . import dtypes as _dtypes
from . import not_here as _not_here
from . import options as _options
from . import runtime as _runtime
from ._version import __version__
from .config import cfg
from .context import Context, arm64, cpu, cuda, gpu, interp, reset, vulkan, x64, x86_64
from .dim import Dim
from .dtypes import *  # noqa: F403  (its __all__: the scalar types)
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
from .fields import (
    BitpackedFields,
    Field,
    FieldsBuilder,
    Layout,
    MatrixField,
    ScalarField,
    SNode,
    StructField,
    field,
    matrix_field,
    root,
    struct_field,
    vector_field,
)
from .frontend.function import data_oriented, func, pyfunc, real_func, ref, template
from .intrinsics import *  # noqa: F403  (its __all__: the functions that kernels know)
from .intrinsics import __all__ as _intrinsics
from .kernel import attach_source, kernel
from .ndarray import (
    MatrixNdarray,
    ScalarNdarray,
    VectorNdarray,
    from_dlpack,
    matrix_ndarray,
    ndarray,
    vector_ndarray,
)
from .struct_types import Struct
from .triplets import sparse_matrix_builder  # noqa: F401  (an old place of types.sparse_matrix_builder)
from .types import (
    NAMED_AXES as _axes,
)
from .types import SNodeTreeBuilder, axes, dataclass

if TYPE_CHECKING:  # what __getattr__ loads when it is named
    from . import ad as ad
    from . import algorithms as algorithms
    from . import aot as aot
    from . import graph as graph
    from . import linalg as linalg
    from . import profiler as profiler
    from . import rpc as rpc
    from . import tools as tools
    from .linalg import eig as eig
    from .linalg import polar_decompose as polar_decompose
    from .linalg import solve as solve
    from .linalg import svd as svd
    from .linalg import sym_eig as sym_eig
    from .ui import GUI as GUI
    from .ui import VideoManager as VideoManager
    from .ui import imread as imread
    from .ui import imresize as imresize
    from .ui import imshow as imshow
    from .ui import imwrite as imwrite

_linear_algebra = ("eig", "polar_decompose", "solve", "svd", "sym_eig")
globals().update(_axes)  # mt.i, mt.ij, mt.ijk, ...
experimental = _SimpleNamespace(real_func=real_func)  # where Taichi keeps it
TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = "trace", "debug", "info", "warn", "error", "critical"  # for log_level=
globals().update({name: name for name in _options.OTHER_ARCHS})  # mt.metal, ...: see init
simt = _not_here.Arch(_devices.SIMT)
Vector.ndarray, Matrix.ndarray = vector_ndarray, matrix_ndarray  # noqa: F405
Vector.field, Matrix.field, Struct.field = vector_field, matrix_field, staticmethod(struct_field)  # noqa: F405


def init(
    arch: Any = None, default_fp: Any = None, default_ip: Any = None, *, enable_fallback: bool = True, **options: Any
) -> None:
    """Sets the default context: a new one, in which nothing is compiled yet; without it the defaults hold.

    What belonged to the default context before is freed, except what the program still holds: trees, fields and
    loaded modules stay usable. `mt.root` begins anew.

    Args:
        arch: mt.cpu, mt.x64, mt.arm64, mt.cuda, mt.vulkan, mt.gpu, mt.simt, mt.interp: see Context; or several, of which the
            first one that is there is taken. Where none is, kernels run on the CPU, and a line on stderr says why; for mt.metal,
            mt.opengl and mt.amdgpu there is no backend yet.
        default_fp, default_ip: types of floating-point and integer literals.
        enable_fallback: False makes an arch that is not there an error.
        options: what Context takes, and Taichi's options (the manual lists them).
    Raises RuntimeValueError_, RuntimeTypeError_; an unknown option is an error.
    """
    given = {"default_fp": default_fp, "default_ip": default_ip}
    given = {name: value for name, value in given.items() if value is not None}
    context.set_default(_options.new_context(arch, enable_fallback, {**given, **options}))


def sync() -> None:
    """Returns when all that was launched in the current context has ended.

    A call of a kernel that cannot fail returns on a GPU before the kernel has ended; on the CPU there is nothing to wait for.
    Reading a field waits as well.
    """
    _runtime.wait()


def deactivate_all_snodes() -> None:
    """Makes every cell of the current context's fields inactive that can be."""
    root.deactivate_all()


def var(dt: Any, shape: Any = None, **keywords: Any) -> Any:
    """An old name of `field`."""
    return field(dt, shape, **keywords)


def __getattr__(name: str):
    """What programs use now and then: loaded when it is named."""
    if name in ("_lib", "ad", "algorithms", "aot", "graph", "lang", "linalg", "profiler", "rpc", "sparse", "tools"):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "Ndarray":
        return importlib.import_module(f"{__name__}.array_object").NDArray
    if name in _linear_algebra:
        return getattr(importlib.import_module(f"{__name__}.linalg"), name)
    if name in ui.OF_PACKAGE:
        return getattr(ui, name)
    raise _not_here.error(__name__, name)


__all__ = [
    "AssertionError_", "BitpackedFields", "CapacityError", "CompilationError", "Context", "Dim", "Field", "FieldsBuilder",
    "Layout", "MatrixField", "MatrixNdarray", "MetateError", "NameError_", "RuntimeError_", "RuntimeIndexError_",
    "SNode", "SNodeTreeBuilder", "ScalarField", "ScalarNdarray", "Struct", "StructField", "SyntaxError_",
    "TaichiAssertionError", "TaichiCompilationError", "TaichiIndexError", "TaichiNameError", "TaichiRuntimeError",
    "TaichiRuntimeTypeError", "TaichiSyntaxError", "TaichiTypeError", "TreeError", "TypeError_", "VectorNdarray",
    "ZeroDivisionError_", "__version__", "aot", "arm64", "attach_source", "axes", "cfg", "cpu", "cuda", "data_oriented",
    "dataclass", "deactivate_all_snodes", "errors", "field", "from_dlpack", "func", "gpu", "init", "interp", "kernel", "math",
    "ndarray", "pyfunc", "real_func", "ref", "reset", "root", "simt", "sync", "template", "types", "ui", "var", "vulkan",
    "x64", "x86_64",
    *_axes, *_dtypes.__all__, *_intrinsics, *_linear_algebra, *_options.OTHER_ARCHS,
]  # fmt: skip
