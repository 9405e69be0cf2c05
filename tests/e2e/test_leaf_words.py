"""Ranges that activate or give up cells of bitmasked leaves that are known beforehand: by words, as if one by one."""

import functools

import numpy as np
import pytest
from ways import PIECES, UNOPTIMISED, distinct, without

import metate as mt

WAYS = distinct(*without("hoist_leaves"), UNOPTIMISED | PIECES)
N = 6
LEAVES = np.array([[0, 0], [3, 5], [5, 4], [-1, 2], [2, N], [5, 1 << 27], [3, 5], [1, 1]], np.int32)
INDICES = mt.types.ndarray(dtype=mt.i32, ndim=2)


@functools.cache
def context(*way):
    """One for each way: what several tests compile is compiled once."""
    return mt.Context(**dict(way))


@functools.cache
def tree_of(extents, kind="pointer"):
    builder = mt.types.SNodeTreeBuilder()
    slots = builder.hash(mt.ij) if kind == "hash" else builder.pointer(mt.ij, N)
    slots.bitmasked(mt.ij, extents).place(a=mt.f32, b=mt.i32, background={"a": 0.5})
    return builder.build()


@functools.cache
def filler(tree_type, extents):
    rows, columns = extents

    @mt.kernel
    def fill(f: tree_type):
        for i, j in mt.ndrange(N * rows, N * columns):
            f.b[i, j] = i

    return fill


@functools.cache
def reader(tree_type):
    @mt.kernel
    def read(f: tree_type, a: mt.types.ndarray(dtype=mt.f32, ndim=2), b: mt.types.ndarray(dtype=mt.i32, ndim=2)):
        for i, j in mt.ndrange(a.shape[0], a.shape[1]):
            a[i, j] = f.a[i - 8, j - 8]
            if mt.is_active(f.a, [i - 8, j - 8]):
                b[i, j] = f.b[i - 8, j - 8] + 1

    return read


def read_all(tree_type, tree, extents):
    """(values of a, b + 1 where the cell is active), of the tree's cells and those around."""
    size = tuple(N * extent + 16 for extent in extents)
    a, b = np.zeros(size, np.float32), np.zeros(size, np.int32)
    reader(tree_type)(tree, a, b)
    tree.check()
    return a, b


def in_all_ways(run, ways=WAYS):
    """What `run` returns as arrays, which is the same in each way and in the interpreter."""
    with context(("arch", mt.interp)):
        expected = run()
    for way in ways:
        with context(*way.items()):
            for one, other in zip(run(), expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=str(way))
    return expected


LEAVES_OF = [("pointer", (4, 4)), ("pointer", (3, 5)), ("hash", (16, 16))]
PATTERNS = ("whole", "first rows", "column", "transposed", "chessboard", "some twice")


def of(pattern, extents):
    """How many iterations, and a function from their number to a row and a column of the leaf."""
    rows, columns = extents

    def whole(c: mt.i32):
        return c // columns, c % columns

    def column(c: mt.i32):
        return c, columns - 1

    def transposed(c: mt.i32):
        return c % rows, c // rows

    def chessboard(c: mt.i32):
        return c % rows, c // rows * 2 + c % rows % 2

    def twice(c: mt.i32):
        return c // columns // 2, c % columns // 3

    return {
        "whole": (rows * columns, whole),
        "first rows": (rows * columns // 2, whole),
        "column": (rows, column),
        "transposed": (rows * columns, transposed),
        "chessboard": (rows * (columns // 2), chessboard),
        "some twice": (rows * columns, twice),
    }[pattern]


@pytest.mark.parametrize("kind, extents", LEAVES_OF, ids=str)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_dimension(pattern, kind, extents):
    rows, columns = extents
    count, position = of(pattern, extents)
    place = mt.func(position)

    def run():
        tree_type = tree_of(extents, kind)

        @mt.kernel
        def write(f: tree_type, leaves: INDICES):
            for n, c in mt.ndrange(leaves.shape[0], count):
                i, j = place(c)
                f.a[leaves[n, 0] * rows + i, leaves[n, 1] * columns + j] = 2.0

        @mt.kernel
        def give_up(f: tree_type, leaves: INDICES):
            for n, c in mt.ndrange(leaves.shape[0], count):
                i, j = place(c)
                mt.deactivate(f.a, [leaves[n, 0] * rows + i, leaves[n, 1] * columns + j])

        tree = tree_type.new()
        write(tree, LEAVES)
        written = read_all(tree_type, tree, extents)
        before = tree.topology_version
        write(tree, LEAVES)
        assert tree.topology_version == before, "nothing changed"
        filler(tree_type, extents)(tree)
        give_up(tree, LEAVES)
        given_up = read_all(tree_type, tree, extents)
        before = tree.topology_version
        give_up(tree, LEAVES)
        assert tree.topology_version == before, "nothing changed"
        return *written, *given_up

    _, written, _, given_up = in_all_ways(run, WAYS[:2])
    reached = len({position(c) for c in range(count)})
    inside = written[8:-8, 8:-8]
    assert np.count_nonzero(inside) == 4 * reached and (kind == "hash" or inside.sum() == written.sum())
    assert np.count_nonzero(given_up[8:-8, 8:-8]) == N * rows * N * columns - 4 * reached


def test_a_dimension_for_each_axis():
    def run():
        tree_type = tree_of((8, 8))

        @mt.kernel
        def write(f: tree_type, leaves: INDICES):
            for n, i, j in mt.ndrange(leaves.shape[0], (2, 7), (1, 8)):
                f.a[leaves[n, 0] * 8 + i, leaves[n, 1] * 8 + j] = i
                f.b[leaves[n, 0] * 8 + 7 - j, leaves[n, 1] * 8 + i] = j
            for n, j in mt.ndrange(leaves.shape[0], 8):
                f.b[leaves[n, 0] * 8 + 3, leaves[n, 1] * 8 + j] = j

        @mt.kernel
        def give_up(f: tree_type, leaves: INDICES):
            for n, i, j in mt.ndrange(leaves.shape[0], 4, 8):
                mt.deactivate(f.a, [leaves[n, 0] * 8 + i * 2, leaves[n, 1] * 8 + j])

        tree = tree_type.new()
        write(tree, LEAVES)
        written = read_all(tree_type, tree, (8, 8))
        give_up(tree, LEAVES)
        return *written, *read_all(tree_type, tree, (8, 8))

    _, written, _, kept = in_all_ways(run)
    assert np.count_nonzero(written) == 4 * len(
        {(i, j) for i in range(2, 7) for j in range(1, 8)}
        | {(7 - j, i) for i in range(2, 7) for j in range(1, 8)}
        | {(3, j) for j in range(8)}
    )
    assert not kept[8:-8:2].any() and kept.any()


def test_cells_are_read_before_they_are_given_up():
    def run():
        tree_type = tree_of((4, 8))

        @mt.kernel
        def write(f: tree_type):
            for i, j in mt.ndrange(N * 4, N * 8):
                f.b[i, j] = 100 * i + j

        @mt.kernel
        def move(f: tree_type, g: tree_type, leaves: INDICES, active: mt.types.ndarray(dtype=mt.i32, ndim=2)):
            for n, c in mt.ndrange(leaves.shape[0], 32):
                i, j = leaves[n, 0] * 4 + c // 8, leaves[n, 1] * 8 + c % 8
                g.b[i, j] = f.b[i, j]
                active[n, c] = mt.is_active(f.b, [i, j])
                mt.deactivate(f.b, [i, j])

        @mt.kernel
        def empty(f: tree_type, leaves: INDICES, after: mt.types.ndarray(dtype=mt.i32, ndim=2)):
            for n, c in mt.ndrange(leaves.shape[0], 32):
                i, j = leaves[n, 0] * 4 + c // 8, leaves[n, 1] * 8 + c % 8
                mt.deactivate(f.b, [i, j])
                after[n, c] = f.b[i, j]

        f, g = tree_type.new(), tree_type.new()
        write(f)
        leaves = np.array([[0, 0], [3, 5], [-1, 2], [1, 1]], np.int32)
        active, after = np.zeros((4, 32), np.int32), np.ones((3, 32), np.int32)
        move(f, g, leaves, active)
        empty(f, np.array([[4, 4], [4, 5], [0, 0]], np.int32), after)
        return *read_all(tree_type, f, (4, 8)), *read_all(tree_type, g, (4, 8)), active, after

    *_, active, after = in_all_ways(run)
    assert active.sum(axis=1).tolist() == [32, 32, 0, 32] and not after.any()


def test_what_stops_or_depends_on_values_goes_cell_by_cell():
    def run():
        tree_type = tree_of((8, 8))

        @mt.kernel
        def write(f: tree_type, leaves: INDICES):
            for n, c in mt.ndrange(leaves.shape[0], 64):
                if c % 3 == 0:
                    f.a[leaves[n, 0] * 8 + c // 8, leaves[n, 1] * 8 + c % 8] = 1.0
            for n, c in mt.ndrange(leaves.shape[0], 8):
                f.b[leaves[n, 0], leaves[n, 1] * 8 + c] = c
            for n, c in mt.ndrange(leaves.shape[0], 8):
                if n == 3:
                    mt.deactivate(f.b, [leaves[n, 0] * 8 + c, leaves[n, 1] * 8 + c])

        tree = tree_type.new()
        write(tree, LEAVES)
        return read_all(tree_type, tree, (8, 8))

    in_all_ways(run)


@pytest.mark.parametrize("extents", [(8, 8), (3, 5), (6, 6)], ids=str)
def test_loops_over_cells_give_up_their_own(extents):
    rows, columns = extents

    def run():
        tree_type = tree_of(extents)

        @mt.kernel
        def fill(f: tree_type):
            for i, j in mt.ndrange(N * rows, N * columns):
                if i * j % 5 != 2:
                    f.b[i, j] = 7 * i + j

        @mt.kernel
        def prune(f: tree_type, seen: mt.types.ndarray(dtype=mt.i32, ndim=2)):
            for i, j in f.b:
                value = f.b[i, j]
                seen[i, j] = value
                if value % 3 == 0:
                    mt.deactivate(f.b, [i, j])
                elif value % 7 == 1:
                    f.b[i, j] = -value
                    mt.deactivate(f.b, [i, j])

        @mt.kernel
        def step(f: tree_type):
            for i, j in f.b:
                if f.b[i, j] % 2 == 0:
                    mt.deactivate(f.b, [i, j])
                    f.a[i, j] = f.b[i, j] + 1  # the cell comes back
            for i, j in f.b:
                f.b[i, j] += 1
                mt.deactivate(f.b, [i, j])

        tree, seen = tree_type.new(), np.zeros((N * rows, N * columns), np.int32)
        fill(tree)
        prune(tree, seen)
        pruned = read_all(tree_type, tree, extents)
        step(tree)
        return *pruned, seen, *read_all(tree_type, tree, extents)

    _, pruned, seen, _, empty = in_all_ways(run)
    assert np.count_nonzero(pruned) < np.count_nonzero(seen) and not empty.any()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_where_the_pool_is_full_nothing_is_written(way):
    with mt.Context(**way):
        tree_type = tree_of((8, 8))

        @mt.kernel
        def write(f: tree_type, leaves: INDICES):
            for n, c in mt.ndrange(leaves.shape[0], 64):
                f.b[leaves[n, 0] * 8 + c // 8, leaves[n, 1] * 8 + c % 8] = 7

        leaves = np.array([[i, j] for i in range(N) for j in range(N)], np.int32)
        tree = tree_type.new(capacity=10)
        with pytest.raises(mt.CapacityError):
            write(tree, leaves)
        _, b = read_all(tree_type, tree, (8, 8))
        there = b[8:-8, 8:-8].reshape(N, 8, N, 8).transpose(0, 2, 1, 3).reshape(-1, 64)
        assert 10 <= np.count_nonzero(there.any(axis=1)) < N * N
        assert all((leaf == 8).all() or not leaf.any() for leaf in there)
