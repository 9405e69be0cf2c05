"""Trees in kernels against dictionaries and dense arrays."""

import numpy as np
import pytest

import metate as ti

vec3 = ti.types.vector(3, ti.f32)
AB = ti.types.struct({"a": ti.f32, "b": vec3})


def aos(blocks=6, leaf=4):
    return ti.types.SNodeTreeBuilder().pointer(ti.ij, blocks).dense(ti.ij, leaf).place(AB, background={"a": 0.5}).build()


def soa(blocks=6, leaf=4):
    builder = ti.types.SNodeTreeBuilder()
    builder.pointer(ti.ij, blocks).dense(ti.ij, leaf).place(AB.a, background=0.5)
    builder.pointer(ti.ij, blocks).dense(ti.ij, leaf).place(AB.b)
    return builder.build()


def random_cells(rng, count, extent=24):
    return rng.integers(0, extent, (count, 2)).astype(np.int32)


Cells = ti.types.ndarray(dtype=ti.i32, ndim=2)


@pytest.mark.parametrize("make", [aos, soa])
def test_fill_and_walk(rng, make):
    tree_type = make()

    @ti.kernel
    def fill(f: tree_type, cells: Cells):
        for k in range(cells.shape[0]):
            f[cells[k, 0], cells[k, 1]].a = k
            f.b[cells[k, 0], cells[k, 1]] = vec3(k, cells[k, 0], cells[k, 1])

    @ti.kernel
    def double(f: tree_type):
        for I in ti.grouped(f):
            f[I].a *= 2
            f.b[I].y = f[I].b.x + I[1]

    tree, other = tree_type.new(), tree_type.new()
    cells = np.unique(random_cells(rng, 40), axis=0)
    fill(tree, cells)
    fill(other, cells[:1])
    double(tree)
    active = {(int(i) // 4, int(j) // 4) for i, j in cells}
    a, b = tree.a.to_numpy(), tree.b.to_numpy()
    want_a = np.full((24, 24), 0.5, np.float32)
    want_b = np.zeros((24, 24, 3), np.float32)
    for k, (i, j) in enumerate(cells.tolist()):
        want_a[i, j] = k
        want_b[i, j] = [k, i, j]
    for i, j in np.ndindex(24, 24):
        if (i // 4, j // 4) in active:
            want_a[i, j] *= 2
            want_b[i, j, 1] = want_b[i, j, 0] + j
    np.testing.assert_array_equal(a, want_a)
    np.testing.assert_array_equal(b, want_b)
    assert len(other.a.cells()[0]) == 16
    assert len(fill.instances()) == 1 and fill.instances()[0].hits == 2


def test_reading_gives_background_and_activates_nothing(rng):
    tree_type = aos()

    @ti.kernel
    def read(
        f: tree_type, cells: Cells, out: ti.types.ndarray(dtype=ti.f32, ndim=1), active: ti.types.ndarray(dtype=ti.i32, ndim=1)
    ):
        for k in range(cells.shape[0]):
            out[k] = f.a[cells[k, 0], cells[k, 1]] + f[cells[k, 0], cells[k, 1]].b[2]
            active[k] = ti.is_active(f, [cells[k, 0], cells[k, 1]])

    tree = tree_type.new()
    tree.a[5, 5] = 9.0
    cells = random_cells(rng, 50)
    cells[0] = [5, 5]
    out, active = np.zeros(50, np.float32), np.zeros(50, np.int32)
    read(tree, cells, out, active)
    inside = ((cells // 4) == 1).all(axis=1)
    np.testing.assert_array_equal(active, inside)
    assert out[0] == 9
    assert (out[~inside] == 0.5).all()
    assert len(tree.a.cells()[0]) == 16


def test_atomics_activate(rng):
    tree_type = (
        ti.types.SNodeTreeBuilder()
        .pointer(ti.ijk, 4)
        .pointer(ti.ijk, 2)
        .dense(ti.ijk, 2)
        .place(n=ti.i32, low=ti.i64, background={"low": 10**12})
        .build()
    )

    @ti.kernel
    def count(f: tree_type, cells: ti.types.ndarray(dtype=ti.i32, ndim=2), keys: ti.types.ndarray(dtype=ti.i64, ndim=1)):
        for k in range(cells.shape[0]):
            i, j, l = cells[k, 0], cells[k, 1], cells[k, 2]
            f.n[i, j, l] += 1
            ti.atomic_min(f[i, j, l].low, keys[k])

    cells = rng.integers(0, 16, (4000, 3)).astype(np.int32)
    keys = rng.integers(-(10**12), 10**12, 4000)
    tree = tree_type.new()
    count(tree, cells, keys)
    want, lows = np.zeros((16, 16, 16), np.int32), np.full((16, 16, 16), 10**12)
    np.add.at(want, tuple(cells.T), 1)
    np.minimum.at(lows, tuple(cells.T), keys)
    np.testing.assert_array_equal(tree.n.to_numpy(), want)
    np.testing.assert_array_equal(tree.low.to_numpy(), lows)


def test_stencil_between_two_trees(rng):
    tree_type = ti.types.SNodeTreeBuilder().pointer(ti.ij, 5).dense(ti.ij, 8).place(x=ti.f32, background=3.0).build()

    @ti.kernel
    def laplace(src: tree_type, dst: tree_type):
        for i, j in src:
            dst.x[i, j] = src.x[i - 1, j] + src.x[i + 1, j] + src.x[i, j - 1] + src.x[i, j + 1] - 4 * src.x[i, j]

    src, dst = tree_type.new(), tree_type.new()
    for bi, bj in rng.integers(0, 5, (7, 2)).tolist():
        for i, j in np.ndindex(8, 8):
            src.x[bi * 8 + i, bj * 8 + j] = float(rng.random())
    laplace(src, dst)
    x = np.pad(src.x.to_numpy(), 1, constant_values=3.0)  # outside the extents is background too
    active = np.zeros((40, 40), bool)
    active[tuple(src.x.cells()[0].T)] = True
    lap = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]
    np.testing.assert_allclose(dst.x.to_numpy(), np.where(active, lap, 3.0), rtol=1e-5, atol=1e-5)


def test_loops_over_members_and_levels(rng):
    builder = ti.types.SNodeTreeBuilder()
    builder.pointer(ti.ij, 6, name="coarse").dense(ti.ij, 2).place(a=ti.i32)
    builder.pointer(ti.i, 6, name="rows").dense(ti.i, 2).place(b=ti.i32)
    tree_type = builder.build()

    @ti.kernel
    def walk(f: tree_type, seen: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i, j in f.a:  # noqa: B007
            seen[0] += 1
        for i in f.b:
            seen[1] += i
        for i, j in f.coarse:
            seen[2] += i * 10 + j
        for I in ti.grouped(f.b):
            f.b[I] += 7

    tree = tree_type.new()
    tree.a[3, 9] = 1
    tree.b[10] = 5
    seen = np.zeros(3, np.int32)
    walk(tree, seen)
    assert seen.tolist() == [4, 10 + 11, 14]
    assert tree.b[10] == 12 and tree.b[11] == 7 and tree.b[0] == 0


def test_explicit_activation(rng):
    tree_type = aos()

    @ti.kernel
    def open_diagonal(f: tree_type):
        for i in range(6):
            ti.activate(f, [i * 4, i * 4])
            f.activate(i * 4, 0)

    tree = tree_type.new()
    open_diagonal(tree)
    coordinates, values = tree.a.cells()
    blocks = {(int(i) // 4, int(j) // 4) for i, j in coordinates}
    assert blocks == {(k, k) for k in range(6)} | {(k, 0) for k in range(6)}
    assert (values == 0.5).all()


def test_capacity_is_an_error_and_the_rest_is_written(rng):
    tree_type = ti.types.SNodeTreeBuilder().pointer(ti.i, 64).dense(ti.i, 4).place(x=ti.i32).build()

    @ti.kernel
    def fill(f: tree_type, out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(256):
            f.x[i] = i
            out[i] = i

    tree = tree_type.new(capacity=10)
    out = np.zeros(256, np.int32)
    with pytest.raises(ti.CapacityError):
        fill(tree, out)
    assert out.tolist() == list(range(256))
    coordinates, values = tree.x.cells()
    assert len(values) >= 40
    np.testing.assert_array_equal(coordinates[:, 0], values)


def test_struct_for_over_a_dense_tree(rng):
    tree_type = ti.types.SNodeTreeBuilder().dense(ti.ij, (3, 5)).dense(ti.j, 2).place(m=ti.types.matrix(2, 2, ti.f64)).build()

    @ti.kernel
    def fill(f: tree_type):
        for i, j in f:
            f[i, j].m = [[i, j], [j, i]]
            f.m[i, j][0, 1] += 0.5

    @ti.kernel
    def determinants(f: tree_type, out: ti.types.ndarray(dtype=ti.f64, ndim=2)):
        for I in ti.grouped(f):
            out[I] = f.m[I].determinant()

    tree = tree_type.new()
    fill(tree)
    out = np.zeros((3, 10))
    determinants(tree, out)
    i, j = np.indices((3, 10))
    np.testing.assert_allclose(out, i * i - (j + 0.5) * j)


def test_a_single_member_is_the_cell(rng):
    tree_type = ti.types.SNodeTreeBuilder().pointer(ti.i, 8).dense(ti.i, 8).place(x=ti.f32).build()

    @ti.kernel
    def ramp(f: tree_type):
        for i in range(8, 24):
            f[i] = i
            f[i] += 0.5

    tree = tree_type.new()
    ramp(tree)
    want = np.zeros(64, np.float32)
    want[8:24] = np.arange(8, 24) + 0.5
    np.testing.assert_array_equal(tree.x.to_numpy(), want)


def test_trees_as_template_parameters(rng):
    @ti.kernel
    def fill(f: ti.template(), value: ti.i32):
        for i in range(16):
            f.x[i] = value + i

    for dtype in (ti.i32, ti.f64):
        tree = ti.types.SNodeTreeBuilder().pointer(ti.i, 4).dense(ti.i, 4).place(x=dtype).build().new()
        fill(tree, 3)
        assert tree.x.to_numpy().tolist() == list(range(3, 19))
    assert len(fill.instances()) == 2


@pytest.mark.parametrize("level", ["pointer", "bitmasked"])
def test_an_access_outside_says_nothing_of_one_inside(level):
    """Both lie in one slot by the axis of the level above, the first one behind the end of the slot's own axis."""
    builder = ti.types.SNodeTreeBuilder()
    Tree = getattr(builder, level)(ti.j, 7).dense(ti.i, 3).place(x=ti.f32).build()

    @ti.kernel
    def run(t: Tree, j: ti.i32, asked: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            t.x[3, j] = 2.0
            asked[0] = ti.is_active(t, [5, j])
            t.x[0, j] = 1.0
            asked[1] = ti.is_active(t, [2, j])

    t, asked = Tree.new(), np.full(2, 7, np.int32)
    run(t, 4, asked)
    assert t.x[0, 4] == 1 and list(asked) == [0, 1]
