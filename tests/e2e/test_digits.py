"""Parallel loops over numbers that are taken apart are nests; what is no whole digit is computed."""

import itertools

import numpy as np
import pytest

import metate as ti

array = ti.types.ndarray
n, m, leaf = 40, 96, 8


def test_numbers_taken_apart_are_nests():
    @ti.kernel
    def run(rows: array(ti.i32, 2), cells: array(ti.i32, 4), odd: array(ti.i32, 1), drawn: array(ti.f32, 1)):
        for c in range(n * m):
            i, j = c // m, c % m
            rows[i, j] = c + 1000 * (c % 2) + (c // 7) % 5
        for b, q in ti.ndrange(5, leaf**3):
            cells[b, q >> 6, (q >> 3) & 7, q & 7] += q * b
        for c in range(n * m):  # no chain of divisors
            odd[c] = c // m + c % 7 + c // 9 % 11
        for c in range(n * m):
            drawn[c // m * m + c % m] = ti.random()

    rows, cells = np.zeros((n, m), np.int32), np.ones((5, leaf, leaf, leaf), np.int32)
    odd, drawn, once_more = np.zeros(n * m, np.int32), np.zeros(n * m, np.float32), np.zeros(n * m, np.float32)
    c, (b, q) = np.arange(n * m), np.meshgrid(np.arange(5), np.arange(leaf**3), indexing="ij")
    run(rows, cells, odd, drawn)
    np.testing.assert_array_equal(rows.ravel(), c + 1000 * (c % 2) + c // 7 % 5)
    np.testing.assert_array_equal(cells.reshape(5, -1), 1 + q * b)
    np.testing.assert_array_equal(odd, c // m + c % 7 + c // 9 % 11)
    assert len(np.unique(drawn)) > n * m - 5  # draws go by the iteration's number

    with ti.Context(random_seed=7):
        run(rows, cells, odd, drawn)
    with ti.Context(random_seed=7, opt_level=0):
        run(rows, cells, odd, once_more)
    np.testing.assert_array_equal(drawn, once_more)


def test_a_loop_over_a_leaf_by_one_number_is_rows():
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ijk, 4).dense(ti.ijk, leaf).place(x)
    blocks = ti.Vector.field(3, ti.i32, shape=6)

    @ti.kernel
    def write():
        for b, q in ti.ndrange(6, leaf**3):
            x[blocks[b] * leaf + ti.Vector([q // 64, q // 8 % 8, q % 8])] = q + b

    blocks.from_numpy(np.array([[0, 0, 0], [1, 2, 3], [3, 3, 3], [2, 0, 1], [0, 3, 0], [1, 1, 1]], np.int32))
    write()
    got = x.to_numpy()
    for b, (i, j, k) in enumerate(blocks.to_numpy()):
        block = got[leaf * i : leaf * i + leaf, leaf * j : leaf * j + leaf, leaf * k : leaf * k + leaf]
        np.testing.assert_array_equal(block.ravel(), np.arange(leaf**3) + b)


def quotient(a, b):
    return a // b if b else np.zeros_like(a)


def remainder(a, b):
    return a % b if b else np.zeros_like(a)


@ti.kernel
def take_apart(out: array(ti.i32, 2), count: int, n: int, m: int):
    for c in range(count):
        i = c // m
        out[c, 0] = i
        out[c, 1] = c % m
        out[c, 2] = c - i * m
        out[c, 3] = c // (n * m)
        out[c, 4] = i % n
        out[c, 5] = c % (n * m) // m
        out[c, 6] = c // 3 + c % 2 + c // 37 * 100


@pytest.mark.parametrize("level", [None, 0])
def test_extents_of_a_launch_are_any_numbers(level):
    counts = [0, 1, 37, 1000, 20011]
    extents = [
        (1, 9),
        (9, 1),
        (0, 9),
        (9, 0),
        (11, 13),
        (-3, -40),
        (-3, 40),
        (5, -1),
        (13, -700),
        (65536, 65536),
        (77, 8),
        (2, 8),
        (1, 20011),
    ]
    with ti.Context() if level is None else ti.Context(opt_level=level):
        for count, (n, m) in itertools.product(counts, extents):
            out = np.full((max(count, 1), 7), -5, np.int32)
            take_apart(out, count, n, m)
            c = np.arange(count, dtype=np.int32)
            both = (n * m + 2**31) % 2**32 - 2**31
            expected = [quotient(c, m), remainder(c, m), c - quotient(c, m) * m, quotient(c, both)]
            expected += [remainder(quotient(c, m), n), quotient(remainder(c, both), m), c // 3 + c % 2 + c // 37 * 100]
            np.testing.assert_array_equal(out[:count], np.stack(expected, axis=1), err_msg=f"{count}, {n}, {m}")


def test_a_flat_array_is_a_grid_of_the_launch():
    @ti.kernel
    def sweep(a: array(ti.f32, 1), b: array(ti.f32, 1), sums: array(ti.i32, 1), n: int, m: int):
        for c in range(n * m):
            i = c // m
            j = c - i * m
            if i > 0 and i < n - 1 and j > 0 and j < m - 1:
                b[c] = a[c - m] + 2 * a[c + m] + 3 * a[c - 1] + 4 * a[c + 1]
            sums[c % m] += i

    rng = np.random.default_rng(3)
    for rows, columns in [(1, 1), (2, 50), (50, 2), (71, 23), (9, 400)]:
        a, b, sums = rng.random((rows, columns), np.float32), np.zeros((rows, columns), np.float32), np.zeros(columns, np.int32)
        sweep(a.ravel(), b.ravel(), sums, rows, columns)
        expected = np.zeros_like(a)
        expected[1:-1, 1:-1] = a[:-2, 1:-1] + 2 * a[2:, 1:-1] + 3 * a[1:-1, :-2] + 4 * a[1:-1, 2:]
        np.testing.assert_allclose(b, expected, rtol=1e-5)
        np.testing.assert_array_equal(sums, rows * (rows - 1) // 2)


def test_loops_over_a_leaf_inside_a_parallel_loop():
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, leaf).place(x, y)
    blocks = ti.Vector.field(2, ti.i32, shape=5)

    @ti.kernel
    def write():
        for b in blocks:
            corner = blocks[b] * leaf
            for i, j in ti.ndrange((1, leaf), leaf):
                x[corner + ti.Vector([i, j])] += i * leaf + j + b
        for b in range(16):
            bi, bj = b // 4, b % 4
            for q in range(leaf * leaf):
                if q < 50:
                    y[(bi << 3) + (q >> 3), (bj << 3) | (q & 7)] = q - b

    @ti.kernel
    def chained():
        for b in range(4):
            for i in range(8 * b + 1, 8 * b + 8):  # each turn reads what the one before wrote
                x[i, 0] = x[i - 1, 0] + 1
        for b in range(4):
            for i in range(8 * b, 8 * b + 8):  # the last turn stays
                y[b * 8, 0] = i

    places = np.array([[0, 0], [1, 2], [3, 3], [2, 0], [0, 3]], np.int32)
    blocks.from_numpy(places)
    write()
    expected, q = np.zeros((32, 32), np.int32), np.arange(leaf * leaf).reshape(leaf, leaf)
    for b, (i, j) in enumerate(places):
        expected[8 * i + 1 : 8 * i + 8, 8 * j : 8 * j + 8] = q[1:] + b
    np.testing.assert_array_equal(x.to_numpy(), expected)
    b = np.arange(16).reshape(4, 4)
    grid = np.where(q < 50, q - b[:, :, None, None], 0).transpose(0, 2, 1, 3).reshape(32, 32)
    np.testing.assert_array_equal(y.to_numpy(), grid)
    chained()
    column = expected[:, 0].copy()
    for i in range(32):
        column[i] = column[i - 1] + 1 if i % 8 else column[i]
    np.testing.assert_array_equal(x.to_numpy()[:, 0], column)
    np.testing.assert_array_equal(y.to_numpy()[::8, 0], np.arange(7, 32, 8))


def test_sums_along_the_last_variables():
    @ti.kernel
    def add(a: array(ti.i32, 2), s: array(ti.i32, 1), two: array(ti.i32, 1), most: array(ti.i32, 1), columns: array(ti.i32, 1)):
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            s[i] += a[i, j]
            ti.atomic_max(most[i + 1], a[i, j])
            columns[j] += a[i, j]
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            two[2 * i] += a[i, j]
            two[2 * i + 1] -= 3 * a[i, j]
            if a[i, j] > 5:
                s[i] -= 1

    rng = np.random.default_rng(0)
    for rows, width in [(0, 5), (5, 0), (1, 1), (70, 33), (2, 500), (129, 2)]:
        a = rng.integers(-9, 10, (rows, width)).astype(np.int32)
        s, two, most, columns = (
            np.ones(rows, np.int32),
            np.zeros(2 * rows, np.int32),
            np.full(rows + 1, -4, np.int32),
            np.zeros(width, np.int32),
        )
        add(a, s, two, most, columns)
        np.testing.assert_array_equal(s, 1 + a.sum(axis=1) - (a > 5).sum(axis=1))
        np.testing.assert_array_equal(two.reshape(-1, 2), np.stack([a.sum(axis=1), -3 * a.sum(axis=1)], axis=1))
        np.testing.assert_array_equal(most[1:], a.max(axis=1, initial=-4))
        np.testing.assert_array_equal(columns, a.sum(axis=0))


def test_no_rows_and_a_remainder_by_their_number():
    """The work of an iteration is estimated before the loop: not with `i % n` of one without turns, n = 0."""

    @ti.kernel
    def turns(n: ti.i32, m: ti.i32, out: ti.types.ndarray(ti.i32, 1)):
        for c in range(n * m):
            i, j = c // m, c % m
            f, v = 0, 0
            while True:
                v += 2
                if v > 25:
                    break
                for q in range(-3, (i % n) % 24):
                    f = (f * 3 + q + j) % 1000
            out[c] += f

    out = np.zeros(18, np.int32)
    turns(0, 3, out)
    assert not out.any()
    turns(6, 3, out)
    expected = []
    for c in range(18):
        i, j = c // 3, c % 3
        f = 0
        for _ in range(12):
            for q in range(-3, i % 6 % 24):
                f = (f * 3 + q + j) % 1000
        expected.append(f)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    "options", [{}, {"opt_level": 0}, {"threads": 3, "chunk_ns": 0}, {"deterministic": True}, {"arch": ti.interp}], ids=str
)
@pytest.mark.parametrize("by", [2, 3, 5])
def test_means_of_blocks(rng, options, by):
    """Several iterations add to one place, which a quotient of each of their variables names."""
    n, m = 12, 16
    fine, f32 = (n * by, m * by), ti.f32
    with ti.Context(**options):
        x, y, z = ti.field(f32, fine), ti.field(f32, (n, m)), ti.field(ti.i32, (n, m * by))
        greatest = ti.field(f32, (n, m))

        @ti.kernel
        def means():
            for i, j in x:
                y[i // by, j // by] += x[i, j] / (by * by)
            for i, j in x:
                ti.atomic_max(greatest[i // by, j // by], x[i, j])
            for i, j in x:  # along rows only: the sums are rows themselves
                z[i // by, j] += j % by + 1

        data = rng.integers(0, 100, fine).astype(np.float32)
        x.from_numpy(data)
        y.fill(1)
        means()
        blocks = data.reshape(n, by, m, by)
        np.testing.assert_allclose(y.to_numpy(), 1 + blocks.mean((1, 3)), rtol=1e-5)
        np.testing.assert_array_equal(greatest.to_numpy(), blocks.max((1, 3)))
        np.testing.assert_array_equal(z.to_numpy(), np.broadcast_to(by * (np.arange(m * by) % by + 1), (n, m * by)))
        if not options:
            assert any(one.pass_name == "serialize-reductions" for one in means.report().remarks)
