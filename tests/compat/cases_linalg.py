"""Programs with sparse matrices, as a Taichi user writes them: each takes the module `ti` and returns what it computed."""

import numpy as np


def _filled(ti, n, **options):
    """A builder with the second difference of n points, and 5 more in a corner."""
    K = ti.linalg.SparseMatrixBuilder(n, n, max_num_triplets=5 * n, **options)

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder()):
        for i in range(n):
            A[i, i] += 3.0
            A[i, i] -= 1.0
            if i > 0:
                A[i, i - 1] -= 1.0
                A[i - 1, i] -= 1.0
        A[0, 0] += 5.0

    fill(K)
    return K


def _dense(A):
    return np.array([[A[i, j] for j in range(A.shape[1])] for i in range(A.shape[0])])


def builders_are_empty_after_build(ti):
    K = _filled(ti, 4)
    return _dense(K.build()), _dense(K.build())


def operators(ti):
    A = _filled(ti, 4).build()
    B = _filled(ti, 4, storage_format="col_major").build()
    return [_dense(C) for C in (A + B, A @ B, A * 0.5, 2.0 * A, A.transpose())]


def products(ti):
    A = _filled(ti, 4).build()
    x, y = ti.field(ti.f32, 4), ti.ndarray(ti.f32, 4)
    x.from_numpy(np.arange(4, dtype=np.float32))
    y.from_numpy(np.arange(4, dtype=np.float32))
    return A @ x, (A @ y).to_numpy(), A @ np.arange(4, dtype=np.float32)


def entries(ti):
    A = _filled(ti, 3).build()
    A[0, 2] = 7.0
    A[1, 1] = -1.0
    return _dense(A), list(A.shape), str(A)


def from_ndarray(ti):
    triplets = ti.Vector.ndarray(3, ti.f32, 3)
    triplets.from_numpy(np.array([[0, 1, 5], [1, 2, 7], [0, 1, 2]], np.float32))
    A = ti.linalg.SparseMatrix(n=2, m=3, dtype=ti.f32)
    A.build_from_ndarray(triplets)
    return _dense(A)


def direct_solvers(ti):
    b = ti.field(ti.f32, 6)
    b.fill(1.0)
    found = []
    for kind in ("LLT", "LDLT", "LU"):
        solver = ti.linalg.SparseSolver(solver_type=kind)
        A = _filled(ti, 6).build()
        solver.analyze_pattern(A)
        solver.factorize(A)
        found.append((np.round(solver.solve(b), 3), solver.info()))
    return found


def conjugate_gradients(ti):
    b = ti.ndarray(ti.f32, 6)
    b.fill(1.0)
    x, converged = ti.linalg.SparseCG(_filled(ti, 6).build(), b, max_iter=100, atol=1e-6).solve()
    return np.round(x, 3), converged


def matrix_free(ti):
    b, x = ti.field(ti.f32, (4, 4)), ti.field(ti.f32, (4, 4))

    @ti.kernel
    def apply(v: ti.template(), out: ti.template()):
        for i, j in v:
            left = v[i - 1, j] if i > 0 else 0.0
            right = v[i + 1, j] if i < 3 else 0.0
            out[i, j] = 4.0 * v[i, j] - left - right

    found = []
    for solve in (ti.linalg.MatrixFreeCG, ti.linalg.MatrixFreeBICGSTAB):
        b.fill(1.0)
        x.fill(0.0)
        done = solve(ti.linalg.LinearOperator(apply), b, x, tol=1e-5, maxiter=100, quiet=True)
        found.append((done, np.round(x.to_numpy(), 3)))
    return found
