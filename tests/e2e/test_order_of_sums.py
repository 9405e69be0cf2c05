"""What loops that run in order only accumulate: combined in any order, or in the one that is written."""

import numpy as np
import pytest

import metate as ti

array = ti.types.ndarray


def written_order(values, start=0.0):
    total = np.float32(start)
    for value in values:
        total = np.float32(total + value)
    return total


def sums():
    """Kernels anew, for contexts with other options."""

    @ti.kernel
    def inner(x: array(ti.f32, 2), out: array(ti.f32, 1)):
        for i in out:
            for j in range(x.shape[1]):
                out[i] += x[i, j]

    @ti.kernel
    def serial(x: array(ti.f32, 2), out: array(ti.f32, 1)):
        ti.loop_config(serialize=True)
        for i in range(out.shape[0]):
            total = 0.0
            j = 0
            while j < x.shape[1]:
                if x[i, j] > 0.5:
                    total += x[i, j]
                j += 1
            out[i] = total + j

    return inner, serial


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(7).random((5, 1001), np.float32)


def results(table, options):
    with ti.Context(**options):
        found = []
        for kernel in sums():
            out = np.zeros(len(table), np.float32)
            kernel(table, out)
            found.append(out)
        return found


def test_any_order_is_near_and_no_worse(table):
    inner, serial = results(table, {})
    exact = [table.sum(1, dtype=np.float64), np.where(table > 0.5, table, 0).sum(1, dtype=np.float64) + 1001]
    in_order = [[written_order(row) for row in table], [written_order(row[row > 0.5]) + np.float32(1001) for row in table]]
    for found, wanted, ordered in zip((inner, serial), exact, in_order, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert np.abs(found - wanted).max() <= np.abs(np.array(ordered) - wanted).max()  # partial sums lose less
    assert not np.array_equal(inner, in_order[0])  # one thousand additions: some of five rows differ


@pytest.mark.parametrize(
    "options", [{"fast_math": False}, {"deterministic": True}, {"reassociate_sums": False}, {"arch": ti.interp}], ids=str
)
def test_the_order_that_is_written(table, options):
    inner, serial = results(table, options)
    np.testing.assert_array_equal(inner, [written_order(row) for row in table])
    np.testing.assert_array_equal(serial, [written_order(row[row > 0.5]) + np.float32(1001) for row in table])


def test_fast_math_of_a_kernel_is_said_by_name():
    @ti.kernel(fast_math=False)
    def exact(x: array(ti.f32, 1)) -> ti.f32:
        total = ti.f32(2**24)
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            total += x[i]
        return total

    x = np.ones(100, np.float32)
    for fast_math in (None, True):
        with ti.Context(fast_math=fast_math):
            assert exact(x) == 2**24


def test_extremes_and_products(rng):
    @ti.kernel
    def run(x: array(ti.f64, 1), out: array(ti.f64, 1)):
        least, greatest, product = ti.f64(1e9), ti.f64(-1e9), ti.f64(1)
        for _ in range(1):
            for j in range(x.shape[0]):
                least = ti.min(x[j], least)
                greatest = ti.max(greatest, x[j])
                product *= x[j]
            out[0], out[1], out[2] = least, greatest, product

    x, out = rng.random(303) + 0.5, np.zeros(3)
    x[17] = np.nan
    run(x, out)
    assert out[:2].tolist() == [np.nanmin(x), np.nanmax(x)] and np.isnan(out[2])
    x[17] = 1
    run(x, out)
    np.testing.assert_allclose(out[2], np.prod(x), rtol=1e-13)


def test_loops_that_count_by_while():
    """To a bound that the loop does not reach, a negative span, by more than one, with the counter read behind the loop."""

    @ti.kernel
    def run(begin: ti.i32, end: ti.i32, out: array(ti.i32, 1)):
        for _ in range(1):
            i, turns = begin, 0
            while i < end:
                turns += i
                i += 1
            out[0], out[1] = i, turns
            k = ti.max(begin, -100)
            while k < 50:
                k += 7
            out[2] = k
            m = end
            while m > begin:
                m -= 1
            out[3] = m
            jump, count = begin, 0
            while jump < end:  # by more than the last statement says
                if count == 2:
                    jump += (end - jump) // 2
                jump += 1
                count += 1
            out[4], out[5] = jump, count

    out = np.zeros(6, np.int32)
    for begin, end in ((0, 10), (5, 5), (7, -3), (-4, 60), (2**31 - 3, 2**31 - 1), (-(2**31), -(2**31) + 2)):
        run(begin, end, out)
        k = max(begin, -100)
        while k < 50:
            k += 7
        with np.errstate(over="ignore"):
            total = np.arange(begin, end, dtype=np.int64).sum().astype(np.int32)
        jump, count = begin, 0
        while jump < end:
            jump += 1 + ((end - jump) // 2 if count == 2 else 0)
            count += 1
        assert out.tolist() == [max(begin, end), total, k, min(begin, end), jump, count]
