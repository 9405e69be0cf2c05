"""A fit by gradient descent: the gradient against differences, and the descent."""

import numpy as np
import seeded

import metate as mt


def test_gradient_and_descent(filmed):
    program = filmed("fit", 200)
    bumps, loss = program["bumps"], program["loss"]
    program["start"]()
    begin = bumps.to_numpy()
    with mt.ad.Tape(loss):
        program["measure"]()
    gradient = bumps.grad.to_numpy()
    direction = seeded.generator("fit").normal(0, 1, begin.shape)

    def loss_of(distance):
        bumps.from_numpy((begin + distance * direction).astype(np.float32))
        loss[None] = 0
        program["measure"]()
        return loss[None]

    wanted = (loss_of(2e-3) - loss_of(-2e-3)) / 4e-3
    np.testing.assert_allclose((gradient * direction).sum(), wanted, rtol=5e-3)

    program["start"]()
    first = program["learn"](0.05)
    for _ in range(200):
        last = program["learn"](0.05)
    assert first > 0.02 and last < 8e-4, "the points' own noise is 4e-4"
