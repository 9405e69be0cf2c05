"""Modules with derivatives: a host computes gradients without a compiler."""

import numpy as np
import pytest

import metate as mt


def test_forward_and_backward_in_one_module(tmp_path, rng):
    @mt.kernel
    def wave(
        x: mt.types.ndarray(mt.f32, 1),
        c: mt.types.ndarray(mt.f32, 1, needs_grad=False),
        k: mt.f32,
        y: mt.types.ndarray(mt.f32, 1),
    ):
        for i in x:
            y[i] = k * c[i] * x[i] * x[i]

    module = mt.aot.Module()
    module.add_kernel(wave, grad=True)
    assert module.kernels == ("wave", "wave_grad")
    loaded = mt.aot.load(module.save(tmp_path / "m.metate"))
    assert [one["name"] for one in loaded.wave_grad.parameters] == ["x", "c", "k", "y", "x.grad", "y.grad"]
    x, c = rng.random(5, np.float32), rng.random(5, np.float32)
    y, dx, dy = np.zeros(5, np.float32), np.zeros(5, np.float32), rng.random(5, np.float32)
    want = 2 * 3 * c * x * dy
    loaded.wave(x, c, 3.0, y)
    loaded.wave_grad(x, c, 3.0, y, dx, dy)
    np.testing.assert_allclose(y, 3 * c * x * x, rtol=1e-6)
    np.testing.assert_allclose(dx, want, rtol=1e-6)
    assert not dy.any()
    assert loaded.wave.grad is loaded.wave_grad
    owned = [mt.ndarray(mt.f32, 5, needs_grad=True) for _ in range(2)]
    owned[0].from_numpy(x)
    owned[1].grad.fill(1)
    loaded.wave.grad(owned[0], c, 3.0, owned[1])
    np.testing.assert_allclose(owned[0].grad.to_numpy(), 6 * c * x, rtol=1e-6)
    with pytest.raises(mt.errors.RuntimeTypeError_, match="argument 'x': expected one that has a grad, got"):
        loaded.wave.grad(x, c, 3.0, y)
    module.save(tmp_path / "m.o")
    header = (tmp_path / "m.h").read_text()
    assert "m_wave_grad(" in header and header.count(" The derivative of 'wave' in reverse mode.\n") == 1
    with pytest.raises(mt.errors.RuntimeValueError_, match="a name of its own for each kernel, got 'wave_grad' twice"):
        mt.aot.Module().add_kernel(wave, name="wave_grad").add_kernel(wave, grad=True)


def test_derivatives_are_found_by_their_kernel_and_not_by_name(tmp_path):
    @mt.kernel
    def cube(x: mt.types.ndarray(mt.f64, 1), y: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            y[i] = x[i] ** 3

    @mt.kernel
    def cube_fwd(x: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            x[i] = 0

    module = mt.aot.Module().add_kernel(cube_fwd).add_kernel(cube, name="third", fwd=True, grad=True).add_kernel(cube)
    loaded = mt.aot.load(module.save(tmp_path / "m.metate"))
    assert list(loaded.kernels) == ["cube_fwd", "third", "third_grad", "third_fwd", "cube"]
    assert [one["name"] for one in loaded.third.fwd.parameters] == ["x", "y", "x.dual", "y.dual"]
    x, dx = np.array([1.0, 2, 3]), np.array([1.0, 0, 1])
    y, dy = np.zeros(3), np.zeros(3)
    loaded.third.fwd(x, y, dx, dy)
    assert y.tolist() == [1, 8, 27] and dy.tolist() == [3, 0, 27]
    dx[:], dy[:] = 0, 1
    loaded.third.grad(x, y, dx, dy)
    assert dx.tolist() == [3, 12, 27]
    for kernel, name in ((loaded.cube, "grad"), (loaded.cube, "fwd"), (loaded.third_grad, "grad")):
        expected = f"kernel '{kernel.name}': its module has no derivative of it; add it with add_kernel(..., {name}=True)"
        with pytest.raises(mt.errors.RuntimeLookupError_) as raised:
            getattr(kernel, name)
        assert str(raised.value) == expected


def test_a_gradient_returns_nothing(tmp_path):
    """Neither compiled at once nor from a module: what the kernel returns is not among what its gradient is called with."""
    A = mt.types.ndarray(mt.f64, 1)

    @mt.kernel
    def both(x: A, y: A) -> (mt.f64, mt.types.vector(2, mt.i32)):
        for i in x:
            y[i] = x[i] ** 2
        return y[0], mt.Vector([1, 2])

    x, y, dx, dy = np.array([1.0, 2, 3]), np.zeros(3), np.zeros(3), np.ones(3)
    loaded = mt.aot.load(mt.aot.Module().add_kernel(both, grad=True).save(tmp_path / "m.metate"))
    assert loaded.both(x, y)[0] == 1
    assert loaded.both_grad(x, y, dx, dy) is None and dx.tolist() == [2, 4, 6]
    given = [mt.from_dlpack(one) for one in (x, y)]
    for one, gradient in zip(given, (np.zeros(3), np.ones(3))):
        one.grad = mt.from_dlpack(gradient)
    assert both.grad(*given) is None and given[0].grad.to_numpy().tolist() == [2, 4, 6]


def test_fields_of_a_module_have_their_gradients_trees(tmp_path):
    x, loss = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    loaded = mt.aot.load(mt.aot.Module().add_kernel(total, grad=True).save(tmp_path / "m.metate"))
    names = [one["name"] for one in loaded.total_grad.parameters]
    assert set(names) == {"x", "loss", "x.grad", "loss.grad"}
    x.fill(2)
    loss.grad[None] = 1
    trees = {"x": x, "loss": loss, "x.grad": x.grad, "loss.grad": loss.grad}
    loaded.total_grad(*[trees[name]._tree for name in names])
    assert x.grad.to_numpy().tolist() == [4, 4, 4]
