"""Rows of bitmasked leaves computed under their bits, against NumPy on dense arrays."""

import numpy as np
import pytest
from ways import PIECES, UNOPTIMISED, distinct, without

import metate as ti

WAYS = distinct(*without("scan_masks", "hoist_leaves"), UNOPTIMISED, PIECES, {"opt_level": 3})


@pytest.fixture(params=WAYS, ids=str)
def way(request):
    with ti.Context(**request.param):
        yield


def leaves(leaf, dtype=ti.f32):
    builder = ti.types.SNodeTreeBuilder()
    builder.pointer(ti.ij, 3).bitmasked(ti.ij, leaf).place(a=dtype, background=7).place(b=dtype, background=2)
    return builder.build()


def filled(rng, tree_type, leaf, fill):
    """An instance with random active cells, their mask, and the dense values of a."""
    tree, shape = tree_type.new(), (3 * leaf[0], 3 * leaf[1])
    mask = rng.random(shape) < fill
    mask[: leaf[0], : leaf[1]] = False
    values = np.full(shape, 7, np.float32)
    for i, j in np.argwhere(mask).tolist():
        values[i, j] = int(rng.integers(0, 100))
        tree.a[i, j] = values[i, j]
    return tree, mask, values


@pytest.mark.parametrize("leaf", [(8, 8), (4, 16), (2, 32), (3, 4), (8, 2), (4, 6), (2, 64)])
def test_rows_under_their_bits(rng, way, leaf):
    tree_type = leaves(leaf)

    @ti.kernel
    def update(f: tree_type):
        for I in ti.grouped(f.a):
            f.b[I] = f.a[I] * 2 + 1

    @ti.kernel
    def smooth(f: tree_type):
        for i, j in f.a:
            f.b[i, j] = f.a[i - 1, j] + f.a[i + 1, j] + f.a[i, j - 1] + f.a[i, j + 1] - 4 * f.a[i, j]

    @ti.kernel
    def branch(f: tree_type):
        for i, j in f.a:
            if f.a[i, j] > 50:
                f.b[i, j] = i
            else:
                f.a[i, j] = j

    for fill in (0.05, 0.5, 1.0):
        f, mask, a = filled(rng, tree_type, leaf, fill)
        update(f)
        assert (f.b.to_numpy() == np.where(mask, 2 * a + 1, 2)).all()
        smooth(f)
        wide = np.pad(a, 1, constant_values=7)
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4 * a
        assert (f.b.to_numpy() == np.where(mask, around, 2)).all()
        branch(f)
        i, j = np.indices(a.shape)
        assert (f.b.to_numpy() == np.where(mask, np.where(a > 50, i, around), 2)).all()
        assert (f.a.to_numpy() == np.where(mask & (a <= 50), j, a)).all()
        assert f.check() is None


def test_a_row_may_give_up_its_own_cells(rng, way):
    leaf = (8, 8)
    tree_type = leaves(leaf)

    @ti.kernel
    def thin(f: tree_type):
        for i, j in f.a:
            if f.a[i, j] > 50:
                ti.deactivate(f.a, [i, j])

    f, mask, a = filled(rng, tree_type, leaf, 0.5)
    thin(f)
    kept = mask & (a <= 50)
    assert (f.a.to_numpy() == np.where(kept, a, 7)).all()
    coordinates, _ = f.a.cells()
    assert sorted(map(tuple, coordinates.tolist())) == sorted(map(tuple, np.argwhere(kept).tolist()))
    assert f.check() is None


def test_another_tree_gets_the_same_cells(rng, way):
    leaf = (8, 8)
    tree_type = leaves(leaf)

    @ti.kernel
    def copy(f: tree_type, g: tree_type):
        for I in ti.grouped(f.a):
            g.a[I] = f.a[I]

    f, mask, a = filled(rng, tree_type, leaf, 0.3)
    g = tree_type.new()
    copy(f, g)
    assert (g.a.to_numpy() == a).all()
    coordinates, _ = g.a.cells()
    assert sorted(map(tuple, coordinates.tolist())) == sorted(map(tuple, np.argwhere(mask).tolist()))
    version = g.topology_version
    copy(f, g)
    assert g.topology_version == version


@pytest.mark.parametrize("kinds", [("bitmasked", "dense"), ("dense", "bitmasked"), ("bitmasked", "bitmasked")])
@pytest.mark.parametrize("extents", [(8, 8), (3, 5), (2, 48)])
def test_leaves_of_another_tree_are_activated_like_the_own_one(rng, way, kinds, extents):
    def tree_of(kind, name, background):
        builder = ti.types.SNodeTreeBuilder()
        getattr(builder.pointer(ti.ij, 4), kind)(ti.ij, extents).place(**{name: ti.f32}, background=background)
        return builder.build()

    one, two = tree_of(kinds[0], "a", 7), tree_of(kinds[1], "b", 2)

    @ti.kernel
    def double(f: one, g: two):
        for I in ti.grouped(f.a):
            g.b[I] = 2 * f.a[I]

    f, g = one.new(), two.new()
    shape = (4 * extents[0], 4 * extents[1])
    chosen = rng.random(shape) < 0.3
    chosen[: extents[0]] = False
    for i, j in np.argwhere(chosen).tolist():
        f.a[i, j] = i + j
    walked = np.zeros(shape, bool)
    walked[tuple(f.a.cells()[0].T)] = True
    before = f.a.to_numpy()
    double(f, g)
    active = np.zeros(shape, bool)
    active[tuple(g.b.cells()[0].T)] = True
    if kinds[1] == "bitmasked":
        assert (active == walked).all()
    else:
        leaves = walked.reshape(4, extents[0], 4, extents[1]).any(axis=(1, 3))
        assert (active == leaves.repeat(extents[0], 0).repeat(extents[1], 1)).all()
    assert (g.b.to_numpy() == np.where(walked, 2 * before, 2)).all()
    version = g.topology_version
    double(f, g)
    assert g.topology_version == version
    assert f.check() is None and g.check() is None


@pytest.mark.parametrize("leaf", ["dense", "bitmasked"])
def test_rows_that_write_what_their_neighbours_read(rng, way, leaf):
    """Red and black: each pass reads the other colour's cells, of the member that it writes."""
    builder = ti.types.SNodeTreeBuilder()
    getattr(builder.pointer(ti.ij, 4), leaf)(ti.ij, 8).place(x=ti.f32)
    tree_type = builder.build()

    @ti.kernel
    def smooth(f: tree_type, colour: ti.i32):
        for i, j in f.x:
            if (i + j) % 2 == colour:
                f.x[i, j] = f.x[i, j] + f.x[i - 1, j] + f.x[i + 1, j] + f.x[i, j - 1] + 2 * f.x[i, j + 1]
                f.x[i, j] -= 1

    f, x = tree_type.new(), np.zeros((32, 32), np.float32)
    mask = rng.random(x.shape) < 0.6
    mask[8:16, 16:24] = False
    for i, j in np.argwhere(mask).tolist():
        x[i, j] = f.x[i, j] = int(rng.integers(0, 100))
    active = np.zeros(x.shape, bool)
    active[tuple(f.x.cells()[0].T)] = True
    i, j = np.indices(x.shape)
    for colour in (0, 1):
        smooth(f, colour)
        wide = np.pad(x, 1)
        new = x + wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + 2 * wide[1:-1, 2:] - 1
        x = np.where(active & ((i + j) % 2 == colour), new, x)
    assert (f.x.to_numpy() == x).all()
