"""Loops whose turns change something under a condition only: they end early and give what all their turns would."""

import numpy as np
import pytest
from ways import INTERPRETED, UNOPTIMISED, distinct, without

import metate as mt

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray
WAYS = distinct({}, *without("across_iterations"), {"threads": 1, "chunk_ns": 0}, UNOPTIMISED, INTERPRETED["interp"])


def alike(kernel, arguments, *outputs):
    results = []
    for options in WAYS:
        with mt.Context(contract=False, reassociate_sums=False, **options):
            copies = [np.copy(out) for out in outputs]
            kernel(*arguments, *copies)
            results.append(copies)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    return results[0]


@pytest.mark.parametrize("turns", [0, 1, 2, 40, 100])
def test_escape(rng, turns):
    @mt.kernel
    def escape(x: array(f32, 1), turns: i32, z: array(f32, 1), count: array(i32, 1)):
        for i in range(x.shape[0]):
            a, k = x[i], 0
            for _ in range(turns):
                if a * a < 4.0:
                    a = a * a + x[i]
                    k += 1
            z[i], count[i] = a, k

    x = (rng.random(37, dtype=np.float32) - 0.6) * 3
    x[3] = np.nan
    z, count = alike(escape, (x, turns), np.zeros(37, np.float32), np.zeros(37, np.int32))
    a, k = x.copy(), np.zeros(37, int)
    for _ in range(turns):
        alive = a * a < 4
        a = np.where(alive, a * a + x, a)
        k += alive
    np.testing.assert_array_equal(z, a)
    np.testing.assert_array_equal(count, k)


def test_flags_and_what_turns_read_and_write(rng):
    """A flag that stops a march; the turn's number goes into values, and a turn that goes on writes."""

    @mt.kernel
    def march(heights: array(f32, 1), hit: array(i32, 1), trace: array(f32, 2)):
        for i in range(hit.shape[0]):
            at, done = 0.5 * i, False
            for k in range(heights.shape[0]):
                if not done:
                    trace[i, k] = at
                    if heights[k] > at:
                        done = True
                        hit[i] = k
                    at += 0.25 * k

    heights, lines = (rng.random(50) * 9).astype(np.float32), 21
    hit, trace = alike(march, (heights,), np.full(lines, -1, np.int32), np.zeros((lines, 50), np.float32))
    for i in range(lines):
        at, expected, row = 0.5 * i, -1, np.zeros(50, np.float32)
        for k in range(50):
            row[k] = at
            if heights[k] > at:
                expected = k
                break
            at += 0.25 * k
        assert hit[i] == expected
        np.testing.assert_array_equal(trace[i], row)


def test_conditions_that_may_hold_again(rng):
    """What the turn or memory says may change its mind; so may a condition on a value that changes anyway."""

    @mt.kernel
    def run(x: array(f32, 1), out: array(f32, 2)):
        for i in range(out.shape[0]):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            e = x[i]
            for k in range(40):
                if k % 3 != 1:
                    a += x[k]
                if x[k] < 0.5:
                    b += 1.0
                if a < 5.0:
                    c += 1.0
                if e < 1.0:
                    d += 1.0
                e = 1.5 - e
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d

    x = rng.integers(-4, 5, 40).astype(np.float32) / 4
    (out,) = alike(run, (x,), np.zeros((20, 4), np.float32))
    for i in range(20):
        a = b = c = d = np.float32(0)
        e = x[i]
        for k in range(40):
            if k % 3 != 1:
                a += x[k]
            b += x[k] < 0.5
            c += a < 5
            d += e < 1
            e = np.float32(1.5) - e
        np.testing.assert_array_equal(out[i], [a, b, c, d])
