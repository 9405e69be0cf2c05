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


# Kind: name, points a side, the result, NumPy's model, unit, work, note.
KINDS = {
    "assemble": (
        "assembly", 1024, ("y", "float32"), product, "triplet", entries,
        "assembly: SciPy begins at NumPy's arrays of triplets; making them is part of it, as the kernel is",
    ),
    "multiply": ("matrix times vector", 1024, ("y", "float32"), product, "entry", entries, ""),
    "solve": (
        "factorisation and solution", 256, ("x", "float64"), solution, "solution", lambda n: 1,
        "factorisation: LDL^T by Eigen, in Taichi as well; SciPy has LU by SuperLU",
    ),
    "iterate": ("conjugate gradients to 1e-8", 256, ("x", "float64"), solution, "solution", lambda n: 1, ""),
}  # fmt: skip
# How programs say it: the program, its kind, and what differs from the kind's first one, which SciPy has as well.
SPELLINGS = (
    ("assemble", "assemble", ""),
    ("assemble_columns", "assemble", "column-major"),
    ("assemble_triplets", "assemble", "an ndarray of triplets"),
    ("multiply", "multiply", ""),
    ("multiply_numpy", "multiply", "NumPy's vector"),
    ("multiply_field", "multiply", "column-major, a field"),
    ("solve", "solve", ""),
    ("solve_field", "solve", "a new solver, compute, a field"),
    ("solve_again", "solve", "a pattern that is known"),
    ("iterate", "iterate", ""),
    ("iterate_ndarray", "iterate", "an ndarray"),
    ("iterate_matrix_free", "iterate", "the matrix is a kernel"),
)


def case(program, kind, spelling):
    name, side, (output, dtype), model, unit, work, note = KINDS[kind]
    return Case(
        name=f"{name}, {side}^2 points" + (f", {spelling}" if spelling else ""),
        program=f"linalg:{program}",
        others={} if spelling else {"scipy": f"linalg_scipy:{program}"},
        parameters={"n": side},
        smoke={"n": 20},
        inputs=inputs,
        model=model,
        outputs=lambda n: {output: ((n * n,), dtype)},
        reference=None,
        unit=unit,
        work=work,
        traffic=(lambda n: 8 * entries(n) + 12 * n * n) if kind == "multiply" else None,
        limit=("read", 1 << 25) if kind == "multiply" else None,
        absent=GONE,
        headline=not spelling,
        note=note if not spelling else "",
    )


def cases():
    return [case(*spelling) for spelling in SPELLINGS]
