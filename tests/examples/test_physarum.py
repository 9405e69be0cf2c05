"""Slime mould: the trail is what was dropped, less what faded; agents turn to where more of it is."""

import numpy as np


def test_trail_and_turns(filmed):
    program = filmed("physarum", 48)
    n, agents, trail = program["n"], program["agents"], program["trail"]
    total = trail.to_numpy().astype(float).sum()
    for _ in range(20):
        program["move"]()
        total += program["drop"] * agents
        np.testing.assert_allclose(trail.to_numpy().astype(float).sum(), total, rtol=1e-5)
        program["spread"]()
        total *= program["keep"]
        np.testing.assert_allclose(trail.to_numpy().astype(float).sum(), total, rtol=1e-5)
    places = program["place"].to_numpy()
    assert places.min() >= 0 and places.max() <= n

    # All in the middle, all heading along x; more trail to the left, which is up.
    program["place"].fill(n / 2)
    program["heading"].fill(0)
    smell = np.zeros((n, n), np.float32)
    smell[:, n // 2 + 1 :] = 5
    trail.from_numpy(smell)
    program["move"]()
    np.testing.assert_allclose(program["heading"].to_numpy(), program["turn"], atol=1e-6)
    places = program["place"].to_numpy()
    np.testing.assert_allclose(np.linalg.norm(places - n / 2, axis=1), program["stride"], atol=1e-4)
