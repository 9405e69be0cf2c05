"""Local vectors that loops index at run time, where iterations are lanes: each lane has its own column of a row of vectors."""

import numpy as np
import pytest
from edit_distances import last_rows

import metate as mt

f32, f64, i32, i64 = mt.f32, mt.f64, mt.i32, mt.i64
array = mt.types.ndarray
NUMPY = {f32: np.float32, f64: np.float64, i32: np.int32, i64: np.int64}
SIZE = 12
COUNTS = (1, 16, 37, 100)


def rng(count):
    return np.random.default_rng(count)


@pytest.mark.parametrize("count", COUNTS)
def test_each_lane_has_its_own_row(lanes_either_way, count):
    @mt.kernel
    def run(a: array(i32, 2), b: array(i32, 2), out: array(i32, 1)):
        for p in range(out.shape[0]):
            row = mt.Vector([j for j in range(SIZE + 1)])
            for i in range(SIZE):
                above = row[0]
                row[0] += 1
                for j in range(SIZE):
                    best = above
                    if a[p, i] != b[p, j]:
                        best = mt.min(above, mt.min(row[j + 1], row[j])) + 1
                    above = row[j + 1]
                    row[j + 1] = best
            out[p] = row[SIZE]

    a, b = (rng(count + k).integers(0, 3, (count, SIZE), np.int32) for k in range(2))
    out = np.zeros(count, np.int32)
    run(a, b, out)
    assert np.array_equal(out, last_rows(a, b)[:, SIZE])


@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_elements_that_differ_from_lane_to_lane(lanes_either_way, dtype):
    """Named by data: read and written one by one, those out of range read the last one and write none."""

    @mt.kernel
    def run(at: array(i32, 2), x: array(dtype, 2), out: array(dtype, 2)):
        for p in range(at.shape[0]):
            v = mt.Vector([0] * SIZE, dt=dtype)
            for k in range(at.shape[1]):
                v[at[p, k]] += x[p, k]
            for k in range(SIZE):
                out[p, k] = v[k]

    count, turns = 53, 30
    at = rng(1).integers(-2, SIZE + 2, (count, turns), np.int32)
    x = rng(2).integers(1, 9, (count, turns)).astype(NUMPY[dtype])
    out = np.zeros((count, SIZE), NUMPY[dtype])
    run(at, x, out)
    want = np.zeros_like(out)
    for p, k in np.ndindex(at.shape):
        if 0 <= at[p, k] < SIZE:
            want[p, at[p, k]] += x[p, k]
    assert np.array_equal(out, want)


def test_lanes_that_have_left_keep_what_they_have(lanes_either_way):
    @mt.kernel
    def run(turns: array(i32, 1), x: array(f32, 2), out: array(f32, 2)):
        for p in range(turns.shape[0]):
            v = mt.Vector([-1.0] * SIZE)
            for k in range(turns[p]):
                if x[p, k] > 0.5:
                    v[k] = x[p, k]
                elif k > 0:
                    v[k] = v[k - 1]
            for k in range(SIZE):
                out[p, k] = v[k]

    count = 45
    turns = rng(3).integers(0, SIZE + 1, count, np.int32)
    x, out = rng(4).random((count, SIZE), np.float32), np.zeros((count, SIZE), np.float32)
    run(turns, x, out)
    want = np.full_like(out, -1)
    for p in range(count):
        for k in range(turns[p]):
            if x[p, k] > 0.5:
                want[p, k] = x[p, k]
            elif k > 0:
                want[p, k] = want[p, k - 1]
    assert np.array_equal(out, want)


def test_sorting_by_insertion(lanes_either_way):
    """A loop that each lane leaves when its element has found its place."""

    @mt.kernel
    def run(x: array(f32, 2)):
        for p in range(x.shape[0]):
            v = mt.Vector([0.0] * SIZE)
            for k in range(SIZE):
                v[k] = x[p, k]
            for k in range(1, SIZE):
                one, j = v[k], k
                while j > 0 and v[j - 1] > one:
                    v[j] = v[j - 1]
                    j -= 1
                v[j] = one
            for k in range(SIZE):
                x[p, k] = v[k]

    x = rng(5).random((61, SIZE), np.float32)
    want = np.sort(x, axis=1)
    run(x)
    assert np.array_equal(x, want)


def test_what_a_condition_says_of_an_index_need_not_hold_elsewhere(lanes_either_way):
    """Both sides of a short branch run for all lanes: an index that is out of range there is read inside of the array."""

    @mt.kernel
    def run(x: array(i32, 2), out: array(i32, 1)):
        for p in range(x.shape[0]):
            v = mt.Vector([0] * SIZE)
            for k in range(SIZE):
                v[k] = x[p, k]
            s = 0
            for k in range(SIZE + 3):
                if k < SIZE and x[p, 0] > 4:
                    s += v[k]
            out[p] = s

    x, out = rng(6).integers(0, 9, (40, SIZE), np.int32), np.zeros(40, np.int32)
    run(x, out)
    assert np.array_equal(out, np.where(x[:, 0] > 4, x.sum(axis=1), 0))


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_elimination_with_pivots(lanes_either_way, dtype):
    size = 6

    @mt.kernel
    def run(a: array(dtype, 3), b: array(dtype, 2), x: array(dtype, 2)):
        for p in range(x.shape[0]):
            m, y = mt.Matrix.zero(dtype, size, size), mt.Vector.zero(dtype, size)
            for i in range(size):
                y[i] = b[p, i]
                for j in range(size):
                    m[i, j] = a[p, i, j]
            for k in range(size):
                best = k
                for i in range(k + 1, size):
                    if abs(m[i, k]) > abs(m[best, k]):
                        best = i
                for j in range(size):
                    m[k, j], m[best, j] = m[best, j], m[k, j]
                y[k], y[best] = y[best], y[k]
                for i in range(k + 1, size):
                    factor = m[i, k] / m[k, k]
                    for j in range(k, size):
                        m[i, j] -= factor * m[k, j]
                    y[i] -= factor * y[k]
            for r in range(size):
                i = size - 1 - r
                for j in range(i + 1, size):
                    y[i] -= m[i, j] * y[j]
                y[i] /= m[i, i]
            for i in range(size):
                x[p, i] = y[i]

    count = 43
    a = rng(7).random((count, size, size)).astype(NUMPY[dtype])
    b, x = rng(8).random((count, size)).astype(NUMPY[dtype]), np.zeros((count, size), NUMPY[dtype])
    run(a, b, x)
    left = np.einsum("pij,pj->pi", a.astype(np.float64), x) - b
    assert np.abs(left).max() < (1e-2 if dtype == f32 else 1e-10)


def test_a_shipped_module_does_the_same(tmp_path):
    @mt.kernel
    def counts(x: array(i32, 2), out: array(i32, 2)):
        for p in range(x.shape[0]):
            bins = mt.Vector([0] * 9)
            for k in range(x.shape[1]):
                bins[x[p, k]] += 1
            for k in range(9):
                out[p, k] = bins[k]

    module = mt.aot.Module()
    module.add_kernel(counts)
    module.save(tmp_path / "counts.metate")
    x, out = rng(9).integers(0, 9, (70, 40), np.int32), np.zeros((70, 9), np.int32)
    mt.aot.load(tmp_path / "counts.metate").counts(x, out)
    assert np.array_equal(out, [[(row == k).sum() for k in range(9)] for row in x])
