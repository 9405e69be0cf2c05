"""B19: sparse matrices of a Laplacian of n x n points, five a row: assembled, multiplied, solved with."""

import numpy as np
import ti

SHIFT = 4.0078125  # of the diagonal of what is solved with; exact in f32


def laplacian(n, dtype, shift):
    """A function that assembles the matrix."""
    builder = ti.linalg.SparseMatrixBuilder(n * n, n * n, max_num_triplets=5 * n * n, dtype=dtype, storage_format="row_major")

    @ti.kernel
    def fill(K: ti.types.sparse_matrix_builder()):
        for i, j in ti.ndrange(n, n):
            at = i * n + j
            K[at, at] += shift
            if i > 0:
                K[at, at - n] -= 1.0
            if i < n - 1:
                K[at, at + n] -= 1.0
            if j > 0:
                K[at, at - 1] -= 1.0
            if j < n - 1:
                K[at, at + 1] -= 1.0

    def make():
        fill(builder)
        return builder.build()

    return make


def applied(A, values):
    """A function that gives A @ values, an ndarray."""
    x = ti.ndarray(ti.f32 if values.dtype == np.float32 else ti.f64, len(values))
    x.from_numpy(np.ascontiguousarray(values))
    return lambda: A @ x


def assemble(inputs, n):
    make = laplacian(n, ti.f32, 4.0)
    state = {}

    def step():
        state["A"] = make()

    return {"step": step, "outputs": lambda: {"y": applied(state["A"], inputs["x"])().to_numpy()}}


def multiply(inputs, n):
    product = applied(laplacian(n, ti.f32, 4.0)(), inputs["x"])
    state = {}

    def step():
        state["y"] = product()

    return {"step": step, "outputs": lambda: {"y": state["y"].to_numpy()}}


def solve(inputs, n):
    A = laplacian(n, ti.f64, SHIFT)()
    solver = ti.linalg.SparseSolver(dtype=ti.f64, solver_type="LDLT")
    b = np.ascontiguousarray(inputs["x"].astype(np.float64))
    state = {}

    def step():
        solver.analyze_pattern(A)
        solver.factorize(A)
        state["x"] = solver.solve(b)

    return {"step": step, "outputs": lambda: {"x": np.asarray(state["x"], np.float64)}}


def iterate(inputs, n):
    A = laplacian(n, ti.f64, SHIFT)()
    b = np.ascontiguousarray(inputs["x"].astype(np.float64))
    state = {}

    def step():
        state["x"] = ti.linalg.SparseCG(A, b, max_iter=1000, atol=1e-8).solve()[0]

    return {"step": step, "outputs": lambda: {"x": np.asarray(state["x"], np.float64)}}
