"""Rows of fields and arrays that stand in for local vectors: each iteration uses its own, which is a local array then."""

import numpy as np
import pytest
from device_tests import ARCH
from edit_distances import last_rows

import metate as mt

f32, f64, i32, i64 = mt.f32, mt.f64, mt.i32, mt.i64
array = mt.types.ndarray
SIZE = 20
COUNTS = (2, 16, 37, 100)


def local_rows(kernel, *args):
    """Names of what the kernel keeps in local arrays."""
    said = [one.text for one in kernel.report(*args).remarks if one.pass_name == "own-rows"]
    return sorted(text.split("'")[1] for text in said)


def numbers(shape, dtype=np.int32, seed=0):
    return np.random.default_rng(seed).integers(0, 3, shape).astype(dtype)


@mt.func
def fill_row(row: mt.template(), p, a: mt.template(), b: mt.template()):
    for j in range(SIZE + 1):
        row[p, j] = j
    for i in range(SIZE):
        above = row[p, 0]
        row[p, 0] = i + 1
        for j in range(SIZE):
            best = above + (a[p, i] != b[p, j])
            above = row[p, j + 1]
            row[p, j + 1] = mt.min(best, mt.min(above, row[p, j]) + 1)


@pytest.mark.parametrize("count", COUNTS)
def test_a_row_of_a_field(lanes_either_way, count):
    row, beside = mt.field(i32, shape=(count + 1, SIZE + 3)), mt.field(i32, shape=count)
    row.fill(-5)

    @mt.kernel
    def run(a: array(i32, 2), b: array(i32, 2)):
        for p in beside:
            fill_row(row, p, a, b)
            beside[p] = row[p, SIZE]

    a, b = numbers((count, SIZE)), numbers((count, SIZE), seed=1)
    run(a, b)
    want = np.full((count + 1, SIZE + 3), -5)
    want[:count, : SIZE + 1] = last_rows(a, b)
    assert np.array_equal(row.to_numpy(), want)
    assert np.array_equal(beside.to_numpy(), want[:count, SIZE])
    assert ARCH or local_rows(run, a, b) == ["row"]


@pytest.mark.parametrize("count", COUNTS)
def test_a_row_of_an_array(lanes_either_way, count):
    @mt.kernel
    def run(row: array(i32, 2), a: array(i32, 2), b: array(i32, 2), out: array(i32, 1)):
        for p in range(out.shape[0]):
            fill_row(row, p, a, b)
            out[p] = row[p, SIZE]

    a, b = numbers((count, SIZE)), numbers((count, SIZE), seed=1)
    row, out = np.full((count + 1, SIZE + 3), -5, np.int32), np.zeros(count, np.int32)
    run(row, a, b, out)
    want = np.full_like(row, -5)
    want[:count, : SIZE + 1] = last_rows(a, b)
    assert np.array_equal(row, want) and np.array_equal(out, want[:count, SIZE])
    assert ARCH or local_rows(run, row, a, b, out) == ["row"]


def test_one_array_as_two_arguments(lanes_either_way):
    @mt.kernel
    def run(row: array(i32, 2), same: array(i32, 2)):
        for p in range(row.shape[0]):
            for j in range(8):
                row[p, j] = j
            for _ in range(8):
                for j in range(1, 8):
                    row[p, j] += row[p, j - 1]
                    same[p, 0] += 1

    x = np.zeros((20, 8), np.int32)
    run(x, x)
    want = np.arange(8)
    for _ in range(8):
        for j in range(1, 8):
            want[j] += want[j - 1]
            want[0] += 1
    assert np.array_equal(x, np.tile(want, (20, 1)))


@pytest.mark.parametrize("dtype", (f32, f64, i64), ids=str)
def test_what_was_there_is_read_and_what_is_not_written_stays(lanes_either_way, dtype):
    count, size = 37, 14
    m = mt.field(dtype, shape=(2, count, size, 8), offset=(0, -3, 0, 1))

    @mt.kernel
    def run(turns: i32):
        for p in range(-3, count - 3):
            for _ in range(turns):
                for i in range(1, size):
                    for j in range(1, 8):
                        m[1, p, i, j] = m[1, p, i - 1, j] + m[1, p, i, j] * 2

    before = numbers((2, count, size, 8), np.float64, seed=2)
    m.from_numpy(before.astype(m.to_numpy().dtype))
    run(20)
    want = before.astype(m.to_numpy().dtype)
    for _ in range(20):
        for i in range(1, size):
            want[1, :, i, :7] = want[1, :, i - 1, :7] + want[1, :, i, :7] * 2
    assert np.array_equal(m.to_numpy(), want)
    assert ARCH or local_rows(run, 20) == ["m"]


def test_a_triangle(lanes_either_way):
    """Only what the iteration touches is copied: the rest may be another launch's."""
    count, size = 37, 9
    m = mt.field(f64, shape=(count, size, size))

    @mt.kernel
    def run():
        for p in range(count):
            for _ in range(30):
                for i in range(size):
                    for j in range(i):
                        m[p, i, j] = m[p, i - 1, j] * 0.5 + m[p, i, j] if j < i - 1 else m[p, i, j] + 1.0

    before = numbers((count, size, size), np.float64, seed=8)
    m.from_numpy(before)
    run()
    want = before.copy()
    for _ in range(30):
        for i in range(size):
            for j in range(i):
                want[:, i, j] = want[:, i - 1, j] * 0.5 + want[:, i, j] if j < i - 1 else want[:, i, j] + 1
    assert np.allclose(m.to_numpy(), want, rtol=1e-12, atol=0)
    assert ARCH or local_rows(run) == ["m"]
    if ARCH:
        return
    copied = [line for line in run.stages()["layout.native"].splitlines() if "metate.write" in line]
    assert len(copied) == size * (size - 1) // 2


@pytest.mark.parametrize("turns", (0, 1, 17))
def test_a_number_of_turns_that_the_launch_says(lanes_either_way, turns):
    """Without a turn nothing is touched."""
    count = 40
    row = mt.field(i32, shape=(count, 30))

    @mt.kernel
    def run(x: array(i32, 2), turns: i32):
        for p in range(count):
            for _ in range(turns):
                for j in range(1, 29):
                    row[p, j] = row[p, j - 1] + row[p, j]
        for p in range(x.shape[0]):
            for j in range(20):
                x[p, j] = j
            for _ in range(turns):
                for j in range(1, 20):
                    x[p, j] += x[p, j - 1]

    before = numbers((count, 30), seed=9)
    row.from_numpy(before)
    x = np.zeros((count, 20), np.int32)
    run(x, turns)
    want, want_x = before.copy(), np.tile(np.arange(20, dtype=np.int32), (count, 1))
    for _ in range(turns):
        for j in range(1, 29):
            want[:, j] += want[:, j - 1]
        for j in range(1, 20):
            want_x[:, j] += want_x[:, j - 1]
    assert np.array_equal(row.to_numpy(), want) and np.array_equal(x, want_x)
    assert ARCH or local_rows(run, x, turns) == ["row", "x"]


def test_a_place_that_data_says(lanes_either_way):
    """All of the row is touched, and the place is in it whatever data says."""
    count = 50
    hits = mt.field(i32, shape=(count, 16))

    @mt.kernel
    def run(keys: array(i32, 2)):
        for p in range(count):
            for j in range(16):
                hits[p, j] += j
            for k in range(64):
                hits[p, keys[p, k] & 15] += k

    keys = np.random.default_rng(3).integers(0, 100, (count, 64), np.int32)
    hits.fill(7)
    run(keys)
    want = np.tile(np.arange(16) + 7, (count, 1))
    for p in range(count):
        np.add.at(want[p], keys[p] & 15, np.arange(64))
    assert np.array_equal(hits.to_numpy(), want)
    assert ARCH or local_rows(run, keys) == ["hits"]


def test_members_beside_one_another(lanes_either_way):
    """`place(a, b)`: only a's row is used many times; the other member stays where it is."""
    count = 40
    a, b = mt.field(f32), mt.field(f32)
    mt.root.dense(mt.i, count).dense(mt.j, 5).place(a, b)

    @mt.kernel
    def run():
        for p in range(count):
            b[p, 2] = a[p, 1]
            for _ in range(10):
                for j in range(5):
                    a[p, j] = a[p, (j + 1) % 5] + 1.0

    before = numbers((count, 5), np.float32, seed=4)
    a.from_numpy(before)
    run()
    want = before.copy()
    for _ in range(10):
        for j in range(5):
            want[:, j] = want[:, (j + 1) % 5] + 1
    assert np.array_equal(a.to_numpy(), want)
    assert np.array_equal(b.to_numpy()[:, 2], before[:, 1])
    assert ARCH or local_rows(run) == ["a"]


@pytest.mark.parametrize("spelling", ("neighbour", "contiguous", "atomic", "data"))
def test_what_stays_in_memory(lanes_either_way, spelling):
    """Others touch the row, lanes have it as it is, or some iterations may touch more of it than others."""
    count, size = 32, 8
    x = mt.field(i32, shape=(count, size)) if spelling != "contiguous" else mt.field(i32, shape=(count, size), order="ji")

    @mt.kernel
    def neighbour():
        for p in range(count - 1):
            for _ in range(8):
                for j in range(size):
                    x[p, j] += x[p, j] * 0 + (x[p + 1, j] == -1)

    @mt.kernel
    def contiguous():
        for p in range(count):
            for _ in range(8):
                for j in range(1, size):
                    x[p, j] = x[p, j - 1] + x[p, j]

    @mt.kernel
    def atomic():
        for p in range(count):
            for _ in range(8):
                for j in range(size):
                    mt.atomic_max(x[p // 2, j], x[p // 2, j] * 0 + p)

    @mt.kernel
    def data(keys: array(i32, 1)):
        for p in range(count):
            for k in range(64):
                x[p, keys[k]] += 1

    before = numbers((count, size), seed=5)
    x.from_numpy(before)
    want = before.copy()
    keys = numbers(64, seed=3)
    kernel, args = locals()[spelling], (keys,) if spelling == "data" else ()
    kernel(*args)
    if spelling == "contiguous":
        for _ in range(8):
            for j in range(1, size):
                want[:, j] += want[:, j - 1]
    elif spelling == "atomic":
        for p in range(count):
            want[p // 2] = np.maximum(want[p // 2], p)
    elif spelling == "data":
        want += np.bincount(keys, minlength=size)
    assert np.array_equal(x.to_numpy(), want)
    assert ARCH or local_rows(kernel, *args) == []


def test_a_row_that_only_some_iterations_use(lanes_either_way):
    """What a condition leaves out is neither read nor written, nor copied: it may be outside."""
    count = 60
    x = mt.field(i32, shape=(count, 30))

    @mt.kernel
    def run(keys: array(i32, 1)):
        for p in range(count + 20):
            if p < count and keys[p] == 1:
                for _ in range(20):
                    for j in range(1, 30):
                        x[p, j] += x[p, j - 1]

    keys, before = numbers(count, seed=6), numbers((count, 30), seed=7)
    x.from_numpy(before)
    run(keys)
    want = before.copy()
    for _ in range(20):
        for j in range(1, 30):
            want[keys == 1, j] += want[keys == 1, j - 1]
    assert np.array_equal(x.to_numpy(), want)
    assert ARCH or local_rows(run, keys) == ["x"]


@pytest.mark.parametrize("writes", [False, True])
def test_a_function_that_is_called_finds_the_row_where_it_lies(lanes_either_way, writes):
    """Real functions have fields and arrays as they are: what the loop has stored is there, and it sees what they store."""
    x = mt.field(i32, shape=(50, 8))

    @mt.real_func
    def total(p: i32) -> i32:
        s = i32(0)
        for j in range(8):
            if mt.static(writes):
                x[p, j] += 1
            s += x[p, j]
        return s

    @mt.kernel
    def run(out: array(i32, 1)):
        for p in range(50):
            for _ in range(20):
                for j in range(1, 8):
                    x[p, j] += x[p, j - 1]
            out[p] = total(p) + x[p, 7]

    before, out = numbers((50, 8), seed=8), np.zeros(50, np.int32)
    x.from_numpy(before)
    run(out)
    want = before.copy()
    for _ in range(20):
        for j in range(1, 8):
            want[:, j] += want[:, j - 1]
    want += writes
    assert np.array_equal(x.to_numpy(), want)
    assert np.array_equal(out, want.sum(axis=1, dtype=np.int32) + want[:, 7])
    assert ARCH or local_rows(run, out) == []
