"""Trails on bitmasked cells: the light against NumPy's, and nothing active but what is lit."""

import numpy as np


def test_trails_fade_and_are_given_up(load):
    program = load("sparse/bitmasked", "--size", 64)
    program["init"]()
    light, fading, darkest = np.zeros((64, 64), np.float32), np.float32(program["fading"]), np.float32(program["darkest"])
    given_up = 0
    for _ in range(120):
        before = program["place"].to_numpy()
        program["step"]()
        after = program["place"].to_numpy()
        step = (after - before + 32) % 64 - 32
        assert (abs(step).sum(1) == 1).all()
        light[tuple(after.T)] = 1
        light *= fading
        given_up += ((light > 0) & (light < darkest)).sum()
        light[light < darkest] = 0
    np.testing.assert_allclose(program["light"].to_numpy(), light, rtol=1e-5)
    assert given_up > 0
    active = np.array([[program["cells"].is_active(i, j) for j in range(64)] for i in range(64)])
    np.testing.assert_array_equal(active, light > 0)
    blocks = np.array([[program["blocks"].is_active(i, j) for j in range(4)] for i in range(4)])
    np.testing.assert_array_equal(blocks, (light > 0).reshape(4, 16, 4, 16).any((1, 3)))
