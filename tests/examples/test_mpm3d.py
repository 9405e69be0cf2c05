"""mpm3d: a substep against NumPy, and that water stays in its box."""

import itertools

import numpy as np
import pytest


def test_a_substep_against_numpy(load, rng):
    mpm3d = load("mpm3d")
    n, cells, dx, dt, each = 20, mpm3d["n_grid"], mpm3d["dx"], mpm3d["dt"], mpm3d["mass_of_particle"]
    water = mpm3d["Water"](n)
    x, v = rng.uniform(0.3, 0.7, (n, 3)).astype(np.float32), rng.normal(size=(n, 3)).astype(np.float32)
    affine = rng.normal(size=(n, 3, 3)).astype(np.float32)
    volume = rng.uniform(0.98, 1.02, n).astype(np.float32)
    for field, data in ((water.x, x), (water.v, v), (water.C, affine), (water.J, volume)):
        field.from_numpy(data)
    mass, momentum = np.zeros((cells,) * 3), np.zeros((cells,) * 3 + (3,))
    splats = []
    for p in range(n):
        place = x[p].astype(np.float64) / dx
        base = (place - 0.5).astype(int)
        f = place - base
        w = np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
        pressure = -dt * 4 * mpm3d["stiffness"] * mpm3d["volume_of_particle"] * (float(volume[p]) - 1) / dx**2
        linear = pressure * np.eye(3) + each * affine[p].astype(np.float64)
        for offset in itertools.product(range(3), repeat=3):
            weight = w[offset[0], 0] * w[offset[1], 1] * w[offset[2], 2]
            at = tuple(base + offset)
            splats.append((p, at, weight, np.array(offset) - f))
            mass[at] += weight * each
            momentum[at] += weight * (each * v[p] + linear @ ((np.array(offset) - f) * dx))
    velocity = momentum / np.where(mass > 0, mass, 1)[..., None] - [0, dt * mpm3d["gravity"], 0]
    gathered, around = np.zeros((n, 3)), np.zeros((n, 3, 3))
    for p, at, weight, away in splats:
        gathered[p] += weight * velocity[at]
        around[p] += 4 / dx * weight * np.outer(velocity[at], away)
    water.substep()
    np.testing.assert_allclose(water.grid_m.to_numpy(), mass, rtol=1e-4, atol=1e-13)
    np.testing.assert_allclose(water.v.to_numpy(), gathered, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(water.C.to_numpy(), around, rtol=1e-2, atol=0.2)
    np.testing.assert_allclose(water.x.to_numpy(), x + dt * gathered, rtol=1e-5)
    np.testing.assert_allclose(water.J.to_numpy(), volume * (1 + dt * np.trace(around, axis1=1, axis2=2)), rtol=1e-4)


def test_water_stays_in_its_box(load):
    mpm3d = load("mpm3d")
    water = mpm3d["Water"](2000)
    water.fill()
    for _ in range(300):
        water.substep()
    x = water.x.to_numpy()
    assert np.isfinite(x).all() and x.min() > 0 and x.max() < 1
    assert water.grid_m.to_numpy().astype(np.float64).sum() == pytest.approx(2000 * mpm3d["mass_of_particle"], rel=1e-5)
