"""Derivatives of kernels that draw random numbers: they draw what the call drew, like a kernel that reads these from memory."""

import numpy as np
import pytest

import metate as mt

N = 200


@pytest.fixture(autouse=True)
def begin():
    mt.init(random_seed=5)


def made(shape=N):
    return mt.field(mt.f64, shape, needs_grad=True)


def noisy():
    """x, y, draws, a kernel that multiplies with what it draws and keeps that in `draws`, and one that reads it there."""
    x, y, draws = made(), made(), mt.field(mt.f64, N)

    @mt.kernel
    def noise():
        for i in x:
            r = mt.random(mt.f64)
            s = mt.f64(0)
            for k in range(i % 4):
                if mt.random() < 0.6:
                    s += mt.randn(mt.f64) * k
            draws[i] = r + s
            y[i] += x[i] ** 2 * (r + s)

    @mt.kernel
    def read():
        for i in x:
            y[i] += x[i] ** 2 * draws[i]

    x.from_numpy(np.linspace(0.5, 2, N))
    return x, y, draws, noise, read


def test_under_a_tape_each_call_has_its_own_numbers():
    x, y, draws, noise, _ = noisy()
    loss = made(())

    @mt.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    kept = []
    with mt.ad.Tape(loss):
        for _ in range(3):
            noise()
            kept.append(draws.to_numpy())
        total()
    assert not np.array_equal(kept[0], kept[1])
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * x.to_numpy() * sum(kept), rtol=1e-12)


def test_without_a_tape_the_last_call_counts():
    x, y, draws, noise, read = noisy()
    for _ in range(3):
        noise()
    y.grad.fill(1)
    noise.grad()
    found = x.grad.to_numpy()
    x.grad.fill(0)
    read.grad()
    assert np.array_equal(found, x.grad.to_numpy()) and found.any()
    noise()  # another one
    x.grad.fill(0)
    noise.grad()
    assert not np.array_equal(found, x.grad.to_numpy())
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * x.to_numpy() * draws.to_numpy(), rtol=1e-12)


def test_a_derivative_draws_no_numbers_of_its_own():
    def drawn(with_gradient):
        mt.init(random_seed=5)
        _, _, draws, noise, _ = noisy()
        noise()
        if with_gradient:
            noise.grad()
        noise()
        return draws.to_numpy()

    assert np.array_equal(drawn(False), drawn(True))


def test_a_kernel_that_was_not_called_is_an_error():
    _, _, _, noise, _ = noisy()
    text = r"noise\.grad: it draws the random numbers that .* last call drew, and the kernel was not called in this context; call"
    with pytest.raises(mt.TaichiRuntimeError, match=text):
        noise.grad()
    noise()
    noise.grad()


def test_branches_and_bounds_by_random_numbers():
    x, loss, turns, picks = made(), made(()), mt.field(mt.i32, N), mt.field(mt.i32, N)

    @mt.kernel
    def walk():
        for i in x:
            a = x[i]
            n = 1 + mt.i32(mt.random() * 5)
            turns[i] = n
            for _ in range(n):
                a = a * a * 0.9
            j = mt.i32(mt.random(mt.u32) % N)
            picks[i] = j
            loss[None] += a * x[j]

    @mt.kernel
    def read():
        for i in x:
            a = x[i]
            for _ in range(turns[i]):
                a = a * a * 0.9
            loss[None] += a * x[picks[i]]

    x.from_numpy(np.linspace(0.5, 1.1, N))
    with mt.ad.Tape(loss):
        walk()
    found = x.grad.to_numpy()
    with mt.ad.Tape(loss):
        read()
    np.testing.assert_allclose(found, x.grad.to_numpy(), rtol=1e-12)


def test_functions_of_arrays():
    @mt.kernel
    def noise(x: mt.types.ndarray(mt.f64, 1), y: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            y[i] = x[i] * x[i] * mt.random(mt.f64)

    x = np.linspace(1, 2, N)
    (first,), pull = mt.ad.vjp(noise, x, np.zeros(N))
    mt.ad.vjp(noise, x, np.zeros(N))  # its numbers are others
    np.testing.assert_allclose(pull(np.ones(N))[0], 2 * first / x, rtol=1e-12)


def test_forward_mode_is_the_kernel():
    x, y, draws = (mt.field(mt.f64, 3, needs_dual=True) for _ in range(3))

    @mt.kernel
    def noise():
        for i in x:
            draws[i] = mt.random(mt.f64)
            y[i] = x[i] * draws[i]

    x.fill(2)
    with mt.ad.FwdMode(y, x, [1, 1, 1]):
        noise()
    assert np.array_equal(y.dual.to_numpy(), draws.to_numpy()) and draws[0] != draws[1]


def test_in_a_module_the_host_gives_the_key(tmp_path):
    @mt.kernel
    def noise(x: mt.types.ndarray(mt.f64, 1), y: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            y[i] = x[i] * x[i] * mt.random(mt.f64)

    loaded = mt.aot.load(mt.aot.Module().add_kernel(noise, grad=True).save(tmp_path / "m.metate"))
    assert {one["name"] for one in loaded.noise_grad.parameters} == {"x", "y", "x.grad", "y.grad", "random_seed"}
    x, y, dx = np.linspace(1, 2, N), np.zeros(N), np.zeros(N)
    loaded.noise(x=x, y=y, random_seed=77)
    loaded.noise_grad(x, y, dx, np.ones(N), 77)
    np.testing.assert_allclose(dx, 2 * y / x, rtol=1e-12)
