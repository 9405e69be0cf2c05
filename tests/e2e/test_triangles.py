"""Loops over what is before or behind an element that they change: x[i] stays in a variable where x[j] is never x[i]."""

import numpy as np
import pytest

import metate as mt

ROW, SQUARE = mt.types.ndarray(mt.f32, 1), mt.types.ndarray(mt.f32, 2)


@pytest.fixture
def system(rng):
    a = (rng.random((40, 40)) + 40 * np.eye(40)).astype(np.float32)
    return a, rng.random(40).astype(np.float32)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_backward_and_forward(system):
    @mt.kernel
    def backward(a: SQUARE, b: ROW, x: ROW):
        mt.loop_config(serialize=True)
        for r in range(40):
            i = 39 - r
            x[i] = b[i]
            for j in range(i + 1, 40):
                x[i] -= a[i, j] * x[j]
            x[i] /= a[i, i]

    @mt.kernel
    def forward(a: SQUARE, b: ROW, x: ROW):
        mt.loop_config(serialize=True)
        for i in range(x.shape[0]):
            x[i] = b[i]
            for j in range(i):
                x[i] -= a[i, j] * x[j]
            x[i] /= a[i, i]

    a, b = system
    for solve, triangle in ((backward, np.triu(a)), (forward, np.tril(a))):
        x = np.full(40, np.nan, np.float32)
        solve(a, b, x)
        close(x, np.linalg.solve(triangle.astype(np.float64), b))


def test_elimination_in_a_field(system):
    a, _ = system
    m = mt.field(mt.f32, shape=(3, 40, 40))
    m.from_numpy(np.stack([a, a.T, a @ a / 40]))

    @mt.kernel
    def eliminate():
        for p in range(3):
            for k in range(40):
                for i in range(k + 1, 40):
                    m[p, i, k] /= m[p, k, k]
                    for j in range(k + 1, 40):
                        m[p, i, j] -= m[p, i, k] * m[p, k, j]

    before = m.to_numpy().astype(np.float64)
    eliminate()
    for p in range(3):
        found = m.to_numpy()[p].astype(np.float64)
        np.testing.assert_allclose((np.tril(found, -1) + np.eye(40)) @ np.triu(found), before[p], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("first, last, step", [(0, 0, 1), (-1, 1, 1), (1, -1, 2), (-3, 7, 3)])
def test_loops_that_meet_the_element(rng, first, last, step):
    """Also from i on, up to i, around it, and past it in strides."""

    @mt.kernel
    def run(x: mt.types.ndarray(mt.i32, 1)):
        mt.loop_config(serialize=True)
        for i in range(8, 50):
            for j in range(i + first, 60 + last, step):
                x[i] += x[j]
            for j in range(2, i + last, step):
                x[i] ^= x[j] + j
            for j in range(3):
                for k in range(i + j - 1, 60):
                    x[i] -= 3 * x[k]

    x = rng.integers(-9, 9, 70).astype(np.int32)
    expected = x.copy()
    with np.errstate(over="ignore"):
        for i in range(8, 50):
            for j in range(i + first, 60 + last, step):
                expected[i] += expected[j]
            for j in range(2, i + last, step):
                expected[i] ^= expected[j] + np.int32(j)
            for j in range(3):
                for k in range(i + j - 1, 60):
                    expected[i] -= np.int32(3) * expected[k]
    run(x)
    assert (x == expected).all()
