"""SparseMatrix: a compressed matrix of f32 or f64 outside kernels.

Its three arrays are NumPy's: column-major ones are SciPy's CSC, row-major ones its CSR. Eigen computes (sparse_native.py).
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .. import runtime
from ..dtypes import f32
from ..errors import RuntimeImportError_, RuntimeIndexError_, RuntimeTypeError_, RuntimeValueError_
from . import matrix_market, sparse_native
from .sparse_native import checked_type, extent, library

_MOST_SHOWN = 32  # rows and columns of a matrix that is printed whole


class SparseMatrix:
    """A sparse matrix. ``SparseMatrixBuilder.build()`` makes one, or this, with no entry.

    Args:
        n, m: rows and columns; m: None takes n.
        sm: a SparseMatrix to copy, instead of them.
        dtype: of the values, mt.f32 or mt.f64.
        storage_format: "col_major" or "row_major".
    ``A + B``, ``A - B``, ``A * B`` (element by element), ``A @ B``, ``A * 2.0``, ``A / 2.0``, ``-A`` and their augmented
    forms take matrices of one dtype; ``A @ x`` takes a NumPy array or a field of shape (m,) and gives a NumPy array, of an
    ndarray it gives an ndarray. ``A[i, j]`` reads an entry or 0; ``A[i, j] = v`` writes one, which may be new.
    Raises RuntimeTypeError_, RuntimeValueError_ (shapes that do not fit), RuntimeIndexError_.
    """

    __array_ufunc__ = None  # NumPy's operators leave x @ A and 2.0 * A to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, n: Any = None, m: Any = None, sm: Any = None, dtype: Any = f32, storage_format: str = "col_major"):
        if sm is not None:
            if not isinstance(sm, SparseMatrix):
                raise RuntimeTypeError_(f"SparseMatrix: sm: expected a SparseMatrix, got {sm!r}")
            self._take(sm, tuple(array.copy() for array in sm._arrays()[2:]))
            return
        rows = extent(n, "SparseMatrix: n")
        self.n, self.m = rows, rows if m is None else extent(m, "SparseMatrix: m")
        self.dtype = checked_type(dtype, "SparseMatrix")
        self._is_row_major = sparse_native.is_row_major(storage_format, "SparseMatrix")
        empty = np.zeros(0, np.int32), np.zeros(0, self.dtype.numpy)
        self._parts = np.zeros(self._extents[0] + 1, np.int32), *empty
        self._is_shared = False  # with SciPy, which may change the arrays

    @classmethod
    def _of(cls, n, m, dtype, row_major, parts) -> SparseMatrix:
        made = cls.__new__(cls)
        made.n, made.m, made.dtype, made._is_row_major = n, m, dtype, row_major
        made._parts, made._is_shared = parts, False
        return made

    def _take(self, other, parts):
        self.n, self.m, self.dtype, self._is_row_major = other.n, other.m, other.dtype, other._is_row_major
        self._parts, self._is_shared = parts, False

    # ---- what it is ----

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.n, self.m

    @property
    def nnz(self) -> int:
        """Entries that are stored; some may be zero."""
        return len(self._parts[2])

    @property
    def storage_format(self) -> str:
        """ "col_major" or "row_major"."""
        return "row_major" if self._is_row_major else "col_major"

    @property
    def _extents(self):
        """(outer, inner)."""
        return (self.n, self.m) if self._is_row_major else (self.m, self.n)

    def _arrays(self):
        """The matrix as `_sparse` takes it."""
        if self._is_shared and library().check_form(*self._extents, *self._parts[:2]):
            raise RuntimeValueError_("SparseMatrix: expected ascending indices inside of the matrix: SciPy has changed them")
        return (*self._extents, *self._parts)

    def _like(self, parts) -> SparseMatrix:
        return self._of(self.n, self.m, self.dtype, self._is_row_major, parts)

    def _in_format(self, row_major):
        """(the same) arrays of this matrix in a format."""
        if row_major == self._is_row_major:
            return self._arrays()
        extents = self._extents[::-1]
        return (*extents, *library().transpose(*self._arrays()))

    # ---- arithmetic ----

    def _pair(self, other, what):
        if not isinstance(other, SparseMatrix):
            raise RuntimeTypeError_(f"SparseMatrix {what}: expected a SparseMatrix, got {type(other).__name__}")
        if other.dtype is not self.dtype:
            raise RuntimeTypeError_(f"SparseMatrix {what}: expected a matrix of {self.dtype!r}, got one of {other.dtype!r}")
        if what != "@" and other.shape != self.shape:
            raise RuntimeValueError_(f"SparseMatrix {what}: expected shape {self.shape}, got {other.shape}")
        return self._arrays(), other._in_format(self._is_row_major)

    def _sum(self, other, what, factor):
        mine, others = self._pair(other, what)
        try:
            return library().add(*mine, *others, factor)
        except ValueError as error:
            raise RuntimeValueError_(f"SparseMatrix {what}: {error}") from None

    def _product(self, other, what="*"):
        if isinstance(other, SparseMatrix):
            mine, others = self._pair(other, what)
            return library().multiply_elements(*mine, *others)
        if isinstance(other, numbers.Real) or (isinstance(other, np.ndarray) and other.shape == () and other.dtype.kind in "fiu"):
            starts, indices, values = self._arrays()[2:]
            return starts.copy(), indices.copy(), values * self.dtype.numpy.type(other)
        raise RuntimeTypeError_(f"SparseMatrix {what}: expected a number or a SparseMatrix, got {type(other).__name__}")

    def __add__(self, other):
        return self._like(self._sum(other, "+", 1))

    def __sub__(self, other):
        return self._like(self._sum(other, "-", -1))

    def __mul__(self, other):
        return self._like(self._product(other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        if not isinstance(other, numbers.Real):
            raise RuntimeTypeError_(f"SparseMatrix /: expected a number, got {type(other).__name__}")
        starts, indices, values = self._arrays()[2:]
        return self._like((starts.copy(), indices.copy(), values / self.dtype.numpy.type(other)))

    def __neg__(self):
        return self * -1

    def __iadd__(self, other):
        self._take(self, self._sum(other, "+=", 1))
        return self

    def __isub__(self, other):
        self._take(self, self._sum(other, "-=", -1))
        return self

    def __imul__(self, other):
        self._take(self, self._product(other, "*="))
        return self

    def __matmul__(self, other):
        if not isinstance(other, SparseMatrix):
            x = sparse_native.vector(other, self.dtype, self.m, "SparseMatrix @")
            y = np.empty(self.n, self.dtype.numpy)
            library().apply(*self._arrays(), self._is_row_major, x, y, runtime.threads())
            return sparse_native.like(other, y, self.dtype)
        if other.n != self.m:
            raise RuntimeValueError_(f"SparseMatrix @: expected a matrix of {self.m} rows, got shape {other.shape}")
        mine, others = self._pair(other, "@")
        first, second = (others, mine) if self._is_row_major else (mine, others)  # of transposes the other way round
        try:
            parts = library().multiply(*first, *second)
        except ValueError as error:
            raise RuntimeValueError_(f"SparseMatrix @: {error}") from None
        return self._of(self.n, other.m, self.dtype, self._is_row_major, parts)

    def spmv(self, x: Any, y: Any) -> None:
        """y = A @ x, into memory that is there: both are ndarrays, or NumPy arrays of the matrix's dtype, or fields."""
        values = self @ sparse_native.vector(x, self.dtype, self.m, "spmv: x")
        sparse_native.vector(y, self.dtype, self.n, "spmv: y")
        if hasattr(y, "from_numpy"):
            y.from_numpy(values)
        elif isinstance(y, np.ndarray):
            y[...] = values
        else:
            raise RuntimeTypeError_(f"spmv: y: expected an ndarray, a NumPy array or a field, got {type(y).__name__}")

    def transpose(self) -> SparseMatrix:
        """The transpose, in the same format and memory of its own."""
        parts = library().transpose(*self._arrays())
        return self._of(self.m, self.n, self.dtype, self._is_row_major, parts)

    @property
    def T(self) -> SparseMatrix:
        """transpose()."""
        return self.transpose()

    def astype(self, dtype: Any) -> SparseMatrix:
        """A copy with values of another type."""
        dtype = checked_type(dtype, "astype")
        starts, indices, values = self._arrays()[2:]
        parts = starts.copy(), indices.copy(), values.astype(dtype.numpy)
        return self._of(self.n, self.m, dtype, self._is_row_major, parts)

    # ---- entries ----

    def _find(self, key, what):
        """(outer index, place of the entry, whether it is there)."""
        if not isinstance(key, tuple) or len(key) != 2 or not all(hasattr(k, "__index__") for k in key):
            raise RuntimeIndexError_(f"SparseMatrix {what}: expected a row and a column, A[i, j], got {key!r}")
        i, j = (k.__index__() for k in key)
        if not (0 <= i < self.n and 0 <= j < self.m):
            raise RuntimeIndexError_(f"SparseMatrix {what}: expected a row and a column inside of {self.shape}, got ({i}, {j})")
        outer, inner = (i, j) if self._is_row_major else (j, i)
        starts, indices, _ = self._arrays()[2:]
        at = int(starts[outer]) + int(np.searchsorted(indices[starts[outer] : starts[outer + 1]], inner))
        return outer, inner, at, at < starts[outer + 1] and indices[at] == inner

    def __getitem__(self, key):
        _, _, at, is_there = self._find(key, "[]")
        return float(self._parts[2][at]) if is_there else 0.0

    def __setitem__(self, key, value):
        outer, inner, at, is_there = self._find(key, "[] =")
        if not isinstance(value, numbers.Real):
            raise RuntimeTypeError_(f"SparseMatrix [] =: expected a number, got {value!r}")
        starts, indices, values = self._parts
        if is_there:
            if not values.flags.writeable:
                raise RuntimeTypeError_("SparseMatrix [] =: the values' memory is read-only: make a copy, SparseMatrix(sm=A)")
            values[at] = value
            return
        starts = starts.copy()
        starts[outer + 1 :] += 1
        self._take(self, (starts, np.insert(indices, at, inner), np.insert(values, at, float(value))))

    def build_from_ndarray(self, ndarray: Any) -> None:
        """Makes the matrix anew of triplets; those of one place are added.

        Args:
            ndarray: vectors (row, column, value): an mt.Vector.ndarray(3, dtype, k), or a NumPy array of shape [k, 3].
        Raises RuntimeTypeError_, RuntimeValueError_ (another shape, no whole number), RuntimeIndexError_.
        """
        triplets = np.asarray(ndarray)
        if triplets.ndim != 2 or triplets.shape[1] != 3 or triplets.dtype.kind not in "fiu":
            raise RuntimeValueError_(f"build_from_ndarray: expected vectors (row, column, value), got shape {triplets.shape}")
        if not np.array_equal(triplets[:, :2], np.trunc(triplets[:, :2])):
            raise RuntimeValueError_("build_from_ndarray: expected whole numbers for rows and columns")
        rows, columns = triplets[:, 0], triplets[:, 1]
        outside = (rows < 0) | (rows >= self.n) | (columns < 0) | (columns >= self.m)
        if outside.any():
            at = tuple(triplets[outside][0, :2].astype(int).tolist())
            raise RuntimeIndexError_(f"build_from_ndarray: expected rows and columns inside of {self.shape}, got {at}")
        self._take(self, self._assembled(rows, columns, triplets[:, 2]))

    def _assembled(self, rows, columns, values):
        """Arrays of triplets whose indices are inside."""
        outer, inner = (rows, columns) if self._is_row_major else (columns, rows)
        indices = (np.ascontiguousarray(k, np.int32) for k in (outer, inner))
        return library().assemble(*indices, np.ascontiguousarray(values, self.dtype.numpy), *self._extents, runtime.threads())

    # ---- elsewhere ----

    def to_numpy(self) -> np.ndarray:
        """All of it, zeros as well: [n, m]."""
        dense = np.zeros(self.shape, self.dtype.numpy)
        rows, columns, values = self.triplets()
        dense[rows, columns] = values
        return dense

    def triplets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, columns, values) of the entries that are stored, [nnz] each."""
        starts, indices, values = self._arrays()[2:]
        outer = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        return (outer, indices, values) if self._is_row_major else (indices, outer, values)

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparseMatrix:
        """A matrix over the memory of SciPy's: no copy of a CSR or CSC matrix of f32 or f64 whose indices are of 32 bits, ascend
        and are there once; any other is converted.

        Raises RuntimeTypeError_ for what is no sparse matrix of SciPy or holds no floats, RuntimeValueError_ for too large a one.
        """
        if not hasattr(matrix, "tocsr") or not hasattr(matrix, "format"):
            raise RuntimeTypeError_(f"from_scipy: expected a sparse matrix of SciPy, got {type(matrix).__name__}")
        matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
        dtype = checked_type(matrix.dtype, "from_scipy")
        n, m = (extent(k, "from_scipy") for k in matrix.shape)
        extent(matrix.nnz, "from_scipy: nnz")
        parts = tuple(np.ascontiguousarray(k, np.int32) for k in (matrix.indptr, matrix.indices))
        made = cls._of(n, m, dtype, matrix.format == "csr", (*parts, np.ascontiguousarray(matrix.data)))
        form = library().check_form(*made._extents, *parts)
        if form == 2 or len(matrix.data) != len(matrix.indices):
            raise RuntimeValueError_("from_scipy: expected indices inside of the matrix, got others")
        if form == 1:
            made._parts = made._assembled(*made.triplets())
        made._is_shared = True
        return made

    def to_scipy(self) -> Any:
        """A scipy.sparse.csr_array or csc_array over the same memory, no copy. Raises RuntimeImportError_ without SciPy."""
        try:
            import scipy.sparse  # type: ignore[import-not-found]
        except ImportError:
            raise RuntimeImportError_("to_scipy: expected SciPy, which is not installed: pip install scipy") from None
        starts, indices, values = self._arrays()[2:]
        make = scipy.sparse.csr_array if self._is_row_major else scipy.sparse.csc_array
        self._is_shared = True
        return make((values, indices, starts), shape=self.shape, copy=False)

    def mmwrite(self, filename: Any) -> None:
        """Writes the matrix to a Matrix Market file (coordinate, real, general). Raises RuntimeIOError_."""
        matrix_market.write(filename, self.shape, *self.triplets())

    @classmethod
    def mmread(cls, filename: Any, dtype: Any = f32, storage_format: str = "col_major") -> SparseMatrix:
        """The matrix of a Matrix Market file: coordinate; real, integer or pattern; general, symmetric or skew-symmetric.

        Raises RuntimeIOError_ for a file that cannot be read or is no such file.
        """
        (n, m), rows, columns, values = matrix_market.read(filename)
        made = cls(n, m, None, dtype, storage_format)
        made._take(made, made._assembled(rows, columns, values))
        return made

    def __repr__(self) -> str:
        if max(self.shape) > _MOST_SHOWN:
            return (
                f"<metate.linalg.SparseMatrix of {self.dtype!r}, shape {self.shape}, {self.nnz} entries, {self.storage_format}>"
            )
        texts = [[f"{number:.4g}" for number in row] for row in self.to_numpy().tolist()]
        width = max((len(text) for row in texts for text in row), default=0)
        return "\n".join("[" + ", ".join(text.rjust(width) for text in row) + "]" for row in texts)
