"""Cells of many numbers side by side, in vectors of iterations: matrices, vectors of nine, structs, at places that data says."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as mt
from metate import f32, f64, i32

SIZES = [0, 1, 7, 8, 9, 1003]
TYPES = [(f32, np.float32), (f64, np.float64), (i32, np.int32)]


@pytest.fixture(scope="module", autouse=True)
def context():
    mt.init(threads=2)
    yield
    mt.reset()


def numbers(shape, dtype=np.float32):
    return np.random.default_rng(11).integers(-20, 20, shape).astype(dtype)


def is_done(kernel, *args):
    return ARCH or "cells are read and written whole" in str(kernel.report(*args))


@pytest.mark.parametrize("dtype, array", TYPES)
@pytest.mark.parametrize("n", SIZES[1:])
@pytest.mark.parametrize("size", [3, 4])
def test_products_of_fields(dtype, array, n, size):
    a, b, c = (mt.Matrix.field(size, size, dtype, shape=n) for _ in range(3))
    x, y = numbers((n, size, size), array), numbers((n, size, size), array)[::-1]
    a.from_numpy(x)
    b.from_numpy(np.ascontiguousarray(y))

    @mt.kernel
    def multiply():
        for p in c:
            c[p] = a[p] @ b[p]

    multiply()
    np.testing.assert_array_equal(c.to_numpy(), x @ y)
    assert is_done(multiply)


@pytest.mark.parametrize("dtype, array", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_arrays_of_matrices(dtype, array, n):
    matrices = mt.types.ndarray(dtype=mt.types.matrix(3, 3, dtype), ndim=1)

    @mt.kernel
    def turned(a: matrices, c: matrices):
        for p in c:
            c[p] = a[p].transpose() * a[p][1, 2] + a[p]

    x = numbers((n, 3, 3), array)
    # What lies behind the last cell stays.
    memory = np.full(9 * n + 16, 77, array)
    z = memory[: 9 * n].reshape(n, 3, 3)
    turned(x, z)
    expected = x.transpose(0, 2, 1) * x[:, 1, 2, None, None] + x
    np.testing.assert_array_equal(z, expected)
    np.testing.assert_array_equal(memory[9 * n :], 77)
    assert is_done(turned, x, z)


@pytest.mark.parametrize("dtype, array", TYPES)
@pytest.mark.parametrize("numbers_of_cell", range(5, 17))
def test_vectors_of_each_size(dtype, array, numbers_of_cell):
    n, size = 27, numbers_of_cell
    x, y = mt.Vector.field(size, dtype, shape=n), mt.Vector.field(size, dtype, shape=n)
    values = numbers((n, size), array)
    x.from_numpy(values)
    y.from_numpy(values + 1)

    @mt.kernel
    def mix():
        for p in x:
            for q in mt.static(range(2, size)):  # the first two stay
                y[p][q] = x[p][size - 1 - q] * y[p][q] - x[p][0]

    mix()
    expected = values + 1
    expected[:, 2:] = values[:, ::-1][:, 2:] * expected[:, 2:] - values[:, :1]
    np.testing.assert_array_equal(y.to_numpy(), expected)


@pytest.mark.parametrize("n", SIZES[1:])
def test_members_of_a_struct(n):
    cells = mt.Struct.field({"m": mt.types.matrix(3, 3, f32), "v": mt.types.vector(3, f32), "k": i32}, shape=n)
    m, v = numbers((n, 3, 3)), numbers((n, 3))
    cells.m.from_numpy(m)
    cells.v.from_numpy(v)
    cells.k.from_numpy(np.arange(n, dtype=np.int32))

    @mt.func
    def moved(matrix, vector):
        return matrix @ vector

    @mt.kernel
    def move():
        for i in cells:
            cells[i].v = moved(cells[i].m, cells[i].v)

    move()
    np.testing.assert_array_equal(cells.v.to_numpy(), np.einsum("nij,nj->ni", m, v))
    np.testing.assert_array_equal(cells.m.to_numpy(), m)
    np.testing.assert_array_equal(cells.k.to_numpy(), np.arange(n))
    assert is_done(move)


@pytest.mark.parametrize("n", SIZES[1:])
def test_cells_that_data_chooses(n):
    a, b = mt.Vector.field(9, f32, shape=n), mt.Vector.field(9, f32, shape=n)
    which = mt.field(i32, shape=n)
    values, order = numbers((n, 9)), np.random.default_rng(3).permutation(n).astype(np.int32)
    a.from_numpy(values)
    which.from_numpy(order)

    @mt.kernel
    def permute():
        for i in which:
            cell = a[which[i]]
            b[n - 1 - which[i]] = cell * cell[4] + i

    permute()
    expected = np.zeros((n, 9), np.float32)
    cells = values[order]
    expected[n - 1 - order] = cells * cells[:, 4:5] + np.arange(n)[:, None]
    np.testing.assert_array_equal(b.to_numpy(), expected)
    assert is_done(permute)


@pytest.mark.parametrize("n", SIZES[1:])
def test_a_number_that_was_just_written(n):
    """Reads stay behind a write of what they read, writes before a read of it; of two writes of one place the later one stays."""
    x, z = mt.Vector.field(9, f32, shape=n), mt.Vector.field(9, f32, shape=n)
    k = mt.field(i32, shape=())
    values = numbers((n, 9))
    x.from_numpy(values)
    k[None] = 3

    @mt.kernel
    def write():
        for p in x:
            for q in mt.static(range(9)):
                z[p][q] = x[p][q] * x[p][8 - q]
            x[p][2] = z[p][1] + 1
            x[p][k[None]] = 50
            for q in mt.static(range(9)):
                z[p][q] = x[p][q] - x[p][8 - q] + q

    write()
    products = values * values[:, ::-1]
    expected = values.copy()
    expected[:, 2] = products[:, 1] + 1
    expected[:, 3] = 50
    np.testing.assert_array_equal(x.to_numpy(), expected)
    np.testing.assert_array_equal(z.to_numpy(), expected - expected[:, ::-1] + np.arange(9))


@pytest.mark.parametrize("n, m", [(1, 1), (3, 9), (10, 21)])
def test_nine_directions_are_pushed(n, m):
    directions = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
    f, g = mt.Vector.field(9, f32, shape=(n, m)), mt.Vector.field(9, f32, shape=(n, m))
    values = numbers((n, m, 9))
    f.from_numpy(values)

    @mt.kernel
    def push():
        for i, j in f:
            total = f[i, j].sum()
            for q in mt.static(range(9)):
                g[(i + directions[q][0]) % n, (j + directions[q][1]) % m][q] = 2 * f[i, j][q] - total

    push()
    after = 2 * values - values.sum(axis=2, keepdims=True)
    expected = np.stack([np.roll(after[..., q], directions[q], (0, 1)) for q in range(9)], axis=2)
    np.testing.assert_array_equal(g.to_numpy(), expected)
    assert n == 1 or is_done(push)


def test_rows_of_an_array_whose_extents_the_launch_has():
    array = mt.types.ndarray(f32, 3)

    @mt.kernel
    def squares(f: array, g: array):
        for c in range(f.shape[0] * f.shape[1]):
            i, j = c // f.shape[1], c % f.shape[1]
            for q in mt.static(range(9)):
                g[i, j, q] = f[i, j, q] * f[i, j, 8 - q] - f[i, j, 4]

    for shape in ((0, 4, 9), (1, 1, 9), (3, 7, 9), (2, 40, 9), (5, 17, 12)):
        f, g = numbers(shape), np.full(shape, 5, np.float32)
        squares(f, g)
        expected = np.full(shape, 5, np.float32)
        expected[..., :9] = f[..., :9] * f[..., 8::-1] - f[..., 4:5]
        np.testing.assert_array_equal(g, expected)
        assert is_done(squares, f, g)
        strided = np.full((*shape[:2], 2 * shape[2]), 5, np.float32)[..., ::2]
        squares(f, strided)
        np.testing.assert_array_equal(strided, expected)


@pytest.mark.parametrize("dtype, array", TYPES)
@pytest.mark.parametrize("shape", [*((n, 3, 3) for n in SIZES), (5, 3, 4), (9, 4, 3), (6, 5, 5), (17, 3, 3, 3)])
def test_extents_that_indices_tell(dtype, array, shape):
    """Of arrays of n x 3 x 3 and of others: which they are is known when the kernel is called."""
    extra = shape[3:]
    x, y = numbers(shape, array), numbers(shape, array)[::-1].copy()
    typed = mt.types.ndarray(dtype, len(shape))

    if extra:

        @mt.kernel
        def multiply(a: typed, b: typed, c: typed):
            for p, i, j in mt.ndrange(a.shape[0], 3, 3):
                c[p, i, j, 0] = a[p, j, i, 2] - b[p, i, i, 1]

    else:

        @mt.kernel
        def multiply(a: typed, b: typed, c: typed):
            for p, i, j in mt.ndrange(a.shape[0], 3, 3):
                total = a[p, 0, 0] * 0
                for k in range(3):
                    total += a[p, i, k] * b[p, k, j]
                c[p, i, j] = total

    z = np.full(shape, 5, array)
    multiply(x, y, z)
    expected = np.full(shape, 5, array)
    if extra:
        i, j = np.mgrid[:3, :3]
        expected[:, :3, :3, 0] = x[:, j, i, 2] - y[:, i, i, 1]
    else:
        expected[:, :3, :3] = x[:, :3, :3] @ y[:, :3, :3]
    np.testing.assert_array_equal(z, expected)
    if not extra:
        assert ARCH or "loop of their own" in str(multiply.report(x, y, z))
    # Of other extents each, and of one memory.
    wide = np.full((*shape[:-1], shape[-1] + 1), 5, array)
    multiply(x, y, wide)
    np.testing.assert_array_equal(wide[..., :-1], expected)
    np.testing.assert_array_equal(wide[..., -1], 5)
    if not extra:
        multiply(x, y, x)  # in order: what a turn reads may have been written
        assert x.shape == shape


@pytest.mark.parametrize("n", SIZES[1:])
def test_neighbours_of_particles_in_cells_with_a_gap(n):
    """What lies between numbers that are read is a member that nobody reads; each sum is stored once."""
    vec, mat = mt.types.vector(2, f32), mt.types.matrix(2, 2, f32)
    points = mt.Struct.field({"x": vec, "v": vec, "c": mat}, shape=n)
    cells = mt.Struct.field({"v": vec, "m": f32}, shape=(8, 9))
    at, grid = np.random.default_rng(5).integers(0, 6, (n, 2)).astype(np.float32), numbers((8, 9, 2))
    points.x.from_numpy(at)
    points.v.from_numpy(numbers((n, 2)))
    cells.v.from_numpy(grid)
    cells.m.fill(np.nan)

    @mt.kernel
    def gather():
        for p in points:
            base = points[p].x.cast(int)
            points[p].v = [1.0, 2.0]
            points[p].c = mt.Matrix.zero(f32, 2, 2)
            for i, j in mt.static(mt.ndrange(3, 3)):
                value = cells[base[0] + i, base[1] + j].v
                points[p].v += (i + 2 * j) * value
                points[p].c += value.outer_product(mt.Vector([i, 1 - j]))

    gather()
    v, c = np.tile(np.array([1, 2], np.float32), (n, 1)), np.zeros((n, 2, 2), np.float32)
    base = at.astype(int)
    for i, j in np.ndindex(3, 3):
        value = grid[base[:, 0] + i, base[:, 1] + j]
        v += (i + 2 * j) * value
        c += value[:, :, None] * np.array([i, 1 - j], np.float32)
    np.testing.assert_array_equal(points.v.to_numpy(), v)
    np.testing.assert_array_equal(points.c.to_numpy(), c)
    np.testing.assert_array_equal(points.x.to_numpy(), at)
    assert is_done(gather)


def test_what_another_statement_may_have_stored_is_read():
    n = 1003
    cells = mt.Struct.field({"a": i32, "b": i32}, shape=n)
    which = mt.field(i32, shape=n)
    which.from_numpy(np.where(np.arange(n) % 3 == 0, np.arange(n), 0).astype(np.int32))

    @mt.kernel
    def store():
        for p in cells:
            if p % 3 == 0:
                cells[p].a = p
                cells[which[p]].a = 7  # this very cell
                cells[p].b = cells[p].a
                cells[p].b += 1
                cells[p].b *= 2

    store()
    own = np.arange(n) % 3 == 0
    np.testing.assert_array_equal(cells.a.to_numpy(), np.where(own, 7, 0))
    np.testing.assert_array_equal(cells.b.to_numpy(), np.where(own, 16, 0))
