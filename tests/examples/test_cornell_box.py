"""The Cornell box: in a closed room that glows everywhere light is known; both ways to find the lamp agree."""

import numpy as np
import pytest


def test_light(filmed):
    program = filmed("cornell_box", 16)
    means = []
    for asks_lamp, rounds in ((True, 100), (False, 400)):
        program["light"].fill(0)
        for _ in range(rounds):
            program["trace"](asks_lamp)
        means.append(program["light"].to_numpy().mean((0, 1)) / rounds)
    np.testing.assert_allclose(means[0], means[1], rtol=0.07)
    picture = means[0]
    assert picture[0] > picture[1] > picture[2] > 0.05, "the lamp is warm"

    # Everything emits 1 and reflects a half: 1 + 1/2 + 1/4 + ..., as many terms as a path has places.
    program["emission"].fill(1)
    program["albedo"].fill(0.5)
    assert program["probe"](4000) == pytest.approx([2 - 0.5 ** (program["bounces"] - 1)] * 3, rel=1e-4)
