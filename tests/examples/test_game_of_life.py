"""The Game of Life against NumPy, and against what is known of its figures."""

import numpy as np


def numpy_step(alive):
    around = sum(np.roll(alive, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - alive
    return ((around == 3) | ((alive == 1) & (around == 2))).astype(np.uint8)


def test_steps_equal_numpys(load):
    program = load("game_of_life", "--size", 40)
    program["init"](0.3)
    expected = program["alive"].to_numpy()
    assert 0.2 < expected.mean() < 0.4
    for _ in range(20):
        program["step"]()
        expected = numpy_step(expected)
        np.testing.assert_array_equal(program["alive"].to_numpy(), expected)


def test_a_glider_walks_over_the_edge(load):
    program = load("game_of_life", "--size", 12)
    glider = np.zeros((12, 12), np.uint8)
    glider[[1, 2, 0, 1, 2], [0, 1, 2, 2, 2]] = 1
    program["alive"].from_numpy(glider)
    for _ in range(4 * 12):
        program["step"]()
    np.testing.assert_array_equal(program["alive"].to_numpy(), glider)
    program["step"]()
    assert (program["alive"].to_numpy() != glider).any()
