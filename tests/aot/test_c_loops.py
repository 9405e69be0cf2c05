"""Loops of C files become vectors: gcc says so of those that are left to it, and the file has the others."""

import ctypes
import platform
import re
import shutil
import subprocess

import numpy as np
import pytest

import metate as mt

Array, Plane = mt.types.ndarray(mt.f32, 1), mt.types.ndarray(mt.f32, 2)


@mt.kernel
def scale(x: Array, y: Array):
    for i in x:
        y[i] = 0.3 * x[i] + y[i]


@mt.kernel
def wave(x: Array, y: Array):
    for i in x:
        y[i] = mt.sin(x[i])


@mt.kernel
def blur(x: Plane, y: Plane):
    for i, j in mt.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
        y[i, j] = x[i, j] + 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@mt.kernel
def total(x: Array) -> mt.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


@mt.kernel
def pairs(x: Array, y: Array):
    for i in x:
        s = 0.0
        for j in range(x.shape[0]):
            s += 1.0 / mt.sqrt((x[i] - x[j]) ** 2 + 1.0)
        y[i] = s


_rows = mt.types.SNodeTreeBuilder()
_rows.dense(mt.i, 64).place(x=mt.f32)
_rows.dense(mt.i, 64).place(y=mt.f32)
Rows = _rows.build()


@mt.kernel(fast_math=False)
def in_order(rows: Rows, total: Array):
    for i in total:
        s = 0.0
        for j in range(64):
            s += rows[j].x
            rows[j].y = 2 * rows[j].x
        total[i] = s


@mt.kernel(fast_math=False)
def counted(rows: Rows, total: Array):
    for i in total:
        by = 0.0
        for j in range(64):
            rows[j].y = by * rows[j].x
            by += 0.1
        total[i] = by


@mt.kernel
def last(x: Array, y: Array):
    mt.loop_config(serialize=True)
    for i in range(y.shape[0]):
        s, t = 0.0, 1.0
        for j in range(x.shape[0]):
            s += x[j]
            t = 0.5 * t * x[j] + 1.0
        y[i] = s + t


def lines_of(text, name):
    """The numbers of the first and last line of a kernel's body."""
    first = text[: text.index(f"static int32_t metate_entry_{name}_task0(void *p0")].count("\n") + 1
    return first, first + text.split("\n")[first:].index("}")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    module = mt.aot.Module(name="loops", targets=["c"])
    for kernel in (scale, wave, blur, total, pairs):
        module.add_kernel(kernel)
    return module.save(tmp_path_factory.mktemp("loops") / "loops.c")


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_gcc_makes_vectors_of_what_is_left_to_it(source, tmp_path):
    told = tmp_path / "told.txt"
    machine = ["-mavx2"] if platform.machine() == "x86_64" else []
    command = ["gcc", "-std=c99", "-O3", f"-fopt-info-vec-optimized={told}", *machine, "-c", source, "-o", tmp_path / "loops.o"]
    subprocess.run(command, check=True)
    said = told.read_text()
    done = {int(line) for line in re.findall(r"\.c:(\d+):\d+: optimized: loop vectorized", said)}
    for name in ("scale", "wave", "blur"):
        first, last = lines_of(source.read_text(), name)
        assert done & set(range(first, last)), name


def test_sums_and_iterations_are_vectors_in_the_file(source):
    text = source.read_text()
    for name, is_vectors in (("scale", False), ("wave", False), ("blur", False), ("total", True), ("pairs", True)):
        first, last = lines_of(text, name)
        body = "\n".join(text.split("\n")[first:last])
        assert ("metate_vadd_f32_16(" in body) == is_vectors, name


def test_they_are_what_numpy_has(source, tmp_path, rng):
    for option in ("-O1", "-O3", "-DMETATE_NO_VECTORS"):
        built = tmp_path / f"loops{option}.so"
        subprocess.run(["gcc", "-std=c99", option, "-fPIC", "-shared", source, "-lm", "-o", built], check=True)
        library = ctypes.CDLL(str(built))
        x, y, s = rng.random(77).astype(np.float32), np.zeros(77, np.float32), np.zeros(1, np.float32)
        at = lambda array: ctypes.c_void_p(array.ctypes.data)
        n = ctypes.c_int64(len(x))
        assert library.loops_pairs(at(x), n, at(y), n, None, None) == 0
        wanted = (1 / np.sqrt((x[:, None].astype(np.float64) - x) ** 2 + 1)).sum(1)
        assert np.allclose(y, wanted, rtol=1e-5)
        assert library.loops_total(at(x), n, at(s), None, None) == 0
        assert np.isclose(s[0], x.astype(np.float64).sum(), rtol=1e-5)


def test_additions_that_are_in_order_stay_so(tmp_path, rng):
    """A row that adds, and one that counts in floats: as a vector it would have another order."""
    module = mt.aot.Module(name="order", targets=["c"])
    source = module.add_kernel(in_order).add_kernel(counted).save(tmp_path / "order.c")
    subprocess.run(["gcc", "-std=c99", "-O2", "-fPIC", "-shared", source, "-lm", "-o", tmp_path / "order.so"], check=True)
    library, rows, total = ctypes.CDLL(str(tmp_path / "order.so")), Rows.new(), np.zeros(1, np.float32)
    x = rng.normal(size=64).astype(np.float32)
    rows.x.from_numpy(x)
    arguments = *(ctypes.c_void_p(np.asarray(one).ctypes.data) for one in (rows.block, total)), ctypes.c_int64(1), None, None
    assert library.order_in_order(*arguments) == 0
    assert total[0] == np.add.accumulate(x)[-1]
    assert library.order_counted(*arguments) == 0
    by = np.add.accumulate(np.full(64, 0.1, np.float32))
    assert total[0] == by[-1]
    np.testing.assert_array_equal(rows.y.to_numpy(), np.concatenate([[0], by[:-1]]).astype(np.float32) * x)


def test_a_loop_that_is_none_for_vectors_is_passed_over_in_silence(tmp_path, capfd):
    mt.aot.Module(name="last", targets=["c"]).add_kernel(last).save(tmp_path / "last.c")
    assert capfd.readouterr() == ("", "")
