"""Loops that do something in few turns: many are asked at a time whether they do; results are those of turn by turn."""

import itertools

import numpy as np
import pytest
from device_tests import ARCH
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct

import metate as mt

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray
WAYS = distinct({}, UNOPTIMISED, PIECES, INTERPRETED["interp"])
every_way = pytest.mark.parametrize("options", WAYS, ids=str)
LENGTHS = [0, 1, 63, 64, 65, 127, 128, 500]


def asks_blocks(kernel):
    return any(one.pass_name == "test-blocks" for one in kernel.report().remarks)


@every_way
def test_the_place_of_a_value(options):
    with mt.Context(**options):

        @mt.kernel
        def find(x: array(f32, 1), value: f32, found: array(i32, 1)):
            for i in range(x.shape[0]):
                if x[i] == value:
                    found[0] = i

        if not options:
            assert ARCH or asks_blocks(find)
        for n in LENGTHS:
            x = np.random.default_rng(n).permutation(n).astype(np.float32)
            for at in {0, n // 3, n // 2, n - 2, n - 1} & set(range(n)):
                found = np.full(1, -1, np.int32)
                find(x, x[at], found)
                assert found[0] == at
            found = np.full(1, -1, np.int32)
            find(x, -1, found)
            find(x, np.nan, found)
            assert found[0] == -1
            spread = np.zeros(3 * n, np.float32)
            spread[::3] = x
            if n:
                find(spread[::3], x[-1], found)
                assert found[0] == n - 1


@every_way
def test_turns_that_change_what_later_ones_ask(options):
    with mt.Context(**options):

        @mt.kernel
        def chain(x: array(i32, 1), count: array(i32, 1)):
            mt.loop_config(serialize=True)
            for i in range(x.shape[0] - 1):
                if x[i] > 2:
                    x[i + 1] = x[i] - 1
                    count[0] += 1

        if not options:
            assert ARCH or asks_blocks(chain)
        for n, start in itertools.product(LENGTHS[1:], (0, 5, 50, 300)):
            x = np.zeros(n, np.int32)
            x[n // 2] = start
            x[0] = start // 2
            wanted, counted = x.copy(), 0
            for i in range(n - 1):
                if wanted[i] > 2:
                    wanted[i + 1] = wanted[i] - 1
                    counted += 1
            count = np.zeros(1, np.int32)
            chain(x, count)
            np.testing.assert_array_equal(x, wanted)
            assert count[0] == counted


def test_what_may_not_be_asked_early():
    """A read whose place an earlier turn says, and loops that LLVM makes vectors of."""

    @mt.kernel
    def follow(x: array(f32, 1), at: array(i32, 1), found: array(i32, 1)):
        mt.loop_config(serialize=True)
        for i in range(at.shape[0]):
            if x[at[i]] > 0.5:
                found[0] = i

    @mt.kernel
    def masked(x: array(f32, 1), out: array(f32, 1)):
        for i in range(x.shape[0]):
            if x[i] > 0.5:
                out[i] = x[i]

    x = np.random.default_rng(3).random(200).astype(np.float32)
    at = np.random.default_rng(4).permutation(200).astype(np.int32)
    found, out = np.zeros(1, np.int32), np.zeros(200, np.float32)
    follow(x, at, found)
    masked(x, out)
    assert found[0] == np.flatnonzero(x[at] > 0.5)[-1]
    np.testing.assert_array_equal(out, np.where(x > 0.5, x, 0))
    assert not asks_blocks(follow) and not asks_blocks(masked)
