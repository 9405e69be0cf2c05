"""Rows of bitmasked leaves computed under their bits, against NumPy on dense arrays."""

import numpy as np
import pytest

import metate as ti

WAYS = ({}, {"scan_masks": False}, {"hoist_leaves": False}, {"opt_level": 0}, {"threads": 4, "chunk_ns": 0}, {"opt_level": 3})


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
@pytest.mark.parametrize("fill", [0.05, 0.5, 1.0])
def test_rows_under_their_bits(rng, way, leaf, fill):
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
