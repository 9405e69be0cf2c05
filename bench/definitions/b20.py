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


def distinct(rng, n):
    """Keys of which no two are equal: only one order of the values is right then."""
    return {"keys": rng.permutation(n).astype(np.uint32) * np.uint32(2654435761)}


def in_pairs(inputs):
    order = np.argsort(inputs["keys"])
    return {"keys": inputs["keys"][order], "values": order.astype(np.int32)}


def alone(model):
    return lambda inputs: {"out": model(inputs["x"])}


# Kind: inputs, what NumPy makes of them, the results' shapes and dtypes, bytes that a value moves at least beside the copy,
# and why Taichi and Quadrants have no such program.
KINDS = {
    "sort": (words, alone(np.sort), lambda n: {"out": ((n,), "uint32")}, 8, "their sorts take no u32"),
    "pairs": (distinct, in_pairs, lambda n: {"keys": ((n,), "uint32"), "values": ((n,), "int32")}, 16, "their sorts take no u32"),
    "scan": (
        wholes,
        alone(lambda x: np.cumsum(x, dtype=np.int32)),
        lambda n: {"out": ((n,), "int32")},
        12,
        "their prefix sums run on GPUs only",
    ),
    "compact": (words, alone(compacted), lambda n: {"out": ((n,), "uint32")}, 6, "they have none"),
    "histogram": (
        reals,
        alone(lambda x: np.histogram(x, 256, (0, 1))[0].astype(np.int64)),
        lambda n: {"out": ((256,), "int64")},
        4,
        "they have none",
    ),
}
# How programs say it: the program, what it is called, and the kind. The first of a kind keeps its plan, and has NumPy's memory.
SPELLINGS = (
    ("sort", "sort", "sort"),
    ("sort_once", "sort, the function", "sort"),
    ("sort_ndarray", "sort, an ndarray", "sort"),
    ("sort_field", "sort, a field and the function", "sort"),
    ("pairs", "sort of keys with values", "pairs"),
    ("pairs_aos", "sort of keys with values, a struct field", "pairs"),
    ("pairs_soa", "sort of keys with values, a struct field (SOA)", "pairs"),
    ("scan", "scan", "scan"),
    ("scan_once", "scan, a plan each time", "scan"),
    ("scan_field", "scan, a field", "scan"),
    ("compact", "compact", "compact"),
    ("compact_mask", "compact, the function by a mask", "compact"),
    ("compact_field", "compact, a field and the function", "compact"),
    ("histogram", "histogram", "histogram"),
    ("histogram_once", "histogram, the function", "histogram"),
    ("histogram_field", "histogram, a field", "histogram"),
)
NOTES = {
    "sort": "Hand-written: oneTBB's parallel_sort, or libstdc++'s with OpenMP.",
    "pairs": "Hand-written: the same of pairs, which are made in the copy.",
    "compact_mask": "The mask is NumPy's, made in each step by one thread.",
}


def case(program, name, kind):
    inputs, model, outputs, moved, why = KINDS[kind]
    return Case(
        name=name,
        level="DRAM",
        program=f"algorithms:{program}",
        parameters={"n": COUNT},
        smoke={"n": 1 << 15},
        inputs=inputs,
        model=lambda inputs, steps, n: model(inputs),
        outputs=outputs,
        reference=Reference("algorithms", kind, lambda n: (n,)),
        unit="value",
        work=lambda n: n,
        tolerance=(0.0, 0.0),
        traffic=lambda n: (8 + moved) * n,
        limit=("copy", COUNT),
        absent={"taichi": why, "quadrants": why},
        headline=program == "sort",
        note=NOTES.get(program, ""),
    )


def cases():
    return [case(*spelling) for spelling in SPELLINGS]
