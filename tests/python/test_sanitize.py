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


def test_address_sanitizer_over_the_jit(kernel_file):
    """Python itself is not instrumented: the sanitizer's runtime is loaded before everything else."""
    runtime = run("clang-22", "-print-file-name=libclang_rt.asan-x86_64.so").stdout.strip()
    if not pathlib.Path(runtime).is_file():
        pytest.skip("clang-22 has no shared AddressSanitizer runtime for this machine")
    kernel_file.write_text(PROGRAM + RUN)
    # Python's own allocator would hand out pieces of larger blocks, whose ends nobody guards.
    done = run(sys.executable, kernel_file, LD_PRELOAD=runtime, PYTHONMALLOC="malloc", ASAN_OPTIONS="detect_leaks=0")
    assert done.stdout == "inside 1.0\n"
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr and "WRITE of size 4" in done.stderr
