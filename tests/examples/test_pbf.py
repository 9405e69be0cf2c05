"""Position based fluids: neighbours against NumPy; the pool comes to its density and stays in its box."""

import numpy as np


def test_a_pool(filmed):
    program = filmed("pbf", 300)
    x, spacing = program["x"], program["spacing"]
    for _ in range(200):
        program["step"](1.0)
    assert program["held"].to_numpy().max() <= program["room"]

    program["find"]()
    places = x.to_numpy()
    far = np.linalg.norm(places[:, None] - places[None], axis=-1)
    near = (far < program["reach"]) & ~np.eye(len(places), dtype=bool)
    np.testing.assert_array_equal(program["neighbours"].to_numpy(), near.sum(1))
    for k in (0, 17, 299):
        listed = program["neighbour"].to_numpy()[k, : near[k].sum()]
        assert set(listed) == set(np.flatnonzero(near[k]))

    program["weigh"]()
    weights = 4 / (np.pi * program["support"] ** 8) * np.maximum(program["support"] ** 2 - far**2, 0) ** 3 * spacing**2
    density = program["density"].to_numpy()
    np.testing.assert_allclose(density, weights.sum(1), rtol=1e-4)
    assert density.mean() < 1.05 and density.max() < 1.35, (density.mean(), density.max())
    assert places.min() >= 0.49 * spacing and places.max() <= 1 - 0.49 * spacing
    assert abs(program["v"].to_numpy()).mean() < 0.5, "it comes to rest"
    # As high as so many particles at rest density are.
    assert 0.6 < np.quantile(places[:, 1], 0.98) / (len(places) * spacing**2) < 1.2
