"""Gradients and duals of minima, maxima and products that iterations leave in a place."""

import numpy as np
import pytest

import metate as mt


@pytest.fixture(autouse=True)
def begin():
    mt.init(default_fp=mt.f64)


def fields(*shapes):
    return [mt.field(mt.f64, shape, needs_grad=True, needs_dual=True) for shape in shapes]


def gradient(kernel, result, *of, seed=1.0):
    """Of one number for fields, in reverse mode."""
    kernel()
    for field in (result, *of):
        field.grad.fill(0)
    result.grad.fill(seed)
    kernel.grad()
    return [field.grad.to_numpy() for field in of]


def test_the_least_takes_the_gradient(rng):
    x, least, most = fields(1000, (), ())

    @mt.kernel
    def extremes():
        for i in x:
            mt.atomic_min(least[None], mt.sin(x[i]))
            mt.atomic_max(most[None], -x[i])

    values = rng.permutation(np.linspace(-1.4, 1.4, 1000))
    x.from_numpy(values)
    least[None], most[None] = 10, -10
    (dx,) = gradient(extremes, least, x, seed=2.0)
    wanted = np.zeros(1000)
    wanted[values.argmin()] = 2 * np.cos(values.min())
    np.testing.assert_array_equal(dx, wanted)
    assert least.grad[None] == 0  # what was there before has no influence
    (dx,) = gradient(extremes, most, x)
    assert dx[values.argmin()] == -1 and np.abs(dx).sum() == 1
    least[None] = -5  # less than all: it stays, and keeps its gradient
    (dx,) = gradient(extremes, least, x)
    assert not dx.any() and least.grad[None] == 1


@pytest.mark.parametrize("threads", [1, 4])
def test_of_equal_numbers_one_takes_it(threads):
    mt.init(default_fp=mt.f64, threads=threads)
    x, most = fields(64, ())

    @mt.kernel
    def greatest():
        for i in range(4096):
            mt.atomic_max(most[None], mt.abs(x[i % 64]))

    x.from_numpy(np.where(np.arange(64) == 37, 3.0, 1.0))
    (dx,) = gradient(greatest, most, x)
    assert dx[37] == 1 and dx.sum() == 1  # one variable: the derivative, though 64 iterations have it
    x.fill(2)
    most[None] = 2  # what was there equals them as well
    (dx,) = gradient(greatest, most, x, seed=3.0)
    assert sorted(dx)[-1] == 3 and dx.sum() == 3 and most.grad[None] == 0


def test_a_variable_of_the_kernel(rng):
    x, out = fields(500, ())

    @mt.kernel
    def spread():
        low, high = 100.0, -100.0
        for i in x:
            mt.atomic_min(low, x[i])
            mt.atomic_max(high, x[i])
        out[None] = high * high - low

    x.from_numpy(rng.permutation(500) * 0.01 + 1)
    (dx,) = gradient(spread, out, x)
    values = x.to_numpy()
    assert dx[values.argmin()] == -1 and dx[values.argmax()] == pytest.approx(2 * values.max()) and np.count_nonzero(dx) == 2


def test_products(rng):
    x, product = fields(20, ())

    @mt.kernel
    def multiply():
        for i in x:
            product[None] *= x[i] ** 2

    values = rng.uniform(0.5, 1.5, 20) * rng.choice([-1, 1], 20)
    x.from_numpy(values)
    product[None] = 3
    (dx,) = gradient(multiply, product, x, seed=2.0)
    total = np.prod(values**2)
    np.testing.assert_allclose(dx, 2 * 3 * total * 2 / values, rtol=1e-12)
    np.testing.assert_allclose(product.grad[None], 2 * total, rtol=1e-12)  # of what was there before


def test_two_loops_multiply_one_place(rng):
    x, y, product = fields(5, 5, 5)

    @mt.kernel
    def multiply():
        for i in x:
            product[i] = 0.5
            for k in range(5):
                product[i] *= x[k]
        for i in y:
            product[i] *= 2 * y[i]

    a, b, seed = rng.uniform(0.5, 1.5, (3, 5))
    x.from_numpy(a)
    y.from_numpy(b)
    multiply()
    product.grad.from_numpy(seed)
    multiply.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), np.prod(a) * (b * seed).sum() / a, rtol=1e-12)
    np.testing.assert_allclose(y.grad.to_numpy(), np.prod(a) * seed, rtol=1e-12)
    assert not product.grad.to_numpy().any()


def test_a_factor_that_is_zero_is_told():
    x, product = fields(3, ())

    @mt.kernel
    def multiply():
        for i in x:
            product[None] *= x[i]

    x.from_numpy(np.array([2.0, 0, 3]))
    product[None] = 1
    (dx,) = gradient(multiply, product, x)
    assert np.isnan(dx[1]) and dx[0] == dx[2] == 0
    with mt.ad.FwdMode(product, x, seed=[0, 1, 0]):  # in order, without a quotient
        product[None] = 1
        multiply()
    assert product.dual[None] == 6


def test_forward_mode(rng):
    x, least, product = fields((4, 6), (), 4)

    @mt.kernel
    def combine():
        for i, j in x:
            mt.atomic_min(least[None], x[i, j] * x[i, j] + 1)  # rounded as it may be: nothing is compared again
            product[i] *= x[i, j]

    values, seed = rng.uniform(0.5, 1.5, (2, 4, 6))
    x.from_numpy(values)
    least[None] = 10
    product.fill(2)
    with mt.ad.FwdMode([least, product], x, seed=seed):
        combine()
    at = np.unravel_index(values.argmin(), values.shape)
    np.testing.assert_allclose(least.dual[None], 2 * values[at] * seed[at], rtol=1e-12)
    np.testing.assert_allclose(product.dual.to_numpy(), 2 * values.prod(1) * (seed / values).sum(1), rtol=1e-12)


def test_components_of_vectors_have_their_own(rng):
    x = mt.Vector.field(3, mt.f64, 50, needs_grad=True)
    low = mt.Vector.field(3, mt.f64, (), needs_grad=True)

    @mt.kernel
    def box():
        for i in x:
            mt.atomic_min(low[None], x[i])

    values = rng.normal(0, 1, (50, 3))
    x.from_numpy(values)
    low.fill(100)
    box()
    low.grad[None] = [1, 2, 3]
    box.grad()
    wanted = np.zeros((50, 3))
    wanted[values.argmin(0), range(3)] = [1, 2, 3]
    np.testing.assert_array_equal(x.grad.to_numpy(), wanted)


def test_sparse_fields(rng):
    x, most = mt.field(mt.f64), mt.field(mt.f64, (), needs_grad=True)
    mt.root.bitmasked(mt.i, 64).place(x)
    mt.root.lazy_grad()

    @mt.kernel
    def greatest():
        for i in x:
            mt.atomic_max(most[None], x[i])

    for k in (3, 17, 40):
        x[k] = -float(k)
    most[None] = -100
    (dx,) = gradient(greatest, most, x)
    assert dx[3] == 1 and dx.sum() == 1


def refusal(kernel, line):
    with pytest.raises(mt.TaichiCompilationError) as told:
        kernel.grad()
    assert told.value.line == kernel.source.first_line + line and told.value.file == __file__
    return str(told.value)


def test_what_is_refused_names_its_line():
    x, y, z = fields(8, 8, 8)

    @mt.kernel
    def rounds():
        for i in x:
            mt.atomic_min(y[0], x[i] * x[i] + z[i])

    @mt.kernel
    def changes():
        for i in x:
            mt.atomic_max(y[0], x[i])
        y[0] *= 0.5

    @mt.kernel
    def reads():
        for i in x:
            z[i] = y[0]
        for i in x:
            y[0] *= x[i]

    @mt.kernel
    def stores():
        y[0] = z[0]
        for i in x:
            y[0] *= x[i]

    text = refusal(rounds, 3)
    assert "goes to the number that equals it, but this one may be rounded otherwise when it is computed again" in text
    assert "write it to a field in another kernel, and take the minimum of that" in text
    assert "needs its result, but 'y' may have been changed since" in refusal(changes, 3)
    assert "'y' is read here, but is no whole product yet" in refusal(reads, 3)
    assert "'y' gets a value with a derivative here, and is multiplied" in refusal(stores, 2)
