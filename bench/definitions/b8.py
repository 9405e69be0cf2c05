"""B8: changing the topology of a sparse grid of 512^3 cells, a tenth of whose leaves are active."""

import numpy as np
from harness.case import Case, Reference

from definitions.b7 import leaves_of

TITLE = "topology of sparse grids: pointer - dense"


def inputs(rng, n, share):
    leaves = leaves_of(n, share)
    return {"leaves": np.ascontiguousarray(rng.permutation(leaves))}


def active(leaves, n):
    out = np.zeros((n // 8,) * 3, np.uint8)
    out[tuple(leaves.T)] = 1
    return out


def dilated(leaves, n):
    around = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return active((leaves[:, None] + around[None]).reshape(-1, 3), n)


def leaf_count(n, share):
    return len(leaves_of(n, share))


def case(name, program, work, unit, model):
    return Case(
        name=name,
        program=f"topology:{program}",
        parameters={"n": 512, "share": 0.1},
        smoke={"n": 64, "share": 0.1},
        inputs=inputs,
        model=lambda inputs, steps, n, share: {"active": model(inputs["leaves"], n)},
        outputs=lambda n, share: {"active": ((n // 8,) * 3, "uint8")},
        reference=Reference("topology", program, lambda n, share: (n, leaf_count(n, share))),
        unit=unit,
        work=work,
        tolerance=(0.0, 0.0),
    )


def cells(n, share):
    return 512 * leaf_count(n, share)


def cases():
    yield case("clear, then write every cell again", "refill", cells, "cell", active)
    yield case("write every cell, nothing changes", "unchanged", cells, "cell", active)
    yield case("clear, then activate around each leaf", "dilate", leaf_count, "leaf", dilated)
    yield case("activate around each leaf, nothing changes", "dilate_unchanged", leaf_count, "leaf", dilated)
