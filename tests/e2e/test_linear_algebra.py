"""Vectors and small matrices of kernels against NumPy."""

import numpy as np
import pytest

import metate as ti

vec3 = ti.types.vector(3, ti.f64)
COUNT = 64


def matrices(n, m=None, dtype=ti.f64):
    return ti.types.ndarray(dtype=ti.types.matrix(n, m or n, dtype), ndim=1)


Vectors = ti.types.ndarray(dtype=vec3, ndim=1)
Scalars = ti.types.ndarray(dtype=ti.f64, ndim=1)


@ti.kernel
def vector_functions(
    a: Vectors, b: Vectors, scalars: ti.types.ndarray(dtype=ti.f64, ndim=2), vectors: ti.types.ndarray(dtype=vec3, ndim=2)
):
    for i in range(a.shape[0]):
        scalars[0, i] = a[i].dot(b[i])
        scalars[1, i] = a[i].norm()
        scalars[2, i] = a[i].norm_sqr()
        scalars[3, i] = a[i].sum()
        scalars[4, i] = a[i].max()
        scalars[5, i] = a[i].min()
        scalars[6, i] = ti.math.length(a[i] - b[i])
        scalars[7, i] = ti.Vector([a[i].x, a[i].y]).cross(b[i].xy)
        vectors[0, i] = a[i].cross(b[i])
        vectors[1, i] = a[i].normalized()
        vectors[2, i] = ti.max(a[i], b[i], 0.1)
        vectors[3, i] = a[i].zyx * 2 - b[i] / 3
        vectors[4, i] = ti.select(a[i] < b[i], a[i], -b[i])
        vectors[5, i] = ti.math.mix(a[i], b[i], 0.25)
        vectors[6, i] = ti.math.clamp(a[i], -0.5, 0.5)
        vectors[7, i] = ti.floor(a[i] * 3)


def test_vectors(rng):
    a, b = rng.normal(0, 1, (COUNT, 3)), rng.normal(0, 1, (COUNT, 3))
    scalars, vectors = np.zeros((8, COUNT)), np.zeros((8, COUNT, 3))
    vector_functions(a, b, scalars, vectors)
    planar = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    norm = np.linalg.norm(a, axis=1)
    wanted = [(a * b).sum(1), norm, norm**2, a.sum(1), a.max(1), a.min(1), np.linalg.norm(a - b, axis=1), planar]
    for row, want in enumerate(wanted):
        np.testing.assert_allclose(scalars[row], want, rtol=1e-12, atol=1e-12, err_msg=f"scalar {row}")
    wanted = [np.cross(a, b), a / norm[:, None], np.maximum(np.maximum(a, b), 0.1), a[:, ::-1] * 2 - b / 3]
    wanted += [np.where(a < b, a, -b), a * 0.75 + b * 0.25, np.clip(a, -0.5, 0.5), np.floor(a * 3)]
    for row, want in enumerate(wanted):
        np.testing.assert_allclose(vectors[row], want, rtol=1e-7, atol=1e-7, err_msg=f"vector {row}")


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_square_matrices(rng, n):
    @ti.kernel
    def run(
        m: matrices(n),
        inverse: matrices(n),
        transpose: matrices(n),
        product: matrices(n),
        scalars: ti.types.ndarray(dtype=ti.f64, ndim=2),
    ):
        for i in range(m.shape[0]):
            inverse[i] = m[i].inverse()
            transpose[i] = m[i].transpose()
            product[i] = m[i] @ m[i].transpose() + m[i] * 2
            scalars[0, i] = m[i].determinant()
            scalars[1, i] = m[i].trace()

    m = rng.normal(0, 1, (COUNT, n, n)) + 3 * np.eye(n)
    inverse, transpose, product, scalars = np.zeros_like(m), np.zeros_like(m), np.zeros_like(m), np.zeros((2, COUNT))
    run(m, inverse, transpose, product, scalars)
    np.testing.assert_allclose(inverse, np.linalg.inv(m), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(transpose, m.swapaxes(1, 2))
    np.testing.assert_allclose(product, m @ m.swapaxes(1, 2) + m * 2, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scalars[0], np.linalg.det(m), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scalars[1], np.trace(m, axis1=1, axis2=2), rtol=1e-12)


def test_integer_functions_of_matrices():
    """abs and clz of a matrix could not be lowered; a type after the elements was refused."""

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i8, ndim=1), out: ti.types.ndarray(dtype=ti.types.matrix(2, 3, ti.i32), ndim=1)):
        for _ in range(1):
            m = ti.Matrix([[x[0], x[1], x[2]], [x[3], x[4], x[5]]], ti.i8)
            out[0] = abs(m)
            out[1] = ti.clz(m)
            out[2] = ti.popcnt(m)
            out[3] = ti.Vector([x[0], x[1]], ti.i32).sum()

    x, out = np.array([3, -5, -128, 0, 1, -1], np.int8), np.zeros((4, 2, 3), np.int32)
    run(x, out)
    assert out[:3].reshape(3, 6).tolist() == [[3, 5, -128, 0, 1, 1], [6, 0, 0, 8, 7, 0], [2, 7, 1, 0, 1, 8]]
    assert (out[3] == -2).all()


def test_products_of_other_shapes(rng):
    @ti.kernel
    def run(m: matrices(2, 3), v: Vectors, out: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1), outer: matrices(3)):
        for i in v:
            out[i] = m[i] @ v[i]
            outer[i] = v[i].outer_product(v[i] + 1)

    m, v = rng.random((COUNT, 2, 3)), rng.random((COUNT, 3))
    out, outer = np.zeros((COUNT, 2)), np.zeros((COUNT, 3, 3))
    run(m, v, out, outer)
    np.testing.assert_allclose(out, np.einsum("nij,nj->ni", m, v), rtol=1e-12)
    np.testing.assert_allclose(outer, np.einsum("ni,nj->nij", v, v + 1), rtol=1e-12)


def test_subscripts_known_only_at_run_time(rng):
    @ti.kernel
    def run(v: Vectors, k: ti.types.ndarray(dtype=ti.i32, ndim=1), out: Scalars, replaced: Vectors):
        for i in range(v.shape[0]):
            local = v[i]
            out[i] = local[k[i]]
            local[k[i]] = 7.0
            local.xz = local.zx
            replaced[i] = local

    v, k = rng.random((COUNT, 3)), rng.integers(0, 3, COUNT).astype(np.int32)
    out, replaced = np.zeros(COUNT), np.zeros((COUNT, 3))
    run(v, k, out, replaced)
    np.testing.assert_array_equal(out, v[np.arange(COUNT), k])
    want = v.copy()
    want[np.arange(COUNT), k] = 7
    np.testing.assert_array_equal(replaced, want[:, ::-1])


ROTATION = np.array([[0.0, -1.0], [1.0, 0.0]])


def test_arguments_results_and_constants(rng):
    mat2, vec2 = ti.types.matrix(2, 2, ti.f64), ti.types.vector(2, ti.f64)

    @ti.kernel
    def turn(m: mat2, v: vec2) -> vec2:
        return ROTATION @ (m @ v)

    m, v = rng.random((2, 2)), rng.random(2)
    np.testing.assert_allclose(turn(m, v), ROTATION @ m @ v, rtol=1e-12)
