"""Workers that share a loop's turns by strides: results are those of turn by turn."""

import numpy as np
import pytest
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct

import metate as mt

f32 = mt.f32
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
