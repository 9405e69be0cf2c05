"""What the cases of torch_gradients.py and torch_tensors.py share: kernels, and how they compare."""

import contextlib
import re

import torch

import metate as mt

CASES = []
Floats = mt.types.ndarray(dtype=mt.f32, ndim=1)


def case(function):
    CASES.append(function)
    return function


@contextlib.contextmanager
def raises(kind, pattern):
    try:
        yield
    except kind as error:
        assert re.search(pattern, str(error)), f"expected {pattern!r}, got {error}"
    else:
        raise AssertionError(f"nothing was raised, expected {pattern!r}")


def leaf(rng, *shape, dtype=torch.float64):
    return torch.tensor(rng.standard_normal(shape), dtype=dtype, requires_grad=True)


def twin(tensor):
    """A leaf of the same numbers."""
    return tensor.detach().clone().requires_grad_()


def same(*pairs, **tolerances):
    for one, other in pairs:
        torch.testing.assert_close(one, other, **tolerances)


@mt.kernel
def wave(x: mt.types.ndarray(), y: mt.types.ndarray()):
    for I in mt.grouped(x):
        y[I] = mt.sin(x[I]) * x[I]


@mt.kernel
def product(a: mt.types.ndarray(), b: mt.types.ndarray(), y: mt.types.ndarray()):
    for i in y:
        y[i] = a[i] * b[i]


@mt.kernel
def polar(x: mt.types.ndarray(), y: mt.types.ndarray(), r: mt.types.ndarray(), p: mt.types.ndarray()):
    for i in x:
        r[i] = mt.sqrt(x[i] ** 2 + y[i] ** 2)
        p[i] = mt.atan2(y[i], x[i])


@mt.kernel
def square(x: mt.types.ndarray()):
    for i in x:
        x[i] = x[i] * x[i]


@mt.kernel
def scaled(x: mt.types.ndarray(), factor: float, y: mt.types.ndarray(), power: int = 1):
    for i in x:
        y[i] = factor * x[i] ** power


@mt.kernel
def add_to(x: mt.types.ndarray(), total: mt.types.ndarray()):
    for i in x:
        total[i] += x[i] * x[i]


@mt.kernel
def turn(x: mt.types.ndarray(ndim=2)):
    for i, j in x:
        x[i, j] = 10 * x[i, j] + i - j


wave_of, product_of, polar_of, square_of = map(mt.ad.torch_function, (wave, product, polar, square))
scaled_of, added_to = map(mt.ad.torch_function, (scaled, add_to))


def wave_at(x):
    return wave_of(x, torch.empty_like(x))
