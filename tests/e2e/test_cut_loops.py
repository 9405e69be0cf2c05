"""Loops in order that may change in one turn what each turn reads; results are those of turn by turn."""

import numpy as np
import pytest
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct

import metate as mt

f32, f64, i32 = mt.f32, mt.f64, mt.i32
array = mt.types.ndarray
WAYS = distinct({}, UNOPTIMISED, PIECES, INTERPRETED["interp"])
every_way = pytest.mark.parametrize("options", WAYS, ids=str)


@every_way
@pytest.mark.parametrize("n", [1, 16, 17, 40, 67])
def test_shortest_paths_in_order(options, n):
    with mt.Context(**options):

        @mt.kernel
        def paths(d: array(f32, 2)):
            mt.loop_config(serialize=True)
            for k in range(d.shape[0]):
                for i in range(d.shape[0]):
                    for j in range(d.shape[0]):
                        d[i, j] = mt.min(d[i, j], d[i, k] + d[k, j])

        # Some weights are negative: d[k, k] is then no zero, and turn k changes what is read.
        expected = np.random.default_rng(n).uniform(-0.01, 1, (n, n)).astype(np.float32)
        d = expected.copy()
        paths(d)
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    expected[i, j] = min(expected[i, j], expected[i, k] + expected[k, j])
        np.testing.assert_array_equal(d, expected)


@every_way
@pytest.mark.parametrize("first, last", [(0, 50), (3, 45), (7, 7), (20, 10)])
def test_the_turn_lies_before_in_and_behind_the_loop(options, first, last):
    with mt.Context(**options):

        @mt.kernel
        def run(x: array(i32, 1), k: i32, first: i32, last: i32) -> i32:
            total = 0
            mt.loop_config(serialize=True)
            for j in range(first, last):
                if x[j] % 3 != 0:
                    x[j + 2] = x[j + 2] + 3 * x[k]
                total += x[k]
            return total

        for k in (0, first + 1, first + 2, 19, last + 1, last + 2, 59):
            x = np.random.default_rng(k).integers(0, 100, 60).astype(np.int32)
            expected, total = x.copy(), 0
            for j in range(first, last):
                if expected[j] % 3:
                    expected[j + 2] += 3 * expected[k]
                total += int(expected[k])
            total = (total + 2**31) % 2**32 - 2**31
            assert run(x, k, first, last) == total
            np.testing.assert_array_equal(x, expected)


@every_way
@pytest.mark.parametrize("e", [-4, -1, 0, 1, 3])
def test_the_turn_leaves_what_is_read_as_it_is(options, e):
    with mt.Context(**options):

        @mt.kernel
        def run(x: array(f32, 1), k: i32, e: i32):
            mt.loop_config(serialize=True)
            for j in range(4, x.shape[0] - 4):
                x[j] = mt.max(x[j + e], x[k])

        @mt.kernel
        def add(x: array(f32, 1), k: i32, e: i32):
            mt.loop_config(serialize=True)
            for j in range(4, x.shape[0] - 4):
                x[j] = x[j + e] + x[k]

        # Few values, so that most turns write what is there; zeros of both signs, that are equal and not the same.
        rng = np.random.default_rng(e + 10)
        for kernel, rule in ((run, max), (add, lambda a, b: a + b)):
            for values in ([0, 1, 2], [0], [0.0, -0.0]):
                for k in (0, 4, 5, 9, 20, 43, 47):
                    x = rng.choice(np.array(values, np.float32), 48)
                    expected = x.copy()
                    kernel(x, k, e)
                    for j in range(4, 44):
                        expected[j] = rule(expected[j + e], expected[k])
                    np.testing.assert_array_equal(x, expected)
                    if kernel is add:
                        np.testing.assert_array_equal(np.signbit(x), np.signbit(expected))
