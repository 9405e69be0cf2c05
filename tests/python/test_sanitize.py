"""Instrumented kernels from Python: who may open them, what refuses them, and AddressSanitizer over the JIT.

Under the sanitizers themselves the modules run in tests/sanitize.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt
from metate.errors import RuntimeValueError_

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """\
import metate as mt

array = mt.types.ndarray(dtype=mt.f32, ndim=1)

@mt.kernel
def store_at(x: array, at: mt.i32):
    for i in range(1):
        x[at + i] = 1.0
"""
RUN = """
import numpy as np

with mt.Context(sanitizer="address"):
    x = np.zeros(100, np.float32)
    store_at(x, 99)
    print("inside", x[99], flush=True)
    store_at(x, 100)
    print("outside", flush=True)
"""

MEET = """
import numpy as np

blocks = mt.types.SNodeTreeBuilder().pointer(mt.i, 8, name="blocks").dense(mt.i, 4).place(h=mt.f32).build()

@mt.real_func
def half(n: mt.i32) -> mt.i32:
    result = n
    if n > 8:
        result = half(n // 2)
    return result

@mt.real_func
def put(x: mt.template(), at: mt.i32):
    x[at] = 1.0

@mt.kernel
def rain(f: blocks, n: mt.i32):
    for k in range(n):
        f.h[half(k)] += 1.0

@mt.kernel
def put_at(x: array, at: mt.i32):
    for i in range(1):
        put(x, at + i)

Arg, ArgKind = mt.graph.Arg, mt.graph.ArgKind
builder = mt.graph.GraphBuilder()
builder.dispatch(put_at, Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1), Arg(ArgKind.SCALAR, "at", mt.i32))
graph, x = builder.compile("putting"), np.zeros(100, np.float32)
for options in ({"debug": True, "reports": True}, {"deterministic": True, "profile": True}):
    with mt.Context(sanitizer="address", threads=2, opt_level=0, **options):
        graph.run({"x": x, "at": 99})
        tree = blocks.new(capacity={"blocks": 8})
        needed = tree.reserve_for(rain, tree, 30)
        rain(tree, 30)
        assert tree.h.to_numpy().sum() == 30 and needed["blocks"] == tree.stats()["blocks"].used
        if "debug" in options:
            assert rain.report().code
            stopped = ""
            try:
                graph.run({"x": x, "at": 100})
            except IndexError as error:  # debug mode stops before
                stopped = str(error)
            assert "100" in stopped
        else:
            assert {one.name for one in mt.profiler.kernel_profiles()} >= {"putting", "rain"}
@mt.kernel
def squares(y: array, total: mt.types.ndarray(mt.f32, 0)):
    for i in y:
        v = y[i]
        for k in range(3):
            v = v * y[i]
        total[None] += v

with mt.Context(sanitizer="address", opt_level=0):
    y, total = (mt.ndarray(mt.f32, shape, needs_grad=True) for shape in (100, ()))
    y.fill(2)
    with mt.ad.Tape(total):
        squares(y, total)
    assert total[None] == 1600 and (y.grad.to_numpy() == 32).all()
    keys = np.array([3, 1, 2], np.int32)
    mt.algorithms.parallel_sort(keys)
    print("inside", x[99], *keys, flush=True)
    graph.run({"x": x, "at": 100})
    print("outside", flush=True)
"""


@pytest.fixture
def kernel_file(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_a_host_without_the_sanitizer_is_told(kernel_file, tmp_path, sanitizer):
    module = tmp_path / "m.metate"
    built = run(sys.executable, "-m", "metate.cli", "build", kernel_file, "-o", module, "--sanitize", sanitizer)
    assert built.returncode == 0, built.stderr
    text = f"its code is instrumented for the {sanitizer} sanitizer, which is not in this process"
    with pytest.raises(mt.RuntimeError_, match=text):
        mt.aot.load(module)
    tool = ROOT / "build" / "bin" / "metate-run"
    assert f"sanitizer-{sanitizer}" in run(tool, "inspect", module).stdout
    assert run(tool, "verify", module).returncode == 0
    refused = run(tool, "run", module, "store_at")
    assert refused.returncode != 0 and text in refused.stderr


def test_the_jit_refuses_without_the_sanitizer():
    @mt.kernel
    def nothing(x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
        for i in range(x.shape[0]):
            x[i] = 1

    text = "instrumented for the thread sanitizer, which is not in this process: build its host with -fsanitize=thread"
    with mt.Context(sanitizer="thread"), pytest.raises(mt.CompilationError, match=text):
        nothing(np.zeros(3, np.float32))


def test_unknown_names_are_refused(kernel_file, tmp_path):
    with pytest.raises(RuntimeValueError_, match=r"sanitizer: expected one of address, thread, got 'memory'"):
        mt.aot.Module(sanitizer="memory")
    built = run(sys.executable, "-m", "metate.cli", "build", kernel_file, "-o", tmp_path / "m", "--sanitize", "memory")
    assert built.returncode == 2 and "--sanitize" in built.stderr


def run_instrumented(file):
    """Python itself is not instrumented: the sanitizer's runtime is loaded before everything else."""
    runtime = run("clang-22", "-print-file-name=libclang_rt.asan-x86_64.so").stdout.strip()
    if not pathlib.Path(runtime).is_file():
        pytest.skip("clang-22 has no shared AddressSanitizer runtime for this machine")
    # Python's own allocator would hand out pieces of larger blocks, whose ends nobody guards.
    return run(sys.executable, file, LD_PRELOAD=runtime, PYTHONMALLOC="malloc", ASAN_OPTIONS="detect_leaks=0")


def test_address_sanitizer_over_the_jit(kernel_file):
    kernel_file.write_text(PROGRAM + RUN)
    done = run_instrumented(kernel_file)
    assert done.stdout == "inside 1.0\n"
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr and "WRITE of size 4" in done.stderr


def test_address_sanitizer_where_capabilities_meet(kernel_file):
    """Graphs, real functions, counted slots, algorithms, gradients; with reports, a profile, in debug and deterministic mode."""
    kernel_file.write_text(PROGRAM + MEET)
    done = run_instrumented(kernel_file)
    assert done.stdout == "inside 1.0 1 2 3\n", done.stderr[-2000:]
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr and "WRITE of size 4" in done.stderr
