"""B14: gradients of simulations: the run forward, and the run with its gradient, which a Tape takes back."""

import numpy as np
from harness.case import Case

TITLE = "gradients: a wave of 100 steps, a material point method"


def wave_inputs(rng, n, turns, backward):
    return {"u": rng.random((n, n), np.float32), "target": rng.random((n, n), np.float32)}


def wave_model(inputs, steps, n, turns, backward):
    """The gradient of a linear recurrence is the recurrence, backwards."""
    u = np.zeros((turns + 2, n, n))
    u[0] = u[1] = inputs["u"]
    inner = slice(1, -1)

    def spread(a):
        around = a[2:, inner] + a[:-2, inner] + a[inner, 2:] + a[inner, :-2]
        return around - 4 * a[inner, inner]

    for t in range(2, turns + 2):
        u[t, inner, inner] = 2 * u[t - 1, inner, inner] - u[t - 2, inner, inner] + 0.1 * spread(u[t - 1])
    difference = u[turns + 1] - inputs["target"]
    found = {"loss": np.array([(difference**2).sum()])}
    if backward:
        g = np.zeros_like(u)
        g[turns + 1] = 2 * difference
        for t in range(turns + 1, 1, -1):
            h = np.zeros((n, n))
            h[inner, inner] = g[t, inner, inner]
            g[t] = 0
            g[t - 2] -= h
            g[t - 1] += 2 * h - 0.4 * h
            g[t - 1, 1:] += 0.1 * h[:-1]
            g[t - 1, :-1] += 0.1 * h[1:]
            g[t - 1, :, 1:] += 0.1 * h[:, :-1]
            g[t - 1, :, :-1] += 0.1 * h[:, 1:]
        found["gradient"] = g[0]
    return found


def wave_outputs(n, turns, backward):
    found = {"loss": ((1,), "float32")}
    return {**found, "gradient": ((n, n), "float32")} if backward else found


def mpm_inputs(rng, particles, n, turns, backward):
    return {"x": (0.3 + 0.3 * rng.random((particles, 2))).astype(np.float32)}


def mpm_loss(inputs, particles, n, turns, start):
    """The loss for a first velocity, in f64."""
    dt, dx, one = 3e-4, 1 / n, np.eye(2)
    x, v = inputs["x"].astype(float), np.tile(start, (particles, 1))
    c, f = np.zeros((particles, 2, 2)), np.tile(one, (particles, 1, 1))
    for _ in range(turns):
        base = (x / dx - 0.5).astype(int)
        fx = x / dx - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        f = (one + dt * c) @ f
        j = np.linalg.det(f)[:, None, None]
        cauchy = 5.0 * (f @ f.transpose(0, 2, 1) - one) + 5.0 * j * (j - 1) * one
        affine = -(dt * 4 / dx**2) * cauchy * 1e-4 + c
        momentum, mass = np.zeros((n, n, 2)), np.zeros((n, n))
        cells = [(a, b) for a in range(3) for b in range(3)]
        for a, b in cells:
            weight = w[a][:, 0] * w[b][:, 1]
            at = (base[:, 0] + a, base[:, 1] + b)
            apart = (np.array([a, b]) - fx) * dx
            np.add.at(momentum, at, weight[:, None] * (v + (affine @ apart[:, :, None])[:, :, 0]))
            np.add.at(mass, at, weight)
        out = momentum / (mass + 1e-10)[:, :, None]
        out[..., 1] -= dt * 9.8
        out[:3, :, 0] = np.maximum(out[:3, :, 0], 0)
        out[n - 2 :, :, 0] = np.minimum(out[n - 2 :, :, 0], 0)
        out[:, :3, 1] = np.maximum(out[:, :3, 1], 0)
        out[:, n - 2 :, 1] = np.minimum(out[:, n - 2 :, 1], 0)
        v, c = np.zeros_like(v), np.zeros_like(c)
        for a, b in cells:
            weight = (w[a][:, 0] * w[b][:, 1])[:, None]
            g = out[base[:, 0] + a, base[:, 1] + b]
            v += weight * g
            c += 4 * weight[:, :, None] * g[:, :, None] * (np.array([a, b]) - fx)[:, None, :] / dx
        x = x + dt * v
    return ((x - [0.7, 0.5]) ** 2).sum() / particles


def mpm_model(inputs, steps, particles, n, turns, backward):
    start, step = np.array([0.5, 1.0]), 1e-5
    loss = lambda v: mpm_loss(inputs, particles, n, turns, v)
    found = {"loss": np.array([loss(start)])}
    if backward:
        found["gradient"] = np.array([(loss(start + step * e) - loss(start - step * e)) / (2 * step) for e in np.eye(2)])
    return found


def mpm_outputs(particles, n, turns, backward):
    found = {"loss": ((1,), "float32")}
    return {**found, "gradient": ((2,), "float32")} if backward else found


def cases():
    for backward in (False, True):
        how = "forward and backward" if backward else "forward"
        yield Case(
            name=f"wave, 1024 x 1024, 100 steps, {how}",
            program="gradients:wave",
            parameters={"n": 1024, "turns": 100, "backward": backward},
            smoke={"n": 20, "turns": 6, "backward": backward},
            inputs=wave_inputs,
            model=wave_model,
            outputs=wave_outputs,
            reference=None,
            unit="cell and step",
            work=lambda n, turns, backward: n * n * turns,
            # Gradients are 20 (rms) and cross zero: 100 steps in f32 are off by up to 4e-4 here, 4e-3 in Taichi.
            tolerance=(2e-4, 1e-2),
            steps=1,
        )
    for backward in (False, True):
        how = "forward and backward" if backward else "forward"
        yield Case(
            name=f"mpm, 30,000 particles, 64 x 64 cells, 100 steps, {how}",
            program="gradients:mpm",
            parameters={"particles": 30000, "n": 64, "turns": 100, "backward": backward},
            smoke={"particles": 40, "n": 16, "turns": 4, "backward": backward},
            inputs=mpm_inputs,
            model=mpm_model,
            outputs=mpm_outputs,
            reference=None,
            unit="particle and step",
            work=lambda particles, n, turns, backward: particles * turns,
            tolerance=(1e-3, 1e-5),
            steps=1,
        )
