"""Probes of faults in how a grid shares out cells and numbers: columns of leaves, bricks of stencils, bins of workgroups."""

import numpy as np

import metate as mt

from . import expect, probe
from .grids import grid

i32 = mt.i32
array = mt.types.ndarray


# ---- columns and bricks


@probe("GridColumnAskedOnce")
def grid_column_asked_once():
    builder = mt.types.SNodeTreeBuilder()
    tree_type = builder.pointer(mt.ij, 2).bitmasked(mt.ij, (8, 32)).place(a=i32).build()

    @mt.kernel
    def run(f: tree_type, g: tree_type):
        for i, j in f:
            g.a[i, j] = f.a[i, j] + 1

    with grid():
        tree, other = tree_type.new(), tree_type.new()
        tree.a[0, 3] = 4
        tree.a[2, 5] = 6
        run(tree, other)
        got = other.a.to_numpy()
    expect([got[0, 3], got[2, 5], got.sum()], [5, 7, 12])


def sums_of_rows():
    """Of three rows, in bricks: of the range 1..32 x 3..60 in a field of 40 x 70, where nothing else is written."""
    a, b = mt.field(i32, shape=(40, 70)), mt.field(i32, shape=(40, 70))

    @mt.kernel
    def run():
        for i, j in mt.ndrange((1, 33), (3, 61)):
            b[i, j] = a[i - 1, j] + a[i, j] + a[i + 1, j]

    before = np.arange(40 * 70, dtype=np.int32).reshape(40, 70)
    a.from_numpy(before)
    run()
    after = np.zeros_like(before)
    after[1:33, 3:61] = (before[:-2] + before[1:-1] + before[2:])[:32, 3:61]
    return b.to_numpy(), after


@probe("GridBrickEdge")
def grid_brick_edge():
    with grid():
        got, wanted = sums_of_rows()
    expect(got[:, 61:], wanted[:, 61:])


@probe("GridBrickLost")
def grid_brick_lost():
    with grid():
        got, wanted = sums_of_rows()
    expect(got[:, :61], wanted[:, :61])


# ---- bins of workgroups


def check_histogram():
    h = mt.field(i32, shape=40)

    @mt.kernel
    def run(x: array(i32, 1)):
        for i in x:
            h[x[i]] += 1

    x = np.arange(5000, dtype=np.int32) % 37
    run(x)
    expect(h.to_numpy(), np.bincount(x, minlength=40))


@probe("GridBinsNotCleared")
def grid_bins_not_cleared():
    with grid():
        check_histogram()


@probe("GridBinsUnwaited")
def grid_bins_unwaited():
    """Where invocations run one after the other, those behind the first one add to what it has looked at."""
    with grid():
        check_histogram()
