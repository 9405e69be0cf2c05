"""Derivatives of svd, polar_decompose, sym_eig and solve: against differences, dual numbers, and where values are equal."""

import math

import numpy as np
import pytest

import metate as mt
from differential import gradients

MATRICES = 12
ROOT = {np.float32: 3e-3, np.float64: 2e-7}  # of the precision, times what a few operations lose


@pytest.fixture(autouse=True)
def begin():
    mt.init()


def turned(a):
    return a.swapaxes(-1, -2)


def array(n, dtype):
    return mt.types.ndarray(dtype=mt.types.matrix(n, n, dtype), ndim=1)


def vectors(n, dtype):
    return mt.types.ndarray(dtype=mt.types.vector(n, dtype), ndim=1)


def kernels(n, dtype):
    """Kernels of (A, out): what depends on no choice of a basis or sign, then what does on the basis."""
    Array = array(n, dtype)

    @mt.kernel
    def rotation(A: Array, out: Array):
        for i in A:
            U, _, V = mt.svd(A[i])
            out[i] = U @ V.transpose()

    @mt.kernel
    def cube(A: Array, out: Array):
        for i in A:
            U, S, V = mt.svd(A[i])
            out[i] = U @ S @ S @ S @ V.transpose()

    @mt.kernel
    def polar(A: Array, out: Array):
        for i in A:
            R, S = mt.polar_decompose(A[i])
            out[i] = R @ S @ S + R

    @mt.kernel
    def symmetric(A: Array, out: Array):
        for i in A:
            values, Q = mt.sym_eig(A[i])
            D = A[i] * 0
            for k in mt.static(range(n)):
                D[k, k] = values[k] ** 3
            out[i] = Q @ D @ Q.transpose()

    @mt.kernel
    def axes(A: Array, out: Array):
        for i in A:
            U, S, V = mt.svd(A[i])
            values, Q = mt.sym_eig(A[i])
            out[i] = U * U + 2 * V * V - S + Q * Q * values[0]

    @mt.kernel
    def solved(A: Array, out: Array):
        for i in A:
            x = mt.solve(A[i], A[i][:, 0] * A[i][:, 1] + 1)
            out[i] = x.outer_product(x)

    return rotation, cube, polar, symmetric, axes, solved


def arrays_of(*values, kind):
    """Arrays of numbers, vectors or matrices, what stands behind the first axis, each with an array of `kind` beside it."""
    made = []
    for value in values:
        dtype, shape = (mt.f32 if value.dtype == np.float32 else mt.f64), value.shape[1:]
        element = [lambda t: t, lambda t, n: mt.types.vector(n, t), lambda t, n, m: mt.types.matrix(n, m, t)][len(shape)]
        one, other = (mt.ndarray(element(dtype, *shape), len(value)) for _ in range(2))
        one.from_numpy(np.ascontiguousarray(value))
        setattr(one, kind, other)
        made.append(one)
    return made


def reverse(kernel, weights, *given, more=()):
    """The gradients of <weights, what the kernel writes> for what is given; one for one."""
    made = arrays_of(*given, np.zeros_like(weights), kind="grad")
    kernel(*made, *more)
    made[-1].grad.from_numpy(weights)
    kernel.grad(*made, *more)
    found = [one.grad.to_numpy() for one in made[:-1]]
    return found[0] if len(found) == 1 else found


def forward(kernel, out, given, directions, more=()):
    """The dual of what the kernel writes, an array like `out`."""
    made = arrays_of(*given, out, kind="dual")
    for one, direction in zip(made, directions):
        one.dual.from_numpy(np.ascontiguousarray(direction))
    kernel.fwd(*made, *more)
    return made[-1].dual.to_numpy()


def differences(function, A, direction, step=1e-6):
    A = A.astype(np.float64)
    return (function(A + step * direction) - function(A - step * direction)) / (2 * step)


def run(kernel):
    def value(A):
        out = np.zeros_like(A)
        kernel(np.ascontiguousarray(A), out)
        return out

    return value


def per_matrix(a, b):
    return (a.astype(np.float64) * b).sum((-1, -2))


def separate(rng, n):
    """Random matrices whose singular values and eigenvalues lie apart."""
    A = rng.normal(0, 1, (40 * MATRICES, n, n))
    s, e = np.linalg.svd(A, compute_uv=False), np.linalg.eigvalsh(A, UPLO="U")
    apart = (np.abs(np.diff(s)).min(-1) > 0.15) & (np.abs(np.diff(e)).min(-1) > 0.15) & (s[:, -1] > 0.15)
    return np.ascontiguousarray(A[apart][:MATRICES])


@pytest.mark.parametrize("n", [2, 3])
def test_random_matrices(rng, n):
    A = separate(rng, n)
    w, v = rng.normal(0, 1, (2, *A.shape))
    exact = kernels(n, mt.f64)
    for kernel in exact:
        wanted = differences(run(kernel), A, v)
        np.testing.assert_allclose(forward(kernel, A, [A], [v]), wanted, rtol=1e-5, atol=1e-6, err_msg=kernel.__name__)
        np.testing.assert_allclose(
            per_matrix(reverse(kernel, w, A), v), per_matrix(w, wanted), rtol=1e-5, atol=1e-5, err_msg=kernel.__name__
        )
    for kernel, other in list(zip(kernels(n, mt.f32), exact, strict=True))[2::2]:  # polar, axes
        found, wanted = reverse(kernel, w.astype(np.float32), A.astype(np.float32)), reverse(other, w, A)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, atol=2e-4 * np.abs(wanted).max(), err_msg=kernel.__name__)


@pytest.mark.parametrize("n", [2, 3])
def test_against_dual_numbers(rng, n):
    """Which pass through the iterations, and know nothing of the rules."""
    A, v = separate(rng, n)[:3], rng.normal(0, 1, (3, n, n))
    with mt.Context(default_fp=mt.f64):
        derivatives = gradients.Derivatives()
        for kernel in kernels(n, mt.f64)[2::2]:  # polar, axes: all but solve
            text, _ = gradients.derivative_text(kernel, [A, np.zeros_like(A)], "forward")
            found = []
            for variant in (None, (2, 1)):
                duals = [v.copy(), np.zeros_like(A)]
                derivatives.run(text, [A.copy(), np.zeros_like(A)], duals, variant)
                found.append(duals[1])
            np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-10, err_msg=kernel.__name__)


def orthogonal(rng, count, n):
    return np.linalg.qr(rng.normal(0, 1, (count, n, n)))[0]


def repeated(rng, n):
    """Identities, rotations, matrices with two equal singular values and with nearly equal ones."""
    one = np.eye(n)
    Q, P = orthogonal(rng, 8, n), orthogonal(rng, 8, n)
    Q[:, :, 0] *= np.linalg.det(Q)[:, None]
    two = np.array([2.0, 2.0, 1.0][:n])
    near = two + np.array([0, 1e-9, 0])[:n]
    kinds = [one, 3 * one, 1e-3 * one, *Q[:3], 0.5 * Q[3], np.diag(two), np.diag(two[::-1]), *((Q * two) @ turned(Q))[:2]]
    kinds += [*((Q * near) @ turned(P * np.linalg.det(P)[:, None, None] ** (n % 2)))[2:4]]
    A = np.stack(kinds)
    positive = np.linalg.det(A) > 0
    A[~positive, :, 0] *= -1
    return A


def cubed(A):
    return A @ turned(A) @ A


def rotation_of(A):
    U, _, Vt = np.linalg.svd(A)
    sign = np.linalg.det(U @ Vt)
    U[..., -1] *= sign[..., None]
    return U @ Vt


def polar_of(A):
    R = rotation_of(A)
    S = turned(R) @ A
    return R @ S @ S + R


@pytest.mark.parametrize(("n", "numpy"), [(2, np.float64), (3, np.float32), (3, np.float64)])
def test_where_singular_values_are_equal(rng, n, numpy):
    """What depends on no basis has its derivative there as well, in both modes."""
    A = repeated(rng, n).astype(numpy)
    w, v = rng.normal(0, 1, (2, *A.shape)).astype(numpy)
    rotation, cube, polar, *_ = kernels(n, mt.f32 if numpy is np.float32 else mt.f64)
    limit = ROOT[numpy]
    for kernel, function in ((rotation, rotation_of), (cube, cubed), (polar, polar_of)):
        # A is scaled to one, for its derivatives are quotients.
        wanted = differences(function, A, v, 1e-6 * np.abs(A).max((-1, -2), keepdims=True))
        size = 1 + np.abs(wanted).max((-1, -2))
        by_forward = np.abs(forward(kernel, A, [A], [v]) - wanted).max((-1, -2)) / size
        found = reverse(kernel, w, A)
        product, scale = per_matrix(found, v), per_matrix(np.abs(found), np.abs(v)) + size
        by_reverse = np.abs(product - per_matrix(w, wanted)) / scale
        assert by_reverse.max() < limit, f"{kernel.__name__}: {A[by_reverse.argmax()]}: {by_reverse}"
        is_exact = np.abs(np.diff(np.linalg.svd(A.astype(float), compute_uv=False))).min(-1) < 1e-15
        by_forward = by_forward[is_exact | (kernel is not cube)]  # nearly equal: as exact as their difference
        assert by_forward.max() < limit, f"{kernel.__name__}: {by_forward}"


@pytest.mark.parametrize("n", [2, 3])
def test_where_eigenvalues_are_equal(rng, n):
    Q = orthogonal(rng, 4, n)
    values = np.array([1.5, 1.5, -0.5][:n])
    A = np.stack(
        [np.eye(n), -2 * np.eye(n), np.diag(values), np.diag(values[::-1]), *((Q * values) @ turned(Q)), np.zeros((n, n))]
    )
    w, v = rng.normal(0, 1, (2, *A.shape))
    symmetric = kernels(n, mt.f64)[3]
    upper = np.triu(v)
    D = upper + turned(np.triu(v, 1))  # of A the upper triangle is read
    wanted = D @ A @ A + A @ D @ A + A @ A @ D
    np.testing.assert_allclose(forward(symmetric, A, [A], [v]), wanted, atol=1e-7)
    found = reverse(symmetric, w, A)
    assert not np.tril(found, -1).any()
    np.testing.assert_allclose(per_matrix(found, v), per_matrix(w, wanted), atol=1e-6)


@pytest.mark.parametrize(("n", "numpy"), [(2, np.float64), (3, np.float32)])
def test_derivatives_are_numbers_everywhere(rng, n, numpy):
    """Also where there is none: of singular matrices, of reflections, of zero."""
    u, v, column = rng.normal(0, 1, (3, 6, n, 1))
    zero = np.zeros((n, n))
    flat = rng.normal(0, 1, (6, n, n))
    flat[:, :, 0] = 0
    kinds = [zero, -np.eye(n), np.diag([1.0, 1.0, -1.0][-n:]), np.diag([1.0, 0, 0][:n]), np.ones((n, n)), *(u @ turned(v)), *flat]
    kinds += [1e-30 * flat[0], 1e30 * flat[1], *(column @ turned(column))]
    A = np.stack(kinds).astype(numpy)
    w = rng.normal(0, 1, A.shape).astype(numpy)
    for kernel in kernels(n, mt.f32 if numpy is np.float32 else mt.f64)[:5]:
        if kernel.__name__ in ("cube", "polar", "symmetric"):
            rows = np.abs(A).max((-1, -2)) < 1e10  # their values leave the range
        else:
            rows = slice(None)
        assert np.isfinite(reverse(kernel, w[rows], A[rows])).all(), kernel.__name__
        assert np.isfinite(forward(kernel, A[rows], [A[rows]], [w[rows]])).all(), kernel.__name__


@pytest.mark.parametrize(("by", "numpy"), [("svd", np.float32), ("svd", np.float64), ("polar", np.float32)])
def test_a_corotated_energy(rng, by, numpy):
    """As of MPM: its gradient is the first Piola-Kirchhoff stress, at rest, turned, stretched and squeezed."""
    dtype = mt.f32 if numpy is np.float32 else mt.f64
    mu, la = 1.5, 0.75

    @mt.kernel
    def energy(F: array(3, dtype), out: mt.types.ndarray(dtype, ndim=1)):
        for i in F:
            if mt.static(by == "svd"):
                U, S, V = mt.svd(F[i])
                R, J = U @ V.transpose(), S[0, 0] * S[1, 1] * S[2, 2]
                out[i] = mu * (F[i] - R).norm_sqr() + la / 2 * (J - 1) ** 2
            else:
                R, _ = mt.polar_decompose(F[i])
                out[i] = mu * (F[i] - R).norm_sqr() + la / 2 * (F[i].determinant() - 1) ** 2

    Q = rotation_of(rng.normal(0, 1, (6, 3, 3)))
    F = np.stack([np.eye(3), *Q, *(np.eye(3) + 1e-4 * Q), *(0.8 * Q), *(Q @ (np.eye(3) + 0.2 * turned(Q))), np.diag([1, 1, 0.2])])
    F = F.astype(numpy)
    found = reverse(energy, np.ones(len(F), numpy), F)
    exact = F.astype(np.float64)
    R, J = rotation_of(exact), np.linalg.det(exact)[:, None, None]
    stress = 2 * mu * (exact - R) + la * (J - 1) * J * turned(np.linalg.inv(exact))
    np.testing.assert_allclose(found, stress, atol=ROOT[numpy] * (1 if by == "svd" else 0.1))


def test_solutions_of_every_size(rng):
    for n in (1, 2, 3, 4):

        @mt.kernel
        def solve(A: array(n, mt.f64), b: vectors(n, mt.f64), x: vectors(n, mt.f64)):
            for i in b:
                x[i] = mt.solve(A[i], b[i])

        A, b = rng.normal(0, 1, (MATRICES, n, n)) + 3 * np.eye(n), rng.normal(0, 1, (MATRICES, n))
        c = rng.normal(0, 1, b.shape)
        dA, db = reverse(solve, c, A, b)
        x = np.linalg.solve(A, b[..., None])[..., 0]
        wanted = np.linalg.solve(turned(A), c[..., None])[..., 0]
        np.testing.assert_allclose(db, wanted, rtol=1e-9)
        np.testing.assert_allclose(dA, -wanted[:, :, None] * x[:, None, :], rtol=1e-9)
        tA, tb = rng.normal(0, 1, A.shape), rng.normal(0, 1, b.shape)
        dx = forward(solve, b, [A, b], [tA, tb])
        np.testing.assert_allclose((dx * c).sum(), (dA * tA).sum() + (db * tb).sum(), rtol=1e-9)


def test_in_functions_and_loops(rng):
    """Called from a function, in a loop that carries the matrix: turns are kept, and run again."""

    @mt.real_func
    def step(F: mt.types.matrix(2, 2, mt.f64)) -> mt.types.matrix(2, 2, mt.f64):
        U, S, V = mt.svd(F)
        return U @ (S * 0.5 + 0.25 * S @ S) @ V.transpose()

    @mt.kernel
    def chain(A: array(2, mt.f64), out: array(2, mt.f64), n: mt.i32):
        for i in A:
            F = A[i]
            for _ in range(n):
                F = step(F)
            out[i] = F

    A, w, v = rng.normal(0, 0.5, (3, MATRICES, 2, 2)) + np.array([1, 0, 0])[:, None, None, None] * np.eye(2)
    A[0] = np.eye(2)
    plain = lambda A: _chain(A, 5)
    found = reverse(chain, w, A, more=(5,))
    np.testing.assert_allclose(per_matrix(found, v), per_matrix(w, differences(plain, A, v)), atol=1e-6)


def _chain(A, n):
    for _ in range(n):
        U, s, Vt = np.linalg.svd(A)
        A = (U * (0.5 * s + 0.25 * s * s)[:, None, :]) @ Vt
    return A


def test_of_constants_nothing_is_differentiated(rng):
    @mt.kernel
    def scaled(
        A: mt.types.ndarray(dtype=mt.types.matrix(3, 3, mt.f32), ndim=1, needs_grad=False),
        x: mt.types.ndarray(mt.f32, 1),
        out: mt.types.ndarray(mt.f32, 1),
    ):
        for i in x:
            _, S, _ = mt.svd(A[i])
            out[i] = x[i] * S[0, 0]

    A, x = rng.normal(0, 1, (4, 3, 3)).astype(np.float32), np.ones(4, np.float32)
    arrays = [
        mt.ndarray(mt.types.matrix(3, 3, mt.f32), 4),
        mt.ndarray(mt.f32, 4, needs_grad=True),
        mt.ndarray(mt.f32, 4, needs_grad=True),
    ]
    arrays[0].from_numpy(A)
    arrays[1].from_numpy(x)
    arrays[2].grad.fill(1)
    scaled.grad(*arrays)
    np.testing.assert_allclose(arrays[1].grad.to_numpy(), np.linalg.svd(A, compute_uv=False)[:, 0], rtol=1e-3)
    assert not math.isnan(arrays[1].grad.to_numpy().sum())
