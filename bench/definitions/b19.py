"""B19: sparse matrices: a Laplacian of n x n points, assembled, multiplied with a vector, factorised and solved with."""

import numpy as np
from harness.case import Case

TITLE = "sparse matrices and solvers"
GONE = {"quadrants": "it has no sparse matrices"}


def inputs(rng, n):
    return {"x": rng.random(n * n, np.float32)}


def applied(x, n, shift):
    g = np.pad(x.reshape(n, n), 1)
    return (shift * g[1:-1, 1:-1] - g[2:, 1:-1] - g[:-2, 1:-1] - g[1:-1, 2:] - g[1:-1, :-2]).ravel()


def product(inputs, steps, n):
    return {"y": applied(inputs["x"], n, np.float32(4))}


def solution(inputs, steps, n):
    """By sines, which are the eigenvectors."""
    k = np.arange(1, n + 1)
    S = np.sqrt(2 / (n + 1)) * np.sin(np.pi * np.outer(k, k) / (n + 1))
    values = 2 - 2 * np.cos(np.pi * k / (n + 1))
    b = inputs["x"].astype(np.float64).reshape(n, n)
    return {"x": (S @ ((S @ b @ S) / (values[:, None] + values + 2**-7)) @ S).ravel()}


def entries(n):
    return 5 * n * n - 4 * n


def cases():
    made = lambda program, output, dtype, **more: Case(
        program=f"linalg:{program}",
        others={"scipy": f"linalg_scipy:{program}"},
        smoke={"n": 20},
        inputs=inputs,
        outputs=lambda n: {output: ((n * n,), dtype)},
        reference=None,
        absent=GONE,
        **more,
    )
    yield made(
        "assemble", "y", "float32", name="assembly, 1024^2 points", parameters={"n": 1024}, model=product, unit="triplet",
        work=entries, note="assembly: SciPy begins at NumPy's arrays of triplets; making them is part of it, as the kernel is",
    )  # fmt: skip
    yield made(
        "multiply", "y", "float32", name="matrix times vector, 1024^2 points", parameters={"n": 1024}, model=product,
        unit="entry", work=entries, traffic=lambda n: 8 * entries(n) + 12 * n * n, limit=("read", 1 << 25),
    )  # fmt: skip
    yield made(
        "solve", "x", "float64", name="factorisation and solution, 256^2 points", parameters={"n": 256}, model=solution,
        unit="solution", work=lambda n: 1, note="factorisation: LDL^T by Eigen, in Taichi as well; SciPy has LU by SuperLU",
    )  # fmt: skip
    yield made(
        "iterate", "x", "float64", name="conjugate gradients to 1e-8, 256^2 points", parameters={"n": 256}, model=solution,
        unit="solution", work=lambda n: 1,
    )  # fmt: skip
