"""N-body: accelerations against NumPy in double precision, and what the laws keep."""

import numpy as np
import seeded


def test_accelerations_equal_numpys(load):
    program = load("nbody", "--size", 100)
    program["init"]()
    random = seeded.generator("test_accelerations_equal_numpys")
    position = random.uniform(-1, 1, (100, 3)).astype(np.float32)
    program["position"].from_numpy(position)
    program["attract"]()
    mass = program["mass"].to_numpy().astype(float)
    away = position[None].astype(float) - position[:, None]
    distance = np.sqrt((away**2).sum(-1) + program["softening"] ** 2)
    expected = (away * (mass[None, :] / distance**3)[..., None]).sum(1)
    np.testing.assert_allclose(program["acceleration"].to_numpy(), expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max())


def test_momentum_and_energy_are_kept(load):
    program = load("nbody", "--size", 200)
    program["init"]()
    program["attract"]()

    def momentum():
        return (program["mass"].to_numpy()[:, None] * program["velocity"].to_numpy()).astype(float).sum(0)

    before, start = program["energy"](), momentum()
    moved = program["position"].to_numpy()
    for _ in range(200):
        program["step"]()
    assert np.abs(program["position"].to_numpy() - moved).max() > 0.1
    np.testing.assert_allclose(momentum(), start, atol=2e-4)
    assert abs(program["energy"]() - before) < 0.01 * abs(before)
