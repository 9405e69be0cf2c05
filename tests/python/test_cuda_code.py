"""Code for CUDA, without a device: the kernels of the examples compile, ptxas takes them, and they spill little.

They are compiled for `cuda:compute_80` (example_kernels.py): of some examples in each run, of all with METATE_TEST_CUDA_CODE=1.
ptxas is that of the machine, or of NVIDIA's package (ptxas.py).
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import time

import ptxas
import pytest
from example_kernels import kernels_of

import metate as mt

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVEL = "80"
# Which run always: dense and sparse trees, lists, hashes, quantised data, gradients, random numbers, prints of their own kinds.
SOME = ("mpm88", "nbody", "sph", "quant_mpm", "fit", "sparse/mgpcg", "sparse/particle_list", "sparse/point_cloud_hashing")
MOST_SPILLED = 64  # bytes of a function's spill stores
SPILLED = {"billiards/roll_grad": 600}  # its backward pass keeps all balls of a step at once
# An access that reads and writes at once, with what stands before its address.
CHANGES = re.compile(r"\b((?:atom|red)\.[\w.:]+)")


def text_of(module):
    begin = module.index(b".version")
    return module[begin : module.index(b"\0", begin)].decode()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """{program/kernel: (IR after map, PTX)}"""
    some = None if os.environ.get("METATE_TEST_CUDA_CODE") else SOME
    found = kernels_of(some, f"cuda:compute_{LEVEL}", tmp_path_factory.mktemp("cuda"))
    return {name: (mapped, text_of(module)) for name, (mapped, module) in found.items()}


def test_kernels_of_examples_compile(kernels):
    for name, (_, ptx) in kernels.items():
        assert f".target sm_{LEVEL}" in ptx and ".visible .entry" in ptx, name
        assert ".extern" not in ptx, f"{name}: calls what nobody brings"


def test_read_modify_writes_have_fences_for_their_order(kernels):
    """LLVM 22 emits each atomicrmw relaxed, whatever its order: it must ask for none, and fences stand around it where one is
    needed. A compare-exchange is emitted with its own."""
    seen = set()
    for name, (mapped, ptx) in kernels.items():
        orders = re.findall(r"llvm\.atomicrmw .*? (monotonic|acquire|release|acq_rel|seq_cst)\b", mapped)
        assert set(orders) <= {"monotonic"}, name
        for text in CHANGES.findall(ptx):
            seen.add(text)
            ordered = re.search(r"\.(acquire|release|acq_rel|sc)\b", text)
            assert ".cas." in text or not ordered, (name, text)
    assert any(".cas." in text for text in seen) and any(".cas." not in text for text in seen)


def device_ir(source):
    """LLVM's IR of C that is part of every kernel."""
    command = ["clang-22", "-std=c11", "-ffreestanding", "-O1", "-g0", "--target=nvptx64-nvidia-cuda", "-S", "-emit-llvm"]
    include = [f"-I{ROOT}/{folder}" for folder in ("abi", "protocol", "compiler")]
    flags = ["-Xclang", "-target-cpu", "-Xclang", f"sm_{LEVEL}", "-Xclang", "-target-feature", "-Xclang", "+ptx80"]
    return subprocess.run([*command, *include, *flags, source, "-o", "-"], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("source", ["Grid/Support/Grid.c", "Cuda/Support/Cuda.c"])
def test_what_grids_bring_has_fences_too(source):
    ir = device_ir(ROOT / "compiler/metate/Target" / source)
    assert set(re.findall(r"atomicrmw .* (monotonic|acquire|release|acq_rel|seq_cst)\b", ir)) <= {"monotonic"}


# ---- ptxas


TOLD = re.compile(
    r"Function properties for (\w+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    r"(?:\nptxas info\s*: Used (\d+) registers)?"
)


def assembled(assembler, name, ptx, folder):
    """What ptxas says of a kernel's functions: (name, function, registers, stack, spill stores, spill loads)."""
    file = folder / f"{name.replace('/', '-')}.ptx"
    file.write_text(ptx)
    command = [assembler, f"-arch=sm_{LEVEL}", "-O3", "-v", "-o", file.with_suffix(".cubin"), file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    told = done.stdout + done.stderr
    warnings = [line for line in told.splitlines() if "warning" in line]
    assert not warnings, (name, warnings)
    return [
        (name, function, int(registers or 0), int(stack), int(stores), int(loads))
        for function, stack, stores, loads, registers in TOLD.findall(told)
    ]


def test_ptxas_takes_the_kernels(kernels, tmp_path, capsys):
    assembler = ptxas.find()
    assert assembler, "no ptxas: scripts/setup installs NVIDIA's package with one"
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        lists = list(workers.map(lambda item: assembled(assembler, item[0], item[1][1], tmp_path), kernels.items()))
    rows = sorted((row for rows in lists for row in rows), key=lambda row: (-row[4], -row[2]))
    assert len(rows) >= len(kernels)
    with capsys.disabled():
        spilling = sum(row[4] > 0 for row in rows)
        print(f"\n{len(kernels)} kernels, {len(rows)} functions for sm_{LEVEL}, {spilling} spill; the largest:")
        print(f"{'function':60} {'registers':>9} {'stack':>7} {'spilled':>7} {'loaded':>7}")
        for name, function, registers, stack, stores, loads in rows[:12]:
            print(f"{name.rpartition('/')[0] + ' ' + function:60} {registers:9} {stack:7} {stores:7} {loads:7}")
    assert [row for row in rows if row[4] > SPILLED.get(row[0].rpartition("-")[0], MOST_SPILLED)] == []


# ---- what is made of single kernels


def ptx_of(kernel, folder):
    module = mt.aot.Module(targets=[f"cuda:compute_{LEVEL}"])
    module.add_kernel(kernel)
    module.save(folder / "one.metate")
    return text_of((folder / "one.metate").read_bytes())


def test_parts_of_numbers_are_taken_out_of_registers_of_words(tmp_path):
    """`st.b32` of a register that holds a double stored, by ptxas 13.0, the number as an integer."""

    @mt.kernel
    def low(x: mt.types.ndarray(mt.f32, 1), words: mt.types.ndarray(mt.u32, 1), small: mt.types.ndarray(mt.u8, 1)):
        for i in x:
            words[i] = mt.cast(mt.bit_cast(mt.f64(x[i]) * 3.0, mt.u64), mt.u32)
            small[i] = mt.cast(mt.bit_cast(x[i] * 5.0, mt.u32), mt.u8)

    ptx = ptx_of(low, tmp_path)
    numbers = set(re.findall(r"(?:mul|cvt)[\w.]*\.f64[\w.]* \t?(%rd\d+)", ptx)) | set(
        re.findall(r"mul[\w.]*\.f32 \t?(%r\d+)", ptx)
    )
    stored = re.findall(r"st\.global\.b(\d+) \t?\[[^]]*\], (%\w+)", ptx)
    assert numbers and {bits for bits, _ in stored} == {"32", "8"}
    assert not {register for _, register in stored} & numbers
    assert "mov.b64 {" in ptx and "mov.b32 {" in ptx


def test_short_loops_are_written_out(tmp_path):
    """Sixteen turns, and the rest: of a loop without branches whose step is known, side by side."""

    @mt.kernel
    def nearest(x: mt.types.ndarray(mt.f32, 1), out: mt.types.ndarray(mt.f32, 1)):
        for i in x:
            s = 0.0
            for j in range(x.shape[0]):
                s = mt.max(s, mt.sqrt(mt.abs(x[j] - x[i])))
            out[i] = s

    ptx = ptx_of(nearest, tmp_path)
    assert len(re.findall(r"sqrt\.", ptx)) == 17, "sixteen turns, and what is left over"
    between = [part.count("sqrt.") for part in ptx.split("ld.global")]
    assert max(between) == 16, "all turns' numbers are read before the first root"


def test_turns_of_sums_are_shared_out(tmp_path):
    """Invocations side by side take every eighth turn, and add up what they have across a warp."""

    @mt.kernel
    def forces(x: mt.types.ndarray(mt.f32, 1), out: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            s, t = 0.0, mt.f64(0)
            for j in range(x.shape[0]):
                s += x[j] - x[i]
                t += x[j]
            out[i] = s + t

    assert len(re.findall(r"shfl\.sync\.bfly\.b32", ptx_of(forces, tmp_path))) == 3 + 2 * 3


def test_sums_of_places_that_are_long_sums_of_sums(tmp_path):
    """How offsets grow is asked once of each value, whatever uses it again and again."""

    @mt.kernel
    def hashed(w: mt.types.ndarray(mt.f32, 1), out: mt.types.ndarray(mt.f32, 1)):
        for i in out:
            s = 0.0
            for j in range(w.shape[0]):
                x = j + i
                for _ in mt.static(range(60)):
                    x = x ^ (x >> 3)
                    x = x + x * 3
                s += w[x & 63]
            out[i] = s

    begin = time.monotonic()
    ptx = ptx_of(hashed, tmp_path)
    assert time.monotonic() - begin < 60
    assert "shfl.sync.bfly" in ptx


def test_roots_of_softened_distances(tmp_path):
    """What is never below 2^-100 is neither scaled nor compared with zero."""

    @mt.kernel
    def lengths(x: mt.types.ndarray(mt.math.vec3, 1), y: mt.types.ndarray(mt.f32, 1), e: mt.f32):
        for i in y:
            y[i] = 1.0 / mt.sqrt(x[i].dot(x[i]) + 1e-4)

    @mt.kernel
    def unknown(x: mt.types.ndarray(mt.math.vec3, 1), y: mt.types.ndarray(mt.f32, 1), e: mt.f32):
        for i in y:
            y[i] = 1.0 / mt.sqrt(x[i].dot(x[i]) + e)

    short, long = (len(re.findall(r"selp|mul", ptx_of(kernel, tmp_path))) for kernel in (lengths, unknown))
    assert short + 6 <= long


def test_roots_have_no_branches(tmp_path):
    """`sqrt.rn.f32` and `rcp.rn.f32` branch in machine code, which keeps turns that are written out from being mixed."""

    @mt.kernel
    def lengths(x: mt.types.ndarray(mt.f32, 1), y: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            x[i] = 1.0 / mt.sqrt(x[i])
            y[i] = mt.sqrt(y[i])

    ptx = ptx_of(lengths, tmp_path)
    assert "rsqrt.approx.ftz.f32" in ptx and "rcp.approx.ftz.f32" in ptx
    assert "rn.f64" in ptx and not re.search(r"(sqrt|rcp|div)\.rn\.f32", ptx)
