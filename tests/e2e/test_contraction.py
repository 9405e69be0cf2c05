"""Fused multiply-adds: never without `contract`, and with it where the machine has them."""

import pathlib

import numpy as np
import pytest

import metate as mt

DTYPES = {"f16": (mt.f16, np.float16), "f32": (mt.f32, np.float32), "f64": (mt.f64, np.float64)}


def operands(rng, dtype, count=10007):
    """Triples whose sum cancels: there the product's lost bits show."""
    a = rng.uniform(0.5, 2, count).astype(dtype)
    b = rng.uniform(0.5, 2, count).astype(dtype)
    return a, b, (-(a * b) * rng.choice([1, 1 + 2.0**-8, 0.5], count)).astype(dtype)


def kernels(code):
    array = mt.types.ndarray(dtype=code, ndim=1)

    @mt.kernel
    def add(a: array, b: array, c: array, out: array):
        for i in range(a.shape[0]):
            out[i] = a[i] * b[i] + c[i]

    @mt.kernel
    def others(a: array, b: array, c: array, out: array):
        for i in range(a.shape[0]):
            out[i] = (c[i] - a[i] * b[i]) * a[i] - b[i]

    @mt.kernel
    def chain(a: array, b: array, out: array):
        for row in range(16):
            total = mt.cast(0.0, code)
            for k in range(64):
                total += a[row * 64 + k] * b[row * 64 + k]
            out[row] = total

    return add, others, chain


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("level", [0, 2, 3])
def test_without_contraction_each_operation_rounds(rng, name, level):
    code, dtype = DTYPES[name]
    add, others, chain = kernels(code)
    a, b, c = operands(rng, dtype)
    out = np.empty_like(a)
    with mt.Context(contract=False, fast_math=False, opt_level=level):
        add(a, b, c, out)
        np.testing.assert_array_equal(out.view(np.uint8), (a * b + c).view(np.uint8))
        others(a, b, c, out)
        np.testing.assert_array_equal(out.view(np.uint8), ((c - a * b) * a - b).view(np.uint8))
        sums = np.empty(16, dtype)
        chain(a[:1024], b[:1024], sums)
    want = np.zeros(16, dtype)
    for k in range(64):
        want = want + a[:1024].reshape(16, 64)[:, k] * b[:1024].reshape(16, 64)[:, k]
    np.testing.assert_array_equal(sums, want)


def test_matrices_and_trees_without_contraction(rng):
    tree_type = (
        mt.types.SNodeTreeBuilder().pointer(mt.i, 16).dense(mt.i, 16).place(x=mt.f32, v=mt.types.vector(3, mt.f32)).build()
    )
    array = mt.types.ndarray(dtype=mt.f32, ndim=2)

    @mt.kernel
    def fill(t: tree_type, v: array):
        for i in range(256):
            t.v[i] = mt.types.vector(3, mt.f32)(v[i, 0], v[i, 1], v[i, 2])

    @mt.kernel
    def dots(t: tree_type):
        for i in t:
            t.x[i] = t.v[i].dot(t.v[i])

    v = rng.standard_normal((256, 3)).astype(np.float32)
    with mt.Context(contract=False):
        tree = tree_type.new()
        fill(tree, v)
        dots(tree)
        got = tree.x.to_numpy()
    square = v * v
    np.testing.assert_array_equal(got, (square[:, 0] + square[:, 1]) + square[:, 2])


def test_with_contraction_the_product_is_not_rounded(rng):
    if "fma" not in pathlib.Path("/proc/cpuinfo").read_text().split():
        pytest.skip("this CPU has no fused multiply-add")
    add, _, _ = kernels(mt.f32)
    a, b, c = operands(rng, np.float32)
    out = np.empty_like(a)
    with mt.Context(contract=True):
        add(a, b, c, out)
    exact = (a.astype(np.float64) * b + c).astype(np.float32)  # 48 bits of product fit, the sum is rounded last
    assert (out != a * b + c).any(), "nothing was fused"
    assert (np.abs(out - exact) <= np.spacing(np.abs(exact))).all()
