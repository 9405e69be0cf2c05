"""A wave that becomes a picture: the gradient against differences, and the descent."""

import numpy as np
import seeded


def test_gradient_and_descent(filmed):
    program = filmed("wave_inverse", 24)
    u, loss, steps = program["u"], program["loss"], program["steps"]

    def loss_of(beginning):
        u.fill(0)
        for t in (0, 1):
            for i in range(24):
                for j in range(24):
                    u[t, i, j] = beginning[i, j]
        loss[None] = 0
        program["run"]()
        return loss[None]

    random = seeded.generator("wave")
    beginning, direction = random.normal(0, 1, (24, 24)), random.normal(0, 1, (24, 24))
    # The loss is a square, so that its central difference is exact but for rounding.
    wanted = (loss_of(beginning + 0.5 * direction) - loss_of(beginning - 0.5 * direction)) / 1.0
    loss_of(beginning)
    import metate as mt

    with mt.ad.Tape(loss):
        program["run"]()
    gradient = u.grad.to_numpy()
    np.testing.assert_allclose(((gradient[0] + gradient[1]) * direction).sum(), wanted, rtol=2e-3)
    assert not gradient[2:steps, 1:-1, 1:-1].any(), "what is overwritten has no gradient"

    u.fill(0)
    program["momentum"].fill(0)
    first = program["learn"]()
    for _ in range(60):
        last = program["learn"]()
    assert last < 0.05 * first
