"""Whole cells as vectors, ranges leaf by leaf, quotients put together again, reads and stores that leave inner loops."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as mt
from metate import f32, f64, i32


@pytest.fixture(scope="module", autouse=True)
def context():
    mt.init(threads=2)
    yield
    mt.reset()


def numbers(shape, dtype):
    rng = np.random.default_rng(7)
    return rng.integers(-50, 50, shape).astype(dtype)


def declined_or_done(kernel, word):
    return word in str(kernel.report())


@pytest.mark.parametrize("dtype, array", [(f32, np.float32), (f64, np.float64), (i32, np.int32)])
@pytest.mark.parametrize("n", [3, 8, 61])
def test_members_beside_stay(dtype, array, n):
    a, b, c = mt.field(dtype), mt.field(dtype), mt.field(dtype)
    mt.root.dense(mt.ij, (5, n)).place(a, b, c)
    before = {field: numbers((5, n), array) + k for k, field in enumerate((a, b, c))}
    for field, values in before.items():
        field.from_numpy(values)

    @mt.kernel
    def sums():
        for i, j in mt.ndrange((1, 4), (1, n - 1)):
            b[i, j] = 3 * a[i, j] - c[i, j]

    sums()
    expected = before[b].copy()
    expected[1:4, 1:-1] = (3 * before[a] - before[c])[1:4, 1:-1]
    np.testing.assert_array_equal(b.to_numpy(), expected)
    np.testing.assert_array_equal(a.to_numpy(), before[a])
    np.testing.assert_array_equal(c.to_numpy(), before[c])
    assert ARCH or declined_or_done(sums, "cells are read and written whole")


def test_two_members_and_a_struct():
    n = 37
    points = mt.Struct.field({"x": f32, "y": f32, "best": i32}, shape=n)
    x, y = numbers(n, np.float32), numbers(n, np.float32)
    points.x.from_numpy(x)
    points.y.from_numpy(y)
    points.best.from_numpy(np.arange(n, dtype=np.int32))

    @mt.kernel
    def turn():
        for i in points:
            old = points[i].x
            points[i].x = points[i].y
            points[i].y = -old

    turn()
    np.testing.assert_array_equal(points.x.to_numpy(), y)
    np.testing.assert_array_equal(points.y.to_numpy(), -x)
    np.testing.assert_array_equal(points.best.to_numpy(), np.arange(n))


def test_members_of_two_cells():
    """The next cell's first member is written too: nothing may be written back."""
    n = 40
    a, b = mt.field(f32), mt.field(f32)
    mt.root.dense(mt.i, n).place(a, b)
    b.from_numpy(numbers(n, np.float32))

    @mt.kernel
    def push():
        for i in range(n - 1):
            a[i + 1] = b[i]
            b[i] = 2 * b[i]

    before = b.to_numpy()
    push()
    np.testing.assert_array_equal(a.to_numpy()[1:], before[:-1])
    np.testing.assert_array_equal(b.to_numpy(), np.append(2 * before[:-1], before[-1]))
    assert not declined_or_done(push, "cells are read and written whole")


@pytest.mark.parametrize("leaf", ["dense", "bitmasked"])
def test_ranges_go_leaf_by_leaf(leaf):
    x, y = mt.field(f32), mt.field(f32)
    block = mt.root.pointer(mt.ij, (4, 3))
    (block.dense if leaf == "dense" else block.bitmasked)(mt.ij, (8, 4)).place(x, y)

    @mt.kernel
    def fill():
        for i, j in mt.ndrange(32, 12):
            if (i + j) % 3 == 0:
                x[i, j] = i * 100 + j

    @mt.kernel
    def gather() -> f32:
        total = 0.0
        for i, j in mt.ndrange(32, 12):
            y[i, j] = x[i, j] + 1
            total += x[i, j]
        return total

    @mt.kernel
    def active() -> i32:
        count = 0
        for _ in mt.grouped(x):
            count += 1
        return count

    fill()
    i, j = np.mgrid[:32, :12]
    expected = np.where((i + j) % 3 == 0, i * 100 + j, 0)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    assert active() == (32 * 12 if leaf == "dense" else ((i + j) % 3 == 0).sum())
    assert gather() == expected.sum()
    np.testing.assert_array_equal(y.to_numpy(), expected + 1)
    assert active() == 32 * 12
    assert ARCH or declined_or_done(gather, "goes leaf by leaf")


def test_quotients_are_joined():
    n = 33
    x, z = mt.field(f32, (n // 3, 3)), mt.field(f32, (n // 3, 3))
    values = numbers((n // 3, 3), np.float32)
    x.from_numpy(values)
    out = np.zeros(20, np.int32)

    @mt.kernel
    def double():
        for c in range(n):
            z[c // 3, c % 3] = 2 * x[c // 3, c % 3]

    @mt.kernel
    def below(out: mt.types.ndarray(i32, 1)):
        for c in range(-10, 10):
            out[c + 10] = (c // 3) * 3 + c % 3 + 100 * ((c // 4) * 4 + c % 3)

    double()
    np.testing.assert_array_equal(z.to_numpy(), 2 * values)
    below(out)
    c = np.arange(-10, 10)
    np.testing.assert_array_equal(out, c + 100 * ((c // 4) * 4 + c % 3))


@pytest.mark.parametrize("k", [0, 1, 24])
def test_stored_by_some_turns(k):
    n = 70
    p, c = numbers((n, 2), np.int32), numbers((k, 2), np.int32)
    best = np.full(n, -7, np.int32)
    array = mt.types.ndarray(i32, 2)

    @mt.kernel
    def assign(p: array, c: array, best: mt.types.ndarray(i32, 1)):
        for i in range(p.shape[0]):
            least = 1 << 30
            for q in range(c.shape[0]):
                dx, dy = p[i, 0] - c[q, 0], p[i, 1] - c[q, 1]
                r = dx * dx + dy * dy
                if r < least and r % 2 == 0:
                    least = r
                    best[i] = q

    assign(p, c, best)
    r = ((p[:, None] - c[None]) ** 2).sum(-1)
    r = np.where(r % 2 == 0, r, 1 << 30)
    found = r.argmin(1) if k else np.zeros(n, np.int64)
    expected = np.where((r < 1 << 30).any(1), found, -7)
    np.testing.assert_array_equal(best, expected)


def test_reads_leave_loops_that_run():
    """A row that does not exist is not read where the loop over it has no turns."""
    m = np.zeros((0, 3), np.float32)
    sums = np.full(20, 3, np.float32)
    array = mt.types.ndarray(f32, 2)

    @mt.kernel
    def scaled(m: array, weights: array, out: mt.types.ndarray(f32, 1)):
        for i in range(out.shape[0]):
            total = 0.0
            for q in range(m.shape[0]):
                total += weights[i, 0] * m[q, 1]
            out[i] = total

    scaled(m, np.zeros((0, 1), np.float32), sums)
    np.testing.assert_array_equal(sums, 0)
    m, weights = numbers((21, 3), np.float32), numbers((20, 1), np.float32)
    scaled(m, weights, sums)
    np.testing.assert_array_equal(sums, weights[:, 0] * m[:, 1].sum())


@pytest.mark.parametrize("n", [2, 9, 10, 17, 61])
def test_cells_beside_the_written_one(n):
    """Vectors are stored a turn later: none that is loaded overlaps them."""
    a, b = mt.field(f32), mt.field(f32)
    mt.root.dense(mt.ij, (6, n)).place(a, b)
    values = numbers((6, n), np.float32)
    a.from_numpy(values)
    b.from_numpy(values + 100)

    @mt.kernel
    def sums():
        for i, j in mt.ndrange((1, 5), (1, n - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + 2 * a[i, j + 1] + b[i, j]

    @mt.kernel
    def chunks(begin: i32, end: i32):
        for j in range(begin, end):
            b[0, j] = a[0, j - 1] - a[0, j + 1]

    sums()
    expected = values + 100
    expected[1:5, 1:-1] += values[:4, 1:-1] + values[2:, 1:-1] + values[1:5, :-2] + 2 * values[1:5, 2:]
    np.testing.assert_array_equal(b.to_numpy(), expected)
    for begin, end in ((1, n - 1), (n - 1, 1), (1, 1), (n // 2, n - 1)):
        chunks(begin, end)
        if begin < end:
            expected[0, begin:end] = values[0, begin - 1 : end - 1] - values[0, begin + 1 : end + 1]
        np.testing.assert_array_equal(b.to_numpy(), expected)
    np.testing.assert_array_equal(a.to_numpy(), values)
    assert ARCH or declined_or_done(sums, "cells are read and written whole")


@pytest.mark.parametrize("n, m", [(2, 2), (3, 17), (20, 33)])
def test_members_at_places_that_memory_says(n, m):
    """As advection reads them; the other members stay as they are."""
    cells = mt.Struct.field({"q": mt.f32, "v": mt.types.vector(2, mt.f32), "new": mt.f32}, shape=(n, m))
    rng = np.random.default_rng(7)
    q = rng.integers(-20, 20, (n, m)).astype(np.float32)
    v = np.stack([rng.integers(0, n - 1, (n, m)), rng.integers(0, m - 1, (n, m))], axis=2).astype(np.float32)
    cells.q.from_numpy(q)
    cells.v.from_numpy(v)

    @mt.kernel
    def advect():
        for i, j in cells:
            a, b = int(cells[i, j].v[0]), int(cells[i, j].v[1])
            top = cells[a, b].q * 3.0 + cells[a, b + 1].q * 0.5
            cells[i, j].new = top - cells[a + 1, b].q * 2.0 + cells[a + 1, b + 1].q * 4.0

    advect()
    a, b = v[..., 0].astype(int), v[..., 1].astype(int)
    expected = q[a, b] * 3 + q[a, b + 1] * 0.5 - q[a + 1, b] * 2 + q[a + 1, b + 1] * 4
    np.testing.assert_array_equal(cells.new.to_numpy(), expected)
    np.testing.assert_array_equal(cells.q.to_numpy(), q)
    np.testing.assert_array_equal(cells.v.to_numpy(), v)
    assert ARCH or "cells are read and written whole" in str(advect.report())
