"""A stroke that is learned: its gradient against differences, also over two steps' lengths, momentum, and the descent."""

import numpy as np

import metate as mt


def test_gradient_and_descent(filmed):
    program = filmed("billiards", 2)
    x, v, loss, strike = program["x"], program["v"], program["loss"], program["strike"]
    program["start"]()
    begin = np.array([x[0, 0], v[0, 0]])

    def set_stroke(place, speed):
        x[0, 0], v[0, 0] = place, speed

    def loss_of(stroke):
        set_stroke(*stroke)
        loss[None] = 0
        strike()
        return loss[None]

    def gradient_of(stroke):
        set_stroke(*stroke)
        with mt.ad.Tape(loss):
            strike()
        return np.array([x.grad[0, 0], v.grad[0, 0]])

    units = np.eye(4).reshape(4, 2, 2)
    wanted = [(loss_of(begin + 1e-6 * unit) - loss_of(begin - 1e-6 * unit)) / 2e-6 for unit in units]
    np.testing.assert_allclose(gradient_of(begin).flatten(), wanted, rtol=1e-6)

    # The cue ball begins up to two steps farther: it meets the others at any time within a step, and nothing jumps.
    strokes = [begin + far * units[0] for far in np.linspace(0, 0.07, 41)]
    slopes = np.array([gradient_of(stroke)[0, 0] for stroke in strokes])
    wanted = loss_of(strokes[-1]) - loss_of(strokes[0])
    np.testing.assert_allclose((slopes[:-1] + slopes[1:]).sum() / 2 * 0.07 / 40, wanted, rtol=1e-6)

    loss_of(begin)
    moments = np.arange(40)  # before a ball comes to a cushion
    momentum = v.to_numpy()[moments].sum(1) * np.exp(program["drag"] * program["dt"] * moments)[:, None]
    np.testing.assert_allclose(momentum, np.broadcast_to(begin[1], momentum.shape), atol=1e-12)
    assert (np.linalg.norm(v.to_numpy()[39], axis=1) > 0.1).all(), "all have been hit"

    program["start"]()
    first = program["learn"]()
    for _ in range(40):
        last = program["learn"]()
    assert first > 0.1 and last < 1e-6 * first
