"""Linear algebra: of small matrices in kernels, of sparse ones outside of them.

svd, polar_decompose, sym_eig, eig and solve are written in the language itself (two.py, three.py) and inlined where they are
called; called from Python they say that they belong in a kernel. Sparse matrices, their builders and solvers load when one is
named. Nothing here loads the compiler.
"""

from __future__ import annotations

import importlib as _importlib

from .. import not_here as _not_here
from ..triplets import sparse_matrix_builder  # noqa: F401  (an old place of types.sparse_matrix_builder)
from . import derivatives, solving, three, two
from .composite import Composite

svd = Composite(
    "svd",
    """svd(A, dt=None): (U, S, V) with A = U @ S @ V.transpose(), for 2 x 2 and 3 x 3 matrices.

    U and V are orthogonal and S is diagonal, its entries from the greatest to the least. Of a 2 x 2 matrix
    they are not negative, and V is a rotation; of a 3 x 3 matrix U and V are rotations, and the last entry
    has the sign of A's determinant. `dt` is the type to compute in; None: A's.
    """,
    {((2, 2),): (two.svd2, derivatives.svd2), ((3, 3),): (three.svd3, derivatives.svd3)},
    "a matrix of 2 x 2 or 3 x 3",
)
polar_decompose = Composite(
    "polar_decompose",
    """polar_decompose(A, dt=None): (R, S) with A = R @ S, R orthogonal, S symmetric, for 2 x 2 and 3 x 3 matrices.

    S of a 2 x 2 matrix has no negative eigenvalue, and R is a reflection where A's determinant is negative; of a
    3 x 3 matrix R is a rotation.
    """,
    {((2, 2),): (two.polar2, derivatives.polar), ((3, 3),): (three.polar3, derivatives.polar)},
    "a matrix of 2 x 2 or 3 x 3",
)
sym_eig = Composite(
    "sym_eig",
    """sym_eig(A, dt=None): (eigenvalues, matrix whose columns are the eigenvectors) of a symmetric matrix.

    For 2 x 2 matrices, from the greatest to the least; for 3 x 3, from the least to the greatest, as in Taichi.
    Of A the upper triangle is read.
    """,
    {((2, 2),): (two.sym_eig2, derivatives.sym_eig2), ((3, 3),): (three.sym_eig3, derivatives.sym_eig3)},
    "a matrix of 2 x 2 or 3 x 3",
)
eig = Composite(
    "eig",
    """eig(A, dt=None): (eigenvalues, eigenvectors) of a 2 x 2 matrix, which may be complex.

    Row k of the first is (real, imaginary) of an eigenvalue; column k of the second, a 4 x 2 matrix, its eigenvector:
    real and imaginary part of its first component, then of its second.
    """,
    {((2, 2),): two.eig2},
    "a matrix of 2 x 2",
)
solve = Composite(
    "solve",
    """solve(A, b, dt=None): x with A @ x = b, for matrices of 1 x 1 to 4 x 4; of a singular A, infinities or NaN.

    By elimination with the greatest pivot of each column.
    """,
    {((n, n), (n,)): (getattr(solving, f"solve{n}"), derivatives.solve) for n in (1, 2, 3, 4)},
    "a square matrix of at most 4 rows and a vector of as many components",
    ("A", "b"),
)

LATE = {  # name -> module
    "LinearOperator": "matrix_free",
    "MatrixFreeBICGSTAB": "matrix_free",
    "MatrixFreeCG": "matrix_free",
    "SparseCG": "sparse_solver",
    "SparseMatrix": "sparse_matrix",
    "SparseMatrixBuilder": "sparse_builder",
    "SparseSolver": "sparse_solver",
}


def __getattr__(name: str):
    """Sparse matrices and what goes with them: loaded when named."""
    if name in LATE:
        return getattr(_importlib.import_module(f"{__name__}.{LATE[name]}"), name)
    raise _not_here.error(__name__, name, {})


def __dir__():
    return sorted([*globals(), *LATE])
