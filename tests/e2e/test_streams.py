"""Streams that are only written go around the caches in large launches: the same results, whatever the alignment."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from ways import PIECES

import metate as mt
from metate.errors import RuntimeValueError_

array = mt.types.ndarray
TYPES = [
    (mt.f32, np.float32),
    (mt.f64, np.float64),
    (mt.i8, np.int8),
    (mt.u16, np.uint16),
    (mt.i32, np.int32),
    (mt.u64, np.uint64),
]
NONTEMPORAL = ({"nontemporal_bytes": 0}, {"nontemporal_bytes": 0} | PIECES)
WAYS = (*NONTEMPORAL, {"nontemporal_bytes": None})


@mt.kernel
def copy(x: array(mt.f32, 1), y: array(mt.f32, 1)):
    for i in range(x.shape[0]):
        y[i] = x[i]


def at_offset(data, offset):
    """A copy of the array that begins `offset` of its elements after a line."""
    memory = np.zeros(data.nbytes + 256, np.uint8)
    first = -memory.ctypes.data % 64 + offset * data.itemsize
    made = memory[first : first + data.nbytes].view(data.dtype).reshape(data.shape)
    made[...] = data
    return made, memory


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize(("dtype", "numpy"), TYPES, ids=str)
def test_copies_of_any_length_and_alignment(rng, dtype, numpy, options):
    @mt.kernel
    def run(x: array(dtype, 1), y: array(dtype, 1), low: mt.i32, high: mt.i32):
        for i in range(low, high):
            y[i] = x[i + 1]

    with mt.Context(**options):
        for n in (1, 63, 255, 256, 300, 1000):
            for offset in (0, 1, 5):
                x = rng.integers(0, 100, n + 1).astype(numpy)
                y, memory = at_offset(np.full(n, 7, numpy), offset)
                before, after = memory[: 64 * 2].copy(), memory[-64:].copy()
                low = min(n // 3, 9)
                run(x, y, low, n)
                np.testing.assert_array_equal(y[low:], x[low + 1 :])
                assert (y[:low] == 7).all()
                first = y.ctypes.data - memory.ctypes.data
                assert (memory[:first] == before[:first]).all() and (memory[-64:] == after).all()


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_several_streams_that_start_at_different_places_of_a_line(rng, options):
    @mt.kernel
    def run(x: array(mt.f32, 1), y: array(mt.f32, 1), z: array(mt.f64, 1), w: array(mt.i32, 1), a: mt.f32):
        for i in range(x.shape[0]):
            y[i] = a * x[i]
            z[i] = x[i]
            w[i] = i * 3

    x = rng.random(777).astype(np.float32)
    with mt.Context(**options):
        for offsets in ((0, 0, 0), (1, 1, 1), (9, 1, 9), (3, 4, 5)):
            y, z, w = (
                at_offset(np.zeros(777, t), o)[0] for t, o in zip((np.float32, np.float64, np.int32), offsets, strict=True)
            )
            run(x, y, z, w, 0.5)
            np.testing.assert_array_equal(y, x * np.float32(0.5))
            np.testing.assert_array_equal(z, x)
            np.testing.assert_array_equal(w, np.arange(777) * 3)


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("shape", [(7, 300), (3, 5, 333), (2, 4, 8)], ids=str)
def test_stencils_over_fields(rng, shape, options):
    with mt.Context(**options):
        a, b = mt.field(mt.f32, shape), mt.field(mt.f32, shape)

        @mt.kernel
        def sweep():
            for p in mt.grouped(mt.ndrange(*((1, n - 1) for n in shape))):
                s = 0.0
                for d in mt.static(range(len(shape))):
                    s += a[p + mt.Vector.unit(len(shape), d)] + a[p - mt.Vector.unit(len(shape), d)]
                b[p] = s

        @mt.kernel
        def fill(value: mt.f32):
            for p in mt.grouped(b):
                b[p] = value

        data = rng.integers(0, 1000, shape).astype(np.float32)
        a.from_numpy(data)
        fill(-1.0)
        assert (b.to_numpy() == -1).all()
        sweep()
    inner = (slice(1, -1),) * len(shape)
    want = np.full(shape, -1, np.float32)
    want[inner] = sum(np.roll(data, s, d)[inner] for d in range(len(shape)) for s in (1, -1))
    np.testing.assert_array_equal(b.to_numpy(), want)


def test_overlapping_arguments(rng):
    with mt.Context(nontemporal_bytes=0):
        x = rng.random(1000).astype(np.float32)
        y = x.copy()
        copy(y, y)
        np.testing.assert_array_equal(x, y)


def code_of(kernel, target, folder, **options):
    mt.aot.Module(targets=[target], **options).add_kernel(kernel).save(folder / "kernel.o")
    return subprocess.run(["llvm-objdump-22", "-d", folder / "kernel.o"], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not shutil.which("llvm-objdump-22"), reason="no llvm-objdump-22 on this machine")
@pytest.mark.parametrize(
    ("target", "store"),
    [("x86-64", "\tmovntps"), ("x86-64-v3", "\tvmovntps.*%ymm"), ("x86-64-v4", "\tvmovntps.*%[yz]mm"), ("aarch64", "\tstnp")],
)
def test_the_stores(tmp_path, target, store):
    x, y = mt.field(mt.f32, 1 << 25), mt.field(mt.f32, 1 << 25)

    @mt.kernel
    def copy_fields():
        for i in x:
            y[i] = x[i]

    fence = r"\tdmb" if target == "aarch64" else r"\tmfence|\tlock"
    code = code_of(copy_fields, target, tmp_path)
    assert re.search(store, code) and re.search(fence, code)
    for bytes in (None, 1 << 28):  # the fields have half of that
        code = code_of(copy_fields, target, tmp_path, nontemporal_bytes=bytes)
        assert not re.search(store, code) and not re.search(fence, code)
    mt.reset()


def test_a_loaded_module(tmp_path, rng):
    x, y = mt.field(mt.f32, (3, 100)), mt.field(mt.f32, (3, 100))

    @mt.kernel
    def scale(a: mt.f32):
        for i, j in x:
            y[i, j] = a * x[i, j]

    loaded = mt.aot.load(mt.aot.Module(nontemporal_bytes=0).add_kernel(scale).save(tmp_path / "scale.metate"))
    trees = {name: loaded.types[name].new() for name in ("x", "y")}
    data = rng.random((3, 100)).astype(np.float32)
    for index in np.ndindex(*data.shape):
        trees["x"].v0[index] = data[index]
    loaded.scale(0.5, **trees)
    np.testing.assert_array_equal(trees["y"].v0.to_numpy(), data * np.float32(0.5))
    mt.reset()


def test_wrong_values():
    for value in (-1, True, "many", 1 << 63):
        with pytest.raises(RuntimeValueError_, match="nontemporal_bytes: expected a number of bytes, or None for never, got"):
            mt.Context(nontemporal_bytes=value)
        with pytest.raises(RuntimeValueError_, match="nontemporal_bytes: expected"):
            mt.aot.Module(nontemporal_bytes=value)
