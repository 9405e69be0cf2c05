"""Loops in order that look for the least or greatest one, and where it is, against Python in order: bit for bit."""

import itertools

import numpy as np
import pytest
from device_tests import ARCH

import metate as ti

array = ti.types.ndarray
f32, f64, i32, i64 = ti.f32, ti.f64, ti.i32, ti.i64
LENGTHS = [0, 1, 2, 15, 16, 31, 32, 33, 47, 48, 64, 100, 1000]
ODD = [np.nan, -0.0, 0.0, np.inf, -np.inf, 1.0, -1.0, 2.5]


def same(ours, wanted):
    """The same bits; NaN is NaN."""
    ours, wanted = np.asarray(ours), np.asarray(wanted)
    isnan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(ours), isnan)
    np.testing.assert_array_equal(np.where(isnan, 1, ours), np.where(isnan, 1, wanted))
    np.testing.assert_array_equal(np.signbit(ours[~isnan]), np.signbit(wanted[~isnan]))


def rows(rng, dtype):
    """Of each length: ordinary numbers, odd ones, zeros of both signs, one value, a NaN at each end and in the middle."""
    for n in LENGTHS:
        tables = [rng.random(n), rng.choice(ODD, n), rng.choice(ODD[1:3], n), np.full(n, -0.0), np.full(n, np.nan)]
        tables += [np.abs(rng.choice(ODD[1:], n)), rng.integers(0, 4, n)]
        for at in {0, n // 2, n - 1} if n else ():
            tables.append(rng.random(n))
            tables[-1][at] = np.nan
        for table in tables:
            yield table.astype(dtype)


def is_in_lanes(kernel):
    """On the CPU; a device has other lanes, which give the same numbers."""
    return ARCH or any(one.pass_name == "extremes-in-lanes" for one in kernel.report().remarks)


STARTS = [np.nan, 0.0, -0.0, np.inf, 0.5]


def in_order(x, start, better):
    best, at = x.dtype.type(start), -1
    for k, value in enumerate(x):
        if better(value, best):
            best, at = value, k
    return best, at


def spellings(dtype):
    """A kernel of each: what it is compared with. Anew for another type."""

    @ti.kernel
    def first_least(x: array(dtype, 1), start: dtype, at: array(i32, 1)) -> dtype:
        least, place = start, -1
        for _ in range(1):
            for i in range(x.shape[0]):
                if x[i] < least:
                    least = x[i]
                    place = i
        at[0] = place
        return least

    @ti.kernel
    def last_least(x: array(dtype, 1), start: dtype, at: array(i32, 1)) -> dtype:
        least, place = start, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if least >= x[i]:
                least, place = x[i], i
        at[0] = place
        return least

    @ti.kernel
    def first_greatest(x: array(dtype, 1), start: dtype, at: array(i32, 1)) -> dtype:
        greatest, place = start, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            value = x[i]
            place = ti.select(value > greatest, i, place)
            greatest = ti.select(value > greatest, value, greatest)
        at[0] = place
        return greatest

    @ti.kernel
    def last_greatest(x: array(dtype, 1), start: dtype, at: array(i32, 1)) -> dtype:
        greatest, place = start, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] >= greatest:
                place = i
                greatest = x[i]
        at[0] = place
        return greatest

    return {
        first_least: lambda a, b: a < b,
        last_least: lambda a, b: a <= b,
        first_greatest: lambda a, b: a > b,
        last_greatest: lambda a, b: a >= b,
    }


def test_ifs_of_odd_numbers(rng):
    for dtype, numpy_type in ((f32, np.float32), (f64, np.float64)):
        for kernel, better in spellings(dtype).items():
            assert is_in_lanes(kernel)
            for x, start in itertools.product(rows(rng, numpy_type), STARTS):
                at = np.zeros(1, np.int32)
                best, place = in_order(x, start, better)
                same(kernel(x, start, at), best)
                assert at[0] == place, (kernel, x, start)


def test_whole_numbers(rng):
    for dtype, numpy_type in ((i32, np.int32), (i64, np.int64)):
        limits = np.iinfo(numpy_type)
        for kernel, better in spellings(dtype).items():
            assert is_in_lanes(kernel)
            for n in LENGTHS:
                for x in (rng.integers(limits.min, limits.max, n, numpy_type), rng.integers(-2, 2, n, numpy_type)):
                    for start in (0, limits.max, limits.min):
                        at = np.zeros(1, np.int32)
                        best, place = in_order(x, start, better)
                        assert (kernel(x, start, at), at[0]) == (best, place)


@pytest.mark.parametrize("dtype", [f32, f64])
def test_min_and_max_take_nan_for_no_value(rng, dtype):
    numpy_type = np.float32 if dtype == f32 else np.float64

    @ti.kernel
    def extremes(x: array(dtype, 1), start: dtype, found: array(dtype, 1), at: array(i32, 1)):
        least, greatest, first, last = start, start, -1, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            first = ti.select(x[i] < least, i, first)
            last = ti.select(greatest <= x[i], i, last)
            least = ti.min(least, x[i])
            greatest = ti.max(x[i], greatest)
        found[0], found[1], at[0], at[1] = least, greatest, first, last

    assert is_in_lanes(extremes)
    for x, start in itertools.product(rows(rng, numpy_type), STARTS):
        found, at = np.zeros(2, numpy_type), np.zeros(2, np.int32)
        extremes(x, start, found, at)
        least = greatest = numpy_type(start)
        first = last = -1
        for k, value in enumerate(x):
            first, last = (k if value < least else first), (k if greatest <= value else last)
            least, greatest = np.fmin(least, value), np.fmax(greatest, value)
        np.testing.assert_array_equal(found, [least, greatest])  # of two zeros either
        assert tuple(at) == (first, last), (x, start)


def test_what_is_chosen_is_read_where_it_was_found(rng):
    """What stands under the condition may be out of bounds elsewhere; totals and what the last turn left go along."""

    @ti.kernel
    def choose(x: array(f32, 1), names: array(i32, 1), pairs: array(i32, 2), found: array(i32, 1)):
        least = 1.0
        name, sum_of_pair, seen, low, last = -1, -1, 0, 0, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            seen += 1
            if x[i] < 0.25:
                low += names[i]
            if x[i] < least:
                least = x[i]
                name = names[names[i]]
                sum_of_pair = pairs[i, 0] + 10 * pairs[i, 1]
            last = names[i] * 2
        found[0], found[1], found[2], found[3], found[4] = name, sum_of_pair, seen, low, last

    assert is_in_lanes(choose)
    for n in LENGTHS:
        x = rng.random(n, np.float32)
        names = rng.permutation(n).astype(np.int32)
        pairs = rng.integers(0, 10, (n, 2)).astype(np.int32)
        found = np.zeros(5, np.int32)
        choose(x, names, pairs, found)
        if n == 0:
            np.testing.assert_array_equal(found, [-1, -1, 0, 0, -1])
            continue
        k = x.argmin()
        low = names[x < 0.25].sum()
        np.testing.assert_array_equal(found, [names[names[k]], pairs[k] @ [1, 10], n, low, names[-1] * 2])


def test_a_mask_beside_the_comparison(rng):
    @ti.kernel
    def masked(x: array(f32, 1), mask: array(i32, 1), at: array(i32, 1)) -> f32:
        least, place = ti.math.inf, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if mask[i] != 0 and x[i] < least:
                least = x[i]
                place = i
        at[0] = place
        return least

    @ti.kernel
    def nested(x: array(f32, 1), mask: array(i32, 1), at: array(i32, 1)) -> f32:
        least, place = ti.math.inf, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            value = x[i]
            if mask[i] != 0:
                if value < least:
                    least = value
                    place = i
        at[0] = place
        return least

    for kernel, n in itertools.product((masked, nested), LENGTHS):
        assert is_in_lanes(kernel)
        x = rng.choice(ODD, n).astype(np.float32)
        mask = rng.integers(0, 2, n).astype(np.int32)
        at = np.zeros(1, np.int32)
        best, place = in_order(np.where(mask, x, np.float32(np.nan)), np.inf, lambda a, b: a < b)
        same(kernel(x, mask, at), best)
        assert at[0] == place


def test_inner_loops_of_any_bounds(rng):
    """Rows of a parallel loop, each from here to there, of arithmetic and of a column."""

    @ti.kernel
    def rows_of(x: array(f32, 2), begin: array(i32, 1), end: array(i32, 1), at: array(i32, 1), least: array(f32, 1)):
        for r in range(x.shape[0]):
            low, place = ti.math.inf, -7
            for i in range(begin[r], end[r]):
                d = (x[r, i] - 0.5) * (x[r, i] - 0.5)
                if d < low:
                    low = d
                    place = i
            at[r], least[r] = place, low

    assert is_in_lanes(rows_of)
    x = rng.random((40, 500), np.float32)
    x[rng.random(x.shape) < 0.01] = np.nan
    begin, end = rng.integers(0, 500, 40).astype(np.int32), rng.integers(0, 500, 40).astype(np.int32)
    at, least = np.zeros(40, np.int32), np.zeros(40, np.float32)
    rows_of(x, begin, end, at, least)
    for r in range(40):
        row = x[r, begin[r] : max(begin[r], end[r])]
        best, place = in_order((row - np.float32(0.5)) ** 2, np.inf, lambda a, b: a < b)
        assert at[r] == (place + begin[r] if place >= 0 else -7)
        same(least[r], best)


def test_loops_that_are_left_as_they_are(rng):
    """What is compared depends on what was found, and a loop that writes what it reads."""

    @ti.kernel
    def drift(x: array(f32, 1)) -> f32:
        least, count = 1.0, 0
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            value = x[i] + 0.001 * count
            if value < least:
                least = value
                count += 1
        return least

    @ti.kernel
    def prefix(x: array(f32, 1)) -> i32:
        least, place = 1.0, -1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] < least:
                least = x[i]
                place = i
            x[i] = least
        return place

    assert ARCH or not (is_in_lanes(drift) or is_in_lanes(prefix))
    x = rng.random(300, np.float32)
    least, count = np.float32(1), 0
    for value in x:
        value = np.float32(value + np.float32(np.float32(0.001) * np.float32(count)))
        if value < least:
            least, count = value, count + 1
    with ti.Context(contract=False):
        assert drift(x) == least
    lowest = np.minimum.accumulate(x)
    assert prefix(x) == lowest.argmin()
    np.testing.assert_array_equal(x, lowest)
