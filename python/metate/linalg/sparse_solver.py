"""SparseSolver and SparseCG: linear equations whose matrix is a SparseMatrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import f32
from ..errors import RuntimeError_, RuntimeTypeError_, RuntimeValueError_
from .sparse_matrix import SparseMatrix
from .sparse_native import checked_type, extent, library, like, vector

_TYPES, _ORDERINGS = ("LLT", "LDLT", "LU"), ("AMD", "COLAMD")
_NEEDS = {
    "LLT": "a positive definite matrix: LDLT or LU take others",
    "LDLT": "a symmetric matrix without a zero pivot: LU takes others",
    "LU": "a matrix that is not singular",
}


class SparseSolver:
    """A direct solver of A @ x = b.

    Args:
        dtype: of the matrix, mt.f32 or mt.f64.
        solver_type: "LLT" for symmetric positive definite matrices, "LDLT" for symmetric ones, "LU" for all.
        ordering: "AMD" or "COLAMD": how rows and columns are turned so that few entries come in.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, dtype: Any = f32, solver_type: str = "LLT", ordering: str = "AMD"):
        self.dtype = checked_type(dtype, "SparseSolver")
        if solver_type not in _TYPES or ordering not in _ORDERINGS:
            expected = f"solver_type {', '.join(_TYPES)} and ordering {' or '.join(_ORDERINGS)}"
            raise RuntimeValueError_(f"SparseSolver: expected {expected}, got {solver_type!r} and {ordering!r}")
        self.solver_type, self.ordering = solver_type, ordering
        make = library().SolverF32 if self.dtype is f32 else library().SolverF64
        self._solver = make(solver_type, ordering)
        self._rows = 0
        self._info: bool | None = None  # of the last factorisation

    def _prepared(self, matrix, what):
        """The matrix as `_sparse` takes it, checked; its entries as well where they count."""
        if not isinstance(matrix, SparseMatrix):
            raise RuntimeTypeError_(f"SparseSolver.{what}: expected a SparseMatrix, got {type(matrix).__name__}")
        if matrix.dtype is not self.dtype:
            raise RuntimeTypeError_(f"SparseSolver.{what}: expected a matrix of {self.dtype!r}, got one of {matrix.dtype!r}")
        if matrix.n != matrix.m:
            raise RuntimeValueError_(f"SparseSolver.{what}: expected a square matrix, got shape {matrix.shape}")
        if matrix.nnz > 1 << 29:
            raise RuntimeValueError_(f"SparseSolver.{what}: expected at most {1 << 29} entries, got {matrix.nnz}")
        # A symmetric matrix is its transpose: the format matters to LU alone.
        return matrix._in_format(False) if self.solver_type == "LU" else matrix._arrays()

    def compute(self, sparse_matrix: SparseMatrix) -> None:
        """analyze_pattern and factorize."""
        self.analyze_pattern(sparse_matrix)
        self.factorize(sparse_matrix)

    def analyze_pattern(self, sparse_matrix: SparseMatrix) -> None:
        """Finds an ordering, and where the factor has entries; `factorize` then takes all matrices with entries there.

        Raises RuntimeTypeError_, RuntimeValueError_ (not square, a factor with more than 2147483647 entries).
        """
        arrays = self._prepared(sparse_matrix, "analyze_pattern")
        self._info, self._rows = None, sparse_matrix.n
        try:
            if self._rows:
                self._solver.analyze(*arrays)
        except ValueError as error:
            raise RuntimeValueError_(f"SparseSolver.analyze_pattern: {error}") from None

    def factorize(self, sparse_matrix: SparseMatrix) -> None:
        """Factorises a matrix with the pattern that was analysed; `info` then says whether it could be.

        Raises RuntimeTypeError_, RuntimeValueError_ (another pattern, entries that are infinite or NaN, for LLT and LDLT a
        matrix that is not symmetric).
        """
        arrays = self._prepared(sparse_matrix, "factorize")
        self._info = None
        if not library().is_finite(*arrays):
            raise RuntimeValueError_("SparseSolver.factorize: expected finite entries, got infinities or NaN")
        if self.solver_type != "LU":
            i, j = library().find_asymmetry(*arrays)
            if i >= 0:
                one, other = sparse_matrix[i, j], sparse_matrix[j, i]
                raise RuntimeValueError_(
                    f"SparseSolver.factorize: expected a symmetric matrix for {self.solver_type}, got {one} at ({i}, {j}) and "
                    f"{other} at ({j}, {i}): LU takes any"
                )
        done = self._solver.factorize(*arrays) if self._rows or sparse_matrix.n else 1
        if done < 0:
            raise RuntimeValueError_(
                "SparseSolver.factorize: expected a matrix whose entries are where analyze_pattern saw them: call it, or compute"
            )
        self._info = bool(done)

    def info(self) -> bool:
        """Whether the last factorisation succeeded; False before the first."""
        return bool(self._info)

    def solve(self, b: Any) -> Any:
        """x with A @ x = b.

        Args:
            b: a field, an ndarray or a NumPy array of shape (n,).
        Returns an ndarray for an ndarray, else a NumPy array. Raises RuntimeError_ where no matrix was factorised,
        RuntimeTypeError_, RuntimeValueError_.
        """
        if not self._info:
            if self._info is None:
                raise RuntimeError_("SparseSolver.solve: expected a factorised matrix: call compute before")
            raise RuntimeError_(
                f"SparseSolver.solve: the factorisation failed: {self.solver_type} needs {_NEEDS[self.solver_type]}"
            )
        values = vector(b, self.dtype, self._rows, "SparseSolver.solve: b")
        x = np.empty(self._rows, self.dtype.numpy)
        if self._rows:
            self._solver.solve(values, x)
        return like(b, x, self.dtype)


class SparseCG:
    """Conjugate gradients, preconditioned by the diagonal, for A @ x = b with a symmetric positive definite A.

    Args:
        A: a SparseMatrix, square.
        b: a field, an ndarray or a NumPy array of shape (n,); x0: where to begin, None: at zero.
        max_iter: iterations at most.
        atol: ends when |b - A @ x| <= atol * |b|.
    Attributes:
        iterations, error: of the last `solve`; error is |b - A @ x| / |b| as the iteration carries it along.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, A: SparseMatrix, b: Any, x0: Any = None, max_iter: int = 50, atol: float = 1e-6):
        if not isinstance(A, SparseMatrix):
            raise RuntimeTypeError_(f"SparseCG: A: expected a SparseMatrix, got {type(A).__name__}")
        if A.n != A.m:
            raise RuntimeValueError_(f"SparseCG: A: expected a square matrix, got shape {A.shape}")
        self.A = A
        self._b = vector(b, A.dtype, A.n, "SparseCG: b")
        self._x0 = np.zeros(A.n, A.dtype.numpy) if x0 is None else vector(x0, A.dtype, A.n, "SparseCG: x0")
        self.max_iter = extent(max_iter, "SparseCG: max_iter")
        if not atol >= 0:
            raise RuntimeValueError_(f"SparseCG: atol: expected a number from 0 on, got {atol!r}")
        self.atol = float(atol)
        self.iterations, self.error = 0, 0.0

    def solve(self) -> tuple[np.ndarray, bool]:
        """(x, whether it converged)."""
        x = self._x0.copy()
        arrays = self.A._arrays()
        if not self.A.n:
            return x, True
        self.iterations, self.error, converged = library().iterate(*arrays, self._b, x, self.max_iter, self.atol)
        return x, bool(converged and np.isfinite(x).all())
