"""B20: sorting, prefix sums, compaction, histograms of 16 Mi values."""

import numpy as np
from harness.case import Case, Reference

TITLE = "sort, scan, compaction, histogram of 16 Mi values"
COUNT = 1 << 24


def words(rng, n):
    return {"x": rng.integers(0, 1 << 32, n, np.uint32)}


def wholes(rng, n):
    return {"x": rng.integers(-8, 9, n, np.int8).astype(np.int32)}


def reals(rng, n):
    return {"x": rng.integers(0, 1 << 24, n, np.uint32).astype(np.float32) / np.float32(1 << 24)}


def compacted(x):
    out = np.zeros_like(x)
    odd = x[x % 2 == 1]
    out[: len(odd)] = odd
    return out


# Kind: inputs, what NumPy makes of them, the result's shape and dtype, bytes that a value moves at least beside the copy, and why
# Taichi and Quadrants have no such program.
KINDS = {
    "sort": (words, np.sort, lambda n: ((n,), "uint32"), 8, "their sorts take no u32"),
    "scan": (wholes, lambda x: np.cumsum(x, dtype=np.int32), lambda n: ((n,), "int32"), 12, "their prefix sums run on GPUs only"),
    "compact": (words, compacted, lambda n: ((n,), "uint32"), 6, "they have none"),
    "histogram": (
        reals,
        lambda x: np.histogram(x, 256, (0, 1))[0].astype(np.int64),
        lambda n: ((256,), "int64"),
        4,
        "they have none",
    ),
}


def case(kind):
    inputs, model, output, moved, why = KINDS[kind]
    return Case(
        name=kind,
        level="DRAM",
        program=f"algorithms:{kind}",
        parameters={"n": COUNT},
        smoke={"n": 1 << 15},
        inputs=inputs,
        model=lambda inputs, steps, n: {"out": model(inputs["x"])},
        outputs=lambda n: {"out": output(n)},
        reference=Reference("algorithms", kind, lambda n: (n,)),
        unit="value",
        work=lambda n: n,
        tolerance=(0.0, 0.0),
        traffic=lambda n: (8 + moved) * n,
        limit=("copy", COUNT),
        absent={"taichi": why, "quadrants": why},
        headline=kind == "sort",
        note="Hand-written: oneTBB's parallel_sort, or libstdc++'s with OpenMP." if kind == "sort" else "",
    )


def cases():
    return [case(kind) for kind in KINDS]
