"""Loops over small vectors become code with vector registers, across iterations."""

import shutil
import subprocess

import numpy as np
import pytest
import seeded

import metate as mt

Points = mt.types.ndarray(dtype=mt.types.vector(3, mt.f32), ndim=1)


@mt.kernel
def attract(pos: Points, acc: Points):
    for i in range(pos.shape[0]):
        p = pos[i]
        a = mt.Vector([0.0, 0.0, 0.0])
        for j in range(pos.shape[0]):
            d = pos[j] - p
            s = 1.0 / mt.sqrt(d.dot(d) + 1e-4)
            a += d * (s * s * s)
        acc[i] = a


def masked_grid():
    builder = mt.types.SNodeTreeBuilder()
    blocks = builder.pointer(mt.ij, 4)
    blocks.bitmasked(mt.ij, (8, 8)).place(y=mt.f32)
    blocks.bitmasked(mt.ij, (8, 8)).place(m=mt.i32)
    return builder.build()


Grid = masked_grid()


@mt.kernel
def spread(f: Grid):
    for i, j in f.y:
        f.y[i, j] = f.y[i, j] + f.y[i, j + 1]


@mt.kernel
def move(f: Grid):
    for i, j in f.m:
        f.m[i, j] = f.m[i - 1, j]


def test_a_sum_of_vectors_over_a_square_root_is_right():
    rng = seeded.generator("test_a_sum_of_vectors_over_a_square_root_is_right")
    pos, acc = rng.random((200, 3), np.float32), np.zeros((200, 3), np.float32)
    with mt.Context(fast_math=True):
        attract(pos, acc)
    d = pos[None].astype(np.float64) - pos[:, None]
    np.testing.assert_allclose(acc, (d * ((d * d).sum(axis=2) + 1e-4)[..., None] ** -1.5).sum(axis=1), rtol=1e-3, atol=0.5)


def code_of(kernel, folder, fast_math, **options):
    """The disassembly of a kernel for x86-64-v3."""
    with mt.Context(fast_math=fast_math):
        module = mt.aot.Module(targets=["x86-64-v3"], **options)
        module.add_kernel(kernel)
        module.save(str(folder / "kernel.o"))
    return subprocess.run(["llvm-objdump-22", "-d", folder / "kernel.o"], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
def test_a_loop_over_small_vectors_is_vectorised(tmp_path):
    code = code_of(attract, tmp_path, fast_math=True)
    roots = [line for line in code.splitlines() if "vrsqrtps" in line or "vsqrtps" in line]
    assert any("%ymm" in line for line in roots)


@mt.kernel
def multiply_out(x: mt.types.ndarray(dtype=mt.f32, ndim=1), y: mt.types.ndarray(dtype=mt.f32, ndim=2)):
    for i in range(x.shape[0]):
        y[i, 0] = x[i] ** 5
        y[i, 1] = x[i] ** -3
        y[i, 2] = x[i] ** 21


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
def test_known_powers_are_products(tmp_path):
    rng = seeded.generator("test_known_powers_are_products")
    x, y = rng.choice([-1, 1], 100).astype(np.float32) * (rng.random(100, np.float32) + 0.5), np.zeros((100, 3), np.float32)
    with mt.Context(fast_math=True):
        multiply_out(x, y)
    np.testing.assert_allclose(y, x.astype(np.float64)[:, None] ** np.array([5, -3, 21]), rtol=1e-5)
    multiply_out(x, y)
    square = x * x
    np.testing.assert_array_equal(y[:, 0], x * (square * square))  # up to x ** 16 without fast_math too, in this order
    np.testing.assert_allclose(y, x.astype(np.float64)[:, None] ** np.array([5, -3, 21]), rtol=3e-7)
    for fast_math in (True, False):  # the other two are powers, which are computed in double
        code = code_of(multiply_out, tmp_path, fast_math)
        assert ("vcvtps2pd" in code or "vcvtss2sd" in code) != fast_math


def numbers():
    builder = mt.types.SNodeTreeBuilder()
    builder.dense(mt.i, 1000).place(x=mt.f32)
    builder.dense(mt.i, 1000).place(y=mt.f64)
    return builder.build()


Numbers = numbers()


@mt.kernel
def wave(f: Numbers):
    for i in f.x:
        f.x[i] = mt.exp(f.x[i]) * mt.atan2(f.x[i], 3.0)
    for i in f.y:
        f.y[i] = mt.log(f.y[i]) + mt.sin(f.y[i])


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
def test_loops_over_elementary_functions_are_vectorised(tmp_path):
    lines = code_of(wave, tmp_path, fast_math=False).splitlines()
    for operation in ("vdivps", "vmulps", "vdivpd", "vmulpd", "vpmuludq"):
        assert any(operation in line and "%ymm" in line for line in lines), operation
    assert not any("sinf" in line or "expf" in line or "<log" in line for line in lines)


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
def test_iterations_that_are_lanes_stay_vectors(tmp_path):
    """Without fast_math no sum may be reordered: only iterations side by side make vectors of this loop."""
    lines = code_of(attract, tmp_path, fast_math=False).splitlines()
    for operation in ("vsqrtps", "vdivps", "vaddps"):
        assert any(operation in line and "%ymm" in line for line in lines), operation


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
@pytest.mark.parametrize("kernel", [spread, move])
def test_rows_under_bits_are_blended_without_avx512(tmp_path, kernel):
    """A store under a mask is forty micro-operations on some machines of this level."""
    code = code_of(kernel, tmp_path, fast_math=False)
    assert "maskmov" not in code
    assert "blendv" in code


def test_an_iteration_reads_what_it_wrote():
    """Iterations are independent; what stands in one of them is not."""

    @mt.kernel
    def run(x: mt.types.ndarray(mt.f32, 1), y: mt.types.ndarray(mt.f32, 1), c: mt.template()):
        for i in y:
            a = x[2 * i]
            x[i + c] = a + 100000
            b = x[2 * i + 1]
            y[i] = b + a

    for c in (10, 100):
        x, y = np.arange(960, dtype=np.float32), np.zeros(240, np.float32)
        run(x, y, c)
        assert y[c - 1] >= 100000  # 2 * i + 1 is i + c


@mt.kernel
def distances(a: mt.types.ndarray(mt.i32, 2), b: mt.types.ndarray(mt.i32, 2), out: mt.types.ndarray(mt.i32, 1)):
    mt.loop_config(serialize=True)  # else iterations would be lanes
    for p in range(out.shape[0]):
        row = mt.Vector([j for j in range(25)])
        for i in range(24):
            above = row[0]
            row[0] = i + 1
            for j in range(24):
                changed = above + (a[p, i] != b[p, j])
                above = row[j + 1]
                row[j + 1] = mt.min(changed, mt.min(above, row[j]) + 1)
        out[p] = row[24]


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
def test_minima_that_turns_wait_for_are_no_branches(tmp_path):
    code = code_of(distances, tmp_path, fast_math=False)
    body = code.split("<metate_entry_distances>:")[1].split(">:")[0]
    assert body.count("cmov") >= 4, body


@mt.kernel
def factors(a: mt.types.ndarray(mt.f32, 3), lower: mt.types.ndarray(mt.f32, 3)):
    for p in range(a.shape[0]):
        for i in range(8):
            for j in range(i + 1):
                s = a[p, i, j]
                for q in range(j):
                    s -= lower[p, i, q] * lower[p, j, q]
                lower[p, i, j] = mt.sqrt(s) if i == j else s / lower[p, j, j]


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
def test_loops_of_a_few_turns_are_no_vectors(tmp_path):
    """`range(j)` of a j below 8: what LLVM would make eight lanes of has hardly ever eight turns. Iterations may be lanes."""
    rng = seeded.generator("test_loops_of_a_few_turns_are_no_vectors")
    root = np.tril(rng.random((20, 8, 8)) + np.eye(8)).astype(np.float32)
    a, lower = (root.astype(np.float64) @ root.transpose(0, 2, 1)).astype(np.float32), np.zeros((20, 8, 8), np.float32)
    factors(a, lower)
    np.testing.assert_allclose(lower, root, rtol=1e-2, atol=1e-3)
    assert "sqrtps" in code_of(factors, tmp_path, fast_math=False)
    code = code_of(factors, tmp_path, fast_math=False, across_iterations=False)
    assert "sqrtss" in code and not any("mulps" in line and "%ymm" in line for line in code.splitlines()), code
