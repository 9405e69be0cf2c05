"""Smoke on the cells that it reaches, against NumPy on all cells of which it computes the same ones."""

import numpy as np


def shifted(a, i, j):
    """a at (x + i, y + j) in cell (x, y); 0 outside."""
    padded = np.pad(a, [(1, 1), (1, 1)] + [(0, 0)] * (a.ndim - 2))
    return padded[1 + i : 1 + i + a.shape[0], 1 + j : 1 + j + a.shape[1]]


def sampled(a, at):
    low = np.floor(at).astype(int)
    f, total = at - low, 0
    padded = np.pad(a, [(4, 4), (4, 4)] + [(0, 0)] * (a.ndim - 2))
    for k in (0, 1):
        for l in (0, 1):
            weight = (f[..., 0] if k else 1 - f[..., 0]) * (f[..., 1] if l else 1 - f[..., 1])
            value = padded[(low[..., 0] + k + 4).clip(0, len(padded) - 1), (low[..., 1] + l + 4).clip(0, len(padded) - 1)]
            total = total + weight.reshape(weight.shape + (1,) * (a.ndim - 2)) * value
    return total


def around_of(cells, margin):
    """The cells within the margin of those."""
    found = np.zeros_like(cells)
    for i, j in np.argwhere(cells):
        found[max(i - margin, 0) : i + margin + 1, max(j - margin, 0) : j + margin + 1] = True
    return found


def step(program, density, velocity):
    """Density and velocity after a step, before cells are given up."""
    fastest, n = program["fastest"], len(density)
    active = around_of(density >= program["least"], program["margin"])
    at = np.stack(np.indices((n, n)), -1) - program["dt"] * velocity
    carried = sampled(density, at) * active
    velocity = sampled(velocity, at) + [0, program["dt"] * program["lift"]] * carried[..., None]
    velocity = velocity.clip(-fastest, fastest) * active[..., None]
    u, v = velocity[..., 0], velocity[..., 1]
    divergence = 0.5 * (shifted(u, 1, 0) - shifted(u, -1, 0) + shifted(v, 0, 1) - shifted(v, 0, -1)) * active
    pressure = np.zeros((n, n))
    around = lambda a: shifted(a, 1, 0) + shifted(a, -1, 0) + shifted(a, 0, 1) + shifted(a, 0, -1)
    for _ in range(program["pressure_rounds"]):
        pressure = 0.25 * (around(pressure) - divergence) * active
    gradient = [shifted(pressure, 1, 0) - shifted(pressure, -1, 0), shifted(pressure, 0, 1) - shifted(pressure, 0, -1)]
    velocity = velocity - 0.5 * np.stack(gradient, -1) * active[..., None]
    return program["thinning"] * carried, velocity


def test_steps_equal_numpys(load):
    program = load("sparse/smoke", "--size", 64)
    smoke = program["Smoke"].new()
    program["blow"](smoke, 30, 12, 6)
    for _ in range(12):
        density, velocity = smoke.density.to_numpy().astype(float), smoke.velocity.to_numpy().astype(float)
        program["step"](smoke)
        density, velocity = step(program, density, velocity)
        kept = around_of(density >= program["least"], program["margin"])
        sure = ~around_of(abs(density - program["least"]) < 1e-5, program["margin"])  # elsewhere rounding decides
        np.testing.assert_allclose(smoke.density.to_numpy()[sure], (density * kept)[sure], atol=2e-5)
        np.testing.assert_allclose(smoke.velocity.to_numpy()[sure], (velocity * kept[..., None])[sure], atol=2e-5)


def test_the_tree_grows_with_the_smoke_and_ends_with_it(load):
    program = load("sparse/smoke", "--size", 96)
    smoke = program["Smoke"].new()
    used, tops = [], []
    for k in range(700):
        if k < 60:
            program["blow"](smoke, 48, 12, 5)
        program["step"](smoke)
        density = smoke.density.to_numpy()
        assert density.min() >= 0 and density.max() <= 1.00001  # carrying makes nothing thicker
        near = around_of(density >= program["least"], program["margin"])
        assert not density[~near].any()
        used.append(smoke.stats()["blocks"].used)
        assert used[-1] <= near.reshape(6, 16, 6, 16).any((1, 3)).sum()
        tops.append(np.nonzero(density.any(0))[0].max(initial=0))
        if used[-1] == 0:
            break
    assert used[0] < 6 < max(used) and max(tops) > 40
    assert used[-1] == 0 and k > 60
    assert smoke.check() is None
