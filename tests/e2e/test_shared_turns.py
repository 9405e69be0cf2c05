"""Workers that share a loop's turns by strides, stores under conditions to what was read: results are those of turn by turn."""

import numpy as np
import pytest
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct

import metate as mt

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray
every_way = pytest.mark.parametrize("options", distinct({}, UNOPTIMISED, PIECES, INTERPRETED["interp"]), ids=str)


@every_way
@pytest.mark.parametrize("n", [0, 1, 2, 5, 100, 301])
def test_workers_in_strides(rng, options, n):
    with mt.Context(**options):

        @mt.kernel
        def run(x: array(f32, 1), y: array(f32, 1), t: array(f32, 2), own: array(f32, 1)):
            for w in range(3):
                i = w + 1
                while i < x.shape[0]:
                    y[i] = 2.0 * x[i]
                    i += 3
            for w in range(2, 6):
                for i in range(w - 2, t.shape[0], 4):
                    for j in range(t.shape[1]):
                        t[i, j] += x[i] + j
            for w in range(3):
                for i in range(w, x.shape[0], 3):
                    own[w] += x[i]

        x = rng.integers(-99, 99, n).astype(np.float32)
        y, t, own = np.full(n, 5, np.float32), np.ones((n, 7), np.float32), np.zeros(3, np.float32)
        run(x, y, t, own)
        np.testing.assert_array_equal(y[1:], 2 * x[1:])
        np.testing.assert_array_equal(y[:1], [5] * min(n, 1))
        np.testing.assert_array_equal(t, 1 + x[:, None] + np.arange(7, dtype=np.float32))
        np.testing.assert_array_equal(own, [x[k::3].sum() for k in range(3)])


@every_way
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (40, 100)])
def test_conditional_stores(rng, options, shape):
    with mt.Context(**options):
        near = mt.field(f32, shape=shape)

        @mt.kernel
        def run(step: array(f32, 2), chosen: array(i32, 2)):
            for i, j in near:
                if step[i, j] < near[i, j]:
                    near[i, j] = step[i, j]
                    chosen[i, j] = chosen[i, j] + 1
                elif near[i, j] > 50:
                    near[i, j] = near[i, j] - step[i, j]
            mt.loop_config(serialize=True)
            for i in range(step.shape[0]):
                for j in range(step.shape[1]):
                    if chosen[i, j] != 0:
                        step[i, j] = near[i, j] + 1
                    else:
                        step[i, j] = -1.0
                    if step[i, j] < 0:
                        chosen[i, j] -= 3

        a, b = (rng.integers(-99, 99, shape).astype(np.float32) for _ in range(2))
        step, chosen = b.copy(), np.zeros(shape, np.int32)
        near.from_numpy(a)
        run(step, chosen)
        expected = np.where(b < a, b, np.where(a > 50, a - b, a))
        count = (b < a).astype(np.int32)
        after = np.where(count != 0, expected + 1, -1)
        np.testing.assert_array_equal(near.to_numpy(), expected)
        np.testing.assert_array_equal(step, after)
        np.testing.assert_array_equal(chosen, np.where(after < 0, count - 3, count))


@every_way
def test_a_place_that_was_stored_between(options):
    """The place that keeps its value may be the one that was stored after it was read."""
    with mt.Context(**options):

        @mt.kernel
        def run(x: array(i32, 1), k: i32):
            mt.loop_config(serialize=True)
            for j in range(x.shape[0] - 3):
                old = x[j]
                x[j + k] = 7 + j
                if old > 3:
                    x[j] = old

        for k in (0, 1, 3):
            x = np.arange(40, dtype=np.int32) % 5
            expected = x.copy()
            for j in range(37):
                old = expected[j]
                expected[j + k] = 7 + j
                if old > 3:
                    expected[j] = old
            run(x, k)
            np.testing.assert_array_equal(x, expected)
