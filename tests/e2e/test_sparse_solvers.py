"""Direct and iterative solvers of sparse linear equations, and those whose matrix is a kernel; against NumPy's dense ones."""

import functools
import threading

import numpy as np
import pytest
import seeded

import metate as mt
from metate.errors import RuntimeError_, RuntimeTypeError_, RuntimeValueError_
from metate.linalg.sparse_native import available

pytestmark = pytest.mark.skipif(not available(), reason="this build has no Eigen (libeigen3-dev)")
FORMATS = ("col_major", "row_major")
TOLERANCE = {mt.f32: 2e-4, mt.f64: 1e-10}


def matrix_of(dense, dtype=mt.f64, storage_format="col_major"):
    rows, columns = np.nonzero(dense)
    A = mt.linalg.SparseMatrix(*dense.shape, dtype=dtype, storage_format=storage_format)
    A.build_from_ndarray(np.stack([rows, columns, dense[rows, columns]], 1))
    return A


def random_dense(name, n, kind):
    """Positive definite, indefinite but symmetric, or any; with about 4 entries a row."""
    rng = seeded.generator(name)
    dense = np.where(rng.random((n, n)) < 4 / n, rng.standard_normal((n, n)), 0)
    if kind == "any":
        return dense + np.diag(2 + rng.random(n)) @ np.eye(n)[rng.permutation(n)]  # its diagonal has zeros
    dense = np.triu(dense, 1) + np.triu(dense, 1).T
    strength = np.abs(dense).sum(1) + 1
    return dense + np.diag(strength if kind == "definite" else strength * rng.choice([-1, 1], n))


@pytest.mark.parametrize("dtype", (mt.f32, mt.f64))
@pytest.mark.parametrize("ordering", ("AMD", "COLAMD"))
@pytest.mark.parametrize("solver, kind", [("LLT", "definite"), ("LDLT", "definite"), ("LDLT", "indefinite"), ("LU", "any")])
def test_direct_solvers(dtype, ordering, solver, kind):
    for n in (1, 2, 60):
        dense = random_dense(f"{kind}{n}", n, kind)
        b = seeded.generator("b").standard_normal(n).astype(dtype.numpy)
        expected = np.linalg.solve(dense, b)
        near = functools.partial(np.testing.assert_allclose, desired=expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        for storage_format in FORMATS:
            A = matrix_of(dense, dtype, storage_format)
            s = mt.linalg.SparseSolver(dtype, solver, ordering)
            s.compute(A)
            assert s.info()
            near(s.solve(b))
            s.factorize(A * 2.0)  # the same pattern
            near(s.solve(b) * 2)
        held, field = mt.ndarray(dtype, n), mt.field(dtype, n)
        held.from_numpy(b)
        field.from_numpy(b)
        near(s.solve(held).to_numpy() * 2)
        near(s.solve(field) * 2)


def test_matrices_that_cannot_be_factorised_are_reported_by_info_and_by_solve():
    for solver, dense in (
        ("LLT", [[1.0, 2], [2, 1]]), ("LLT", [[0.0, 0], [0, 1]]), ("LDLT", [[1.0, 1], [1, 1]]), ("LU", [[1.0, 2], [2, 4]]),
        ("LU", [[0.0, 0], [0, 1]]), ("LU", [[0.0, 0], [0, 0]]), ("LLT", [[0.0]]),
    ):  # fmt: skip
        s = mt.linalg.SparseSolver(mt.f64, solver)
        s.compute(matrix_of(np.array(dense)))
        assert not s.info()
        with pytest.raises(RuntimeError_, match=f"the factorisation failed: {solver} needs"):
            s.solve(np.ones(len(dense)))
        s.compute(matrix_of(np.eye(2)))  # it can be used on
        assert s.info() and np.array_equal(s.solve(np.ones(2)), [1, 1])


def test_matrices_with_fewer_entries_than_rows_are_singular():
    for solver in ("LLT", "LDLT", "LU"):
        for dense in (np.zeros((21, 21)), np.diag(np.arange(500) % 50 == 0).astype(float)):
            s = mt.linalg.SparseSolver(mt.f32, solver)
            s.compute(matrix_of(dense, mt.f32))
            assert not s.info()


def test_random_matrices_are_solved_or_reported():
    rng = seeded.generator("random matrices")
    solved = 0
    for _ in range(150):
        n, share = int(rng.integers(1, 25)), rng.random() / 2
        dense = np.where(rng.random((n, n)) < share, rng.integers(-3, 4, (n, n)), 0) * 10.0 ** rng.integers(-30, 30)
        dense = dense + dense.T if rng.random() < 0.5 else dense
        A = matrix_of(dense, mt.f64, FORMATS[rng.integers(2)])
        s = mt.linalg.SparseSolver(mt.f64, ("LLT", "LDLT", "LU")[rng.integers(3)], ("AMD", "COLAMD")[rng.integers(2)])
        try:
            s.compute(A)
        except RuntimeValueError_ as error:
            assert "expected a symmetric matrix" in str(error) and not np.array_equal(dense, dense.T)
            continue
        if s.info() and np.linalg.cond(dense) < 1e8:
            b = dense @ np.ones(n)
            np.testing.assert_allclose(s.solve(b), 1, rtol=1e-4)
            solved += 1
    assert solved > 10


def test_wrong_arguments_of_solvers():
    make = mt.linalg.SparseSolver
    eye, skew = matrix_of(np.eye(3), mt.f32), matrix_of(np.array([[1.0, 2], [0, 1]]), mt.f32)
    s = make()
    s.compute(eye)
    fresh = make()
    for use, error, said in (
        (lambda: make(solver_type="QR"), RuntimeValueError_, "expected solver_type LLT, LDLT, LU and ordering AMD or COLAMD"),
        (lambda: make(ordering="NONE"), RuntimeValueError_, "got 'LLT' and 'NONE'"),
        (lambda: make(mt.f16), RuntimeTypeError_, "expected f32 or f64, got f16"),
        (lambda: s.compute(np.eye(3)), RuntimeTypeError_, "expected a SparseMatrix, got ndarray"),
        (lambda: s.compute(matrix_of(np.eye(3))), RuntimeTypeError_, "expected a matrix of f32, got one of f64"),
        (lambda: s.compute(mt.linalg.SparseMatrix(3, 4)), RuntimeValueError_, r"expected a square matrix, got shape \(3, 4\)"),
        (lambda: fresh.solve(np.ones(3)), RuntimeError_, "expected a factorised matrix: call compute before"),
        (lambda: fresh.factorize(eye), RuntimeValueError_, "where analyze_pattern saw them"),
        (lambda: make().compute(skew), RuntimeValueError_, r"symmetric matrix for LLT, got 0.0 at \(1, 0\) and 2.0 at \(0, 1\)"),
        (lambda: make().compute(matrix_of(np.array([[np.nan]]), mt.f32)), RuntimeValueError_, "expected finite entries"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            use()
    s.compute(eye)
    for b in (np.ones(4), np.ones((3, 1)), np.float32(1)):
        with pytest.raises(RuntimeValueError_, match=r"b: expected shape \(3,\)"):
            s.solve(b)
    with pytest.raises(RuntimeValueError_, match="where analyze_pattern saw them"):
        s.factorize(matrix_of(np.array([[1.0, 1, 0], [1, 3, 0], [0, 0, 1]]), mt.f32))


def test_no_equations_have_no_solution_but_an_empty_one():
    for solver in ("LLT", "LDLT", "LU"):
        s = mt.linalg.SparseSolver(mt.f32, solver)
        s.compute(mt.linalg.SparseMatrix(0))
        assert s.info() and s.solve(np.zeros(0)).shape == (0,)
    assert mt.linalg.SparseCG(mt.linalg.SparseMatrix(0), np.zeros(0)).solve()[1]


def test_several_threads_may_use_one_solver():
    dense = random_dense("threads", 200, "definite")
    s = mt.linalg.SparseSolver(mt.f64)
    matrices = [matrix_of(dense), matrix_of(dense) * 3.0]
    s.compute(matrices[0])
    b = dense @ np.ones(200)
    wrong = []

    def work(k):
        for _ in range(10):
            s.factorize(matrices[k])
            x = s.solve(b)
            if not (np.allclose(x, 1) or np.allclose(x, 1 / 3)):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", (mt.f32, mt.f64))
def test_conjugate_gradients(dtype):
    dense = random_dense("cg", 80, "definite")
    A = matrix_of(dense, dtype)
    b = seeded.generator("b").standard_normal(80).astype(dtype.numpy)
    solver = mt.linalg.SparseCG(A, b, max_iter=200, atol=1e-6)
    x, converged = solver.solve()
    assert converged and 0 < solver.iterations < 200 and solver.error <= 1e-6
    np.testing.assert_allclose(x, np.linalg.solve(dense, b), rtol=1e-3, atol=1e-4)
    field = mt.field(dtype, 80)
    field.from_numpy(b)
    again = mt.linalg.SparseCG(A, field, x0=x, max_iter=200, atol=1e-6)
    assert again.solve()[1] and again.iterations <= 1
    assert not mt.linalg.SparseCG(A, b, max_iter=2, atol=1e-6).solve()[1]
    assert not mt.linalg.SparseCG(A, b * np.nan).solve()[1]
    for use, error in (
        (lambda: mt.linalg.SparseCG(dense, b), RuntimeTypeError_), (lambda: mt.linalg.SparseCG(A, b[:-1]), RuntimeValueError_),
        (lambda: mt.linalg.SparseCG(A, b, atol=-1), RuntimeValueError_),
        (lambda: mt.linalg.SparseCG(A, b, max_iter=-1), RuntimeValueError_),
        (lambda: mt.linalg.SparseCG(mt.linalg.SparseMatrix(2, 3), b), RuntimeValueError_),
    ):  # fmt: skip
        with pytest.raises(error):
            use()


N = 12


@mt.kernel
def poisson(x: mt.template(), Ax: mt.template(), flow: mt.f32):
    for i, j in mt.ndrange(N, N):
        total = 4.0 * x[i, j]
        if i > 0:
            total -= (1.0 + flow) * x[i - 1, j]
        if i < N - 1:
            total -= (1.0 - flow) * x[i + 1, j]
        if j > 0:
            total -= x[i, j - 1]
        if j < N - 1:
            total -= x[i, j + 1]
        Ax[i, j] = total


def poisson_dense(flow):
    eye = np.eye(N)
    along = 2 * eye - (1 + flow) * np.eye(N, k=-1) - (1 - flow) * np.eye(N, k=1)
    return np.kron(along, eye) + np.kron(eye, 2 * eye - np.eye(N, k=1) - np.eye(N, k=-1))


@pytest.mark.parametrize("dtype", (mt.f32, mt.f64))
@pytest.mark.parametrize("make", (mt.field, mt.ndarray))
@pytest.mark.parametrize("name, flow", [("MatrixFreeCG", 0.0), ("MatrixFreeBICGSTAB", 0.0), ("MatrixFreeBICGSTAB", 0.5)])
def test_matrix_free_solvers(name, flow, make, dtype):
    solve = getattr(mt.linalg, name)
    A = mt.linalg.LinearOperator(lambda x, Ax: poisson(x, Ax, flow))
    b, x = make(dtype, (N, N)), make(dtype, (N, N))
    right = seeded.generator("right").standard_normal((N, N)).astype(dtype.numpy)
    b.from_numpy(right)
    tolerance = 1e-4 if dtype is mt.f32 else 1e-10
    assert solve(A, b, x, tol=tolerance)
    expected = np.linalg.solve(poisson_dense(flow), right.ravel()).reshape(N, N)
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=20 * tolerance, atol=20 * tolerance)
    assert solve(A, b, x, tol=2 * tolerance, maxiter=1), "it begins at x, which is the solution"
    x.fill(0)
    assert not solve(A, b, x, tol=tolerance, maxiter=3)
    Ax = make(dtype, (N, N))
    A.matvec(b, Ax)
    np.testing.assert_allclose(Ax.to_numpy().ravel(), poisson_dense(flow) @ right.ravel(), rtol=1e-4, atol=1e-4)


def test_matrix_free_solvers_print_and_report(capsys):
    A = mt.linalg.LinearOperator(lambda x, Ax: poisson(x, Ax, 0.0))
    b, x = mt.field(mt.f64, (N, N)), mt.field(mt.f64, (N, N))
    assert mt.linalg.MatrixFreeCG(A, b, x, quiet=False)
    assert capsys.readouterr().out == ">>> Iter =    0, Residual = 0.000000e+00\n"
    b.fill(np.nan)
    for solve in (mt.linalg.MatrixFreeCG, mt.linalg.MatrixFreeBICGSTAB):
        assert not solve(A, b, x)
        for arguments, error, said in (
            ((poisson, b, x), RuntimeTypeError_, "A: expected a LinearOperator, got Kernel"),
            ((A, b, mt.field(mt.f32, (N, N))), RuntimeTypeError_, "of one kind and dtype"),
            ((A, b, mt.ndarray(mt.f64, (N, N))), RuntimeTypeError_, "of one kind and dtype"),
            ((A, b, mt.field(mt.f64, (N, 2))), RuntimeValueError_, "of one shape"),
            ((A, b, np.zeros((N, N))), RuntimeTypeError_, "x: expected a field or ndarray of f32 or f64"),
            ((A, mt.Vector.field(2, mt.f64, N), x), RuntimeTypeError_, "b: expected a field or ndarray of f32 or f64"),
            ((A, b, x, -1), RuntimeValueError_, "tol: expected a number from 0 on, got -1"),
        ):
            with pytest.raises(error, match=said):
                solve(*arguments)
    with pytest.raises(RuntimeTypeError_, match="expected a kernel of x and Ax, got 3"):
        mt.linalg.LinearOperator(3)
