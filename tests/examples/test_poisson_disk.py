"""Poisson-disk sampling: no two points are nearer than r, each is in its cell, and there is room for hardly any more."""

import numpy as np
import seeded


def test_distances(filmed):
    program = filmed("poisson_disk", 32)
    n, radius = program["n"], program["radius"]
    for turn in range(4, 9 * 60):
        program["one_turn"](turn)
    there = program["since"].to_numpy() > 0
    cells = np.argwhere(there)
    points = program["point"].to_numpy()[there].astype(float)
    assert (np.floor(points * n) == cells).all()
    far = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(far, 9)
    assert far.min() >= radius * (1 - 1e-6)
    # Places that could still take a point: of a full disc sampling none.
    tried = seeded.generator("distances").random((4000, 2))
    free = (np.linalg.norm(tried[:, None] - points[None], axis=-1) >= radius).all(1)
    assert free.mean() < 0.01
    assert 0.62 < len(points) * radius**2 < 0.8  # random maximal samplings have about 0.7
