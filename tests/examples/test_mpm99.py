"""mpm99: three materials' stress and plasticity against NumPy, and what a substep must keep."""

import numpy as np
import pytest


def stress(F, plastic, kind, of):
    """(stress, elastic F, Jp) after NumPy's singular value decomposition."""
    hardening = {of["WATER"]: 1.0, of["JELLY"]: 0.3}.get(kind, np.exp(10 * (1 - plastic)))
    mu, lam = of["mu_0"] * hardening * (kind != of["WATER"]), of["lambda_0"] * hardening
    U, sigma, Vt = np.linalg.svd(F)
    if np.linalg.det(U) < 0:  # as rotations: a reflection changes the sign of the smaller singular value
        U[:, 1], sigma[1] = -U[:, 1], -sigma[1]
    if np.linalg.det(Vt) < 0:
        Vt[1], sigma[1] = -Vt[1], -sigma[1]
    if kind == of["SNOW"]:
        kept = np.clip(sigma, of["crushed"], of["stretched"])
        plastic, sigma = plastic * np.prod(sigma / kept), kept
        F = U @ np.diag(sigma) @ Vt
    J = np.prod(sigma)
    if kind == of["WATER"]:
        F = np.sqrt(J) * np.eye(2)
    return 2 * mu * (F - U @ Vt) @ F.T + lam * J * (J - 1) * np.eye(2), F, plastic


def test_a_substep_against_numpy(load, rng):
    mpm99 = load("mpm99")
    n, cells, dx, dt, each = 45, mpm99["n_grid"], mpm99["dx"], mpm99["dt"], mpm99["mass_of_particle"]
    world = mpm99["Materials"](n)
    world.fill()
    kinds = world.material.to_numpy()
    assert np.array_equal(np.bincount(kinds), [15, 15, 15])
    x, v = rng.uniform(0.3, 0.7, (n, 2)).astype(np.float32), rng.normal(size=(n, 2)).astype(np.float32)
    affine = rng.normal(size=(n, 2, 2)).astype(np.float32)
    F = (np.eye(2) + rng.normal(size=(n, 2, 2)) * 0.02).astype(np.float32)
    plastic = rng.uniform(0.97, 1.03, n).astype(np.float32)
    for field, data in ((world.x, x), (world.v, v), (world.C, affine), (world.F, F), (world.Jp, plastic)):
        field.from_numpy(data)
    mass, momentum = np.zeros((cells, cells)), np.zeros((cells, cells, 2))
    elastic, yielded = np.zeros((n, 2, 2)), np.zeros(n)
    for p in range(n):
        place = x[p].astype(np.float64) / dx
        base = (place - 0.5).astype(int)
        f = place - base
        w = np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
        trial = (np.eye(2) + dt * affine[p].astype(np.float64)) @ F[p].astype(np.float64)
        force, elastic[p], yielded[p] = stress(trial, float(plastic[p]), kinds[p], mpm99)
        linear = -dt * mpm99["volume_of_particle"] * 4 / dx**2 * force + each * affine[p].astype(np.float64)
        for i in range(3):
            for j in range(3):
                at, weight = (base[0] + i, base[1] + j), w[i, 0] * w[j, 1]
                mass[at] += weight * each
                momentum[at] += weight * (each * v[p] + linear @ ((np.array([i, j]) - f) * dx))
    world.substep()
    np.testing.assert_allclose(world.F.to_numpy(), elastic, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(world.Jp.to_numpy(), yielded, rtol=2e-5)
    np.testing.assert_allclose(world.grid_m.to_numpy(), mass, rtol=1e-4, atol=1e-10)
    heavy = mass > 1e-2 * each
    wanted = momentum[heavy] / mass[heavy][:, None] - [0, dt * mpm99["gravity"]]
    np.testing.assert_allclose(world.grid_v.to_numpy()[heavy], wanted, rtol=2e-3, atol=2e-2)


def test_free_fall_keeps_momentum(load):
    mpm99 = load("mpm99")
    world = mpm99["Materials"](3000)
    world.fill()
    x = world.x.to_numpy()
    x[:, 1] = 0.3 + 0.5 * x[:, 1]  # nothing touches a wall
    world.x.from_numpy(x)
    each, dt = mpm99["mass_of_particle"], mpm99["dt"]
    for _ in range(60):
        world.substep()
    momentum = each * world.v.to_numpy().astype(np.float64).sum(axis=0)
    fallen = -each * 3000 * 60 * dt * mpm99["gravity"]
    np.testing.assert_allclose(momentum, [0, fallen], rtol=1e-3, atol=1e-3 * abs(fallen))
    assert world.grid_m.to_numpy().astype(np.float64).sum() == pytest.approx(3000 * each, rel=1e-5)
