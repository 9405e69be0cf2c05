"""Stencils on devices, whose workgroups take bricks of cells: no cell is lost, and none beyond the range is touched, whatever the
extents and however the loop is spelled. On the stand-in an invocation takes several cells from 4,096 on."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray
f32, f64, i32 = mt.f32, mt.f64, mt.i32

SHAPES2 = [(16, 32), (17, 33), (40, 65), (64, 64), (3, 300), (300, 3), (100, 131), (129, 97)]
SHAPES3 = [(8, 8, 32), (9, 7, 33), (20, 19, 45), (3, 40, 50), (34, 3, 70), (16, 30, 31)]


@pytest.fixture(autouse=True)
def device():
    with mt.Context(arch=ARCH) as context:
        yield context


def around(a):
    """The sum of the neighbours along all axes, of the inner cells."""
    total = 0
    for axis in range(a.ndim):
        inner = [slice(1, -1)] * a.ndim
        before, behind = list(inner), list(inner)
        before[axis], behind[axis] = slice(None, -2), slice(2, None)
        total = total + a[tuple(before)] + a[tuple(behind)]
    return total


def inner(ndim):
    return (slice(1, -1),) * ndim


def numbers(shape, seed=0):
    """Small integers as floats: sums of them are exact."""
    return np.random.default_rng(seed).integers(-50, 50, shape).astype(np.float32)


def expected(a):
    b = np.full_like(a, -1)
    b[inner(a.ndim)] = around(a) + 2 * a[inner(a.ndim)]
    return b


def fields(shape, dtype=f32, **options):
    a, b = mt.field(dtype, shape=shape, **options), mt.field(dtype, shape=shape, **options)
    b.fill(-1)
    return a, b


def iterations(kernel):
    """How many the grid of the kernel's only task has, as a number of its code."""
    text = kernel.stages(target="simt")["map.simt"]
    return int(text.split("iterations = array<i64: 1, ")[1].split(">")[0])


@pytest.mark.parametrize("shape", SHAPES2)
def test_fields_of_two_dimensions(shape):
    n, m = shape
    a, b = fields(shape)
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweep():
        for i, j in mt.ndrange((1, n - 1), (1, m - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + 2 * a[i, j]

    sweep()
    np.testing.assert_array_equal(b.to_numpy(), expected(numbers(shape)))


@pytest.mark.parametrize("shape", SHAPES3)
def test_fields_of_three_dimensions(shape):
    n, m, q = shape
    a, b = fields(shape)
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweep():
        for i, j, k in mt.ndrange((1, n - 1), (1, m - 1), (1, q - 1)):
            near = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
            b[i, j, k] = near + 2 * a[i, j, k]

    sweep()
    np.testing.assert_array_equal(b.to_numpy(), expected(numbers(shape)))


def test_a_range_over_bricks_is_what_the_grid_has():
    """Cells of the range 38 x 63, in bricks that begin at a line: what of them lies beyond has an iteration, too."""
    a, b = fields((40, 65))

    @mt.kernel
    def sweep():
        for i, j in mt.ndrange((1, 39), (1, 64)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j]

    @mt.kernel
    def copy():
        for i, j in mt.ndrange((1, 39), (1, 64)):
            b[i, j] = a[i, j] + a[i, j + 1]

    assert iterations(copy) == 38 * 63
    assert iterations(sweep) > 38 * 63
    assert iterations(sweep) % 32 == 0


@pytest.mark.parametrize("shape", [(3, 4, 5, 33), (8, 6, 9, 17), (10, 10, 10, 40)])
def test_fields_of_four_dimensions(shape):
    n, m, p, q = shape
    a, b = fields(shape)
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweep():
        for i, j, k, l in mt.ndrange((1, n - 1), (1, m - 1), (1, p - 1), (1, q - 1)):
            outer = a[i - 1, j, k, l] + a[i + 1, j, k, l] + a[i, j - 1, k, l] + a[i, j + 1, k, l]
            near = a[i, j, k - 1, l] + a[i, j, k + 1, l] + a[i, j, k, l - 1] + a[i, j, k, l + 1]
            b[i, j, k, l] = outer + near + 2 * a[i, j, k, l]

    sweep()
    np.testing.assert_array_equal(b.to_numpy(), expected(numbers(shape)))


def test_arrays_of_any_extents():
    @mt.kernel
    def sweep2(a: array(f32, 2), b: array(f32, 2)):
        for i, j in mt.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + 2 * a[i, j]

    @mt.kernel
    def sweep3(a: array(f32, 3), b: array(f32, 3)):
        for i, j, k in mt.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1), (1, a.shape[2] - 1)):
            near = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
            b[i, j, k] = near + 2 * a[i, j, k]

    few = [(1, 1), (1, 50), (50, 1), (2, 2), (3, 3), (2, 100), (4, 5), (257, 130)]
    few3 = [(1, 1, 1), (2, 9, 9), (9, 2, 40), (3, 3, 3), (1, 64, 64), (33, 21, 18), (25, 40, 37)]
    for kernel, shapes in ((sweep2, few + SHAPES2), (sweep3, few3 + SHAPES3)):
        for shape in shapes:
            a = numbers(shape)
            b = np.full_like(a, -1)
            kernel(a, b)
            np.testing.assert_array_equal(b, expected(a), err_msg=str(shape))


def test_bounds_of_the_launch():
    """Lower bounds at and beside a line, empty ranges and ranges whose bounds cross."""

    @mt.kernel
    def sweep(a: array(f32, 2), b: array(f32, 2), top: i32, bottom: i32, left: i32, right: i32):
        for i, j in mt.ndrange((top, bottom), (left, right)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j]

    a = numbers((90, 170))
    random = np.random.default_rng(1)
    bounds = [
        (1, 89, 0, 170),
        (5, 5, 0, 170),
        (1, 89, 33, 33),
        (40, 10, 0, 170),
        (1, 89, 150, 3),
        (1, 2, 31, 33),
        (1, 89, 32, 160),
    ]
    for _ in range(25):
        bounds.append((*random.integers(1, 90, 2).tolist(), *random.integers(0, 171, 2).tolist()))
    for top, bottom, left, right in bounds:
        b = np.full_like(a, -1)
        sweep(a, b, top, bottom, left, right)
        want = np.full_like(a, -1)
        if top < bottom and left < right:
            rows = slice(left, right)
            want[top:bottom, rows] = a[top - 1 : bottom - 1, rows] + a[top + 1 : bottom + 1, rows] + a[top:bottom, rows]
        np.testing.assert_array_equal(b, want, err_msg=str((top, bottom, left, right)))


def test_bounds_that_are_read():
    """What stands before the loop is a launch of its own, which leaves the numbers of bricks to the loop's."""

    @mt.kernel
    def sweep(a: array(f32, 2), b: array(f32, 2), size: array(i32, 1)):
        n, m = size[0], size[1]
        for i, j in mt.ndrange((1, n - 1), (1, m - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + 2 * a[i, j]

    for n, m in ((0, 0), (3, 2), (40, 33), (90, 170)):
        a = numbers((90, 170))
        b = np.full_like(a, -1)
        sweep(a, b, np.array([n, m], np.int32))
        want = np.full_like(a, -1)
        if n > 2 and m > 2:
            want[:n, :m] = expected(a[:n, :m])
        np.testing.assert_array_equal(b, want)


def test_negative_indices():
    shape = (45, 70)
    a, b = fields(shape, offset=(-20, -37))
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweep():
        for i, j in mt.ndrange((-19, 24), (-36, 32)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + 2 * a[i, j]

    sweep()
    np.testing.assert_array_equal(b.to_numpy(), expected(numbers(shape)))


@pytest.mark.parametrize("shape", [(48, 80), (50, 83), (70, 70)])
def test_cells_of_a_field_that_wrap(shape):
    n, m = shape
    a, b = fields(shape)
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweep():
        for i, j in a:
            b[i, j] = a[(i - 1) % n, j] + a[(i + 1) % n, j] + a[i, (j - 1) % m] + a[i, (j + 1) % m]

    sweep()
    c = numbers(shape)
    want = np.roll(c, 1, 0) + np.roll(c, -1, 0) + np.roll(c, 1, 1) + np.roll(c, -1, 1)
    np.testing.assert_array_equal(b.to_numpy(), want)


@pytest.mark.parametrize("shape", [(48, 80), (19, 83), (17, 20, 33)])
def test_grouped_cells_that_are_clamped(shape):
    """By a function, whose neighbours are found in a loop over the axes."""
    a, b = fields(shape)
    a.from_numpy(numbers(shape))
    dimensions = len(shape)

    @mt.func
    def near(cell):
        total = 0.0
        for axis in mt.static(range(dimensions)):
            step = mt.Vector.unit(dimensions, axis, i32)
            total += a[mt.max(cell - step, 0)] + a[mt.min(cell + step, mt.Vector(list(shape)) - 1)]
        return total

    @mt.kernel
    def sweep():
        for cell in mt.grouped(a):
            b[cell] = near(cell)

    sweep()
    c = numbers(shape)
    padded = np.pad(c, 1, mode="edge")
    np.testing.assert_array_equal(b.to_numpy(), around(padded))


def test_borders_by_conditions():
    shape = (61, 75)
    n, m = shape
    a, b = fields(shape)
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweep():
        for i, j in a:
            total = 2 * a[i, j]
            if i > 0:
                total += a[i - 1, j]
            if i < n - 1:
                total += a[i + 1, j]
            if j > 0:
                total += a[i, j - 1]
            if j < m - 1:
                total += a[i, j + 1]
            b[i, j] = total

    sweep()
    c = numbers(shape)
    np.testing.assert_array_equal(b.to_numpy(), around(np.pad(c, 1)) + 2 * c)


def test_neighbours_in_loops():
    @mt.kernel
    def blur(a: array(f64, 2), b: array(f64, 2), weights: array(f64, 2)):
        for i, j in mt.ndrange((2, a.shape[0] - 2), (2, a.shape[1] - 2)):
            total = 0 * a[i, j]
            for di in range(-2, 3):
                for dj in range(-2, 3):
                    total += weights[di + 2, dj + 2] * a[i + di, j + dj]
            b[i, j] = total

    a, weights = numbers((77, 91)).astype(np.float64), numbers((5, 5), 1).astype(np.float64)
    b = np.zeros_like(a)
    blur(a, b, weights)
    want = np.zeros_like(a)
    for di in range(5):
        for dj in range(5):
            want[2:-2, 2:-2] += weights[di, dj] * a[di : di + 73, dj : dj + 87]
    np.testing.assert_array_equal(b, want)


def test_cells_of_vectors():
    shape = (66, 90)
    a, b = mt.Vector.field(3, f32, shape=shape), mt.Vector.field(3, f32, shape=shape)
    c = np.stack([numbers(shape, k) for k in range(3)], axis=-1)
    a.from_numpy(c)
    b.fill(-1)

    @mt.kernel
    def sweep():
        for i, j in mt.ndrange((1, 65), (1, 89)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + 2 * a[i, j]

    sweep()
    want = np.stack([expected(c[..., k]) for k in range(3)], axis=-1)
    np.testing.assert_array_equal(b.to_numpy(), want)


def test_one_array_for_both():
    """Every second cell is written, from those between: reads may not go ahead of what the array's other name writes."""

    @mt.kernel
    def relax(a: array(f32, 2), b: array(f32, 2)):
        for i, j in mt.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            if (i + j) % 2 == 0:
                b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + 2 * a[i, j]

    a = numbers((75, 98))
    want = np.where(np.add.outer(np.arange(75), np.arange(98)) % 2 == 0, expected(a), a)
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        want[edge] = a[edge]
    relax(a, a)
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize("deterministic", [False, True])
def test_sums_over_stencils(deterministic):
    @mt.kernel
    def measure(a: array(f32, 2), real: array(f32, 1), whole: array(i32, 1)):
        for i, j in mt.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            change = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * a[i, j]
            real[0] += change
            whole[0] += i32(abs(change))
            mt.atomic_max(whole[1], i32(change))

    a = numbers((95, 102))
    real, whole = np.zeros(1, np.float32), np.zeros(2, np.int32)
    with mt.Context(arch=ARCH, deterministic=deterministic):
        measure(a, real, whole)
    change = around(a) - 4 * a[inner(2)]
    assert real[0] == change.sum()
    assert whole.tolist() == [np.abs(change).sum(), change.max()]


def test_several_ranges_and_a_loop_of_sweeps():
    shape = (70, 66)
    a, b = fields(shape)
    b.fill(0)
    a.from_numpy(numbers(shape))

    @mt.kernel
    def sweeps():
        for i, j in mt.ndrange((1, 69), (1, 65)):
            b[i, j] = a[i - 1, j] + a[i + 1, j]
        for i, j in mt.ndrange((2, 68), (3, 60)):
            a[i, j] = b[i, j - 1] + b[i + 2, j + 3] + b[i - 2, j]

    sweeps()
    c, d = numbers(shape), np.zeros(shape, np.float32)
    d[1:69, 1:65] = c[0:68, 1:65] + c[2:70, 1:65]
    c[2:68, 3:60] = d[2:68, 2:59] + d[4:70, 6:63] + d[0:66, 3:60]
    np.testing.assert_array_equal(a.to_numpy(), c)
    np.testing.assert_array_equal(b.to_numpy(), d)


def test_a_failure_in_a_stencil():
    @mt.kernel
    def sweep(a: array(f32, 2), b: array(f32, 2)):
        for i, j in mt.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            assert a[i, j] != 60, "sixty"
            b[i, j] = a[i - 1, j] + a[i + 1, j]

    a = numbers((40, 50))
    b = np.zeros_like(a)
    sweep(a, b)
    np.testing.assert_array_equal(b[1:-1, 1:-1], (a[:-2] + a[2:])[:, 1:-1])
    a[20, 30] = 60
    with mt.Context(arch=ARCH, debug=True), pytest.raises(AssertionError, match="sixty"):
        sweep(a, b)


def test_indices_that_are_long_sums_of_sums():
    """Each is looked at once: forty doublings would be a million million looks."""
    a = mt.field(i32, shape=(100, 64))

    @mt.kernel
    def sweep():
        for i, j in mt.ndrange(100, 64):
            x = i
            for _ in mt.static(range(40)):
                x = x + x
            a[i, (x + j) & 63] += a[i, (x + j) & 63] + i

    before = np.arange(6400, dtype=np.int32).reshape(100, 64)
    a.from_numpy(before)
    sweep()
    np.testing.assert_array_equal(a.to_numpy(), 2 * before + np.arange(100, dtype=np.int32)[:, None])
