"""A throw that is learned: its gradient against a difference, and the descent."""

import numpy as np
import seeded

import metate as mt


def test_gradient_and_descent(filmed):
    program = filmed("diffmpm", 64)
    push, loss = program["push"], program["loss"]
    program["start"]()
    with mt.ad.Tape(loss):
        program["throw"]()
    gradient = push.grad.to_numpy()
    direction = seeded.generator("throw").normal(0, 1, gradient.shape)

    def loss_of(distance):
        push.from_numpy((0.5 + distance * direction).astype(np.float32))
        loss[None] = 0
        program["throw"]()
        return loss[None]

    wanted = (loss_of(2e-3) - loss_of(-2e-3)) / 4e-3
    np.testing.assert_allclose((gradient * direction).sum(), wanted, rtol=2e-3)

    program["start"]()
    first = program["learn"](2.0)
    for _ in range(15):
        last = program["learn"](2.0)
    assert last < 0.01 * first, "a tenth of the distance"
