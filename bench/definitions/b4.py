"""B4: n-body, all pairs, f32."""

import numpy as np
from harness.case import Case, Reference

TITLE = "n-body, all pairs"
OPERATIONS = 19  # a pair: 3 differences, 6 of the distance, 2 of its root's inverse, 2 of its cube, 6 of the sums


def inputs(rng, n):
    return {"pos": rng.random((n, 3), np.float32)}


def model(inputs, steps, n):
    pos = inputs["pos"].astype(np.float64)
    d = pos[None] - pos[:, None]
    return {"acc": (d * ((d * d).sum(axis=2) + 1e-4)[..., None] ** -1.5).sum(axis=1)}


def case(n):
    return Case(
        name=f"{n:,} bodies",
        level="L2",
        program="nbody:accelerations",
        parameters={"n": n},
        smoke={"n": 192},
        inputs=inputs,
        model=model,
        outputs=lambda n: {"acc": ((n, 3), "float32")},
        reference=Reference("nbody", "accelerations", lambda n: (n,), ("plain", "arrays of coordinates", "64 bodies in lanes")),
        unit="pair",
        work=lambda n: n * n,
        tolerance=(1e-4, 0.5),  # sums of some thousand terms of both signs, in f32
        traffic=lambda n: OPERATIONS * n * n,
        limit=("fma", 1 << 30),
        headline=n == 16384,
        note="'Of limit' of n-body: 19 operations a pair against the multiply-adds (two operations each) of a program that "
        "does nothing else; a root's inverse counts as two.",
    )


def cases():
    yield case(16384)
    yield case(65536)
