"""B8: changing the topology of a sparse grid of 512^3 cells, a tenth of whose leaves are active."""

import numpy as np
from harness.case import Case, Reference

from definitions.b7 import leaves_of

TITLE = "topology of sparse grids: pointer - dense, pointer - bitmasked"
TOUCHED, MERGED = "leaves touched by one thread, filled by all", "a tree a thread, merged"


def inputs(rng, n, share, masked):
    leaves = leaves_of(n, share)
    return {"leaves": np.ascontiguousarray(rng.permutation(leaves))}


def active(leaves, n):
    out = np.zeros((n // 8,) * 3, np.uint8)
    out[tuple(leaves.T)] = 1
    return out


def dilated(leaves, n):
    around = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return active((leaves[:, None] + around[None]).reshape(-1, 3), n)


def leaf_count(n, share, masked):
    return len(leaves_of(n, share))


def cells(n, share, masked):
    return 512 * leaf_count(n, share, masked)


def numbers(n, share, masked):
    return n, leaf_count(n, share, masked), masked


def case(name, program, masked, work, unit, model, each, variants):
    """`each`: active cells of a leaf afterwards; those of a dense leaf always are."""

    def expected(inputs, steps, n, share, masked):
        there = model(inputs["leaves"], n)
        return {"active": there, "cells": there.astype(np.int32) * (each if masked else 512)}

    return Case(
        name=f"{name}, {'bitmasked' if masked else 'dense'} leaves",
        program=f"topology:{program}",
        parameters={"n": 512, "share": 0.1, "masked": masked},
        smoke={"n": 64, "share": 0.1},
        inputs=inputs,
        model=expected,
        outputs=lambda n, share, masked: {"active": ((n // 8,) * 3, "uint8"), "cells": ((n // 8,) * 3, "int32")},
        reference=Reference("topology", program, numbers),
        vdb=Reference("vdb_topology", program, numbers, variants) if masked else None,
        unit=unit,
        work=work,
        tolerance=(0.0, 0.0),
        headline=not masked,
    )


def cases():
    for masked in (False, True):
        yield case("clear, then write every cell again", "refill", masked, cells, "cell", active, 512, (TOUCHED, MERGED))
        yield case("write every cell, nothing changes", "unchanged", masked, cells, "cell", active, 512, (TOUCHED,))
        around = "activate around each leaf"
        yield case(f"clear, then {around}", "dilate", masked, leaf_count, "leaf", dilated, 0, (TOUCHED, MERGED))
        yield case(f"{around}, nothing changes", "dilate_unchanged", masked, leaf_count, "leaf", dilated, 0, (TOUCHED,))
    halves = "write every cell, then deactivate half of each leaf"
    yield case(halves, "halve", True, cells, "cell", active, 256, (TOUCHED,))
