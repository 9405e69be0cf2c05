"""B19: sparse matrices of a Laplacian of n x n points, five a row: assembled, multiplied, solved with."""

import numpy as np
import ti

SHIFT = 4.0078125  # of the diagonal of what is solved with; exact in f32


def laplacian(n, dtype, shift, storage="row_major"):
    """A function that assembles the matrix."""
    builder = ti.linalg.SparseMatrixBuilder(n * n, n * n, max_num_triplets=5 * n * n, dtype=dtype, storage_format=storage)

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


def vector(values, dtype, over):
    """The values as a NumPy array, an ndarray or a field."""
    values = np.ascontiguousarray(values)
    if over == "numpy":
        return values
    made = {"ndarray": ti.ndarray, "field": ti.field}[over](dtype, len(values))
    made.from_numpy(values)
    return made


def stepping(name, run):
    """A program whose step runs `run()`, which gives the result."""
    state = {}

    def step():
        state[name] = run()

    as_array = lambda x: x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    return {"step": step, "outputs": lambda: {name: as_array(state[name])}}


def assembling(inputs, make):
    state, x = {}, vector(inputs["x"], ti.f32, "ndarray")

    def step():
        state["A"] = make()

    return {"step": step, "outputs": lambda: {"y": (state["A"] @ x).to_numpy()}}


def assemble(inputs, n):
    return assembling(inputs, laplacian(n, ti.f32, 4.0))


def assemble_columns(inputs, n):
    return assembling(inputs, laplacian(n, ti.f32, 4.0, "col_major"))


def assemble_triplets(inputs, n):
    """From an ndarray of (row, column, value), which a kernel fills: every point has five, at the rim zeros of its own."""
    triplets = ti.Vector.ndarray(3, ti.f32, 5 * n * n)

    @ti.kernel
    def fill(given: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1)):
        for i, j in ti.ndrange(n, n):
            at = i * n + j
            given[5 * at] = ti.Vector([at, at, 4.0])
            for k, d in ti.static(enumerate([(-1, 0), (1, 0), (0, -1), (0, 1)])):
                if 0 <= i + d[0] < n and 0 <= j + d[1] < n:
                    given[5 * at + k + 1] = ti.Vector([at, at + d[0] * n + d[1], -1.0])
                else:
                    given[5 * at + k + 1] = ti.Vector([at, at, 0.0])

    def make():
        fill(triplets)
        A = ti.linalg.SparseMatrix(n * n, n * n, dtype=ti.f32, storage_format="row_major")
        A.build_from_ndarray(triplets)
        return A

    return assembling(inputs, make)


def multiplying(inputs, n, over, storage="row_major"):
    A, x = laplacian(n, ti.f32, 4.0, storage)(), vector(inputs["x"], ti.f32, over)
    return stepping("y", lambda: A @ x)


def multiply(inputs, n):
    return multiplying(inputs, n, "ndarray")


def multiply_numpy(inputs, n):
    return multiplying(inputs, n, "numpy")


def multiply_field(inputs, n):
    return multiplying(inputs, n, "field", "col_major")


def solve(inputs, n):
    A, b = laplacian(n, ti.f64, SHIFT)(), vector(inputs["x"].astype(np.float64), ti.f64, "numpy")
    solver = ti.linalg.SparseSolver(dtype=ti.f64, solver_type="LDLT")

    def run():
        solver.analyze_pattern(A)
        solver.factorize(A)
        return solver.solve(b)

    return stepping("x", run)


def solve_field(inputs, n):
    A, b = laplacian(n, ti.f64, SHIFT)(), vector(inputs["x"].astype(np.float64), ti.f64, "field")

    def run():
        solver = ti.linalg.SparseSolver(dtype=ti.f64, solver_type="LDLT")
        solver.compute(A)
        return solver.solve(b)

    return stepping("x", run)


def solve_again(inputs, n):
    """The pattern is looked at once."""
    A, b = laplacian(n, ti.f64, SHIFT, "col_major")(), vector(inputs["x"].astype(np.float64), ti.f64, "ndarray")
    solver = ti.linalg.SparseSolver(dtype=ti.f64, solver_type="LDLT")
    solver.analyze_pattern(A)

    def run():
        solver.factorize(A)
        return solver.solve(b)

    return stepping("x", run)


def iterating(inputs, n, over):
    A, b = laplacian(n, ti.f64, SHIFT)(), vector(inputs["x"].astype(np.float64), ti.f64, over)
    return stepping("x", lambda: ti.linalg.SparseCG(A, b, max_iter=1000, atol=1e-8).solve()[0])


def iterate(inputs, n):
    return iterating(inputs, n, "numpy")


def iterate_ndarray(inputs, n):
    return iterating(inputs, n, "ndarray")


def iterate_matrix_free(inputs, n):
    """The matrix is a kernel over fields of n x n."""
    x, b = ti.field(ti.f64, (n, n)), ti.field(ti.f64, (n, n))
    b.from_numpy(np.ascontiguousarray(inputs["x"].astype(np.float64).reshape(n, n)))

    @ti.kernel
    def apply(v: ti.template(), result: ti.template()):
        for i, j in v:
            found = SHIFT * v[i, j]
            if i > 0:
                found -= v[i - 1, j]
            if i < n - 1:
                found -= v[i + 1, j]
            if j > 0:
                found -= v[i, j - 1]
            if j < n - 1:
                found -= v[i, j + 1]
            result[i, j] = found

    A = ti.linalg.LinearOperator(apply)

    def step():
        x.fill(0)
        ti.linalg.MatrixFreeCG(A, b, x, tol=1e-8, maxiter=1000, quiet=True)

    return {"step": step, "outputs": lambda: {"x": x.to_numpy().ravel()}}
