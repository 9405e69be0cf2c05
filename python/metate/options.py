"""What `mt.init` takes: a context's options, Taichi's options in terms of them, and those that have no meaning here.

Nothing is swallowed: every name is in one of the tables, which the manual shows; an unknown one is an error.
"""

from __future__ import annotations

import sys

from . import compile_options
from . import context as _context
from .devices import NoDeviceError
from .errors import RuntimeValueError_

# Backends of Taichi that Metate has none for. Kernels then run on the CPU, and init says so.
OTHER_ARCHS = ("metal", "opengl", "gles", "amdgpu", "dx11", "dx12")

# Taichi's option -> (what it does here, its value -> a context's options).
TRANSLATED = {
    "cpu_max_num_threads": ("`threads`", lambda n: {"threads": n}),
    "kernel_profiler": ("`profile=True`: times of kernels and tasks, see `mt.profiler`", lambda on: {"profile": bool(on)}),
    "check_out_of_bound": ("`debug=True`", lambda on: {"debug": True} if on else {}),
    "make_thread_local": ("`private_reductions`", lambda on: {"private_reductions": on}),
    "advanced_optimization": (
        "False leaves every optimisation out that may be left out",
        lambda on: {} if on else dict.fromkeys(compile_options.OPTIMISATIONS, False),
    ),
}

# Taichi's options that are accepted and change nothing, by the reason.
WITHOUT_EFFECT = {
    "`mt.profiler.save_trace(...)` writes what was launched": ("timeline",),
    "trees take memory from the system as it is written": ("device_memory_GB", "device_memory_fraction"),
    "`kernel.stages(...)` gives the IR and the assembly after each stage": (
        "print_preprocessed_ir", "print_accessor_ir", "print_ir_dbg_info", "print_struct_llvm_ir", "print_kernel_llvm_ir",
        "print_kernel_llvm_ir_optimized", "print_kernel_asm", "print_kernel_amdgcn",
    ),
    "there is no log; errors are exceptions": (
        "log_level", "verbose", "verbose_kernel_launches", "print_full_traceback", "gdb_trigger",
    ),
    "about backends that are not there yet": (
        "use_llvm", "default_gpu_block_dim", "gpu_max_reg", "saturating_grid_dim", "max_block_dim", "cuda_stack_limit",
        "allow_nv_shader_extension", "vk_api_version", "half2_vectorization",
    ),
    "the compiler decides": (
        "default_cpu_block_dim", "cpu_block_dim_adaptive", "num_compile_threads", "unrolling_limit", "lower_access",
        "simplify_before_lower_access", "simplify_after_lower_access", "move_loop_invariant_outside_if",
        "cache_loop_invariant_global_vars", "demote_dense_struct_fors", "cfg_optimization", "flatten_if", "detect_read_only",
        "make_block_local", "make_cpu_multithreading_loop", "real_matrix_scalarize", "force_scalarize_matrix",
        "short_circuit_operators", "ad_stack_size", "quant_opt_store_fusion", "quant_opt_atomic_demotion",
    ),
    "about meshes, which are not there yet": (
        "make_mesh_block_local", "mesh_localize_to_end_mapping", "mesh_localize_from_end_mapping",
        "mesh_localize_all_attr_mappings", "optimize_mesh_reordered_mapping", "demote_no_access_mesh_fors",
        "experimental_auto_mesh_local", "auto_mesh_local_default_occupacy",
    ),
    "versions are Metate's own": ("require_version",),
}  # fmt: skip

_IGNORED = {name for names in WITHOUT_EFFECT.values() for name in names}


def new_context(arch, enable_fallback, given) -> _context.Context:
    """The context for what init was called with.

    Args:
        arch: mt.cpu and the like; a backend of Taichi's, or a sequence of archs, of which the first one that is there is taken.
        enable_fallback: False makes it an error where none is there; else the CPU stands in.
        given: further options by name.
    Raises RuntimeValueError_ for an unknown option, a backend that is not there, an option given twice; and as Context does.
    """
    options = context_options(given)
    missing = None
    for one in arch if isinstance(arch, (list, tuple)) and arch else [arch]:
        try:
            if one not in OTHER_ARCHS:
                return _context.Context(arch=one, **options)
            missing = missing or f"there is no backend for {one!r} yet"
        except NoDeviceError as error:
            missing = missing or str(error)
    if not enable_fallback:
        raise RuntimeValueError_(f"arch: {missing}, and enable_fallback is False; use mt.cpu")
    print(f"metate: {missing}: kernels run on this machine's CPU", file=sys.stderr)
    return _context.Context(**options)


def context_options(given) -> dict:
    """What Context takes for options that init was called with, but for the arch."""
    known = _context.option_names()
    own = {name: value for name, value in given.items() if name in known}
    found = dict(own)
    for name, value in given.items():
        if name in TRANSLATED and value is not None:
            for meant, each in TRANSLATED[name][1](value).items():
                if meant in own and (own[meant] != each or not isinstance(each, bool)):
                    raise RuntimeValueError_(f"{meant}: expected it once, got {name} as well")
                found[meant] = each
        elif name not in own and name not in TRANSLATED and name not in _IGNORED:
            raise RuntimeValueError_(f"init: unknown option '{name}'{_suggestion(name, known)}")
    return found


def _suggestion(name, known):
    if name == "default_up":
        return ": it is always the unsigned type of default_ip"
    import difflib

    near = difflib.get_close_matches(name, [*known, *TRANSLATED, *_IGNORED], 1)
    return f"; did you mean '{near[0]}'?" if near else f"; options are {', '.join(sorted(known))}"
