"""B13: Poisson's equation on 128^3 cells by conjugate gradients with a multigrid V-cycle, dense and sparse."""

import numpy as np
from harness.case import Case

TITLE = "multigrid-preconditioned conjugate gradients"
LEVELS, SMOOTHING, BOTTOM = 4, 2, 50  # as programs/mgpcg.py


def inputs(rng, n, **_):
    x, y, z = np.meshgrid(*[(np.arange(n, dtype=np.float32) + 0.5) * (2 * np.pi / n)] * 3, indexing="ij")
    smooth = np.sin(x) * np.sin(2 * y) * np.sin(3 * z)
    return {"b": np.ascontiguousarray(smooth + rng.random((n, n, n), np.float32) - np.float32(0.5))}


def around(f):
    g = np.pad(f, 1)
    middle = slice(1, -1)
    total = np.zeros_like(f)
    for axis in range(3):
        for side in (slice(0, -2), slice(2, None)):
            total += g[tuple(side if a == axis else middle for a in range(3))]
    return total


def smooth(z, r, colour):
    chosen = np.indices(z.shape).sum(0) % 2 == colour
    z[chosen] = ((r + around(z)) / 6)[chosen]


def halved(f):
    """Sums of 2^3 cells."""
    m = len(f) // 2
    return f.reshape(m, 2, m, 2, m, 2).sum((1, 3, 5))


def cycle(r, level=0):
    """z of about A z = r: what the program's `precondition` computes."""
    z, rounds = np.zeros_like(r), SMOOTHING << level
    if level == LEVELS - 1:
        for _ in range(BOTTOM):
            smooth(z, r, 0)
            smooth(z, r, 1)
        return z
    for _ in range(rounds):
        smooth(z, r, 0)
        smooth(z, r, 1)
    coarse = cycle(0.5 * halved(r - (6 * z - around(z))), level + 1)
    z += coarse.repeat(2, 0).repeat(2, 1).repeat(2, 2)
    for _ in range(rounds):
        smooth(z, r, 1)
        smooth(z, r, 0)
    return z


def model(inputs, steps, n, iterations, **_):
    r = inputs["b"].astype(np.float64)
    x, z = np.zeros_like(r), cycle(r)
    p, old = z, (z * r).sum()
    for _ in range(iterations):
        q = 6 * p - around(p)
        alpha = old / (p * q).sum()
        x += alpha * p
        r -= alpha * q
        z = cycle(r)
        new = (z * r).sum()
        p, old = z + new / old * p, new
    return {"x": x.astype(np.float32)}


def case(name, program, smoke=None, headline=True, **parameters):
    return Case(
        name=f"MGPCG, 128^3 cells, {name}",
        program=f"mgpcg:{program}",
        parameters={"n": 128, "iterations": 3, **parameters},
        smoke={"n": 64, "iterations": 2, **(smoke or {})},
        inputs=inputs,
        model=model,
        outputs=lambda n, **_: {"x": ((n, n, n), "float32")},
        reference=None,
        unit="cell and iteration",
        work=lambda n, iterations, **_: n**3 * iterations,
        tolerance=(1e-3, 5e-3),
        headline=headline,
    )


def cases():
    yield case("fields", "dense", headline=False)
    yield case("pointer - dense 4^3", "sparse", leaf=4, masked=False, apart=False)
    yield case("pointer - bitmasked 8^3", "sparse", leaf=8, masked=True, apart=True, headline=False)
