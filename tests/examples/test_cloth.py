"""The cloth: a substep against NumPy, and what springs alone cannot change."""

import numpy as np
import seeded


def numpy_force(program, x, v):
    n, force = len(x), np.zeros_like(x) + np.array([0, -9.8, 0])
    for di, dj in program["links"]:
        rest = program["spacing"] * np.hypot(di, dj)
        for i in range(n):
            for j in range(n):
                k, l = i + di, j + dj
                if 0 <= k < n and 0 <= l < n:
                    between = x[i, j] - x[k, l]
                    length = np.linalg.norm(between)
                    along = between / length
                    force[i, j] -= program["stiffness"] * along * (length / rest - 1)
                    force[i, j] -= (v[i, j] - v[k, l]) @ along * along * program["spring_damping"]
    return force


def random_state(program, n):
    program["init"]()
    random = seeded.generator("random_state")
    x = program["x"].to_numpy() + random.normal(0, 0.1 / n, (n, n, 3)).astype(np.float32)
    v = random.normal(0, 0.1, (n, n, 3)).astype(np.float32)
    program["x"].from_numpy(x)
    program["v"].from_numpy(v)
    return x.astype(float), v.astype(float)


def test_forces_equal_numpys(load):
    program = load("cloth", "--size", 6)
    expected = numpy_force(program, *random_state(program, 6))
    program["pull"]()
    assert np.abs(expected).max() > 100
    np.testing.assert_allclose(program["force"].to_numpy(), expected, atol=2e-5 * np.abs(expected).max())


def test_springs_change_no_momentum(load):
    program = load("cloth", "--size", 12)
    random_state(program, 12)
    program["pull"]()
    force = program["force"].to_numpy().astype(float)
    np.testing.assert_allclose(force.mean((0, 1)), [0, -9.8, 0], atol=1e-5 * np.abs(force).max())


def test_it_falls_on_the_ball_and_does_not_sink_in(load):
    program = load("cloth", "--size", 8)
    program["init"]()
    for _ in range(int(0.8 / program["dt"])):
        program["pull"]()
        program["move"]()
    x = program["x"].to_numpy()
    assert np.isfinite(x).all() and x[..., 1].min() < 0.2
    assert np.linalg.norm(x, axis=-1).min() > program["ball_radius"] - 0.03
