"""B6: material point methods: mpm88 of two sizes, mpm99, and mpm3d's transfers to and from the grid."""

import numpy as np
from harness.case import Case, Reference

TITLE = "material point methods"
SCATTERS = ("atomics", "sorted into slabs of two colours")


def weights(x, inverse):
    """(first node i32[n, d], distance from it f32[n, d], weights f32[3, n, d]) of each particle."""
    base = (x * inverse - np.float32(0.5)).astype(np.int32)
    fx = x * inverse - base.astype(np.float32)
    return base, fx, np.stack([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2])


def nodes(base, w):
    """Per node of the neighbourhood: its offset, its index per particle, its weight per particle."""
    dimensions = base.shape[1]
    for offset in np.ndindex(*(3,) * dimensions):
        weight = np.prod([w[offset[d], :, d] for d in range(dimensions)], axis=0)
        yield np.array(offset), tuple((base + offset).T), weight


def scatter(x, v, affine, mass, grid, inverse):
    """(velocity times mass, mass) of the grid."""
    dimensions, dx = x.shape[1], 1.0 / inverse
    grid_v, grid_m = np.zeros((grid,) * dimensions + (dimensions,)), np.zeros((grid,) * dimensions)
    base, fx, w = weights(x, inverse)
    for offset, at, weight in nodes(base, w):
        dpos = (offset - fx) * dx
        np.add.at(grid_v, at, weight[:, None] * (mass * v + np.einsum("pij,pj->pi", affine, dpos)))
        np.add.at(grid_m, at, weight * mass)
    return grid_v, grid_m


def gather(x, grid_v, inverse):
    """(v, C) of the particles; C as the derivative of the velocity."""
    base, fx, w = weights(x, inverse)
    v, C = np.zeros(x.shape), np.zeros((*x.shape, x.shape[1]))
    for offset, at, weight in nodes(base, w):
        g_v = grid_v[at]
        v += weight[:, None] * g_v
        C += 4.0 * inverse * weight[:, None, None] * g_v[:, :, None] * (offset - fx)[:, None, :]
    return v, C


def walls(grid_v, grid):
    for axis in range(2):
        face = np.moveaxis(grid_v, axis, 0)
        face[:3, :, axis] = np.maximum(face[:3, :, axis], 0.0)
        face[grid - 2 :, :, axis] = np.minimum(face[grid - 2 :, :, axis], 0.0)


def inputs88(rng, particles, grid, dt):
    return {"x": rng.random((particles, 2), np.float32) * np.float32(0.4) + np.float32(0.2)}


def model88(inputs, steps, particles, grid, dt):
    x, v = inputs["x"].astype(np.float64), np.tile([0.0, -1.0], (particles, 1))
    C, J = np.zeros((particles, 2, 2)), np.ones(particles)
    inverse, mass = float(grid), (0.5 / grid) ** 2
    for _ in range(steps):
        stress = -dt * 4.0 * 400.0 * mass * (J - 1.0) * inverse * inverse
        grid_v, grid_m = scatter(x, v, stress[:, None, None] * np.eye(2) + mass * C, mass, grid, inverse)
        grid_v[grid_m > 0] /= grid_m[grid_m > 0][:, None]
        grid_v[..., 1] -= dt * 9.8
        walls(grid_v, grid)
        v, C = gather(x, grid_v, inverse)
        x = x + dt * v
        J = J * (1.0 + dt * np.trace(C, axis1=1, axis2=2))
    return {"x": x, "v": v}


def inputs99(rng, particles, grid, dt):
    each = particles // 3
    kind = np.minimum(np.arange(particles) // each, 2)
    x = rng.random((particles, 2), np.float32) * np.float32(0.2)
    x += np.stack([0.3 + 0.10 * kind, 0.05 + 0.32 * kind], axis=1).astype(np.float32)
    return {"x": x, "material": kind.astype(np.int32)}


def model99(inputs, steps, particles, grid, dt):
    x, material = inputs["x"].astype(np.float64), inputs["material"]
    v, C, Jp = np.zeros((particles, 2)), np.zeros((particles, 2, 2)), np.ones(particles)
    F = np.tile(np.eye(2), (particles, 1, 1))
    inverse, mass, hardness, poisson = float(grid), (0.5 / grid) ** 2, 1000.0, 0.2
    mu_0, lambda_0 = hardness / (2 * (1 + poisson)), hardness * poisson / ((1 + poisson) * (1 - 2 * poisson))
    liquid, snow = material == 0, material == 2
    for _ in range(steps):
        F = (np.eye(2) + dt * C) @ F
        h = np.where(material == 1, 0.3, np.exp(10.0 * (1.0 - Jp)))
        mu, la = np.where(liquid, 0.0, mu_0 * h), lambda_0 * h
        U, sig, Vt = np.linalg.svd(F)
        new = np.where(snow[:, None], np.clip(sig, 1.0 - 2.5e-2, 1.0 + 4.5e-3), sig)
        Jp, J = Jp * np.prod(sig / new, axis=1), np.prod(new, axis=1)
        F[liquid] = np.eye(2) * np.sqrt(J[liquid])[:, None, None]
        F[snow] = ((U * new[:, None, :]) @ Vt)[snow]
        stress = 2.0 * mu[:, None, None] * (F - U @ Vt) @ F.transpose(0, 2, 1) + (la * J * (J - 1.0))[:, None, None] * np.eye(2)
        affine = -dt * mass * 4.0 * inverse * inverse * stress + mass * C
        grid_v, grid_m = scatter(x, v, affine, mass, grid, inverse)
        full = grid_m > 0
        grid_v[full] /= grid_m[full][:, None]
        grid_v[full, 1] -= dt * 50.0
        walls(grid_v, grid)
        v, C = gather(x, grid_v, inverse)
        x = x + dt * v
    return {"x": x, "v": v}


def inputs_p2g(rng, particles, grid):
    return {
        "x": rng.random((particles, 3), np.float32) * np.float32(0.6) + np.float32(0.2),
        "v": rng.random((particles, 3), np.float32) - np.float32(0.5),
        "C": rng.random((particles, 3, 3), np.float32) - np.float32(0.5),
        "J": rng.random(particles, np.float32) * np.float32(0.2) + np.float32(0.9),
    }


def model_p2g(inputs, steps, particles, grid):
    x, v, C, J = (inputs[name].astype(np.float64) for name in ("x", "v", "C", "J"))
    inverse, mass = float(grid), (0.5 / grid) ** 2
    stress = -1e-4 * 4.0 * 400.0 * mass * (J - 1.0) * inverse * inverse
    grid_v, grid_m = scatter(x, v, stress[:, None, None] * np.eye(3) + mass * C, mass, grid, inverse)
    return {"m": grid_m / mass, "v": grid_v / mass}


def inputs_g2p(rng, particles, grid):
    x = rng.random((particles, 3), np.float32) * np.float32(0.6) + np.float32(0.2)
    return {"x": x, "grid_v": rng.random((grid, grid, grid, 3), np.float32) - np.float32(0.5)}


def model_g2p(inputs, steps, particles, grid):
    v, C = gather(inputs["x"].astype(np.float64), inputs["grid_v"].astype(np.float64), float(grid))
    return {"v": v, "C": C / grid}


def particles2(particles, grid, dt):
    return {name: ((particles, 2), "float32") for name in ("x", "v")}


def case88(particles, grid, dt, steps):
    return Case(
        name=f"mpm88 substep, {particles:,} particles on {grid} x {grid}",
        program="mpm:mpm88",
        parameters={"particles": particles, "grid": grid, "dt": dt},
        smoke={"particles": 500, "grid": 32, "dt": 2e-4},
        inputs=inputs88,
        model=model88,
        outputs=particles2,
        reference=Reference("mpm2d", "mpm88", lambda particles, grid, dt: (particles, grid, dt), SCATTERS),
        unit="particle",
        work=lambda particles, grid, dt: particles,
        tolerance=(1e-3, 1e-3),
        check_steps=4,
        steps=steps,
    )


def cases():
    yield case88(8192, 128, 2e-4, 20)
    yield case88(1 << 20, 1024, 2e-5, 2)
    yield Case(
        name="mpm99 substep, 9,000 particles on 128 x 128",
        program="mpm:mpm99",
        parameters={"particles": 9000, "grid": 128, "dt": 1e-4},
        smoke={"particles": 600, "grid": 32},
        inputs=inputs99,
        model=model99,
        outputs=particles2,
        reference=Reference("mpm2d", "mpm99", lambda particles, grid, dt: (particles, grid, dt), SCATTERS),
        unit="particle",
        work=lambda particles, grid, dt: particles,
        tolerance=(1e-3, 1e-3),
        check_steps=4,
        steps=20,
    )
    yield Case(
        name="mpm3d P2G, 1 Mi particles on 128 x 128 x 128",
        program="mpm:p2g3",
        parameters={"particles": 1 << 20, "grid": 128},
        smoke={"particles": 800, "grid": 24},
        inputs=inputs_p2g,
        model=model_p2g,
        outputs=lambda particles, grid: {"m": ((grid,) * 3, "float32"), "v": ((*(grid,) * 3, 3), "float32")},
        reference=Reference("mpm3d", "p2g", lambda particles, grid: (particles, grid), SCATTERS),
        unit="particle",
        work=lambda particles, grid: particles,
        tolerance=(1e-4, 1e-3),
    )
    yield Case(
        name="mpm3d G2P, 1 Mi particles on 128 x 128 x 128",
        program="mpm:g2p3",
        parameters={"particles": 1 << 20, "grid": 128},
        smoke={"particles": 800, "grid": 24},
        inputs=inputs_g2p,
        model=model_g2p,
        outputs=lambda particles, grid: {"v": ((particles, 3), "float32"), "C": ((particles, 3, 3), "float32")},
        reference=Reference("mpm3d", "g2p", lambda particles, grid: (particles, grid)),
        unit="particle",
        work=lambda particles, grid: particles,
        tolerance=(1e-4, 1e-3),
    )
