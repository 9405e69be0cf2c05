"""A robot that learns to walk: its gradient against a difference, springs that change no momentum, and the descent."""

import numpy as np
import seeded

import metate as mt


def test_gradient_and_descent(filmed):
    program = filmed("mass_spring", 3)
    swing, loss, force = program["swing"], program["loss"], program["force"]
    program["start"]()
    begin = swing.to_numpy()
    with mt.ad.Tape(loss):
        program["walk"]()
    np.testing.assert_allclose(force.to_numpy().sum(1), 0, atol=0.1)
    gradient = swing.grad.to_numpy()
    direction = gradient / np.linalg.norm(gradient) + 0.2 * seeded.generator("walk").normal(0, 1, begin.shape)

    def loss_of(distance):
        swing.from_numpy((begin + distance * direction).astype(np.float32))
        loss[None] = 0
        program["walk"]()
        return loss[None]

    wanted = (loss_of(2e-3) - loss_of(-2e-3)) / 4e-3
    np.testing.assert_allclose((gradient * direction).sum(), wanted, rtol=0.03)

    program["start"]()
    assert abs(program["learn"](0.05)) < 0.02, "it stands"
    for _ in range(40):
        far = program["learn"](0.05)
    heights = program["x"].to_numpy()[:, :, 1]
    assert far > 0.33 and heights.min() > 0.05 and heights[:, :8].mean() > 0.19, "it walks upright"
