"""Probes of faults in bitmasked levels, in deactivation, and in loops that change what they walk."""

import numpy as np

import metate as mt

from . import expect, probe
from .sparse import array, cells, i32, line


def bits(extent=4, leaf=8, background=5):
    """A pointer level over a bitmasked leaf along i."""
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.i, extent).bitmasked(mt.i, leaf).place(a=i32, background=background)
    return builder.build()


def spread():
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.ij, 2).bitmasked(mt.ij, 4).place(a=i32)
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type):
        for i, j in f:
            f.a[i + 1, j] = f.a[i, j] + 1

    tree = tree_type.new()
    tree.a[0, 2] = 1
    run(tree)
    expect(cells(tree.a), [[0, 2, 1], [1, 2, 2]])


@probe("EveryChangeOwn")
def every_change_own():
    spread()


@probe("LiveSetVisited")
def live_set_visited():
    spread()


@probe("MaskBitAssigned")
def mask_bit_assigned():
    tree_type = bits()

    @mt.kernel
    def run(f: tree_type):
        for i in range(3):
            f.a[2 * i] = i

    tree = tree_type.new()
    run(tree)
    expect(cells(tree.a), [[0, 0], [2, 1], [4, 2]])


@probe("OneBitForAll")
def one_bit_for_all():
    dense, masked = line(a=0), bits(leaf=4)

    @mt.kernel
    def run(f: dense, g: masked):
        for i in f:
            g.a[i] = i

    f, g = dense.new(), masked.new()
    f.a[5] = 1
    run(f, g)
    expect(cells(g.a), [[4, 4], [5, 5], [6, 6], [7, 7]])


@probe("SlotOutlivesLink")
def slot_outlives_link():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            mt.deactivate(f.a, [i])
            out[i] = f.a[i]

    tree, out = tree_type.new(), np.zeros(4, np.int32)
    for i in range(4):
        tree.a[i] = i + 1
    run(tree, out)
    expect(out, [5, 5, 5, 5])


@probe("MaskIgnored")
def mask_ignored():
    tree_type = bits()

    @mt.kernel
    def run(f: tree_type):
        for i in f:
            f.a[i] = f.a[i] + 1

    tree = tree_type.new()
    tree.a[1], tree.a[6] = 1, 2
    run(tree)
    expect(tree.a.to_numpy()[:8], [5, 2, 5, 5, 5, 5, 3, 5])


@probe("LastWordUnasked")
def last_word_unasked():
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.i, 4).bitmasked(mt.ij, (4, 32)).place(a=mt.i32)
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type):
        for i, j in f.a:
            f.a[i, j] = 3

    tree = tree_type.new()
    for i in range(3):
        for j in range(32):
            tree.a[i, j] = 1
    tree.a[3, 2] = 1
    run(tree)
    expect(tree.a.to_numpy()[3, :4], [0, 0, 3, 0])


@probe("AnyCellImplied")
def any_cell_implied():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type):
        for _ in range(1):
            f.a[0] = 1
            if mt.is_active(f.a, [0]) and f.a[0] == 1:
                f.a[9] = 2

    tree = tree_type.new()
    run(tree)
    expect([tree.a[0], tree.a[9]], [1, 2])
    expect([tree.a.is_active(i) for i in (0, 4, 9)], [True, False, True])


@probe("FactOutlivesCell")
def fact_outlives_cell():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        mt.activate(f.a, [1])
        out[0] = mt.is_active(f.a, [1])
        mt.deactivate(f.a, [1])
        out[1] = mt.is_active(f.a, [1])

    tree, out = tree_type.new(), np.zeros(2, np.int32)
    run(tree, out)
    expect(out, [1, 0])


@probe("SlotEndOffByOne")
def slot_end_off_by_one():
    tree_type = line(a=0)

    @mt.kernel
    def run(f: tree_type, leaves: array(i32, 1)):
        for l, c in mt.ndrange(leaves.shape[0], 5):
            f.a[leaves[l] * 4 + c] = c + 1

    tree = tree_type.new()
    run(tree, np.array([1], np.int32))
    expect(cells(tree.a), [[4, 1], [5, 2], [6, 3], [7, 4], [8, 5], [9, 0], [10, 0], [11, 0]])
