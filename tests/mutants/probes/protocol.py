"""Probes of faults around tasks and in slices: collecting, noting active cells, sorting, counting."""

import numpy as np

import metate as mt

from . import expect, probe

i32 = mt.i32
array = mt.types.ndarray


def slots_of(tree):
    return [level.used for level in tree.stats().values()]


def blocks(extent=4, leaf=4):
    return mt.types.SNodeTreeBuilder().pointer(mt.i, extent).dense(mt.i, leaf).place(a=i32).build()


@probe("CollectLeftOut")
def collect_left_out():
    tree_type = blocks()

    @mt.kernel
    def drop(f: tree_type):
        for k in range(4):
            mt.deactivate(f.a, [4 * k])

    tree = tree_type.new()
    for k in (1, 5, 13):
        tree.a[k] = k
    drop(tree)
    expect(slots_of(tree), [0])


@probe("SnapshotLeftOut")
def snapshot_left_out():
    tree_type = mt.types.SNodeTreeBuilder().bitmasked(mt.i, 16).place(a=i32).build()

    @mt.kernel
    def spread(f: tree_type):
        for i in f.a:
            f.a[i + 1] = i

    tree = tree_type.new()
    tree.a[3] = 9
    spread(tree)
    expect(tree.a.to_numpy()[:7], [0, 0, 0, 9, 3, 0, 0])


@probe("LinksOutliveSort")
def links_outlive_sort():
    """A deterministic loop sorts slots that were claimed in another order than that of their coordinates."""
    tree_type = blocks()

    @mt.kernel
    def walk(f: tree_type):
        for i in f.a:
            f.a[i] += 1

    @mt.kernel
    def read(f: tree_type, out: array(i32, 1)):
        for i in range(16):
            out[i] = f.a[i]

    tree, out = tree_type.new(), np.zeros(16, np.int32)
    for k in (2, 0, 3, 1):
        tree.a[4 * k] = k
    with mt.Context(deterministic=True, threads=1):
        walk(tree)
        read(tree, out)
    expect(out[::4], [1, 2, 3, 4])


@probe("SliceLevelMissed")
def slice_level_missed():
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.i, 4).pointer(mt.i, 4).dense(mt.i, 2).place(a=i32)
    tree_type = builder.build()

    @mt.kernel
    def write(f: tree_type):
        for k in range(6):
            f.a[2 * k] = 1

    expect(counted(tree_type, write), [2, 6])


def counted(tree_type, kernel):
    tree = tree_type.new()
    return list(tree.reserve_for(kernel, tree).values())


@probe("ConditionalSideLost")
def conditional_side_lost():
    @mt.kernel
    def count(x: array(i32, 1), n: array(i32, 1)):
        for i in range(x.shape[0]):
            if x[i] > 3:
                n[0] += 1
            else:
                n[0] += 100

    n = np.zeros(1, np.int32)
    count(np.arange(10, dtype=np.int32), n)
    expect(n, [406])
