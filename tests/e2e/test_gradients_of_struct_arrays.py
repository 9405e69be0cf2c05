"""Gradients of arrays of structs, of vectors and of matrices: where they lie, kernels, modules."""

import numpy as np
import pytest

import metate as mt

Bead = mt.types.struct({"x": mt.math.vec2, "id": mt.i32, "inner": mt.types.struct({"m": mt.f32, "n": mt.i32})})
Beads = mt.types.ndarray(Bead, 1)
Scalar = mt.types.ndarray(mt.f32, 0)


@pytest.fixture(autouse=True)
def begin():
    mt.init()


@mt.kernel
def weigh(b: Beads, loss: Scalar):
    for i in b:
        loss[None] += b[i].inner.m * b[i].x.dot(b[i].x)


def beads(rng):
    b = mt.ndarray(Bead, 4, needs_grad=True)
    b.get_member("x").from_numpy(rng.random((4, 2), np.float32))
    b.get_member("inner").get_member("m").from_numpy(rng.random(4, np.float32))
    return b


def want(b):
    x, m = b.get_member("x").to_numpy(), b.get_member("inner").get_member("m").to_numpy()
    return 2 * m[:, None] * x, (x * x).sum(1)


def check(b):
    of_x, of_m = want(b)
    np.testing.assert_allclose(b.grad.get_member("x").to_numpy(), of_x, rtol=1e-6)
    np.testing.assert_allclose(b.grad.get_member("inner").get_member("m").to_numpy(), of_m, rtol=1e-6)


def test_the_gradient_of_an_array_of_structs_has_its_floats(rng):
    b = beads(rng)
    assert b.grad.keys == ["x", "inner"] and b.grad.get_member("inner").keys == ["m"] and b.grad.shape == (4,)
    assert b.get_member("x").grad is b.grad.get_member("x") and b.get_member("id").grad is None and b.dual is None
    b.grad[2].x = [1, 2]
    assert b.get_member("x").grad[2].tolist() == [1, 2]
    with pytest.raises(mt.errors.RuntimeTypeError_, match=r"grad: expected an array of struct\(.*'m': f32.*got"):
        b.grad = mt.ndarray(Bead, 4)
    b.grad = None
    assert b.get_member("x").grad is None
    with pytest.raises(mt.errors.RuntimeTypeError_, match="needs_grad: expected elements of a float type, got struct"):
        mt.ndarray(mt.types.struct({"id": mt.i32}), 3, needs_grad=True)


def test_kernels_of_arrays_of_structs(rng):
    b, loss = beads(rng), mt.ndarray(mt.f32, (), needs_grad=True)
    with mt.ad.Tape(loss):
        weigh(b, loss)
    check(b)
    constant = mt.ndarray(Bead, 4)
    with mt.ad.Tape(loss):
        weigh(constant, loss)  # it has none: a constant
    b.grad.fill(0)
    with mt.ad.Tape(loss):
        weigh(b, loss)
    check(b)


def test_kernels_read_the_gradients_of_arrays_of_structs(rng):
    @mt.kernel
    def descend(b: Beads, rate: mt.f32):
        for i in b:
            b[i].x -= rate * b.grad[i].x
            b[i].inner.m -= rate * b.grad[i].inner.m

    b = beads(rng)
    before = b.get_member("x").to_numpy()
    b.grad.get_member("x").fill(2)
    descend(b, 0.5)
    np.testing.assert_allclose(b.get_member("x").to_numpy(), before - 1)
    with pytest.raises(mt.TaichiCompilationError, match="array 'b' of 1 dimensions has no gradient"):
        descend(mt.ndarray(Bead, 4), 1.0)


def test_forward_mode_of_arrays_of_structs():
    @mt.kernel
    def double(b: Beads, out: mt.types.ndarray(mt.f32, 1)):
        for i in b:
            out[i] = b[i].inner.m * b[i].x[1]

    floats = mt.types.struct({"x": mt.math.vec2, "inner": mt.types.struct({"m": mt.f32})})
    b, out = mt.ndarray(Bead, 2), mt.ndarray(mt.f32, 2)
    b.dual, out.dual = mt.ndarray(floats, 2), mt.ndarray(mt.f32, 2)
    b.get_member("x").fill(3)
    b.get_member("inner").get_member("m").fill(5)
    b.dual[1].x = [0, 1]
    b.dual[0].inner.m = 1
    double.fwd(b, out)
    assert out.to_numpy().tolist() == [15, 15] and out.dual.to_numpy().tolist() == [3, 5]


def test_modules_take_the_gradients_of_members(tmp_path, rng):
    loaded = mt.aot.load(mt.aot.Module().add_kernel(weigh, grad=True).save(tmp_path / "m.metate"))
    names = [one["name"] for one in loaded.weigh.grad.parameters]
    assert names == ["b.x", "b.id", "b.inner.m", "b.inner.n", "loss", "b.x.grad", "b.inner.m.grad", "loss.grad"]
    b, loss = beads(rng), mt.ndarray(mt.f32, (), needs_grad=True)
    loaded.weigh(b, loss)
    loss.grad.fill(1)
    loaded.weigh.grad(b, loss)
    check(b)


def test_they_come_from_the_cache(tmp_path, rng):
    def run():
        with mt.Context(offline_cache_file_path=str(tmp_path), offline_cache=True):
            b, loss = beads(rng), mt.ndarray(mt.f32, (), needs_grad=True)
            loss.grad.fill(1)
            weigh.grad(b, loss)
            check(b)
            return weigh.grad.instances()[-1].cache

    assert [run(), run()] == ["compiled and cached", "loaded"]


@pytest.mark.parametrize("element", [mt.math.vec3, mt.math.mat2], ids=["vectors", "matrices"])
def test_arrays_of_vectors_and_matrices(element, rng):
    @mt.kernel
    def squares(x: mt.types.ndarray(element, 2), loss: Scalar):
        for i, j in x:
            for k in mt.static(mt.grouped(mt.ndrange(*element.shape))):
                loss[None] += x[i, j][k] ** 3

    x, loss = mt.ndarray(element, (2, 3), needs_grad=True), mt.ndarray(mt.f32, (), needs_grad=True)
    values = rng.random((2, 3, *element.shape), np.float32)
    x.from_numpy(values)
    with mt.ad.Tape(loss):
        squares(x, loss)
    np.testing.assert_allclose(x.grad.to_numpy(), 3 * values**2, rtol=1e-5)
