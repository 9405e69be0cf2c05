"""Reaction and diffusion: a step against NumPy; without feed and decay nothing is lost."""

import numpy as np
import seeded


def numpy_step(x, feed, kill):
    laplacian = -x
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            weight = {0: 0.0, 1: 0.2, 2: 0.05}[abs(di) + abs(dj)]
            laplacian = laplacian + weight * np.roll(x, (-di, -dj), (0, 1))
    u, v = x[..., 0], x[..., 1]
    reaction = u * v * v
    change = np.stack([feed * (1 - u) - reaction, reaction - (feed + kill) * v], -1)
    return x + [1.0, 0.5] * laplacian + change


def test_steps(filmed):
    program = filmed("reaction_diffusion", 24)
    x = seeded.generator("steps").random((24, 24, 2)).astype(np.float32)
    program["now"].from_numpy(x)
    program["step"](program["now"], program["later"], 0.05, 0.06)
    np.testing.assert_allclose(program["later"].to_numpy(), numpy_step(x.astype(float), 0.05, 0.06), atol=2e-6)
    for _ in range(50):
        program["advance"](0.0, 0.0)
    kept = program["now"].to_numpy().astype(float)
    np.testing.assert_allclose(kept.sum(), x.astype(float).sum(), rtol=1e-5)
    assert kept[..., 0].sum() < 0.5 * x[..., 0].sum(), "u becomes v"
