"""Smoothed particles: densities against NumPy over all pairs; inner forces change no momentum; water stays in its box."""

import numpy as np


def numpy_density(program, x):
    s = 2 * np.linalg.norm(x[:, None] - x[None], axis=-1) / program["support"]
    value = np.where(s < 1, 1 - 1.5 * s**2 * (1 - 0.5 * s), np.where(s < 2, 0.25 * (2 - s) ** 3, 0))
    return program["mass"] * value.sum(1) * 40 / (7 * np.pi * program["support"] ** 2)


def test_water(filmed):
    program = filmed("sph", 300)
    n, x, v = program["n"], program["x"], program["v"]
    program["start"]()
    program["sort"]()
    program["weigh"]()
    places = x.to_numpy().astype(float)
    assert program["held"].to_numpy().max() <= program["room"]
    density = program["density"].to_numpy()
    np.testing.assert_allclose(density, numpy_density(program, places), rtol=1e-4)
    assert abs(np.median(density[:n]) / program["rest"] - 1) < 0.002

    # Far from the walls, squeezed, in motion: forces of pairs are opposite.
    places[:n] = 0.3 + 0.5 * places[:n]
    x.from_numpy(places.astype(np.float32))
    v.from_numpy(np.concatenate([np.sin(40 * places[:n]), 0 * places[n:]]).astype(np.float32))
    program["sort"]()
    program["weigh"]()
    program["push"]([0.0, 0.0])
    a = program["a"].to_numpy().astype(float)
    assert abs(a).max() > 1000 and abs(a.sum(0)).max() < 1e-4 * abs(a).sum()

    program["start"]()
    for _ in range(400):
        program["step"]()
    places = x.to_numpy()[:n]
    assert np.isfinite(places).all() and places.min() > -program["spacing"] and places.max() < 1 + program["spacing"]
    assert places[:, 0].max() > 0.4, "the column breaks"
    assert program["density"].to_numpy()[:n].max() < 1.1 * program["rest"]
