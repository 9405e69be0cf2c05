"""Stable fluid: each step against NumPy, and what carrying and pressure must keep."""

import numpy as np
import pytest
import seeded

N = 40


@pytest.fixture
def program(load):
    return load("stable_fluid", "--size", N)


def smooth(channels, waves=3):
    """A random sum of a few long waves, of shape (N, N, channels)."""
    random = seeded.generator(f"smooth {channels}")
    at = (np.arange(N) + 0.5) / N
    found = np.zeros((N, N, channels))
    for a in range(1, waves + 1):
        for b in range(1, waves + 1):
            found += random.normal(size=channels) * (np.sin(np.pi * a * at)[:, None] * np.sin(np.pi * b * at))[..., None]
    return found.astype(np.float32)


def numpy_mixed(f, p):
    corner = np.floor(p - 0.5)
    share = p - 0.5 - corner
    i, j = corner.astype(int).transpose(2, 0, 1)
    at = lambda i, j: f[np.clip(i, 0, N - 1), np.clip(j, 0, N - 1)]
    fx, fy = share[..., :1], share[..., 1:]
    low = at(i, j) * (1 - fx) + at(i + 1, j) * fx
    high = at(i, j + 1) * (1 - fx) + at(i + 1, j + 1) * fx
    return low * (1 - fy) + high * fy


def test_a_carried_field_equals_numpys(program):
    flow, smoke = 50 * smooth(2), smooth(3)
    program["velocity"].now.from_numpy(flow)
    program["dye"].now.from_numpy(smoke)
    program["advect"](program["velocity"].now, program["dye"].now, program["dye"].later, 0.9)
    dt, here = program["dt"], np.stack(np.mgrid[:N, :N], -1) + 0.5
    flow = flow.astype(float)
    expected = 0.9 * numpy_mixed(smoke.astype(float), here - dt * numpy_mixed(flow, here - 0.5 * dt * flow))
    found = program["dye"].later.to_numpy()
    assert np.abs(found - 0.9 * smoke).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(smoke).max())


def test_what_is_carried_stays_within_its_range(program):
    random = seeded.generator("test_what_is_carried_stays_within_its_range")
    smoke = random.uniform(0.2, 0.8, (N, N, 3)).astype(np.float32)
    program["velocity"].now.from_numpy(random.normal(0, 100, (N, N, 2)).astype(np.float32))
    program["dye"].now.from_numpy(smoke)
    program["advect"](program["velocity"].now, program["dye"].now, program["dye"].later, 1.0)
    found = program["dye"].later.to_numpy()
    assert found.min() > smoke.min() - 1e-6 and found.max() < smoke.max() + 1e-6
    program["dye"].now.fill(0.625)
    program["advect"](program["velocity"].now, program["dye"].now, program["dye"].later, 1.0)
    np.testing.assert_allclose(program["dye"].later.to_numpy(), 0.625, atol=1e-6)


def test_divergence_and_relaxation_equal_numpys(program):
    flow, p = smooth(2), smooth(1)[..., 0]
    program["velocity"].now.from_numpy(flow)
    program["pressure"].now.from_numpy(p)
    program["measure"](program["velocity"].now)
    padded = np.pad(flow, ((1, 1), (1, 1), (0, 0)), mode="edge")
    padded[0, :, 0] *= -1
    padded[-1, :, 0] *= -1
    padded[:, 0, 1] *= -1
    padded[:, -1, 1] *= -1
    divergence = 0.5 * (padded[2:, 1:-1, 0] - padded[:-2, 1:-1, 0] + padded[1:-1, 2:, 1] - padded[1:-1, :-2, 1])
    np.testing.assert_allclose(program["divergence"].to_numpy(), divergence, atol=1e-5)
    program["relax"](program["pressure"].now, program["pressure"].later)
    padded = np.pad(p, 1, mode="edge")
    around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
    np.testing.assert_allclose(program["pressure"].later.to_numpy(), 0.25 * (around - divergence), atol=1e-5)


def test_pressure_takes_the_divergence_away(program):
    program["velocity"].now.from_numpy(smooth(2))
    program["measure"](program["velocity"].now)
    before = program["divergence"].to_numpy()[2:-2, 2:-2]
    program.update(jacobi_steps=4000)
    program["project"]()
    program["measure"](program["velocity"].now)
    after = program["divergence"].to_numpy()[2:-2, 2:-2]
    assert np.linalg.norm(after) < 0.1 * np.linalg.norm(before)


def test_a_mirrored_push_gives_a_mirrored_flow(program):
    place, force, color = 0.25 * N, 900.0, program["ti"].Vector([1.0, 1.0, 1.0])
    results = []
    for side in (1, -1):
        for pair in (program["velocity"], program["pressure"], program["dye"]):
            pair.now.fill(0)
        x = place if side == 1 else N - place
        for _ in range(10):
            program["step"]([(x, 0.5 * N, program["ti"].Vector([side * force, 0.0]), color)])
        results.append(program["dye"].now.to_numpy())
    assert results[0].std() > 0.01
    np.testing.assert_allclose(results[0], results[1][::-1], atol=1e-4)
