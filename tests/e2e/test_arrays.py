"""NumPy arrays in place: layouts, element types, overlapping arguments, atomics."""

import numpy as np
import pytest

import metate as ti

vec3 = ti.types.vector(3, ti.f32)
mat2 = ti.types.matrix(2, 2, ti.f64)


@ti.kernel
def saxpy(a: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in range(y.shape[0]):
        y[i] = a * x[i] + y[i]


def test_saxpy(rng):
    n = int(rng.integers(1, 5000))
    x, y = rng.random(n, np.float32), rng.random(n, np.float32)
    want = np.float32(2.5) * x.astype(np.float64) + y
    saxpy(2.5, x, y)
    np.testing.assert_allclose(y, want, rtol=1e-6)


def test_empty_array():
    saxpy(1.0, np.zeros(0, np.float32), np.zeros(0, np.float32))


def test_strided_arrays(rng):
    base = rng.random((200, 6)).astype(np.float32)
    x, y = base[::2, 1], base[::-2, 4]
    want = 3 * x.astype(np.float64) + y
    untouched = base[:, [0, 2, 3, 5]].copy()
    saxpy(3.0, x, y)
    np.testing.assert_allclose(y, want, rtol=1e-6)
    np.testing.assert_array_equal(base[:, [0, 2, 3, 5]], untouched)


def test_one_compilation_a_signature(rng):
    @ti.kernel
    def fill(x: ti.types.ndarray(), value: ti.f32):
        for I in ti.grouped(x):
            x[I] = value

    a = np.zeros(5, np.float32)
    for _ in range(3):
        fill(a, 2.0)
    assert (a == 2).all()
    assert [i.hits for i in fill.instances()] == [3]
    b = np.zeros((4, 3), np.float64)
    fill(b, 7.0)
    fill(np.zeros((2, 2)), 7.0)
    assert (b == 7).all()
    assert sorted(i.hits for i in fill.instances()) == [2, 3]
    assert all(i.compile_ms > 0 for i in fill.instances())


def test_overlapping_arguments(rng):
    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.i32, ndim=1), y: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(x.shape[0]):
            y[i] = y[i] + x[i]

    x = rng.integers(0, 1000, 777).astype(np.int32)
    want = 2 * x
    add(x, x)
    np.testing.assert_array_equal(x, want)
    assert [i.may_alias for i in add.instances()] == [False, True]


@ti.kernel
def scale_points(points: ti.types.ndarray(dtype=vec3, ndim=1), by: vec3, lengths: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in range(points.shape[0]):
        p = points[i] * by
        points[i] = p
        points[i][1] += 1.0
        points[i, 2] = -points[i].z
        lengths[i] = p.norm()


def test_arrays_of_vectors(rng):
    points = rng.random((100, 3), np.float32)
    want = points * np.array([1, 2, 3], np.float32)
    lengths = np.zeros(100, np.float32)
    scale_points(points, [1.0, 2.0, 3.0], lengths)
    np.testing.assert_allclose(lengths, np.linalg.norm(want, axis=1), rtol=1e-5)
    want[:, 1] += 1
    want[:, 2] *= -1
    np.testing.assert_allclose(points, want, rtol=1e-6)


@ti.kernel
def square(m: ti.types.ndarray(dtype=mat2, ndim=1), out: ti.types.ndarray(dtype=mat2, ndim=1)):
    for i in m:
        out[i] = m[i] @ m[i]


def test_arrays_of_matrices(rng):
    m = rng.random((50, 2, 2))
    out = np.zeros_like(m)
    square(m, out)
    np.testing.assert_allclose(out, m @ m, rtol=1e-12)


@ti.kernel
def histogram(values: ti.types.ndarray(dtype=ti.i32, ndim=1), bins: ti.types.ndarray(ndim=1)):
    for i in range(values.shape[0]):
        bins[values[i]] += 1


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64, np.float32, np.float64, np.int16, np.float16])
def test_augmented_assignment_is_atomic(rng, dtype):
    values = rng.integers(0, 7, 1400).astype(np.int32)
    bins = np.zeros(7, dtype)
    histogram(values, bins)
    np.testing.assert_array_equal(bins, np.bincount(values, minlength=7).astype(dtype))


@ti.kernel
def atomics(
    x: ti.types.ndarray(dtype=ti.i32, ndim=1),
    out: ti.types.ndarray(dtype=ti.i32, ndim=1),
    order: ti.types.ndarray(dtype=ti.i32, ndim=1),
):
    for i in range(x.shape[0]):
        ti.atomic_max(out[0], x[i])
        ti.atomic_min(out[1], x[i])
        ti.atomic_or(out[2], x[i])
        ti.atomic_and(out[3], x[i])
        ti.atomic_xor(out[4], x[i])
        ti.atomic_sub(out[5], x[i])
        order[ti.atomic_add(out[6], 1)] = i


def test_atomics(rng):
    x = rng.integers(-(2**31), 2**31, 3000).astype(np.int32)
    out = np.array([-(2**31), 2**31 - 1, 0, -1, 0, 0, 0], np.int32)
    order = np.full(3000, -1, np.int32)
    atomics(x, out, order)
    reduce = np.bitwise_or.reduce, np.bitwise_and.reduce, np.bitwise_xor.reduce
    assert out[:5].tolist() == [x.max(), x.min(), *(int(f(x)) for f in reduce)]
    assert out[5] == (-x.astype(np.int64)).sum().astype(np.int32)
    assert sorted(order) == list(range(3000))


@ti.kernel
def float_extremes(x: ti.types.ndarray(ndim=1), out: ti.types.ndarray(ndim=1)):
    for i in range(x.shape[0]):
        ti.atomic_min(out[0], x[i])
        ti.atomic_max(out[1], x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_atomic_extremes(rng, dtype):
    x = rng.normal(0, 100, 1000).astype(dtype)
    out = np.array([np.inf, -np.inf], dtype)
    float_extremes(x, out)
    assert out.tolist() == [x.min(), x.max()]


@ti.kernel
def total(x: ti.types.ndarray(dtype=ti.f64, ndim=1)) -> ti.f64:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


@ti.kernel
def total64(x: ti.types.ndarray(dtype=ti.f64, ndim=1)) -> ti.f64:
    s = ti.f64(0.0)
    for i in range(x.shape[0]):
        s += x[i]
    return s


@ti.kernel
def centre(x: ti.types.ndarray(dtype=vec3, ndim=1)) -> vec3:
    s = vec3(0)
    for i in range(x.shape[0]):
        s += x[i]
    return s


def test_returned_reductions(rng):
    x = rng.random(4321)
    assert total64(x) == pytest.approx(x.sum(), rel=1e-12)
    points = rng.random((500, 3), np.float32)
    np.testing.assert_allclose(centre(points), points.sum(axis=0), rtol=1e-4)


def test_u1_arrays(rng):
    @ti.kernel
    def positive(
        x: ti.types.ndarray(dtype=ti.f32, ndim=1),
        out: ti.types.ndarray(dtype=ti.u1, ndim=1),
        n: ti.types.ndarray(dtype=ti.i32, ndim=1),
    ):
        for i in range(x.shape[0]):
            out[i] = x[i] > 0
            if out[i]:
                n[0] += 1

    x = rng.normal(0, 1, 300).astype(np.float32)
    out, n = np.zeros(300, bool), np.zeros(1, np.int32)
    positive(x, out, n)
    np.testing.assert_array_equal(out, x > 0)
    assert n[0] == (x > 0).sum()


def test_two_dimensional_stencil(rng):
    @ti.kernel
    def blur(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25

    a = rng.random((37, 53), np.float32)
    b = np.zeros_like(a)
    blur(a, b)
    want = np.zeros_like(a)
    want[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
    np.testing.assert_allclose(b, want, rtol=1e-6)


def test_template_parameters(rng):
    @ti.kernel
    def power(x: ti.template(), n: ti.template()):
        for I in ti.grouped(x):
            product = x[I]
            for _ in ti.static(range(n - 1)):
                product *= x[I]
            x[I] = product

    x = rng.random((5, 4))
    want = x**3
    power(x, 3)
    np.testing.assert_allclose(x, want, rtol=1e-12)
    power(x, 1)
    np.testing.assert_allclose(x, want, rtol=1e-12)
    assert len(power.instances()) == 2
