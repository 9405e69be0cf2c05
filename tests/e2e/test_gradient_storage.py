"""Gradients and duals as storage: what has one, where it lies, what it is called. Nothing is differentiated here."""

import gc

import numpy as np
import pytest

import metate as mt


@pytest.fixture(autouse=True)
def begin():
    mt.init()


def test_a_field_with_a_shape_has_a_gradient_of_its_shape():
    x = mt.field(mt.f32, (3, 4), needs_grad=True, needs_dual=True, name="x")
    assert x.grad.shape == x.dual.shape == (3, 4) and x.grad is x.grad and x.grad.dtype is mt.f32
    x.grad[1, 2] = 5
    x.fill(2)
    x.dual.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert x.grad.to_numpy().sum() == 5 and x.dual[2, 3] == 11 and x[1, 2] == 2
    assert x.grad.grad is None and x.grad.dual is None and x.grad.name == "x.grad"


def test_layouts_offsets_and_orders_are_those_of_the_field():
    v = mt.Vector.field(3, mt.f64, (4, 5), needs_grad=True, layout=mt.Layout.SOA, offset=(-2, 1), order="ji")
    v.grad[-2, 1] = [1, 2, 3]
    assert v.grad[-2, 1].tolist() == [1, 2, 3] and v.grad.offset == (-2, 1) and v.grad.element == v.element
    assert len(v.grad._placement.members) == 3
    m = mt.Matrix.field(2, 2, mt.f32, (), needs_grad=True)
    m.grad.fill(1)
    assert m.grad[None].tolist() == [[1, 1], [1, 1]] and m[None].tolist() == [[0, 0], [0, 0]]
    assert m.grad.get_scalar_field(0, 1).to_numpy() == 1
    assert mt.types.vector(2, mt.f32).field(shape=3, needs_grad=True).grad.shape == (3,)
    assert mt.field(mt.math.vec3, 2, needs_grad=True).grad.n == 3


def test_structs_have_gradients_of_their_float_members():
    s = mt.Struct.field({"pos": mt.math.vec3, "id": mt.i32, "grad": mt.f32}, 4, needs_grad=True)
    assert s.grad.shape == (4,) and s.grad.dtype is mt.f32  # the member
    assert s.pos.grad.shape == (4,) and s.id.grad is None and s["grad"].grad.shape == (4,)
    inner = mt.types.struct(a=mt.f32, n=mt.i32)
    t = mt.types.struct(inner=inner, b=mt.f64).field(shape=2, needs_grad=True)
    assert t.grad is t.grad and t.grad.keys == ["inner", "b"] and t.grad.inner.keys == ["a"]
    t.grad.fill(3)
    t.grad[1].b = 4
    assert t.grad.inner.a.to_numpy().tolist() == [3, 3] and t.b.grad.to_numpy().tolist() == [3, 4]


def test_a_gradient_is_placed_without_being_asked_for_before():
    x, y = mt.field(mt.f32), mt.field(mt.f32)
    mt.root.dense(mt.i, 4).place(x, x.grad)
    mt.root.dense(mt.i, 4).place(y)
    mt.root.dense(mt.i, 4).place(y.grad)
    x.grad[1], y.grad[2] = 2, 3
    assert x.grad.to_numpy().tolist() == [0, 2, 0, 0] and y.grad.to_numpy().tolist() == [0, 0, 3, 0]
    assert x.grad.parent() == x.parent() != y.grad.parent()


def test_components_have_gradients_that_are_placed_apart():
    v = mt.Vector.field(2, mt.f32)
    for k in range(2):
        mt.root.dense(mt.i, 3).place(v.get_scalar_field(k), v.get_scalar_field(k).grad)
    v.grad[2] = [4, 5]
    assert v.grad.get_scalar_field(1).to_numpy().tolist() == [0, 0, 5] and v[2].tolist() == [0, 0]


def test_lazy_gradients_lie_beside_their_fields():
    x, n, v = mt.field(mt.f32), mt.field(mt.i32), mt.Vector.field(2, mt.f64)
    block = mt.root.pointer(mt.i, 4).dense(mt.i, 2)
    block.place(x, n)
    mt.root.place(v, offset=())
    y = mt.field(mt.f32, shape=3)
    mt.root.lazy_grad()
    mt.root.lazy_grad()  # what has one keeps it
    x[5] = 1
    assert x.grad.is_active(5) and not x.grad.is_active(0) and x.grad.parent() == block and n.grad is None
    assert v.grad[None].tolist() == [0, 0] and y.grad.shape == (3,)
    x.grad.fill(7)
    assert x.grad.to_numpy().tolist() == [0, 0, 0, 0, 7, 7, 0, 0]


def test_lazy_duals_of_a_level_and_of_a_builder():
    x, y, z = (mt.field(mt.f32) for _ in range(3))
    level = mt.root.dense(mt.i, 2)
    level.place(x)
    mt.root.dense(mt.i, 2).place(y)
    level.lazy_dual()
    x.dual[1] = 1
    assert x.dual.shape == (2,) and not y.dual._is_placed
    builder = mt.FieldsBuilder()
    builder.dense(mt.i, 5).place(z, offset=-2)
    builder.lazy_dual()
    builder.lazy_grad()
    tree = builder.finalize()
    z.dual[-2] = 3
    assert z.dual.offset == z.grad.offset == (-2,) and z.dual.to_numpy()[0] == 3
    tree.destroy()
    with pytest.raises(mt.TreeError, match="destroyed"):
        z.grad[0] = 1


def test_trees_in_use_stay_as_they_are():
    x, y = mt.field(mt.f32), mt.field(mt.f32)
    level = mt.root.dense(mt.i, 2)
    level.place(x)
    x[0] = 1
    mt.root.dense(mt.i, 2).place(y)
    mt.root.lazy_grad()
    assert not x.grad._is_placed and y.grad._is_placed
    with pytest.raises(mt.TreeError, match="lazy_grad: the tree is in use and its type is fixed"):
        level.lazy_grad()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mt.field(mt.i32, 3, needs_grad=True), "needs_grad: expected a field of a float type, got i32"),
        (lambda: mt.field(int, needs_dual=True), "needs_dual: expected a field of a float type, got i32"),
        (lambda: mt.Vector.field(2, mt.u8, 3, needs_grad=True), "needs_grad: expected a field of a float type, got vector(2,"),
        (lambda: mt.Struct.field({"a": mt.i32}, 3, needs_grad=True), "needs_grad: expected a field of a float type, got struct"),
        (lambda: mt.Vector.ndarray(2, mt.i32, 3, needs_grad=True), "ndarray needs_grad: expected elements of a float type, got"),
    ],
)  # fmt: skip
def test_integers_have_none(make, message):
    with pytest.raises(RuntimeError) as raised:
        make()
    assert message in str(raised.value)


def test_a_gradient_that_was_asked_for_and_has_no_place():
    x = mt.field(mt.f32, needs_grad=True, name="x")
    mt.root.dense(mt.i, 3).place(x)

    @mt.kernel
    def fill():
        for i in x:
            x[i] = 1

    with pytest.raises(RuntimeError, match=r"field 'x': needs_grad: its gradient has no place; place x.grad as well, or call mt"):
        fill()


def test_arrays():
    x = mt.Vector.ndarray(2, mt.f32, 3, needs_grad=True)
    assert x.grad.shape == (3,) and x.grad.element_type == x.element_type and x.grad.grad is None
    assert mt.Matrix.ndarray(2, 2, mt.f64, (), needs_grad=True).grad.element_shape == (2, 2)
    assert mt.VectorNdarray(2, mt.f32, 3, needs_grad=True).grad.shape == (3,)
    x.grad = None
    x.grad = mt.Vector.ndarray(2, mt.f32, 3)
    for wrong in (mt.Vector.ndarray(2, mt.f32, 4), mt.Vector.ndarray(2, mt.f64, 3), mt.ndarray(mt.f32, 3), 5):
        with pytest.raises(mt.TaichiRuntimeTypeError, match=r"grad: expected an array of vector\(2, f32\), shape \(3,\), got"):
            x.grad = wrong
    assert mt.types.ndarray(mt.f32, 1, needs_grad=True).needs_grad is True and mt.types.ndarray(mt.f32, 1).needs_grad is None


def test_nobody_keeps_what_is_no_longer_used():
    x = mt.field(mt.f32, 3, needs_grad=True)
    holdings = mt.context.current().holdings
    assert len(holdings.partners) == len(holdings.shaped) == 1
    del x
    gc.collect()
    assert len(holdings.partners) == len(holdings.shaped) == 0
