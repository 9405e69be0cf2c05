"""B3: sum, dot, min and max, argmin of 64 Mi f32.

The values are small whole numbers, so that every order of additions gives the same sum.
"""

import numpy as np
from harness.case import Case, Reference

TITLE = "reductions of 64 Mi f32 to a number"
COUNT = 1 << 26


def wholes(rng, n):
    return {name: rng.integers(-8, 9, n, np.int8).astype(np.float32) for name in ("x", "y")}


def reals(rng, n):
    return {"x": rng.random(n, np.float32)}


MODELS = {
    "sum": lambda x, y: [x.sum(dtype=np.float64)],
    "dot": lambda x, y: [np.dot(x.astype(np.float64), y.astype(np.float64))],
    "min and max": lambda x, y: [x.min(), x.max()],
    "argmin": lambda x, y: [x.argmin()],
}
PROGRAMS = {"sum": "sum_", "dot": "dot", "min and max": "min_max", "argmin": "argmin"}


def case(kind):
    model, arrays = MODELS[kind], 2 if kind == "dot" else 1
    return Case(
        name=kind,
        level="DRAM",
        program=f"reduce:{PROGRAMS[kind]}",
        parameters={"n": COUNT},
        smoke={"n": 1 << 14},
        inputs=wholes if kind in ("sum", "dot") else reals,
        model=lambda inputs, steps, n: {"out": np.array(model(inputs["x"], inputs.get("y")), np.float64)},
        outputs=lambda n: {"out": ((2 if kind == "min and max" else 1,), "float64")},
        reference=Reference("reduce", PROGRAMS[kind], lambda n: (n,)),
        unit="value",
        work=lambda n: n,
        tolerance=(0.0, 0.0),
        traffic=lambda n: 4 * arrays * n,
        limit=("read", COUNT),
        headline=kind in ("sum", "argmin"),
        note="argmin of the packages looks for the least value, then for its index; only Metate reads most values once."
        if kind == "argmin"
        else "",
    )


def cases():
    return [case(kind) for kind in MODELS]
