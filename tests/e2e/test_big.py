"""Trees that are large in every way: cells beyond 2^31, blocks beyond 4 GiB, coordinates of 31 bits.

Only what is touched has pages: memory and files are sparse.
"""

import subprocess
import sys

import numpy as np
import pytest

import metate as ti

Points = ti.types.ndarray(dtype=ti.i32, ndim=2)
Out = ti.types.ndarray(dtype=ti.i32, ndim=1)
HIGH = 150_000  # the first slot that the free list gives: 18 GiB into a pool of slots of 128 KiB
Big = ti.types.SNodeTreeBuilder().pointer(ti.ijk, 64).bitmasked(ti.ijk, 32).place(x=ti.i32, background=-1).build()


@ti.kernel
def write(f: Big, points: Points):
    for n in range(points.shape[0]):
        f.x[points[n, 0], points[n, 1], points[n, 2]] = n


@ti.kernel
def read(f: Big, points: Points, out: Out):
    for n in range(points.shape[0]):
        out[n] = f.x[points[n, 0], points[n, 1], points[n, 2]]


@ti.kernel
def walk(f: Big, sums: ti.types.ndarray(dtype=ti.i64, ndim=1)):
    for i, j, k in f.x:
        sums[0] += 1
        sums[1] += f.x[i, j, k]
        sums[2] += (ti.i64(i) * 2048 + j) * 2048 + k


@ti.kernel
def drop(f: Big, points: Points):
    for n in range(points.shape[0]):
        ti.deactivate(f.pointer0, [points[n, 0] // 32, points[n, 1] // 32, points[n, 2] // 32])


def with_high_slots_first(f):
    """A block as after many activations and deactivations: a free list of all slots to HIGH, that one first."""
    view = f.block
    block = np.asarray(view)
    pool = block[128:256].view(np.uint64)  # meta_offset; in the second half free_head, then high_water
    meta = block[int(pool[0]) : int(pool[0]) + (HIGH + 1) * 20].view(np.uint32).reshape(-1, 5)
    meta[2:, 1] = np.arange(1, HIGH)
    pool[8] = HIGH
    pool[9:10].view(np.uint32)[0] = HIGH
    del meta, pool, block
    view.release()


@pytest.fixture
def points(rng):
    """In leaves of their own and others, the last cell of all among them: cell 2^33 - 1."""
    some = rng.integers(0, 2048, (60, 3)).astype(np.int32)
    return np.unique(np.concatenate([some, [[2047, 2047, 2047], [0, 0, 0], [2047, 2047, 2016]]]), axis=0).astype(np.int32)


PROGRAM = """
import sys, numpy as np, metate as ti
sys.path.insert(0, sys.argv[2])
from test_big import Big, read
block, points = np.memmap(sys.argv[1], np.uint8, "r"), np.load(sys.argv[3])
f, out = Big.bind(block, reset=False), np.zeros(len(points), np.int32)
f.check()
read(f, points, out)
assert out.tolist() == list(range(len(points))), out
"""


def test_kernels_in_a_block_beyond_4_gibibytes(points, tmp_path):
    """The memory is a file with holes, which another process maps read-only, at an address of its own."""
    capacity = {"pointer0": HIGH + 50_000}
    path = tmp_path / "block"
    block = np.memmap(path, np.uint8, "w+", shape=Big.bytes(capacity))
    assert block.nbytes > 20 << 30
    f = Big.bind(block, capacity)
    with_high_slots_first(f)
    f.check()
    write(f, points)
    out, sums = np.zeros(len(points), np.int32), np.zeros(3, np.int64)
    read(f, points, out)
    assert out.tolist() == list(range(len(points)))
    walk(f, sums)
    wide = points.astype(np.int64)
    assert sums.tolist() == [len(points), sum(range(len(points))), ((wide[:, 0] * 2048 + wide[:, 1]) * 2048 + wide[:, 2]).sum()]
    f.check()
    block.flush()
    assert path.stat().st_blocks * 512 < 64 << 20, "holes where nothing is"
    np.save(tmp_path / "points.npy", points)
    here = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", PROGRAM, path, here, tmp_path / "points.npy"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    drop(f, points)
    assert f.stats()["pointer0"].used == 0
    read(f, points, out)
    assert (out == -1).all()
    f.check()


def test_coordinates_of_31_bits_along_each_axis():
    levels = ti.types.SNodeTreeBuilder().pointer(ti.ij, 127).pointer(ti.ij, 128).pointer(ti.ij, 128)
    bounded = levels.dense(ti.ij, 1024).place(a=ti.i32, background=5).build()  # 2130706432 cells along each axis
    unbounded = ti.types.SNodeTreeBuilder().hash(ti.ij).dense(ti.ij, 2).place(a=ti.i32, background=5).build()
    for shape, low, high in ((bounded, 0, 2130706431), (unbounded, -(1 << 31), (1 << 31) - 1)):

        @ti.kernel
        def corners(f: shape, low: ti.i32, high: ti.i32, out: Points) -> ti.i32:
            f.a[high, low] = 1
            f.a[low, high] = 2
            found = 0
            for i, j in f.a:
                if f.a[i, j] != 5:
                    found += 1
                    out[f.a[i, j] - 1, 0] = i
                    out[f.a[i, j] - 1, 1] = j
            return found

        f, out = shape.new(capacity=8), np.zeros((2, 2), np.int32)
        assert corners(f, low, high, out) == 2
        assert out.tolist() == [[high, low], [low, high]]
        assert f.a[high, low] == 1 and f.a[low, high] == 2 and f.a[high - 1, low + 1] == 5
        f.check()
