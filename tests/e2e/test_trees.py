"""Kernels over trees against NumPy and dictionaries: levels, nesting, background, activation, stencils, exhaustion."""

import numpy as np
import pytest
from ways import INTERPRETED, UNOPTIMISED, without

import metate as mt

f32 = mt.f32

PIPELINES = {
    **dict(zip(("default", "no-hoisting", "no-demotion"), without("hoist_leaves", "demote_atomics"), strict=True)),
    "O0": UNOPTIMISED,
    "plain": {"hoist_leaves": False, "demote_atomics": False} | UNOPTIMISED,
    **INTERPRETED,
}


@pytest.fixture(params=PIPELINES, autouse=True)
def pipeline(request):
    """Every test runs with each optimisation left out, and interpreted: results must not depend on them."""
    with mt.Context(**PIPELINES[request.param]) as context:
        yield context


def sparse_2d(rng, shape, fraction):
    """Random coordinates (distinct) in a box and values for them."""
    cells = np.argwhere(rng.random(shape) < fraction).astype(np.int32)
    if len(cells) == 0:
        cells = np.zeros((1, 2), np.int32)
    return cells, rng.standard_normal(len(cells)).astype(np.float32)


def fill_kernel(tree_type):
    @mt.kernel
    def fill(f: tree_type, at: mt.types.ndarray(mt.i32, 2), values: mt.types.ndarray(f32, 1)):
        for n in range(values.shape[0]):
            f[at[n, 0], at[n, 1]].a = values[n]

    return fill


TYPES = {
    "pointer-dense": lambda b: b.pointer(mt.ij, (6, 5)).dense(mt.ij, (4, 8)),
    "pointer-pointer-dense": lambda b: b.pointer(mt.ij, (3, 2)).pointer(mt.ij, (2, 5)).dense(mt.ij, (4, 4)),
    "dense-pointer-dense": lambda b: b.dense(mt.ij, (3, 2)).pointer(mt.ij, (2, 5)).dense(mt.ij, (4, 4)),
    "pointer-dense-dense": lambda b: b.pointer(mt.ij, (6, 5)).dense(mt.ij, (2, 4)).dense(mt.ij, (2, 2)),
    "pointer-place": lambda b: b.pointer(mt.ij, (24, 40)),
    "dense": lambda b: b.dense(mt.ij, (24, 40)),
    "dense-dense": lambda b: b.dense(mt.ij, (24, 20)).dense(mt.j, 2),
    "dense-dense-dense": lambda b: b.dense(mt.ij, (8, 4)).dense(mt.ij, (3, 5)).dense(mt.j, 2),
    "few-blocks": lambda b: b.dense(mt.ij, (3, 5)).dense(mt.ij, (8, 8)),
    "columns-first": lambda b: b.dense(mt.j, 40).dense(mt.i, 24),
    "rows-then-columns": lambda b: b.pointer(mt.i, 6).dense(mt.i, 4).dense(mt.j, 40),
    "axis-apart": lambda b: b.pointer(mt.i, 24).pointer(mt.j, 10).dense(mt.j, 4),
    "large-slots": lambda b: b.pointer(mt.ij, (2, 2)).dense(mt.ij, (200, 100)),
}


def build(name, background=1.5):
    builder = mt.types.SNodeTreeBuilder()
    node = TYPES[name](builder)
    node.place(a=f32, background=background)
    return builder.build()


@pytest.mark.parametrize("name", TYPES)
def test_write_read_iterate(name, rng):
    tree_type = build(name)
    at, values = sparse_2d(rng, (24, 40), 0.05)
    tree = tree_type.new()
    fill_kernel(tree_type)(tree, at, values)

    @mt.kernel
    def read(f: tree_type, out: mt.types.ndarray(f32, 2)):
        for i, j in mt.ndrange(24, 40):
            out[i, j] = f.a[i, j]

    @mt.kernel
    def visit(f: tree_type, seen: mt.types.ndarray(mt.i32, 2), total: mt.types.ndarray(mt.f64, 1)):
        for i, j in f:
            seen[i, j] += 1
            total[0] += f[i, j].a

    expected = np.full((24, 40), 1.5, np.float32)
    expected[at[:, 0], at[:, 1]] = values
    extent = tree.a.to_numpy().shape
    out = np.zeros((24, 40), np.float32)
    read(tree, out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(tree.a.to_numpy()[:24, :40], expected)
    seen, total = np.zeros(extent, np.int32), np.zeros(1)
    visit(tree, seen, total)
    assert seen.max() <= 1
    assert (seen[at[:, 0], at[:, 1]] == 1).all()
    cells, cell_values = tree.a.cells()
    assert seen.sum() == len(cells)
    assert (seen[tuple(cells.T)] == 1).all()
    np.testing.assert_allclose(total[0], cell_values.astype(np.float64).sum(), rtol=1e-9)
    tree.check()


@pytest.mark.parametrize("name", ["pointer-dense", "pointer-pointer-dense", "axis-apart", "large-slots"])
def test_is_active_and_outside(name, rng):
    tree_type = build(name)
    at, values = sparse_2d(rng, (24, 40), 0.01)
    tree = tree_type.new()
    fill_kernel(tree_type)(tree, at, values)

    @mt.kernel
    def probe(
        f: tree_type,
        cells: mt.types.ndarray(mt.i32, 2),
        active: mt.types.ndarray(mt.i32, 1),
        out: mt.types.ndarray(f32, 1),
    ):
        for n in range(active.shape[0]):
            i, j = cells[n, 0], cells[n, 1]
            out[n] = f.a[i, j]
            if mt.is_active(f.a, [i, j]):
                active[n] = 1

    shape = tree.a.to_numpy().shape
    cells = rng.integers(-5, max(shape) + 5, (500, 2)).astype(np.int32)
    active, out = np.zeros(500, np.int32), np.zeros(500, np.float32)
    probe(tree, cells, active, out)
    for (i, j), is_active, value in zip(cells.tolist(), active, out):
        inside = 0 <= i < shape[0] and 0 <= j < shape[1]
        assert is_active == (inside and tree.is_active(i, j))
        # Outside of a sparse tree there is background, and nothing is activated by looking.
        assert value == (tree.a[i, j] if inside else np.float32(1.5))


def test_writes_outside_are_dropped():
    tree_type = build("pointer-dense")
    tree = tree_type.new()

    @mt.kernel
    def write(f: tree_type):
        for n in range(100):
            f[n - 50, 3].a = 1.0
            f[3, n * 1000].a = 2.0

    write(tree)
    cells, values = tree.a.cells()
    written = {tuple(c): v for c, v in zip(cells.tolist(), values) if v != 1.5}
    assert written == {**{(i, 3): 1.0 for i in range(24) if i != 3}, (3, 3): 1.0, (3, 0): 2.0}
    tree.check()


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_stencil_across_leaves(reach, rng):
    """Neighbour reads go through a staged tile: any offset, leaf edges, inactive neighbours, the tree's border."""
    tree_type = build("pointer-dense", background=0.25)
    at, values = sparse_2d(rng, (24, 40), 0.08)
    source, target = tree_type.new(), tree_type.new()
    fill_kernel(tree_type)(source, at, values)
    dense = np.pad(source.a.to_numpy(), reach, constant_values=0.25)

    @mt.kernel
    def smooth(f: tree_type, g: tree_type):
        for i, j in f:
            g.a[i, j] = (
                f.a[i, j] * 4.0 + f.a[i + reach, j] - 2.0 * f.a[i - reach, j] + 3.0 * f.a[i, j + reach] - f.a[i - 1, j - reach]
            )

    smooth(source, target)
    r = reach

    def shifted(di, dj):
        return dense[r + di : r + di + 24, r + dj : r + dj + 40]

    full = (
        shifted(0, 0) * np.float32(4)
        + shifted(r, 0)
        - np.float32(2) * shifted(-r, 0)
        + np.float32(3) * shifted(0, r)
        - shifted(-1, -r)
    )
    cells, results = target.a.cells()
    source_cells, _ = source.a.cells()
    assert {tuple(c) for c in cells.tolist()} == {tuple(c) for c in source_cells.tolist()}
    np.testing.assert_allclose(results, full[tuple(cells.T)], rtol=1e-5, atol=1e-5)
    target.check()


def test_conditional_stencil_activates_only_what_it_stores(rng):
    tree_type = build("pointer-dense", background=0.0)
    at, values = sparse_2d(rng, (24, 40), 0.02)
    source, target = tree_type.new(), tree_type.new()
    fill_kernel(tree_type)(source, at, values)

    @mt.kernel
    def keep_large(f: tree_type, g: tree_type):
        for i, j in f:
            v = f.a[i, j]
            if v > 1.5:
                g.a[i, j] = v + f.a[i + 1, j]

    keep_large(source, target)
    dense = np.pad(source.a.to_numpy(), 1)
    large = {(i, j): dense[i + 1, j + 1] + dense[i + 2, j + 1] for i, j in at.tolist() if dense[i + 1, j + 1] > 1.5}
    leaves = {(i // 4, j // 8) for i, j in large}
    cells, results = target.a.cells()
    assert {(i // 4, j // 8) for i, j in cells.tolist()} == leaves
    got = {tuple(c): v for c, v in zip(cells.tolist(), results)}
    for cell, value in large.items():
        assert got[cell] == np.float32(value)


def test_growing_loop_visits_the_cells_at_entry(rng):
    """A loop that activates in the tree it walks sees each cell that was active at entry once, and no new one."""
    tree_type = build("pointer-place", background=0.0)
    at, values = sparse_2d(rng, (23, 40), 0.2)
    tree = tree_type.new()
    fill_kernel(tree_type)(tree, at, np.ones_like(values))

    @mt.kernel
    def grow(f: tree_type, visits: mt.types.ndarray(mt.i32, 2)):
        for i, j in f:
            visits[i, j] += 1
            f.a[i + 1, j] += 2.0

    for _ in range(3):
        before, _ = tree.a.cells()
        visits = np.zeros((24, 40), np.int32)
        grow(tree, visits)
        expected = np.zeros((24, 40), np.int32)
        expected[tuple(before.T)] = 1
        np.testing.assert_array_equal(visits, expected)
    tree.check()


def test_two_branches_and_member_access(rng):
    builder = mt.types.SNodeTreeBuilder()
    vec = mt.types.vector(3, f32)
    builder.pointer(mt.ij, (6, 5)).dense(mt.ij, (4, 8)).place(a=f32, v=vec)
    builder.pointer(mt.ij, (3, 10)).dense(mt.ij, (8, 4)).place(m=mt.types.matrix(2, 2, mt.f64), n=mt.u8)
    tree_type = builder.build()
    tree = tree_type.new()
    at, values = sparse_2d(rng, (24, 40), 0.05)

    @mt.kernel
    def fill(f: tree_type, at: mt.types.ndarray(mt.i32, 2), values: mt.types.ndarray(f32, 1)):
        for n in range(values.shape[0]):
            I = mt.Vector([at[n, 0], at[n, 1]])
            f[I].a = values[n]
            f[I].v = mt.Vector([1.0, 2.0, 3.0]) * values[n]
            f[I].v[1] += 10.0
            f.m[I][0, 1] = values[n]
            f.n[I] = n

    fill(tree, at, values)
    for n, ((i, j), value) in enumerate(zip(at.tolist(), values)):
        cell = tree[i, j]
        assert cell.a == value
        np.testing.assert_allclose(np.asarray(cell.v), np.float32([1, 2, 3]) * value + np.float32([0, 10, 0]), rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(cell.m), [[0, value], [0, 0]])
        assert cell.n == n % 256
    tree.check()


def test_atomics_add_min_max(rng):
    tree_type = build("pointer-dense", background=0.0)
    tree, low, high = tree_type.new(), tree_type.new(), tree_type.new()
    count = 20000
    at = np.stack([rng.integers(0, 24, count), rng.integers(0, 40, count)], 1).astype(np.int32)
    values = rng.integers(-50, 50, count).astype(np.float32)

    @mt.kernel
    def scatter(s: tree_type, lo: tree_type, hi: tree_type, at: mt.types.ndarray(mt.i32, 2), v: mt.types.ndarray(f32, 1)):
        for n in range(v.shape[0]):
            s.a[at[n, 0], at[n, 1]] += v[n]
            mt.atomic_min(lo.a[at[n, 0], at[n, 1]], v[n])
            mt.atomic_max(hi.a[at[n, 0], at[n, 1]], v[n])

    scatter(tree, low, high, at, values)
    total, least, greatest = (np.zeros((24, 40), np.float32) for _ in range(3))
    np.add.at(total, tuple(at.T), values)
    np.minimum.at(least, tuple(at.T), values)
    np.maximum.at(greatest, tuple(at.T), values)
    np.testing.assert_array_equal(tree.a.to_numpy(), total)
    np.testing.assert_array_equal(low.a.to_numpy(), least)
    np.testing.assert_array_equal(high.a.to_numpy(), greatest)


def test_exhaustion_keeps_every_other_write(rng):
    tree_type = build("pointer-dense")
    tree = tree_type.new(capacity={"pointer0": 4})

    @mt.kernel
    def fill(f: tree_type, done: mt.types.ndarray(mt.i32, 1)):
        for n in range(24 * 40):
            f[n // 40, n % 40].a = n
            done[n] = 1

    done = np.zeros(24 * 40, np.int32)
    with pytest.raises(mt.CapacityError) as caught:
        fill(tree, done)
    assert caught.value.level == "pointer0" and caught.value.capacity == 4 and caught.value.needed > 4
    assert done.all()
    cells, values = tree.a.cells()
    np.testing.assert_array_equal(values, cells[:, 0] * 40 + cells[:, 1])
    tree.check()

    @mt.kernel
    def within(f: tree_type, at: mt.types.ndarray(mt.i64, 2)):
        for n in range(at.shape[0]):
            f[at[n, 0], at[n, 1]].a = 7.0

    tree.reset()
    within(tree, np.array([[0, 0], [5, 9], [23, 39], [0, 1], [11, 20]], np.int64))  # four leaves: exactly the capacity
    assert len(tree.a.cells()[0]) == 4 * 32


@pytest.mark.parametrize("repeat", range(5))
def test_pool_at_exactly_its_capacity_never_fails(repeat, rng):
    """All workers activate the same leaves: racing activations may hold a spare slot each."""
    tree_type = build("pointer-place", background=0.0)
    tree = tree_type.new(capacity={"pointer0": 24 * 40})
    order = rng.permutation(np.repeat(np.arange(24 * 40), 40)).astype(np.int32)

    @mt.kernel
    def touch(f: tree_type, order: mt.types.ndarray(mt.i32, 1)):
        for n in range(order.shape[0]):
            f.a[order[n] // 40, order[n] % 40] += 1.0

    touch(tree, order)
    assert (tree.a.to_numpy() == 40).all()
    assert tree.stats()["pointer0"].used == 24 * 40
    tree.check()


def test_overlapping_arguments_give_the_result_of_some_order(rng):
    tree_type = build("pointer-dense", background=0.0)
    at, values = sparse_2d(rng, (24, 40), 0.05)
    tree = tree_type.new()
    fill_kernel(tree_type)(tree, at, values)
    before = tree.a.to_numpy()

    @mt.kernel
    def double(f: tree_type, g: tree_type):
        for i, j in f:
            g.a[i, j] = f.a[i, j] * 2.0

    double(tree, tree)
    np.testing.assert_array_equal(tree.a.to_numpy(), before * 2)
