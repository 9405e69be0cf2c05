"""Leaves on a device, of which an invocation takes a column of cells: full ones and others, in one tree and two."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
# A leaf's extents and its level: columns of eight, parts of a longer axis, of four and two cells, none.
LEAVES = [((8, 8, 8), "bitmasked"), ((8, 8, 8), "dense"), ((16, 16), "bitmasked"), ((24, 8), "dense"), ((4, 4, 8), "bitmasked")]
LEAVES += [((6, 32), "bitmasked"), ((7, 64), "bitmasked"), ((4, 4), "bitmasked")]


@pytest.fixture(params=["1"] if device_tests.ARCH else ["1", "4"])
def device(request, monkeypatch):
    """With invocations one after the other, and with four threads of them."""
    monkeypatch.setenv("METATE_SIMT_THREADS", request.param)
    with mt.Context(arch=ARCH) as context:
        yield context


def cells(rng, extents, blocks, level):
    """(indices of active cells, where they are): some leaves; one is full, others have full columns and lone cells."""
    shape = tuple(n * e for n, e in zip(blocks, extents, strict=True))
    active = np.zeros(shape, bool)
    leaves = [tuple(index) for index in np.argwhere(rng.random(blocks) < 0.5)] or [(0,) * len(blocks)]
    for number, leaf in enumerate(leaves):
        inside = rng.random(extents) < 0.3
        inside |= rng.random((1, *extents[1:])) < 0.4  # columns
        inside |= number == 0 or level == "dense"
        active[tuple(slice(k * e, (k + 1) * e) for k, e in zip(leaf, extents, strict=True))] = inside
    return np.argwhere(active).astype(np.int32), active


def around(values):
    """The sum of the nearest cells, of which those outside are 0."""
    padded = np.pad(values, 1)
    middle = slice(1, -1)
    sides = [
        padded[tuple(side if axis == k else middle for k in range(values.ndim))]
        for axis in range(values.ndim)
        for side in (slice(2, None), slice(None, -2))
    ]
    return sum(sides)


@pytest.mark.parametrize("where", ["two trees", "two leaves of a slot", "one leaf"])
@pytest.mark.parametrize("extents, level", LEAVES, ids=["x".join(map(str, extents)) + level for extents, level in LEAVES])
def test_cells_of_columns_are_numpys(device, rng, extents, level, where):
    rank = len(extents)
    axes, blocks = (mt.ij, mt.ijk)[rank - 2], (3,) * rank
    a, b = mt.field(mt.i32), mt.field(mt.i32)
    one = mt.root.pointer(axes, blocks)
    other = mt.root.pointer(axes, blocks) if where == "two trees" else one
    for slot, fields in [(one, (a, b))] if where == "one leaf" else [(one, (a,)), (other, (b,))]:
        getattr(slot, level)(axes, extents).place(*fields)
    indices, active = cells(rng, extents, blocks, level)
    given = np.where(active, rng.integers(1, 1000, active.shape), 0).astype(np.int32)
    units = mt.Matrix([[int(k == axis) for k in range(rank)] for axis in range(rank)])
    total = mt.field(mt.i64, ())

    @mt.kernel
    def load(indices: mt.types.ndarray(mt.i32, 2), values: mt.types.ndarray(mt.i32, 1)):
        for n in range(indices.shape[0]):
            at = mt.Vector.zero(mt.i32, rank)
            for k in mt.static(range(rank)):
                at[k] = indices[n, k]
            a[at] = values[n]

    @mt.kernel
    def step():
        for I in mt.grouped(a):
            s = 0
            for k in mt.static(range(rank)):
                unit = mt.Vector([units[k, m] for m in mt.static(range(rank))])
                s += a[I + unit] + a[I - unit]
            b[I] = s + 2 * a[I]

    @mt.kernel
    def add():
        for I in mt.grouped(b):
            total[None] += b[I]

    load(np.ascontiguousarray(indices), given[tuple(indices.T)].copy())
    step()
    add()
    expected = np.where(active, around(given) + 2 * given, 0)
    np.testing.assert_array_equal(a.to_numpy(), given)
    np.testing.assert_array_equal(b.to_numpy(), expected)
    assert total[None] == expected.sum()


def test_what_a_cell_read_for_its_test_is_what_it_goes_on_with(device):
    """Cells before it in its column write there meanwhile."""
    x, y = mt.field(mt.i32), mt.field(mt.i32)
    mt.root.pointer(mt.ij, 2).dense(mt.ij, 32).place(x, y)

    @mt.kernel
    def start():
        for i, j in mt.ndrange(64, 64):
            x[i, j] = 1
            y[i, j] = -1

    @mt.kernel
    def step():
        for i, j in x:
            v = x[i, j]
            if v > 0:
                y[i, j] = v
                if i + 1 < 64:
                    x[i + 1, j] = 0

    start()
    step()
    assert set(np.unique(y.to_numpy())) <= {-1, 1}


@pytest.mark.parametrize("level", ["dense", "bitmasked"])
def test_cells_are_in_order_where_it_shows(level):
    """Rows first, as a loop in order goes."""
    with mt.Context(arch=ARCH, deterministic=True):
        x, count = mt.field(mt.i32), mt.field(mt.i32, ())
        getattr(mt.root.pointer(mt.ij, 2), level)(mt.ij, 32).place(x)

        @mt.kernel
        def start():
            for i, j in mt.ndrange(32, 32):
                x[i, j] = -1

        @mt.kernel
        def step():
            for i, j in x:
                x[i, j] = mt.atomic_add(count[None], 1)

        start()
        step()
        np.testing.assert_array_equal(x.to_numpy()[:32, :32], np.arange(1024).reshape(32, 32))
