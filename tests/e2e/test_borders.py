"""Loops whose indices wrap, are held at an edge, or that do something else at a border."""

import numpy as np
import pytest
from device_tests import ARCH
from seeded import generator
from ways import PIECES, UNOPTIMISED, distinct, without

import metate as ti

array = ti.types.ndarray
WAYS = distinct(*without("split_borders"), UNOPTIMISED | PIECES, PIECES | {"opt_level": 3})
LEAST, MOST = -(2**31), 2**31 - 1


@ti.func
def wrapped(i, n):
    return i % n


@ti.kernel
def life(a: array(ti.i32, 2), out: array(ti.i32, 3), offset: ti.i32):
    n, m = a.shape[0], a.shape[1]
    for i, j in ti.ndrange(n, m):
        up, down, left, right = (i + n - 1) % n, (i + 1) % n, (j - 1) % m, (j + 1 + m) % m
        out[0, i, j] = a[up, left] + 3 * a[up, j] + 5 * a[i, right] + 7 * a[down, right]
        s = 0
        for q in range(-2, 3):  # beyond a whole turn of small sizes
            s += (q + 3) * a[wrapped(i + q, n), wrapped(j - q, m)]
        out[1, i, j] = s + a[(i + offset) % n, (j + offset) % m]
        k = j - 1
        if k < 0:
            k += m
        out[2, i, j] = a[i, k] + a[n - 1 - i, m - 1 - j] - (a[i, 0] if j == m - 1 else a[i, j + 1])
    for i in range(n):
        for j in range(m):  # in order
            out[3, i, j] = a[i, (j - 1) % m] + (out[3, i, j - 1] if j > 0 else 100)


@ti.kernel
def clamped(a: array(ti.i32, 2), out: array(ti.i32, 3)):
    n, m = a.shape[0], a.shape[1]
    for i, j in ti.ndrange(n, m):
        s = a[ti.max(i - 1, 0), j] + 3 * a[ti.min(i + 1, n - 1), ti.max(0, j - 2)] + 5 * a[i, ti.min(ti.max(j + 3, 0), m - 1)]
        if i > 0:
            s += 7 * (a[i - 1, j] - a[i, j])
        if j + 1 < m and i <= n - 2:
            s += 11 * a[i + 1, j + 1]
        elif not (j == 0):
            s -= 13 * a[i, j - 1]
        out[0, i, j] = s
    for i, j in ti.ndrange(n, m):
        if 0 < i < n - 1 and j >= 1 and j != m - 1 and i + 1 < n:
            out[1, i, j] = a[i - 1, j] + a[i, j + 1]
    for i, j in ti.ndrange(n, m):
        if i < 1 or j < 2 or n - 2 < i or m <= j + 1:
            continue
        if a[i, j] > 0:
            if j < 20:
                out[2, i, j] = a[i, j] + a[i + 1, j - 2]
    for i in range(n):
        for j in range(m):
            if i > 0 and j > i and i != n:
                out[3, i, j] = a[i, j] - a[i - 1, j - 1]


def of_life(a, offset):
    def at(i, j):
        return np.roll(a, (-i, -j), (0, 1))

    out = np.zeros((4, *a.shape), np.int32)
    out[0] = at(-1, -1) + 3 * at(-1, 0) + 5 * at(0, 1) + 7 * at(1, 1)
    out[1] = sum((q + 3) * at(q, -q) for q in range(-2, 3)) + at(offset, offset)
    out[2] = at(0, -1) + a[::-1, ::-1] - at(0, 1)
    out[3] = 100 + np.cumsum(at(0, -1), axis=1)
    return out


def of_clamped(a):
    n, m = a.shape
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")

    def at(di, dj):
        return a[np.clip(i + di, 0, n - 1), np.clip(j + dj, 0, m - 1)]

    out = np.zeros((4, n, m), np.int32)
    out[0] = at(-1, 0) + 3 * at(1, -2) + 5 * at(0, 3) + np.where(i > 0, 7 * (at(-1, 0) - a), 0)
    isInside = (j + 1 < m) & (i <= n - 2)
    out[0] += np.where(isInside, 11 * at(1, 1), np.where(j != 0, -13 * at(0, -1), 0))
    out[1] = np.where((0 < i) & (i < n - 1) & (j >= 1) & (j != m - 1), at(-1, 0) + at(0, 1), 0)
    out[2] = np.where((i >= 1) & (j >= 2) & (i <= n - 2) & (j + 1 < m) & (a > 0) & (j < 20), a + at(1, -2), 0)
    out[3] = np.where((i > 0) & (j > i), a - at(-1, -1), 0)
    return out


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_sizes_that_the_launch_knows(way):
    rng = generator("borders")
    with ti.Context(**way):
        for n, m in ((1, 1), (1, 2), (2, 1), (3, 2), (2, 3), (4, 70), (70, 5), (19, 67), (5, 64)):
            a = rng.integers(-9, 9, (n, m)).astype(np.int32)
            for offset in (0, -1, -m - n - 3, 5, LEAST):
                out = np.zeros((4, n, m), np.int32)
                life(a, out, offset)
                i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
                with np.errstate(over="ignore"):
                    p, q = i.astype(np.int32) + np.int32(offset), j.astype(np.int32) + np.int32(offset)
                want = of_life(a, 0)
                want[1] += a[p % n, q % m] - a
                np.testing.assert_array_equal(out, want, err_msg=f"{n} x {m}, {offset}")
            out = np.zeros((4, n, m), np.int32)
            clamped(a, out)
            np.testing.assert_array_equal(out, of_clamped(a), err_msg=f"{n} x {m}")


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_sizes_that_are_constants(way):
    rng = generator("borders of constants")

    @ti.kernel
    def run(a: array(ti.i32, 2), out: array(ti.i32, 3), n: ti.template(), m: ti.template()):
        for i, j in ti.ndrange(n, m):
            out[0, i, j] = a[(i - 1) % n, (j + 1) % m] + 3 * a[(i + 2) % n, (j - 3) % m]
            out[1, i, j] = a[(i + n - 1) % n, (j + m - 2) % m] + 3 * a[i, (j + 1) & (32 - 1)]
            out[2, i, j] = a[i, (j * 3 + 1) % m] + 5 * a[(i + j) % n, (j // 2) % m] + a[i, ti.raw_mod(j + 1, m)]

    with ti.Context(**way):
        for n, m in ((3, 33), (16, 64), (2, 37)):
            a, out = rng.integers(-9, 9, (n, m)).astype(np.int32), np.zeros((3, n, m), np.int32)
            run(a, out, n, m)
            i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
            np.testing.assert_array_equal(out[0], a[(i - 1) % n, (j + 1) % m] + 3 * a[(i + 2) % n, (j - 3) % m])
            np.testing.assert_array_equal(out[1], a[(i - 1) % n, (j - 2) % m] + 3 * a[i, (j + 1) & 31])
            np.testing.assert_array_equal(out[2], a[i, (3 * j + 1) % m] + 5 * a[(i + j) % n, j // 2 % m] + a[i, (j + 1) % m])


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_numbers_at_the_ends_of_32_bits(way):
    @ti.kernel
    def run(out: array(ti.i32, 2), begin: ti.i32, end: ti.i32, limit: ti.i32, wide: ti.i64):
        for i in range(begin, end):
            if i + 5 > limit:  # wraps
                out[0, i - begin] += 1
        for i in range(begin, end):
            if i - 7 <= limit:
                out[1, i - begin] += 1
        for i in range(begin, end):
            if i > wide:
                out[2, i - begin] += 1
        for i in range(begin, end):
            if wide >= i:
                out[3, i - begin] += 1
        for i in range(begin, end):
            if i == limit:
                out[4, i - begin] += 1
        for i in range(begin, end):
            out[5, i - begin] = (i + 3) % 50 + ti.max(i - 3, limit) + (i < limit) + ((i + 9) < limit)

    with ti.Context(**way):
        for begin in (LEAST, -20, 0, MOST - 40):
            for limit, wide in ((LEAST, -(2**63)), (MOST, 2**63 - 1), (begin, begin - 1), (begin + 20, begin + 20)):
                out = np.zeros((6, 40), np.int32)
                run(out, begin, begin + 40, limit, wide)
                i = np.arange(begin, begin + 40)

                def narrow(value):
                    return (value + 2**31) % 2**32 - 2**31

                want = [narrow(i + 5) > limit, narrow(i - 7) <= limit, i > wide, i <= wide, i == limit]
                np.testing.assert_array_equal(out[:5], np.array(want))
                last = narrow(i + 3) % 50 + np.maximum(narrow(i - 3), limit) + (i < limit) + (narrow(i + 9) < limit)
                np.testing.assert_array_equal(out[5], narrow(last))


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_numbers_that_are_no_32_bits(way):
    """The lower half of a variable of 64 bits, twice a number that wraps, a divisor that only looks like a guarded one."""

    @ti.kernel
    def run(out: array(ti.i32, 2), begin: ti.i64, start: ti.i32, isOne: ti.i32, n: ti.i32):
        for i in range(begin, begin + n):
            k = ti.i32(i - begin)
            out[0, k] = (ti.i32(i) < 50) + ti.min(ti.i32(i), 7)
        for i in range(start, start + n):
            out[1, i - start] = 2 * i < i
        for i in range(n):
            out[2, i] = (i + 1) % ti.select(isOne == 7, 1, n)

    with ti.Context(**way):
        for begin in (0, 2**31 - 20, 2**31, 2**32 - 20, -(2**31) - 20):
            for start, isOne in ((0, 7), (2**30 - 20, 3)):
                out, i = np.zeros((3, 40), np.int32), np.arange(40)
                run(out, begin, start, isOne, 40)
                low = ((begin + i) + 2**31) % 2**32 - 2**31
                twice = (2 * (start + i) + 2**31) % 2**32 - 2**31
                want = [(low < 50) + np.minimum(low, 7), twice < start + i, 0 * i if isOne == 7 else (i + 1) % 40]
                np.testing.assert_array_equal(out, np.array(want))


@pytest.mark.parametrize("offsets", [((-1, 0), (1, 0), (0, -1), (0, 1)), ((0, 0), (-40, 35), (13, -200), (5, 7))])
def test_offsets_of_a_table(offsets):
    """Where a row wraps is read from a field: once for a row."""
    n, m = 19, 37
    a, b = ti.field(ti.f32, (n, m)), ti.field(ti.f32, (n, m))
    table = ti.Vector.field(2, ti.i32, shape=4)
    table.from_numpy(np.array(offsets, np.int32))
    values = generator("offsets of a table").integers(-9, 9, (n, m)).astype(np.float32)
    a.from_numpy(values)

    @ti.kernel
    def sweep():
        for i, j in a:
            s = a[i, j]
            for q in range(4):
                s += (q + 1) * a[(i + table[q][0]) % n, (j + table[q][1]) % m]
            b[i, j] = s

    sweep()
    expected = values.copy()
    for q, (down, right) in enumerate(offsets):
        expected += (q + 1) * np.roll(values, (-down, -right), (0, 1))
    np.testing.assert_array_equal(b.to_numpy(), expected)
    assert ARCH or "no index wraps" in str(sweep.report())


@pytest.mark.parametrize("radius", [0, 1, 2, 3, 40])
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (17, 100)])
def test_stencils_whose_radius_the_launch_knows(rng, shape, radius):
    """Borders are asked by the variables of inner loops: an if, clamped, wrapped, around the cell."""

    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 2), y: ti.types.ndarray(ti.i32, 3), w: ti.types.ndarray(ti.i32, 1), r: ti.i32):
        n, m = x.shape[0], x.shape[1]
        for i, j in ti.ndrange(n, m):
            total, clamped, wrapped, around = 0, 0, 0, 0
            for p in range(-r, r + 1):
                for o in range(w.shape[0]):
                    k, l = i + p, j + o - w.shape[0] // 2
                    if 0 <= k < n and 0 <= l < m:
                        total += x[k, l] * w[o]
                    clamped += x[ti.min(ti.max(k, 0), n - 1), ti.min(ti.max(l, 0), m - 1)] * w[o]
                wrapped += x[i, (j + p) % m] * (p + 5)
            for l in range(j - r, j + r + 1):
                if l >= 0 and l < m:
                    around += x[i, l] * (l - j + 7)
            y[0, i, j], y[1, i, j], y[2, i, j], y[3, i, j] = total, clamped, wrapped, around

    n, m = shape
    x, w = rng.integers(-99, 99, shape).astype(np.int32), rng.integers(-9, 9, 2 * radius + 1).astype(np.int32)
    i, j = np.indices(shape)
    expected = np.zeros((4, *shape), np.int32)
    for o in range(-radius, radius + 1):
        for p in range(-radius, radius + 1):
            k, l = i + p, j + o
            held = x[np.clip(k, 0, n - 1), np.clip(l, 0, m - 1)]
            expected[0] += np.where((0 <= k) & (k < n) & (0 <= l) & (l < m), held, 0) * w[o + radius]
            expected[1] += held * w[o + radius]
        l = j + o
        expected[2] += x[i, l % m] * (o + 5)
        expected[3] += np.where((0 <= l) & (l < m), x[i, np.clip(l, 0, m - 1)], 0) * (o + 7)
    for options in ({}, UNOPTIMISED, {"chunk_ns": 0}, {"across_iterations": False}):
        with ti.Context(**options):
            y = np.zeros((4, *shape), np.int32)
            run(x, y, w, radius)
        np.testing.assert_array_equal(y, expected)
