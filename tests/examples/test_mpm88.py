"""mpm88: what a substep must keep, and what its grid must hold (NumPy's sums over the particles)."""

import numpy as np
import pytest


def test_a_substep_keeps_mass_and_momentum(load):
    mpm88 = load("mpm88")
    water = mpm88["Water"](3000)
    water.fill()
    mass, dt = mpm88["mass_of_particle"], mpm88["dt"]
    for step in range(100):  # free fall: nothing touches a wall yet
        water.substep()
        momentum = mass * water.v.to_numpy().astype(np.float64).sum(axis=0)
        fallen = -mass * 3000 * (1 + (step + 1) * dt * mpm88["gravity"])
        np.testing.assert_allclose(momentum, [0, fallen], rtol=2e-5, atol=2e-5 * abs(fallen))
        if step % 25 == 0:
            assert water.mass_on_grid() == pytest.approx(3000 * mass, rel=1e-5)


def test_the_grid_holds_what_particles_give_it(load, rng):
    """One substep's masses and velocities of the grid, from the definition: quadratic B-splines around each particle."""
    mpm88 = load("mpm88")
    n, cells, dx, dt = 40, mpm88["n_grid"], mpm88["dx"], mpm88["dt"]
    water = mpm88["Water"](n)
    x, v = rng.uniform(0.3, 0.7, (n, 2)).astype(np.float32), rng.normal(size=(n, 2)).astype(np.float32)
    affine = rng.normal(size=(n, 2, 2)).astype(np.float32)
    volume = rng.uniform(0.98, 1.02, n).astype(np.float32)
    for field, data in ((water.x, x), (water.v, v), (water.C, affine), (water.J, volume)):
        field.from_numpy(data)
    mass, momentum = np.zeros((cells, cells)), np.zeros((cells, cells, 2))
    each = mpm88["mass_of_particle"]
    for p in range(n):
        place = x[p].astype(np.float64) / dx
        base = (place - 0.5).astype(int)
        f = place - base
        w = np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
        pressure = -dt * 4 * mpm88["stiffness"] * mpm88["volume_of_particle"] * (float(volume[p]) - 1) / dx**2
        linear = pressure * np.eye(2) + each * affine[p].astype(np.float64)
        for i in range(3):
            for j in range(3):
                weight = w[i, 0] * w[j, 1]
                at = base[0] + i, base[1] + j
                mass[at] += weight * each
                momentum[at] += weight * (each * v[p] + linear @ ((np.array([i, j]) - f) * dx))
    water.substep()
    np.testing.assert_allclose(water.grid_m.to_numpy(), mass, rtol=1e-4, atol=1e-10)
    heavy = mass > 1e-8
    wanted = momentum[heavy] / mass[heavy][:, None] - [0, dt * mpm88["gravity"]]
    np.testing.assert_allclose(water.grid_v.to_numpy()[heavy], wanted, rtol=1e-3, atol=1e-3)
