"""B1: saxpy, fill, copy, triad over f32 arrays, in L2 and in DRAM (1 GiB and more)."""

import numpy as np
from harness.case import Case, Reference

TITLE = "one pass over f32 arrays"
A = np.float32(0.25)
ARRAYS = {"saxpy": 2, "fill": 1, "copy": 2, "triad": 3}  # how many each touches
BYTES = {"saxpy": 12, "fill": 4, "copy": 8, "triad": 12}  # a value, at least
MODELS = {
    "saxpy": lambda x, y: y + A * x,
    "fill": lambda x, y: np.full_like(x, A),
    "copy": lambda x, y: x.copy(),
    "triad": lambda x, y: x + A * y,
}


def inputs(rng, n):
    return {"x": rng.random(n, np.float32), "y": rng.random(n, np.float32)}


def case(kind, over, level, n):
    return Case(
        name=f"{kind}, {over}",
        level=level,
        program=f"stream:{kind}_{'field' if over == 'field' else 'array'}",
        parameters={"n": n},
        smoke={"n": 1 << 12},
        inputs=inputs,
        model=lambda inputs, steps, n: {"out": MODELS[kind](inputs["x"], inputs["y"])},
        outputs=lambda n: {"out": ((n,), "float32")},
        reference=Reference("stream", kind, lambda n: (n,), ("plain", "stores around the caches")),
        unit="value",
        work=lambda n: n,
        traffic=lambda n: BYTES[kind] * n,
        limit="hand",
        headline=kind == "saxpy" or (kind == "copy" and level == "DRAM"),
    )


def cases():
    for level, total in (("L2", 1 << 18), ("DRAM", 1 << 30)):
        for kind, arrays in ARRAYS.items():
            n = total // 4 // arrays // 4096 * 4096
            if n * 4 * arrays < total and level == "DRAM":
                n += 4096
            for over in ("field", "ndarray"):
                yield case(kind, over, level, n)
