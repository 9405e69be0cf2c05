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
    module.save(tmp_path / "m.o")
    assert "m_wave_grad(" in (tmp_path / "m.h").read_text()
    with pytest.raises(mt.errors.RuntimeValueError_, match="a name of its own for each kernel, got 'wave_grad' twice"):
        mt.aot.Module().add_kernel(wave, name="wave_grad").add_kernel(wave, grad=True)


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
