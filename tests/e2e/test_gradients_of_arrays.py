"""`mt.ad.grad`, `vjp`, `jvp` and `torch_function`: kernels over arrays as JAX and PyTorch differentiate functions."""

import numpy as np
import pytest

import metate as mt


@pytest.fixture(autouse=True)
def begin():
    mt.init()


@mt.kernel
def wave(x: mt.types.ndarray(), w: mt.types.ndarray(), k: mt.f32, n: mt.types.ndarray(), y: mt.types.ndarray()):
    for i in x:
        y[i] = mt.sin(x[i]) * w[0] * k + n[i]


@mt.kernel
def total(x: mt.types.ndarray(), w: mt.types.ndarray(), out: mt.types.ndarray()):
    for i in x:
        out[0] += x[i] * x[i] * w[i]


def arguments(rng):
    x, w = rng.random(4, np.float32), rng.random(1, np.float32)
    return x, w, 3.0, np.arange(4, dtype=np.int32), np.zeros(4, np.float32)


def test_vjp(rng):
    x, w, k, n, y = arguments(rng)
    (out,), pull = mt.ad.vjp(wave, x, w, k, n, y)
    assert out is y
    np.testing.assert_allclose(y, np.sin(x) * w * k + n, rtol=1e-6)
    for c in (np.ones(4), rng.random(4)):
        dx, dw = pull(c)
        np.testing.assert_allclose(dx, np.cos(x) * w * k * c, rtol=1e-5)
        np.testing.assert_allclose(dw, [np.sum(np.sin(x) * k * c)], rtol=1e-5)
    with pytest.raises(mt.errors.RuntimeValueError_, match="vjp: expected 1 cotangents, got 2"):
        pull(1, 2)


def test_jvp(rng):
    x, w, k, n, y = arguments(rng)
    t = rng.random(4)
    (out,), (dy,) = mt.ad.jvp(wave, (x, w, k, n, y), (t, [2.0], None, None, None))
    assert out is y
    np.testing.assert_allclose(dy, np.cos(x) * w * k * t + np.sin(x) * k * 2, rtol=1e-5)
    with pytest.raises(mt.errors.RuntimeValueError_, match="jvp: expected 5 tangents, one for each argument, got 1"):
        mt.ad.jvp(wave, (x, w, k, n, y), (t,))
    with pytest.raises(mt.errors.RuntimeTypeError_, match="jvp: argument 2 is no array of floats"):
        mt.ad.jvp(wave, (x, w, k, n, y), (t, None, 1.0, None, None))


def test_grad(rng):
    x, w = mt.ndarray(mt.f64, 3), mt.ndarray(mt.f64, 3)
    x.from_numpy(np.array([1.0, 2, 3]))
    w.fill(2)
    out = np.zeros(1)
    np.testing.assert_allclose(mt.ad.grad(total)(x, w, out), [4, 8, 12])
    assert out[0] == 28 and x.grad is None
    dw, dx = mt.ad.grad(total, argnums=(1, 0))(x, w, out)
    np.testing.assert_allclose(dw, [1, 4, 9])
    np.testing.assert_allclose(dx, [4, 8, 12])
    with pytest.raises(mt.errors.RuntimeTypeError_, match=r"grad: argnums: expected numbers of arrays .*, got 1"):
        mt.ad.grad(total, 1)(x, np.ones(3, np.int32), np.zeros(1))


def test_of_methods_and_in_place():
    @mt.data_oriented
    class Scale:
        def __init__(self, k):
            self.k = k

        @mt.kernel
        def apply(self, y: mt.types.ndarray()):
            for i in y:
                y[i] *= self.k

    y = np.ones(3)
    (out,), pull = mt.ad.vjp(Scale(4.0).apply, y)
    assert out is y and y.tolist() == [4, 4, 4] and pull([1, 2, 3])[0].tolist() == [4, 8, 12]


def test_what_is_no_function():
    @mt.kernel
    def nothing(x: mt.types.ndarray()) -> mt.f32:
        return x[0]

    with pytest.raises(mt.errors.RuntimeTypeError_, match="vjp: expected a kernel that writes an array of floats"):
        mt.ad.vjp(nothing, np.zeros(3))
    with pytest.raises(mt.errors.RuntimeTypeError_, match="expected a kernel, got <built-in function len>"):
        mt.ad.vjp(len, np.zeros(3))
    with pytest.raises(
        mt.errors.RuntimeTypeError_, match=r"grad: expected a kernel that writes one array of one element, got sizes \[4\]"
    ):
        mt.ad.grad(wave)(*arguments(np.random.default_rng(1)))


def test_arrays_that_overlap():
    """Each argument has a gradient of its own: of memory that is two of them the derivative would be wrong."""

    @mt.kernel
    def square(x: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in x:
            y[i] = x[i] ** 2

    @mt.kernel
    def product(a: mt.types.ndarray(), b: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in y:
            y[i] = a[i] * b[i]

    z = np.arange(1, 7, dtype=np.float64)
    text = r"derivative of kernel 'square': arguments 'x' and 'y' overlap, and one is written; make a copy"
    for x, y in ((z, z), (z[:4], z[2:]), (z[::2], z[:3])):
        with pytest.raises(mt.errors.DerivativeError_, match=text):
            mt.ad.vjp(square, x, y)
        with pytest.raises(mt.errors.DerivativeError_, match=text):
            mt.ad.jvp(square, (x, y), (np.ones(len(x)), None))
        views = [mt.from_dlpack(one) for one in (x, y)]
        for view in views:
            view.grad = mt.ndarray(mt.f64, len(x))
        with pytest.raises(mt.errors.DerivativeError_, match=text):
            square.grad(*views)
    assert z.tolist() == [1, 2, 3, 4, 5, 6]
    _, pull = mt.ad.vjp(square, z[::2], z[1::2])  # side by side
    assert pull([1, 1, 1])[0].tolist() == [2, 6, 10]
    _, pull = mt.ad.vjp(product, z, z, np.zeros(6))  # what is only read may be one array: each has its share
    assert [one.tolist() for one in pull(np.ones(6))] == [z.tolist()] * 2


def test_torch_has_no_gradient_of_what_the_kernel_leaves_alone():
    torch = pytest.importorskip("torch")

    @mt.kernel
    def double(unused: mt.types.ndarray(), x: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in y:
            y[i] = 2 * x[i]

    u, x = (torch.ones(3, requires_grad=True) for _ in range(2))
    mt.ad.torch_function(double)(u, x, torch.empty(3)).sum().backward()
    assert u.grad is None and x.grad.tolist() == [2, 2, 2]


def test_torch(rng):
    torch = pytest.importorskip("torch")
    x, w = (torch.tensor(one, requires_grad=True) for one in arguments(rng)[:2])
    n = torch.arange(4, dtype=torch.int32)
    f = mt.ad.torch_function(wave)
    y = f(x * 2, w, 3.0, n, torch.empty(4))
    (y * y).sum().backward()
    a, b = (one.detach().clone().requires_grad_() for one in (x, w))
    z = torch.sin(2 * a) * b * 3 + n
    (z * z).sum().backward()
    torch.testing.assert_close(y, z)
    torch.testing.assert_close(x.grad, a.grad)
    torch.testing.assert_close(w.grad, b.grad)
    memory = torch.empty(4)
    assert f(x, w, 1.0, n, memory).data_ptr() == memory.data_ptr()
