"""Members of instances as fields: one kernel for members of any name in trees of any type."""

import numpy as np
import pytest

import metate as ti

Points = ti.types.ndarray(dtype=ti.i32, ndim=2)
vec2 = ti.types.vector(2, ti.f32)


@ti.kernel
def mark(x: ti.template(), points: Points):
    for n in range(points.shape[0]):
        x[points[n, 0], points[n, 1]] += n + 1


@ti.kernel
def total(x: ti.template()) -> ti.i32:
    sum = 0
    for I in ti.grouped(x):
        sum += x[I]
    return sum


def test_one_kernel_for_members_of_different_trees():
    builder = ti.types.SNodeTreeBuilder
    trees = [
        builder().dense(ti.ij, 16).place(a=ti.i32, other=ti.f32).build(),
        builder().pointer(ti.ij, 4).bitmasked(ti.ij, 4).place(far=ti.i32).build(),
        builder().hash(ti.ij).dense(ti.ij, 2).place(x=ti.i32).build(),
    ]
    points = np.array([[3, 4], [15, 0], [3, 4]], np.int32)
    for type_ in trees:
        tree = type_.new(capacity=40)
        name = next(iter(type_.members))
        x = getattr(tree, name).field()
        mark(x, points)
        assert x[3, 4] == 4 == getattr(tree, name)[3, 4] and x[15, 0] == 2 and total(x) == 6
        assert x.shape == getattr(tree, name).shape and x.dtype is ti.i32 and name in repr(x)
        x[1, 1] = 10
        assert getattr(tree, name)[1, 1] == 10 and total(x) == 16


def test_it_is_a_field():
    tree = ti.types.SNodeTreeBuilder().pointer(ti.i, 4).dense(ti.i, 2).place(v=vec2, background=1.5).build().new()
    v = tree.v.field()
    v[5] = (1, 2)
    v[5].x = 7
    want = np.full((8, 2), 1.5, np.float32)
    want[5] = (7, 2)
    np.testing.assert_array_equal(v.to_numpy(), want)
    v.fill(3)
    assert tree.v[4].tolist() == [3, 3] and tree.v[0].tolist() == [1.5, 1.5]

    @ti.kernel
    def over() -> ti.f32:
        return v[5].sum()

    del tree
    assert over() == 6
    with pytest.raises(ti.TreeError, match=r"has a place already, in a tree of shape \[8\]"):
        ti.root.dense(ti.i, 4).place(v)
    with pytest.raises(ti.TreeError, match="is a member of an instance: its levels are that tree's"):
        v.parent()
