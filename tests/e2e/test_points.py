"""Arrays of points whose extents only the launch knows: loops that name all numbers of a row have a copy for such rows."""

import numpy as np
import pytest

import metate as mt

POINTS, NUMBERS = mt.types.ndarray(dtype=mt.i32, ndim=2), mt.types.ndarray(dtype=mt.f32, ndim=1)
N, COUNT = 32, 1000


@pytest.fixture(params=["pointer", "bitmasked", "dense"])
def grid(request):
    """A field with numbers in half of its leaves, and them in an array."""
    x = mt.field(mt.f32)
    outer = mt.root.dense if request.param == "dense" else mt.root.pointer
    block = outer(mt.ijk, N // 8)
    (block.bitmasked if request.param == "bitmasked" else block.dense)(mt.ijk, 8).place(x)
    values = np.zeros((N, N, N), np.float32)
    values[: N // 2] = np.arange(N**3 // 2, dtype=np.float32).reshape(N // 2, N, N) % 1000

    @mt.kernel
    def fill(values: mt.types.ndarray(dtype=mt.f32, ndim=3)):
        for i, j, k in mt.ndrange(N // 2, N, N):
            x[i, j, k] = values[i, j, k]

    fill(values)
    return x, values


def is_copied(kernel, *arguments):
    return any(one.pass_name == "guess-extents" and one.outcome == "done" for one in kernel.report(*arguments).remarks)


@pytest.mark.parametrize("extent", [3, 4, 5])
def test_reads_at_points(grid, rng, extent):
    x, values = grid

    @mt.kernel
    def read(at: POINTS, out: NUMBERS):
        for q in range(out.shape[0]):
            out[q] = x[at[q, 0], at[q, 1], at[q, 2]]

    at, out = rng.integers(0, N, (COUNT, extent), np.int32), np.zeros(COUNT, np.float32)
    read(at, out)
    assert is_copied(read, at, out)
    np.testing.assert_array_equal(out, values[tuple(at.T[:3])])


@pytest.mark.parametrize("extent", [3, 4])
@pytest.mark.parametrize("scalar", [mt.i32, mt.f32])
def test_sums_over_points(grid, rng, extent, scalar):
    x, values = grid

    @mt.kernel
    def total(at: POINTS) -> scalar:
        s = mt.cast(0, scalar)
        for q in range(at.shape[0]):
            s += mt.cast(x[at[q, 0], at[q, 1], at[q, 2]], scalar)
        return s

    at = rng.integers(0, N, (COUNT, extent), np.int32)
    assert is_copied(total, at)
    assert total(at) == values[tuple(at.T[:3])].sum()  # whole numbers, less than 2^24


@pytest.mark.parametrize("extent", [2, 3])
def test_points_are_written(rng, extent):
    @mt.kernel
    def turn(points: mt.types.ndarray(dtype=mt.f64, ndim=2)):
        for p in range(points.shape[0]):
            points[p, 0], points[p, 1] = -points[p, 1], points[p, 0]

    points = rng.random((COUNT, extent))
    expected = np.concatenate([-points[:, 1:2], points[:, :1], points[:, 2:]], axis=1)
    turn(points)
    np.testing.assert_array_equal(points, expected)
    assert is_copied(turn, points)


def test_views_keep_their_strides(grid, rng):
    x, values = grid

    @mt.kernel
    def read(at: POINTS, out: NUMBERS):
        for q in range(out.shape[0]):
            out[q] = x[at[q, 0], at[q, 1], at[q, 2]]

    at, out = rng.integers(0, N, (COUNT, 8), np.int32)[::-2, 1:7:2], np.zeros(COUNT // 2, np.float32)
    read(at, out)
    np.testing.assert_array_equal(out, values[tuple(at.T)])


def test_borders_and_wide_stencils_are_no_points(rng):
    @mt.kernel
    def border(a: mt.types.ndarray(dtype=mt.f32, ndim=2)):
        for i in range(a.shape[0]):
            a[i, 0] = a[i, 2]

    @mt.kernel
    def around(at: POINTS, a: mt.types.ndarray(dtype=mt.f32, ndim=2), out: NUMBERS):
        for q in range(out.shape[0]):
            total = 0.0
            for i, j in mt.static(mt.ndrange(3, 3)):
                total += a[at[q, 0] + i, at[q, 1] + j]
            out[q] = total

    a, at, out = rng.random((16, 16)).astype(np.float32), rng.integers(0, 14, (COUNT, 2), np.int32), np.zeros(COUNT, np.float32)
    around(at, a, out)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3)).sum((2, 3))
    np.testing.assert_allclose(out, windows[tuple(at.T)], rtol=1e-6)
    assert not is_copied(border, a) and not is_copied(around, at, a, out)
