"""B2: Jacobi sweeps, 5 points in 2-D and 7 in 3-D, f32 in DRAM."""

import numpy as np
from harness.case import Case, Reference

TITLE = "Jacobi sweeps over dense fields"
VARIANTS = ("plain", "stores around the caches")


def inputs2(rng, n):
    return {"a": rng.random((n, n), np.float32)}


def inputs3(rng, n):
    return {"a": rng.random((n, n, n), np.float32)}


def model2(inputs, steps, n):
    a, b = inputs["a"], np.zeros((n, n), np.float32)
    b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return {"b": b}


def model3(inputs, steps, n):
    a, b = inputs["a"], np.zeros((n, n, n), np.float32)
    m = slice(1, -1)
    around = a[:-2, m, m] + a[2:, m, m] + a[m, :-2, m] + a[m, 2:, m] + a[m, m, :-2] + a[m, m, 2:]
    b[m, m, m] = 0.4 * a[m, m, m] + 0.1 * around
    return {"b": b}


def cases():
    yield Case(
        name="5 points, 8192 x 8192",
        level="DRAM",
        program="jacobi:sweep2",
        parameters={"n": 8192},
        smoke={"n": 40},
        inputs=inputs2,
        model=model2,
        outputs=lambda n: {"b": ((n, n), "float32")},
        reference=Reference("jacobi", "sweep2", lambda n: (n,), VARIANTS),
        unit="cell",
        work=lambda n: (n - 2) ** 2,
        traffic=lambda n: 8 * n * n,
        limit=("copy", 8192 * 8192),
    )
    yield Case(
        name="7 points, 512 x 512 x 512",
        level="DRAM",
        program="jacobi:sweep3",
        parameters={"n": 512},
        smoke={"n": 24},
        inputs=inputs3,
        model=model3,
        outputs=lambda n: {"b": ((n, n, n), "float32")},
        reference=Reference("jacobi", "sweep3", lambda n: (n,), VARIANTS),
        unit="cell",
        work=lambda n: (n - 2) ** 3,
        traffic=lambda n: 8 * n**3,
        limit=("copy", 1 << 27),
    )
