"""Parallel loops over numbers that are taken apart are nests; what is no whole digit is computed."""

import numpy as np

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
