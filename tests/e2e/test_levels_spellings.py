"""Sparse levels by the names that programs give them: levels above, whole levels emptied in kernels, questions from Python."""

import numpy as np
import pytest

import metate as ti


def blocks():
    x, b = ti.field(ti.i32), ti.root.pointer(ti.i, 4)
    b.dense(ti.i, 4).place(x)
    return x, b


def test_levels_above_are_walked_and_given_up():
    type_ = ti.types.SNodeTreeBuilder().pointer(ti.i, 4).bitmasked(ti.i, 2).dense(ti.i, 2).place(a=ti.i32).build()
    t = type_.new()

    @ti.kernel
    def count(f: type_, n: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for _i in f.a.parent(3):
            n[0] += 1
        for _i in f.a.parent(2):
            n[1] += 1
        for I in ti.grouped(f.a.parent().parent()):
            n[2] += 1
            n[3] += I[0]

    @ti.kernel
    def drop(f: type_):
        for i in f.a.parent(3):
            if i == 3:
                ti.deactivate(f.a.parent(3), [i])

    t.a[1] = t.a[6] = t.a[7] = t.a[14] = 1
    n = np.zeros(4, np.int32)
    count(t, n)
    assert n.tolist() == [3, 3, 3, 0 + 3 + 7]
    drop(t)
    count(t, n)
    assert n.tolist() == [5, 5, 5, 13] and t.check() is None


def test_a_level_is_emptied_in_a_kernel():
    x, b = blocks()
    d, y, z, w = ti.root.dense(ti.i, 3), ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    d.dynamic(ti.j, 8, 2).place(y)
    d.bitmasked(ti.j, 4).place(z)
    one = ti.root.dynamic(ti.i, 5)
    one.place(w)

    @ti.kernel
    def fill():
        for i in range(16):
            x[i] = i + 1
        for i in range(3):
            y[i].append(i)
            z[i, 2] = 5
        w.append(3)

    @ti.kernel
    def empty():
        b.deactivate_all()
        d.deactivate_all()  # the sparse levels below it
        one.deactivate_all()

    for _ in range(2):
        fill()
        assert x.to_numpy().all() and d.get_children()[0].length(2) == 1 and w[0] == 3 and z[1, 2] == 5
        empty()
        assert not any(field.to_numpy().any() for field in (x, y, z, w))
        assert (y.length(2), w.length(), b.is_active(1), z.is_active(0, 2)) == (0, 0, False, False)


def test_a_level_of_a_tree_is_emptied_in_a_kernel():
    type_ = ti.types.SNodeTreeBuilder().pointer(ti.i, 4, name="blocks").dense(ti.i, 4).place(a=ti.i32, background=2).build()
    t = type_.new()
    t.a[9] = 1

    @ti.kernel
    def empty(f: type_):
        f.blocks.deactivate_all()

    empty(t)
    assert (t.a.is_active(9), t.a[9], t.stats()["blocks"].used) == (False, 2, 0)


def test_dense_levels_are_not_emptied():
    x, d = ti.field(ti.i32), ti.root.dense(ti.i, 4)
    d.place(x)

    @ti.kernel
    def empty():
        d.deactivate_all()

    with pytest.raises(ti.TypeError_, match="always active"):
        empty()


def test_cells_are_asked_from_python():
    x, b = blocks()
    x[9] = 1
    assert (ti.is_active(b, [2]), ti.is_active(x, 9), ti.is_active(x.snode, [9]), ti.is_active(b, 1)) == (1, 1, 1, 0)
    ti.activate(b, (1,))
    ti.deactivate(b, ti.Vector([2]))
    assert (b.is_active(1), b.is_active(2), x[9]) == (True, False, 0)
    with pytest.raises(TypeError, match="expected a field, a level, a tree or a member, got 3"):
        ti.is_active(3, [1])


def test_lists_are_asked_from_python():
    y = ti.field(ti.i32)
    items = ti.root.dense(ti.i, 2).dynamic(ti.j, 8)
    items.place(y)
    assert [ti.append(items, 1, 7), ti.append(items, [1], 8), ti.append(y, [1], 9)] == [0, 1, 2]
    assert (ti.length(items, 1), ti.length(y, [1]), y.to_numpy()[1].tolist()) == (3, 3, [7, 8, 9, 0, 0, 0, 0, 0])
    ti.deactivate(items, [1])
    assert ti.length(items, [1]) == 0


def test_indices_are_rescaled_from_python():
    x, b = blocks()
    assert ti.rescale_index(x, b, ti.Vector([9]))[0] == 2 and ti.rescale_index(b, x, [2])[0] == 8


def test_levels_that_are_not_there_say_how():
    with pytest.raises(ti.TreeError, match=r"a hash level has no bounds; write hash\(axes\)"):
        ti.root.hash(ti.ij, 8)
    with pytest.raises(ti.TreeError, match="bit_struct: there is no level of this name; quantised fields share a word by p = "):
        ti.root.bit_struct(num_bits=32)
