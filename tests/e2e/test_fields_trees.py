"""Trees of fields: root and builders in every form, orders, offsets, what shares a tree, destroying, contexts; with kernels."""

import gc

import numpy as np
import pytest
from device_tests import ARCH

import metate as mt
from metate.errors import TreeError


def test_forms_of_chains(rng):
    a, b, c, d, e, f, g, h = (mt.field(mt.i32) for _ in range(8))
    mt.root.place(a)
    mt.root.dense(mt.i, 4).place(b)
    block = mt.root.pointer(mt.ij, (2, 3))
    block.dense(mt.ij, 2).place(c).place(d)
    block.dense(mt.ij, (2, 4)).place([e, (f,)])
    mt.root.dense(mt.j, 3).dense(mt.i, 5).dense(mt.k, 2).place(g)
    mt.root.dense(mt.axes("lj"), (3, 4)).place(h)
    assert [x.shape for x in (a, b, c, d, e, f, g, h)] == [(), (4,), (4, 6), (4, 6), (4, 12), (4, 12), (5, 3, 2), (4, 3)]
    assert c._tree is d._tree is e._tree is f._tree and a._tree is not b._tree
    for x in (a, b, c, d, e, f, g, h):
        expected = np.zeros(x.shape, np.int32)
        for number in range(1, 6):
            at = tuple(int(k) for k in rng.integers(0, x.shape)) if x.shape else ()
            x[at] = expected[at] = number
        assert np.array_equal(x.to_numpy(), expected)


def test_levels_know_their_place():
    x, y = mt.field(mt.f32), mt.field(mt.f32)
    block = mt.root.pointer(mt.ij, (2, 3))
    leaf = block.dense(mt.ij, (4, 2))
    leaf.place(x, y)
    assert (block.shape, leaf.shape, x.shape) == ((2, 3), (8, 6), (8, 6))
    assert x.parent() is leaf and x.parent(2) is block and x.parent(3) is mt.root and x.parent(4) is None
    assert leaf.parent() is block and block.parent() is mt.root and mt.root.parent() is None
    assert x.snode.parent() is leaf and x.snode.parent(2) is block and x.snode.shape == (8, 6)
    assert leaf.get_children() == [x, y] and block.get_children() == [leaf] and block in mt.root.get_children()
    assert repr(leaf) == "root => pointer [2, 3] => dense [8, 6]" and repr(x.snode) == repr(leaf) + " => place [8, 6]"
    assert block.name == "pointer0" and leaf.name == "dense1"
    assert (mt.root.shape, leaf.snode) == ((), leaf)


def test_members_are_named_by_their_place_or_by_the_user():
    x, y, z, w = mt.field(mt.f32), mt.field(mt.f32, name="height"), mt.field(mt.f32, name="no name"), mt.field(mt.f32, name="v0")
    mt.root.dense(mt.i, 4).place(x, y, z, w)
    assert list(x._placement.tree.members) == ["v0", "height", "v2", "v0_1"]
    first, second = mt.root.dense(mt.i, 4), mt.root.dense(mt.i, 4)
    a, b = mt.field(mt.f32), mt.field(mt.f32)
    second.place(b)
    first.place(a)
    assert a._placement == b._placement and a._tree is not b._tree


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_order_is_the_order_in_memory(rng, order):
    shape = (3, 4, 5)
    x = mt.field(mt.i32, shape, order=order)
    given = rng.integers(0, 100, shape).astype(np.int32)
    x.from_numpy(given)
    assert np.array_equal(x.to_numpy(), given)
    if not ARCH:  # a device's memory has no view
        memory = x.numpy_view()
        assert sorted(range(3), key=lambda k: -memory.strides[k]) == ["ijk".index(letter) for letter in order]

    @mt.kernel
    def add():
        for i, j, k in x:
            x[i, j, k] += 100 * i + 10 * j + k

    add()
    i, j, k = np.indices(shape)
    assert np.array_equal(x.to_numpy(), given + 100 * i + 10 * j + k)


def test_layouts_in_memory():
    aos, soa = (mt.Vector.field(3, mt.f32, shape=(4, 5), layout=layout) for layout in mt.Layout)
    assert aos.numpy_view().strides == (60, 12, 4) and aos._placement.members == ("v0",)
    assert soa._placement.members == ("v0", "v1", "v2") and len(soa._placement.tree.branches) == 3
    x, y = mt.field(mt.f32), mt.field(mt.f64)
    mt.root.dense(mt.i, 8).place(x, y)
    assert x.numpy_view().strides == y.numpy_view().strides == (16,)


def test_components_can_be_placed_one_by_one(rng):
    v = mt.Vector.field(3, mt.f32)
    mt.root.dense(mt.i, 6).place(v.get_scalar_field(2), v.get_scalar_field(0))
    other = mt.root.dense(mt.i, 6)
    with pytest.raises(TreeError, match=r"components \[1\] have no place"):
        v[0]
    other.place(v.get_scalar_field(1))
    assert len(v._placement.tree.branches) == 2
    v.from_numpy(given := rng.standard_normal((6, 3)).astype(np.float32))

    @mt.kernel
    def turn():
        for i in v:
            v[i] = mt.Vector([v[i].z, v[i].x, v[i].y])

    turn()
    assert np.array_equal(v.to_numpy(), given[:, [2, 0, 1]])


@pytest.mark.parametrize("offset", [-3, (-3, 4), (0, 0), None])
def test_offsets_in_kernels(rng, offset):
    x = mt.field(mt.i32, (5, 6), offset=offset)
    y = mt.Vector.field(2, mt.i32)
    mt.root.pointer(mt.ij, (5, 3)).dense(mt.j, 2).place(y, offset=offset)
    first = (0, 0) if offset is None else (offset, offset) if isinstance(offset, int) else offset
    assert x.offset == y.offset == first

    @mt.kernel
    def number():
        for i, j in x:
            x[i, j] = 10 * i + j
            if (i + j) % 3 == 0:
                y[i, j] = [i, j]

    @mt.kernel
    def count() -> mt.i32:
        n = 0
        for _ in mt.grouped(y):
            n += 1
        return n

    number()
    i, j = np.indices((5, 6))
    i, j = i + first[0], j + first[1]
    assert np.array_equal(x.to_numpy(), 10 * i + j)
    chosen = (i + j) % 3 == 0
    assert np.array_equal(y.to_numpy(), np.where(chosen[..., None], np.stack([i, j], -1), 0))
    assert count() == 2 * len({(a, b // 2) for a, b in np.argwhere(chosen)})


def test_pointer_trees_grow_to_their_full_extent():
    x = mt.field(mt.f32)
    mt.root.pointer(mt.ij, 64).pointer(mt.ij, 4).dense(mt.ij, 4).place(x)

    @mt.kernel
    def fill():
        for i, j in mt.ndrange(64, 64):
            x[16 * i, 16 * j] = 1

    fill()
    assert x._tree.stats()["pointer1"].used == 64 * 64 and x.to_numpy().sum() == 64 * 64


def test_a_builder_from_begin_to_end():
    builder = mt.FieldsBuilder()
    x, v = mt.field(mt.f32), mt.Vector.field(2, mt.i32)
    builder.dense(mt.i, 5).place(x)
    builder.dense(mt.ij, (2, 2)).place(v)
    tree = builder.finalize()
    assert len(tree.types) == 2

    @mt.kernel
    def touch():
        for i in x:
            x[i] += i
        for i, j in v:
            v[i, j] += 1

    touch()
    touch()
    assert np.array_equal(x.to_numpy(), 2 * np.arange(5)) and v.to_numpy().sum() == 16
    tree.destroy()
    for use in (lambda: x[0], lambda: x.shape, lambda: v.to_numpy(), lambda: x.fill(1)):
        with pytest.raises(TreeError, match="was destroyed with its tree; place it again"):
            use()
    with pytest.raises(TreeError, match="destroy: the tree was destroyed before"):
        tree.destroy()
    with pytest.raises(Exception, match="was destroyed with its tree"):
        touch()


def test_placing_again_compiles_nothing_for_others():
    y = mt.field(mt.i32, 3)
    x = mt.field(mt.i32)

    @mt.kernel
    def work():
        for i in x:
            x[i] += 1

    @mt.kernel
    def other():
        for i in y:
            y[i] += 1

    for extent in (4, 4, 6):
        builder = mt.FieldsBuilder()
        builder.dense(mt.i, extent).place(x)
        tree = builder.finalize()
        other()
        work()
        work()
        assert np.array_equal(x.to_numpy(), np.full(extent, 2))
        tree.destroy()
    assert len(other.instances()) == 1 and len(work.instances()) == 2 and np.array_equal(y.to_numpy(), [3, 3, 3])


def test_views_hold_a_destruction_back():
    builder = mt.FieldsBuilder()
    x = mt.field(mt.f32)
    builder.dense(mt.i, 5).place(x)
    tree = builder.finalize()
    view = x.numpy_view()
    with pytest.raises(TreeError, match="destroy: a view of the block is still alive"):
        tree.destroy()
    x[1] = 3
    assert view[1] == 3
    del view
    gc.collect()
    tree.destroy()


def test_a_thousand_trees_come_and_go():
    for _ in range(1000):
        x = mt.field(mt.f64, (256, 256))
        x[1, 2] = 3
    assert x.to_numpy().sum() == 3


def test_fields_outlive_init_and_root_begins_anew():
    x, y = mt.field(mt.i32, 4), mt.field(mt.i32)
    level = mt.root.dense(mt.i, 4)
    level.place(y)

    @mt.kernel
    def add():
        for i in x:
            x[i] += 1
            y[i] += 2

    options = mt.context.current().options
    arch = options.arch
    add()
    mt.init(arch=arch)
    try:
        assert mt.root.get_children() == []
        add()
        assert np.array_equal(x.to_numpy(), [2] * 4) and np.array_equal(y.to_numpy(), [4] * 4)
    finally:
        mt.init(arch=arch, interp_stage=options.interp_stage)


def test_contexts_have_roots_of_their_own():
    x, y = mt.field(mt.i32), mt.field(mt.i32)
    with mt.Context():
        mt.root.dense(mt.i, 3).place(x)
        assert len(mt.root.get_children()) == 1
    assert x.parent() not in mt.root.get_children()
    mt.root.dense(mt.i, 3).place(y)
    assert x._placement == y._placement


def test_a_level_stands_for_its_cells():
    x = mt.field(mt.i32)
    block = mt.root.pointer(mt.ij, (4, 4))
    block.dense(mt.ij, (2, 2)).place(x)

    @mt.kernel
    def touch():
        x[3, 5] = 1
        x[7, 0] = 1

    @mt.kernel
    def count() -> mt.i32:
        n = 0
        for _ in mt.grouped(block):
            n += 1
        return n

    touch()
    assert count() == 2


def test_structs_are_placed_member_by_member(rng):
    s = mt.Struct.field({"a": mt.f32, "b": mt.types.vector(2, mt.i32)})
    t = mt.types.struct(c=mt.f64, d=mt.types.struct(e=mt.i8)).field()
    level = mt.root.dense(mt.i, 5)
    level.place(s, t.c)
    mt.root.dense(mt.i, 7).place(t.d)
    assert s.a._tree is t.c._tree and t.d.e.shape == (7,) and list(s.a._placement.tree.members) == ["v0", "v1", "v2"]

    @mt.kernel
    def fill():
        for i in s.a:
            s[i].a = i
            s[i].b = [i, 2 * i]
            t.c[i] = 3 * i

    fill()
    k = np.arange(5)
    assert np.array_equal(s.to_numpy()["b"], np.stack([k, 2 * k], -1)) and np.array_equal(t.c.to_numpy(), 3.0 * k)


def test_fill_in_kernels():
    x, y = mt.field(mt.f32), mt.field(mt.i32, (2, 3))
    v = mt.Vector.field(2, mt.f64, shape=4, layout=mt.Layout.SOA)
    s = mt.Struct.field({"a": mt.f32, "b": mt.types.struct(c=mt.types.vector(2, mt.i32))}, shape=3)
    mt.root.pointer(mt.i, 4).dense(mt.i, 2).place(x)
    x[3] = 9

    @mt.kernel
    def clear(height: mt.f32, pair: mt.types.vector(2, mt.f64)):
        x.fill(height)
        y.fill(7)
        v.fill(pair)
        s.fill(2)
        s.b.c.fill(mt.Vector([5, 6]))

    clear(1.5, [3, 4])
    assert np.array_equal(x.to_numpy(), [0, 0, 1.5, 1.5, 0, 0, 0, 0]) and (y.to_numpy() == 7).all()
    assert np.array_equal(v.to_numpy(), [[3, 4]] * 4)
    assert np.array_equal(s.a.to_numpy(), [2] * 3) and np.array_equal(s.b.c.to_numpy(), [[5, 6]] * 3)
