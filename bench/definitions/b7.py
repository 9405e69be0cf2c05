"""B7: sparse stencils: 7 points over 1 % and 10 % of 512^3 cells, and the demo's mean-curvature step."""

import functools
import pathlib

import numpy as np
from harness import references, rows
from harness.case import Case, Reference

TITLE = "stencils over sparse grids"
LEAF = 8


def leaves_of(n, share):
    """i32[m, 3]: the share of a grid's leaves that are nearest to a sphere's surface, a band such as level sets have."""
    blocks = n // LEAF
    centre = np.stack(np.meshgrid(*[np.arange(blocks)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    distance = np.abs(np.linalg.norm(centre - (blocks - 1) / 2, axis=1) - 0.34 * blocks)
    inside = ((centre > 0) & (centre < blocks - 1)).all(axis=1)
    distance[~inside] = np.inf
    chosen = np.sort(np.argsort(distance, kind="stable")[: max(1, round(share * blocks**3))])
    return centre[chosen].astype(np.int32)


def inputs(rng, n, share, fill):
    leaves = leaves_of(n, share)
    local = np.stack(np.meshgrid(*[np.arange(LEAF)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int32)
    cells = (leaves[:, None, :] * LEAF + local[None]).reshape(-1, 3)
    if fill < 1:
        keep = rng.random((len(leaves), LEAF**3), np.float32) < fill
        keep[:, 0] = True  # no leaf is empty
        cells = cells[keep.reshape(-1)]
    return {"cells": np.ascontiguousarray(cells), "values": rng.random(len(cells), np.float32) + np.float32(0.5)}


def model(inputs, steps, n, share, fill):
    x, at = np.zeros((n, n, n), np.float32), tuple(inputs["cells"].T)
    x[at] = inputs["values"]
    around = sum(np.roll(x, shift, axis) for axis in range(3) for shift in (-1, 1))
    return {"out": (0.4 * x + 0.1 * around)[at]}


def copied(inputs, steps, n, share, fill):
    return {"out": inputs["values"]}


@functools.cache
def count(n, share, fill):
    """Active cells of a case, which its work and its outputs go by."""
    return len(inputs(np.random.default_rng(7), n, share, fill)["values"])


def numbers(n, share, fill):
    return n, count(n, share, fill)


ROWS = ("rows stored under a mask", "rows blended", "rows stored whole, inactive cells 0")


def case(what, program, share, fill, **rest):
    filled = "full leaves" if fill == 1 else f"{fill:.0%} of each leaf"
    return Case(
        name=f"{what}, {share:.0%} of 512^3, {filled}, pointer - {'dense' if program.endswith('dense') else 'bitmasked'}",
        program=f"sparse:{program}",
        parameters={"n": 512, "share": share, "fill": fill},
        smoke={"n": 64, "share": 0.1},
        inputs=inputs,
        outputs=lambda n, share, fill: {"out": ((count(n, share, fill),), "float32")},
        unit="active cell",
        work=count,
        **rest,
    )


def stencil(share, fill, leaf):
    return case(
        "7 points",
        f"stencil_{'masked' if leaf == 'bitmasked' else 'dense'}",
        share,
        fill,
        model=model,
        reference=Reference("sparse", "stencil", numbers, ("neighbour leaves hoisted, plain loops", *ROWS)),
        vdb=Reference("vdb_sparse", "stencil", numbers, ("accessor", "SevenPointStencil")),
        headline=leaf == "dense",
    )


def copy(fill, trees):
    return case(
        f"copy, {trees}",
        "copy_beside" if trees == "one tree" else "copy_across",
        0.10,
        fill,
        model=copied,
        reference=Reference("sparse", "copy_beside" if trees == "one tree" else "copy_across", numbers, ROWS),
        vdb=Reference("vdb_sparse", "copy", numbers, ("accessor", "leaf to leaf")) if trees == "two trees" else None,
        headline=trees == "one tree",
    )


def cases():
    for share in (0.01, 0.10):
        yield stencil(share, 1, "dense")
        yield stencil(share, 1, "bitmasked")
        yield stencil(share, 0.25, "bitmasked")
    for fill in (1, 0.25):
        yield copy(fill, "one tree")
        yield copy(fill, "two trees")


def measured(runner):
    """The demo's mean-curvature step on its own tree, against hand-written loops over the same leaves."""
    from mean_curvature import measure_step

    taken, cells = measure_step(pathlib.Path(references.FOLDER), runner.threads)
    hand = min((name for name in taken if name != "metate"), key=lambda name: np.median(taken[name]))
    yield rows.given(
        "mean-curvature step of the demo",
        {"metate": taken["metate"], "hand": taken[hand]},
        unit="active cell",
        work=cells,
        hand={"is": hand},
    )
