"""svd, polar_decompose, sym_eig, eig, solve, inverse and determinant, against NumPy: random and degenerate matrices."""

import numpy as np
import pytest

import metate as ti

DTYPES = [(ti.f32, np.float32), (ti.f64, np.float64)]
EACH = 60  # matrices of each kind


def turned(a):
    return a.swapaxes(-1, -2)


def matrices(rng, n, numpy):
    """Random ones, graded ones, singular ones, with repeated singular values, zero, reflections."""
    orthogonal = lambda: np.linalg.qr(rng.normal(0, 1, (EACH, n, n)))[0]
    column = rng.normal(0, 1, (EACH, n, 1))
    repeated = rng.normal(0, 1, (EACH, n, n))
    repeated[:, :, 0] = repeated[:, :, 1]
    kinds = [
        rng.normal(0, 1, (EACH, n, n)),
        rng.normal(0, 1, (EACH, n, n)) * 10.0 ** rng.uniform(-12, 12, (EACH, 1, 1)),
        orthogonal() * 10.0 ** rng.uniform(-7, 0, (EACH, 1, n)) @ orthogonal(),
        orthogonal() @ (rng.choice([1.0, 1.0, -1.0, 3.0], (EACH, n, 1)) * orthogonal()),
        column @ turned(column),
        repeated,
        np.broadcast_to(np.eye(n) * 2, (EACH, n, n)),
        np.zeros((EACH, n, n)),
        np.broadcast_to(np.diag(np.arange(n) - 1.0), (EACH, n, n)),
        np.round(rng.normal(0, 1, (EACH, n, n))),
    ]
    return np.ascontiguousarray(np.concatenate(kinds).astype(numpy))


def arrays(n, dtype):
    return ti.types.ndarray(dtype=ti.types.matrix(n, n, dtype), ndim=1)


def vectors(n, dtype):
    return ti.types.ndarray(dtype=ti.types.vector(n, dtype), ndim=1)


def check(found, wanted, size, numpy, what, factor=40):
    """Errors in units of the last place of each matrix' greatest entry."""
    error = np.abs(found.astype(np.float64) - wanted).reshape(len(found), -1).max(1)
    limit = factor * np.finfo(numpy).eps * size
    assert (error <= limit).all(), f"{what}: {error.max()} at {np.argmax(error / np.maximum(limit, 1e-300))}"


@pytest.mark.parametrize(("dtype", "numpy"), DTYPES, ids=lambda t: str(getattr(t, "name", "")))
@pytest.mark.parametrize("n", [2, 3])
def test_svd_and_polar(rng, n, dtype, numpy):
    Array = arrays(n, dtype)

    @ti.kernel
    def run(a: Array, u: Array, s: Array, v: Array, r: Array, p: Array):
        for i in a:
            u[i], s[i], v[i] = ti.svd(a[i])
            r[i], p[i] = ti.polar_decompose(a[i])

    a = matrices(rng, n, numpy)
    u, s, v, r, p = (np.zeros_like(a) for _ in range(5))
    run(a, u, s, v, r, p)
    exact, one = a.astype(np.float64), np.broadcast_to(np.eye(n), a.shape)
    size = np.abs(exact).max((1, 2)) * n
    check(u.astype(float) @ s @ turned(v.astype(float)), exact, size, numpy, "A = U S V^T")
    for name, orthogonal in (("U", u), ("V", v), ("R", r)):
        check(orthogonal.astype(float) @ turned(orthogonal), one, 1, numpy, f"{name} is orthogonal")
    values = np.diagonal(s, axis1=1, axis2=2)
    assert (s == values[:, :, None] * np.eye(n)).all(), "S is diagonal"
    check(np.abs(values), np.linalg.svd(exact)[1], size, numpy, "singular values")
    assert (np.diff(np.abs(values), axis=1) <= 8 * np.finfo(numpy).eps * size[:, None]).all(), "in descending order"
    if n == 2:
        assert (values >= 0).all()
    else:
        check(np.linalg.det(u), np.ones(len(a)), 1, numpy, "det U")
    check(np.linalg.det(v), np.ones(len(a)), 1, numpy, "det V")
    check(r.astype(float) @ p, exact, size, numpy, "A = R P")
    check(p, turned(p), size, numpy, "P is symmetric")
    if n == 2:
        assert (np.linalg.eigvalsh(p.astype(float)) >= -40 * np.finfo(numpy).eps * size[:, None]).all()
    else:
        check(np.linalg.det(r), np.ones(len(a)), 1, numpy, "det R")


@pytest.mark.parametrize(("dtype", "numpy"), DTYPES, ids=lambda t: str(getattr(t, "name", "")))
@pytest.mark.parametrize("n", [2, 3])
def test_symmetric_eigenvalues(rng, n, dtype, numpy):
    Array = arrays(n, dtype)

    @ti.kernel
    def run(a: Array, values: vectors(n, dtype), m: Array):
        for i in a:
            values[i], m[i] = ti.sym_eig(a[i])

    a = matrices(rng, n, numpy)
    a = np.ascontiguousarray((a + turned(a)) / 2)
    values, m = np.zeros(a.shape[:2], numpy), np.zeros_like(a)
    run(a, values, m)
    exact = a.astype(np.float64)
    size = np.abs(exact).max((1, 2)) * n
    wanted = np.linalg.eigvalsh(exact)
    check(values, wanted[:, ::-1] if n == 2 else wanted, size, numpy, "eigenvalues")
    check(m.astype(float) @ turned(m), np.broadcast_to(np.eye(n), a.shape), 1, numpy, "eigenvectors are orthogonal")
    check(exact @ m, m * values[:, None, :].astype(float), size, numpy, "A v = l v")


@pytest.mark.parametrize(("dtype", "numpy"), DTYPES, ids=lambda t: str(getattr(t, "name", "")))
def test_eigenvalues(rng, dtype, numpy):
    @ti.kernel
    def run(a: arrays(2, dtype), values: arrays(2, dtype), m: ti.types.ndarray(dtype=ti.types.matrix(4, 2, dtype), ndim=1)):
        for i in a:
            values[i], m[i] = ti.eig(a[i])

    a = matrices(rng, 2, numpy)
    values, m = np.zeros_like(a), np.zeros((len(a), 4, 2), numpy)
    run(a, values, m)
    found = values[:, :, 0].astype(np.float64) + 1j * values[:, :, 1]
    vectors = m[:, 0::2].astype(np.float64) + 1j * m[:, 1::2]
    exact = a.astype(np.float64)
    size = np.abs(exact).max((1, 2)) * 2
    # Of a defective matrix eigenvalues are known to the root of the precision only: A v = l v is what holds.
    for k in range(2):
        error = np.abs(np.einsum("nij,nj->ni", exact, vectors[:, :, k]) - found[:, k, None] * vectors[:, :, k]).max(1)
        assert (error <= 40 * np.finfo(numpy).eps * size).all(), error.max()
    check(np.linalg.norm(vectors, axis=1), np.ones((len(a), 2)), 1, numpy, "eigenvectors have length 1")
    check(found.sum(1).real, np.trace(exact, axis1=1, axis2=2), size, numpy, "trace")
    ordinary = slice(0, EACH)
    order = lambda v: np.sort_complex(np.round(v, 3 if numpy == np.float32 else 9))
    wanted = np.linalg.eigvals(exact[ordinary])
    for one, other in zip(found[ordinary], wanted):
        np.testing.assert_allclose(order(one), order(other), atol=2e-3 if numpy == np.float32 else 2e-9)


@pytest.mark.parametrize(("dtype", "numpy"), DTYPES, ids=lambda t: str(getattr(t, "name", "")))
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_solve_inverse_determinant(rng, n, dtype, numpy):
    @ti.kernel
    def run(a: arrays(n, dtype), b: vectors(n, dtype), x: vectors(n, dtype), inverse: arrays(n, dtype), d: vectors(1, dtype)):
        for i in a:
            x[i] = ti.solve(a[i], b[i])
            inverse[i] = a[i].inverse()
            d[i][0] = ti.math.determinant(a[i])

    a = (rng.normal(0, 1, (300, n, n)) + 4 * np.eye(n)[:, rng.permutation(n)]).astype(numpy)
    b = rng.normal(0, 1, (300, n)).astype(numpy)
    x, inverse, d = np.zeros_like(b), np.zeros_like(a), np.zeros((300, 1), numpy)
    run(a, b, x, inverse, d)
    exact = a.astype(np.float64)
    condition = np.linalg.cond(exact)
    check(x, np.linalg.solve(exact, b[:, :, None].astype(float))[:, :, 0], condition**1 * 4, numpy, "solve")
    check(inverse, np.linalg.inv(exact), condition**2 * 4, numpy, "inverse")
    check(d[:, 0], np.linalg.det(exact), np.abs(exact).max((1, 2)) ** n * 24, numpy, "determinant")


def test_solve_needs_its_pivots():
    @ti.kernel
    def run(x: vectors(3, ti.f64)):
        x[0] = ti.solve(ti.Matrix([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0]], ti.f64), ti.Vector([1.0, 2.0, 4.0]))
        x[1].xy = ti.solve([[1e-20, 1.0], [1.0, 1.0]], ti.Vector([1.0, 2.0]), dt=ti.f64)

    x = np.zeros((2, 3))
    run(x)
    np.testing.assert_array_equal(x, [[1, 1, 1], [1, 1, 0]])


def test_types_of_operands(rng):
    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        whole = ti.Matrix([[3, 0], [0, -4]])
        _u, s, _v = ti.svd(whole)
        _u64, wide, _v64 = ti.svd(whole / 3.0, dt=ti.f64)
        half, _m = ti.sym_eig(ti.cast(whole, ti.f16))
        out[0], out[1], out[2], out[3] = s[0, 0], s[1, 1], wide[0, 0], half[1]

    out = np.zeros(4)
    run(out)
    np.testing.assert_allclose(out, [4, 3, 4 / 3, -4], rtol=1e-6)


def test_inside_functions_and_at_the_top(rng):
    """Loops inside of them run in order, wherever the call stands."""

    @ti.func
    def stretch(m):
        _, s, _ = ti.svd(m)
        return s.trace()

    @ti.kernel
    def run(a: arrays(3, ti.f64), out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        first = stretch(a[0])
        out[0] = first
        if first > 0:
            out[1] = stretch(a[1])

    a = rng.normal(0, 1, (2, 3, 3))
    a *= np.sign(np.linalg.det(a))[:, None, None]
    out = np.zeros(2)
    run(a, out)
    np.testing.assert_allclose(out, np.linalg.svd(a)[1].sum(1), rtol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ti.svd(ti.Matrix.identity(ti.f32, 4))", "svd: expected a matrix of 2 x 2 or 3 x 3, got matrix(4, 4, f32)"),
        ("ti.eig(ti.Matrix.identity(ti.f32, 3))", "eig: expected a matrix of 2 x 2, got matrix(3, 3, f32)"),
        ("ti.sym_eig(ti.Vector([1.0, 2.0]))", "sym_eig: expected a matrix of 2 x 2 or 3 x 3, got vector(2, f32)"),
        (
            "ti.solve(ti.Matrix.identity(ti.f32, 2), ti.Vector([1.0]))",
            "solve: expected a square matrix of at most 4 rows and a vector of as many components, got matrix(2, 2, f32)",
        ),
        ("ti.solve(ti.Matrix.identity(ti.f32, 2))", "solve: expected A, b and perhaps dt, got 1 arguments"),
        ("ti.svd(ti.Matrix.identity(ti.f32, 2), ti.i32)", "svd: expected a float type to compute in, got i32"),
    ],
)
def test_mistakes(call, message):
    scope = {"ti": ti}
    text = f"@ti.kernel\ndef run():\n    x = {call}\n"
    file = f"<mistake {abs(hash(call))}>"
    ti.attach_source(file, text)
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(ti.CompilationError) as caught:
        scope["run"]()
    assert message in str(caught.value) and caught.value.line == 3
