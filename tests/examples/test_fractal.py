"""The Julia set against NumPy."""

import numpy as np
import seeded


def test_a_frame_equals_numpys(load):
    program = load("fractal", "--size", 24)
    t = seeded.generator("test_a_frame_equals_numpys").uniform(0, 6)
    program["paint"](t)
    n = 24
    i, j = np.meshgrid(np.arange(2 * n), np.arange(n), indexing="ij")
    z = 2 * ((i / n - 1) + 1j * (j / n - 0.5))
    c = -0.8 + 1j * 0.2 * np.cos(t)
    count = np.zeros(z.shape)
    alive = np.abs(z) < 20
    for _ in range(50):
        z = np.where(alive, z * z + c, z)
        count += alive
        alive &= np.abs(z) < 20
    expected = 1 - count * 0.02
    # f32 and f64 part ways only near the set's edge, where one iteration more or less is both right.
    differs = np.abs(program["pixels"].to_numpy() - expected) > 1e-5
    assert differs.mean() < 0.02
    assert (expected < 0.9).mean() > 0.05
