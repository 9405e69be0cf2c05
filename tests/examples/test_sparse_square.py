"""The rotating square: what is active at each level is what NumPy says that the square covers."""

import numpy as np
import pytest


def covers(n, angle):
    """Cells whose middle is in the turned square, and those so near its edge that rounding decides."""
    middle = (np.indices((n, n)) + 0.5) / n - 0.5
    turned = np.stack(
        [np.cos(angle) * middle[0] + np.sin(angle) * middle[1], np.cos(angle) * middle[1] - np.sin(angle) * middle[0]]
    )
    distance = np.abs(turned).max(0) - 0.25
    return distance < 0, abs(distance) < 1e-5


@pytest.mark.parametrize("angle", [0.01, 0.4, 2.2])
def test_what_is_active_is_what_the_square_covers(load, angle):
    program = load("sparse/rotating_square", "--size", 128)
    program["frame"](angle + 0.5)  # of which nothing must be left
    program["frame"](angle)
    inside, unsure = covers(128, angle)
    got = program["covered"].to_numpy() == 1
    assert (got == inside)[~unsure].all()
    blocks = {name: got.reshape(128 // s, s, 128 // s, s).any((1, 3)) for name, s in (("cells", 1), ("fine", 16), ("coarse", 64))}
    for name, wanted in blocks.items():
        assert program["count"](program[name]) == wanted.sum()
        active = np.array([[program[name].is_active(i, j) for j in range(0, len(wanted), 3)] for i in range(0, len(wanted), 3)])
        np.testing.assert_array_equal(active, wanted[::3, ::3])
    depth = np.repeat(np.repeat(blocks["fine"], 16, 0), 16, 1) * 0.2 + np.repeat(np.repeat(blocks["coarse"], 64, 0), 64, 1) * 0.2
    np.testing.assert_allclose(program["picture"].to_numpy(), depth + 0.5 * got, rtol=1e-6)
