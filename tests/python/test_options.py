"""mt.init: Taichi's options, other backends, sync and reset."""

import argparse
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import metate as mt
from metate import compile_options, options
from metate._options import TABLE, CompilerOptions
from metate.errors import RuntimeTypeError_, RuntimeValueError_
from metate_native import _compiler

# All that Taichi 1.7.4 takes: attributes of its CompileConfig, and what init handles itself.
TAICHI = """
    ad_stack_size advanced_optimization allow_nv_shader_extension arch auto_mesh_local_default_occupacy
    cache_loop_invariant_global_vars cfg_optimization check_out_of_bound cpu_block_dim_adaptive cpu_max_num_threads
    cuda_stack_limit debug default_cpu_block_dim default_fp default_gpu_block_dim default_ip demote_dense_struct_fors
    demote_no_access_mesh_fors detect_read_only device_memory_GB device_memory_fraction experimental_auto_mesh_local
    fast_math flatten_if force_scalarize_matrix gpu_max_reg half2_vectorization kernel_profiler lower_access
    make_block_local make_cpu_multithreading_loop make_mesh_block_local make_thread_local max_block_dim
    mesh_localize_all_attr_mappings mesh_localize_from_end_mapping mesh_localize_to_end_mapping
    move_loop_invariant_outside_if num_compile_threads offline_cache offline_cache_cleaning_factor
    offline_cache_cleaning_policy offline_cache_file_path offline_cache_max_size_of_files opt_level
    optimize_mesh_reordered_mapping print_accessor_ir print_ir print_ir_dbg_info print_kernel_amdgcn print_kernel_asm
    print_kernel_llvm_ir print_kernel_llvm_ir_optimized print_preprocessed_ir print_struct_llvm_ir
    quant_opt_atomic_demotion quant_opt_store_fusion random_seed real_matrix_scalarize saturating_grid_dim
    simplify_after_lower_access simplify_before_lower_access timeline use_llvm verbose verbose_kernel_launches
    vk_api_version log_level gdb_trigger short_circuit_operators print_full_traceback unrolling_limit require_version
    enable_fallback
""".split()
ROOT = Path(__file__).resolve().parents[2]
MANUAL = (ROOT / "docs/manual/contexts.md").read_text()


@pytest.fixture(autouse=True)
def default_context():
    before = mt.context.current()
    yield
    mt.context.set_default(before)


def test_every_option_of_taichi_is_known():
    known = {"enable_fallback", *mt.context.option_names(), *options.TRANSLATED}
    ignored = [name for names in options.WITHOUT_EFFECT.values() for name in names]
    assert set(TAICHI) <= known | set(ignored)
    assert len(ignored) == len(set(ignored)) and not known & set(ignored)
    for name in ignored:
        mt.init(**{name: 1})
        assert mt.context.current().options == mt.Context().options


def test_the_manual_lists_every_option():
    for reason, names in options.WITHOUT_EFFECT.items():
        row = next((line for line in MANUAL.splitlines() if line.startswith("|") and reason in line), "")
        assert all(f"`{name}`" in row for name in names), f"docs/manual/contexts.md: a row with {reason} and {', '.join(names)}"
    for name, (what, _) in options.TRANSLATED.items():
        assert f"| `{name}` | {what} |" in MANUAL


def test_what_is_made_of_the_compilers_table_is_up_to_date():
    done = subprocess.run([ROOT / "scripts/make-options", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    rows = {name: (type_, role == "Optimisation", text) for name, type_, _, role, text in _compiler.option_table()}
    for row in TABLE:
        assert rows[row.name] == (row.type, row.is_optimisation, row.documentation)
    assert {name for name in rows if name not in compile_options.DEFAULTS} == {"reserve", "verify"}


def test_defaults_are_the_compilers():
    made, plain = compile_options.choices(CompilerOptions(**compile_options.DEFAULTS), ["native"]), _compiler.Choices()
    assert all(getattr(made, name) == getattr(plain, name) for name in compile_options.DEFAULTS)


@pytest.mark.parametrize("name", compile_options.DEFAULTS)
def test_every_option_reaches_contexts_modules_the_command_line_and_dumps(name):
    default = compile_options.DEFAULTS[name]
    value = not default if isinstance(default, bool) else "thread" if name == "sanitizer" else 1
    flag = "--" + name.replace("_", "-")
    flags = [flag if value else f"--no-{flag[2:]}"] if isinstance(default, bool) else [flag, str(value)]
    parser = argparse.ArgumentParser()
    compile_options.add_arguments(parser)
    assert compile_options.given_arguments(parser.parse_args(flags)) == compile_options.DEFAULTS | {name: value}
    context = mt.Context(**{name: value})
    assert getattr(context.options, name) == value and f"{name}={value!r}" in repr(context)
    assert getattr(mt.aot.Module(**{name: value}).choices(), name) == value
    text = str(value).lower() if isinstance(value, bool) else value
    dump = _compiler.run_stages("module {}", "import", "simplify", compile_options.choices(context.options, ["native"]))
    assert dump.splitlines()[0] == f"// after simplify: {name}={text}"


def test_unknown_options_are_refused():
    for make in (mt.Context, mt.aot.Module):
        with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'scan_mask'"):
            make(scan_mask=False)
    with pytest.raises(_compiler.CompileError, match="sanitizer: expected 'address' or 'thread', got 'memory'"):
        _compiler.Choices().sanitizer = "memory"


def test_options_that_mean_something_here():
    mt.init(mt.cpu, mt.f64, mt.i64, cpu_max_num_threads=2, debug=True, fast_math=True, random_seed=7, opt_level=1)
    made = mt.context.current().options
    assert (made.default_fp, made.default_ip, made.threads, made.debug, made.fast_math) == (mt.f64, mt.i64, 2, True, True)
    assert (made.random_seed, made.opt_level) == (7, 1)
    mt.init(check_out_of_bound=True, make_thread_local=False)
    made = mt.context.current().options
    assert made.debug and not made.private_reductions and made.demote_atomics
    mt.init(advanced_optimization=False)
    made = mt.context.current().options
    assert not (made.hoist_leaves or made.prove_activity or made.scan_masks or made.demote_atomics or made.private_reductions)
    mt.init(check_out_of_bound=False, advanced_optimization=True, cpu_max_num_threads=None)
    assert mt.context.current().options == mt.Context().options


def test_print_ir(capsys):
    mt.init(print_ir=True)

    @mt.kernel
    def add_one(x: mt.types.ndarray(mt.f32, 1)):
        for i in x:
            x[i] += 1

    add_one(np.zeros(3, np.float32))
    assert "metate.kernel @add_one" in capsys.readouterr().out
    add_one(np.zeros(4, np.float32))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arch", ["metal", "opengl", "amdgpu"])
def test_other_backends_say_that_the_cpu_stands_in(arch, capfd):
    mt.init(arch=getattr(mt, arch))
    expected = f"metate: there is no backend for '{arch}' yet: kernels run on this machine's CPU\n"
    assert capfd.readouterr().err == expected
    assert mt.context.current().options == mt.Context().options
    with pytest.raises(RuntimeValueError_, match=f"arch: there is no backend for '{arch}' yet, and enable_fallback is False"):
        mt.init(arch=arch, enable_fallback=False)


def test_the_first_of_several_archs_that_is_there(capfd):
    mt.init(arch=[mt.opengl, mt.cpu])
    assert capfd.readouterr().err == ""
    mt.init(arch=[mt.opengl, mt.metal])
    assert "no backend for 'opengl'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({"random_sed": 1}, RuntimeValueError_, "init: unknown option 'random_sed'; did you mean 'random_seed'?"),
        ({"ofline_cache": 1}, RuntimeValueError_, "init: unknown option 'ofline_cache'; did you mean 'offline_cache'?"),
        ({"default_up": mt.u32}, RuntimeValueError_, "init: unknown option 'default_up': it is always the unsigned"),
        ({"zzzzz": 1}, RuntimeValueError_, "init: unknown option 'zzzzz'; options are across_iterations, arch, asserts, checks"),
        ({"threads": 1, "cpu_max_num_threads": 2}, RuntimeValueError_, "threads: expected it once, got cpu_max_num_threads"),
        ({"debug": False, "check_out_of_bound": True}, RuntimeValueError_, "debug: expected it once, got check_out_of_bound"),
        (
            {"arch": "z80"},
            RuntimeValueError_,
            "arch: expected mt.cpu, mt.x64, mt.arm64, mt.gpu, mt.cuda, mt.vulkan, mt.simt or mt.interp, got 'z80'",
        ),
        ({"default_fp": mt.i32}, RuntimeTypeError_, "default_fp: expected a float type, got i32"),
    ],
)  # fmt: skip
def test_wrong_options(given, kind, text):
    with pytest.raises(kind, match="^" + re.escape(text)):
        mt.init(**given)


def test_sync_and_reset_leave_fields_alone():
    x = mt.var(mt.f32, shape=3)
    x[1] = 2
    mt.sync()
    mt.reset()
    assert x[1] == 2
