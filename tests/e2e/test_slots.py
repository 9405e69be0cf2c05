"""Ranges whose last dimensions stay in one slot, and cells that are known to be active: equal in every way of compiling them."""

import numpy as np
import pytest
from ways import PIECES, UNOPTIMISED, distinct, without

import metate as mt

WAYS = distinct(*without("hoist_leaves", "prove_activity"), UNOPTIMISED | PIECES)
N, LEAF = 12, 8
LEAVES = np.array([[0, 0], [3, 11], [11, 4], [-1, 2], [2, 12], [5, 1 << 28], [3, 11]], np.int32)


def tree_of(kind, leaf="dense", extent=LEAF):
    builder = mt.types.SNodeTreeBuilder()
    slots = builder.hash(mt.ij) if kind == "hash" else builder.pointer(mt.ij, N)
    (slots.bitmasked if leaf == "bitmasked" else slots.dense)(mt.ij, extent).place(a=mt.f32, b=mt.i32)
    return builder.build()


def read_all(tree_type, tree, size):
    @mt.kernel
    def read(f: tree_type, a: mt.types.ndarray(dtype=mt.f32, ndim=2), b: mt.types.ndarray(dtype=mt.i32, ndim=2)):
        for i, j in mt.ndrange(a.shape[0], a.shape[1]):
            a[i, j] = f.a[i - 16, j - 16]
            if mt.is_active(f.a, [i - 16, j - 16]):
                b[i, j] = f.b[i - 16, j - 16] + 1

    a, b = np.zeros((size, size), np.float32), np.zeros((size, size), np.int32)
    read(tree, a, b)
    return a, b


def in_all_ways(run):
    """What `run` returns as arrays, which is the same in each way and in the interpreter."""
    with mt.Context(arch=mt.interp):
        expected = run()
    for way in WAYS:
        with mt.Context(**way):
            for one, other in zip(run(), expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=str(way))
    return expected


@pytest.mark.parametrize("leaf", ["dense", "bitmasked"])
@pytest.mark.parametrize("kind", ["pointer", "hash"])
@pytest.mark.parametrize("extent", [LEAF, 6])
def test_leaves_that_an_array_names(kind, leaf, extent):
    if kind == "hash" and extent == 6:
        pytest.skip("coordinates of leaves that wrap are the same as others'")

    def run():
        tree_type = tree_of(kind, leaf, extent)

        @mt.kernel
        def write(f: tree_type, leaves: mt.types.ndarray(dtype=mt.i32, ndim=2)):
            for n, c in mt.ndrange(leaves.shape[0], extent * extent):
                f.a[leaves[n, 0] * extent + c // extent, leaves[n, 1] * extent + c % extent] = 2.0
                f.b[leaves[n, 0] * extent + c // extent, leaves[n, 1] * extent + c % extent] += c

        tree = tree_type.new()
        write(tree, LEAVES)
        return read_all(tree_type, tree, N * LEAF + 32)

    a, _ = in_all_ways(run)
    assert np.count_nonzero(a) >= 3 * extent * extent


@pytest.mark.parametrize("leaf", ["dense", "bitmasked"])
def test_several_dimensions_and_parts_of_leaves(leaf):
    def run():
        tree_type = tree_of("pointer", leaf)

        @mt.kernel
        def write(f: tree_type, leaves: mt.types.ndarray(dtype=mt.i32, ndim=2)):
            for n, i, j in mt.ndrange(leaves.shape[0], (2, 7), (1, 8)):
                if (i + j) % 3 == 0:
                    f.a[leaves[n, 0] * LEAF + i, leaves[n, 1] * LEAF + j] = 1.0 + i
                f.b[leaves[n, 0] * LEAF + j, leaves[n, 1] * LEAF + 7 - i] = j
            for i, j in mt.ndrange(N * LEAF, 5):
                f.a[i, 8 + j] += f.a[i, 16 + j + 2]

        tree = tree_type.new()
        write(tree, LEAVES[:3])
        return read_all(tree_type, tree, N * LEAF + 32)

    in_all_ways(run)


def test_reads_of_a_slot_that_the_loop_itself_makes():
    def run():
        tree_type = tree_of("pointer")

        @mt.kernel
        def write(f: tree_type, seen: mt.types.ndarray(dtype=mt.f32, ndim=1)):
            for _, c in mt.ndrange(1, LEAF):
                seen[c] = f.a[0, 7 - c]
                if c == 3:
                    f.a[0, 2] = 5.0

        tree, seen = tree_type.new(), np.zeros(LEAF, np.float32)
        write(tree, seen)
        return (seen,)

    (seen,) = in_all_ways(run)
    assert seen.tolist() == [0, 0, 0, 0, 0, 5, 0, 0]


def test_an_index_that_the_loop_writes_is_read_each_time():
    def run():
        tree_type = tree_of("pointer")

        @mt.kernel
        def write(f: tree_type, leaves: mt.types.ndarray(dtype=mt.i32, ndim=1)):
            for n, c in mt.ndrange(1, LEAF):
                f.a[leaves[n] * LEAF + c, 0] = 1.0
                leaves[n] += 1

        tree, leaves = tree_type.new(), np.zeros(1, np.int32)
        write(tree, leaves)
        return *read_all(tree_type, tree, N * LEAF + 32), leaves

    a, _, _ = in_all_ways(run)
    assert np.argwhere(a)[:, 0].tolist() == [16 + 9 * k for k in range(LEAF)]


@pytest.mark.parametrize("leaf", ["dense", "bitmasked"])
def test_known_cells(leaf):
    def run():
        tree_type = tree_of("pointer", leaf)

        @mt.kernel
        def change(f: tree_type, seen: mt.types.ndarray(dtype=mt.i32, ndim=1)):
            for n in range(4):
                if mt.is_active(f.a, [n * LEAF, 0]):
                    f.b[n * LEAF + 3, 1] = 7
                    seen[n] += mt.is_active(f.b, [n * LEAF, 0]) + 2 * mt.is_active(f.b, [n * LEAF + 1, 0])
                else:
                    seen[n] = 100
            mt.activate(f.a, [80, 80])
            seen[4] = mt.is_active(f.a, [80, 80])
            mt.deactivate(f.a, [80, 80])
            seen[5] = mt.is_active(f.a, [80, 80])
            for i, j in f.a:
                f.b[i, j] += mt.is_active(f.a, [i, j]) + 2 * mt.is_active(f.a, [i, j + 1])

        tree, seen = tree_type.new(), np.zeros(6, np.int32)
        tree.a[0, 0], tree.a[16, 0] = 1, 2
        change(tree, seen)
        return *read_all(tree_type, tree, N * LEAF + 32), seen

    _, _, seen = in_all_ways(run)
    assert seen.tolist()[4:] == [1, 0] and seen[1] == seen[3] == 100


@pytest.mark.parametrize("chunk", [4, 5])
def test_loops_over_lists(chunk):
    def run():
        builder = mt.types.SNodeTreeBuilder()
        builder.pointer(mt.i, 6).dynamic(mt.j, 23, chunk).place(a=mt.i32)
        tree_type = builder.build()

        @mt.kernel
        def fill(f: tree_type):
            for i in range(5):
                for j in range(4 * i):
                    f.a[i, j] = 10 * i + j

        @mt.kernel
        def use(f: tree_type, seen: mt.types.ndarray(dtype=mt.i32, ndim=2)):
            for i, j in f.a:
                seen[i, j] += f.a[i, j] + 1
            for i, j in f.a:
                f.a[i, j] += 1
                f.a[i, j + 2] = 3

        tree, seen = tree_type.new(), np.zeros((6, 23), np.int32)
        fill(tree)
        use(tree, seen)
        return (seen,)

    (seen,) = in_all_ways(run)
    assert [np.count_nonzero(row) for row in seen] == [0, 4, 8, 12, 16, 0]
