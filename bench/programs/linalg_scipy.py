"""B19 as SciPy has it: the same matrices, from arrays of triplets that NumPy makes."""

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

SHIFT = 4.0078125  # as programs/linalg.py


def triplets(n, shift):
    """(rows, columns, values) of the Laplacian."""
    number = np.arange(n * n, dtype=np.int32).reshape(n, n)
    pairs = [(number[1:], number[:-1]), (number[:, 1:], number[:, :-1])]
    pairs += [(b, a) for a, b in pairs]
    rows = np.concatenate([number.ravel(), *(a.ravel() for a, _ in pairs)])
    columns = np.concatenate([number.ravel(), *(b.ravel() for _, b in pairs)])
    values = np.concatenate([np.full(n * n, shift), np.full(len(rows) - n * n, -1.0)])
    return rows, columns, values


def matrix(n, shift, dtype):
    rows, columns, values = triplets(n, shift)
    return sparse.coo_array((values.astype(dtype), (rows, columns)), shape=(n * n, n * n)).tocsr()


def program(step, outputs):
    return {"step": step, "outputs": outputs, "empty": lambda: None}


def assemble(inputs, n):
    state = {}

    def step():
        state["A"] = matrix(n, 4.0, np.float32)

    return program(step, lambda: {"y": state["A"] @ inputs["x"]})


def multiply(inputs, n):
    A, x, state = matrix(n, 4.0, np.float32), np.ascontiguousarray(inputs["x"]), {}

    def step():
        state["y"] = A @ x

    return program(step, lambda: dict(state))


def solve(inputs, n):
    A, b, state = matrix(n, SHIFT, np.float64).tocsc(), inputs["x"].astype(np.float64), {}

    def step():  # minimum degree on A + A^T, pivots from the diagonal: what its documentation says of symmetric matrices
        state["x"] = linalg.splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).solve(b)

    return program(step, lambda: dict(state))


def iterate(inputs, n):
    A, b, state = matrix(n, SHIFT, np.float64), inputs["x"].astype(np.float64), {}
    inverse = sparse.dia_array((1 / A.diagonal()[None], [0]), shape=A.shape)

    def step():
        state["x"] = linalg.cg(A, b, rtol=1e-8, maxiter=1000, M=inverse)[0]

    return program(step, lambda: dict(state))
