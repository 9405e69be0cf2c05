"""SparseMatrixBuilder: triplets that kernels append, and the matrix that is their sum.

The memory is NumPy's; triplets.py says what is where in it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .. import triplets as _triplets
from ..array_object import NDArray, new_array
from ..dtypes import f32, i32, i64
from ..errors import RuntimeIndexError_, RuntimeTypeError_, RuntimeValueError_
from .sparse_matrix import SparseMatrix
from .sparse_native import checked_type, extent, is_row_major, library


class SparseMatrixBuilder:
    """Collects what kernels add to a matrix: a parameter ``K: mt.types.sparse_matrix_builder()``, in it ``K[i, j] += v``.

    Parallel loops may add to one place: the entry is the sum of all, and does not depend on who came first.

    Args:
        num_rows, num_cols: of the matrix; num_cols: None takes num_rows.
        max_num_triplets: how many additions there is room for, until `build`.
        dtype: of the values, mt.f32 or mt.f64.
        storage_format: of the matrix, "col_major" or "row_major".
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(
        self,
        num_rows: Any = None,
        num_cols: Any = None,
        max_num_triplets: Any = 0,
        dtype: Any = f32,
        storage_format: str = "col_major",
    ):
        library()
        rows = extent(num_rows, "SparseMatrixBuilder: num_rows")
        self.num_rows = rows
        self.num_cols = rows if num_cols is None else extent(num_cols, "SparseMatrixBuilder: num_cols")
        self.max_num_triplets = extent(max_num_triplets, "SparseMatrixBuilder: max_num_triplets")
        self.dtype = checked_type(dtype, "SparseMatrixBuilder")
        self._is_row_major = is_row_major(storage_format, "SparseMatrixBuilder")
        self._type = _triplets.TripletsType(self.dtype)
        counts = new_array(i64, (_triplets.COUNTS,))
        room = (self.max_num_triplets,)
        self._parts = (counts, *(new_array(t, room) for t in (i32, i32, self.dtype)))
        frame = sys._getframe(1)
        self._place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.clear()

    @property
    def _metate_parts(self) -> tuple:
        """The arrays that a kernel takes instead of this."""
        return self._parts

    def _describe(self):
        """(type, shape, which arrays have no gaps), for kernels."""
        return self._type, (self.max_num_triplets,), (True,) * len(self._parts)

    def get_member(self, name: str) -> NDArray:
        """One of the arrays, "counts", "row", "column" or "value": a kernel of a module takes these. Raises RuntimeTypeError_."""
        if name not in self._type.members:
            raise RuntimeTypeError_(f"{self!r}: expected one of {', '.join(self._type.members)}, got {name!r}")
        return self._parts[list(self._type.members).index(name)]

    @property
    def _counts(self) -> np.ndarray:
        return self._parts[0]._values()

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self.num_rows, self.num_cols

    @property
    def num_triplets(self) -> int:
        """How many were added since the last `build`, zeros included. Raises as `build` does."""
        return len(self._used()[0])

    def clear(self) -> None:
        """Forgets all triplets."""
        self._counts[:] = 0
        self._counts[_triplets.ROWS], self._counts[_triplets.COLUMNS] = self.shape

    def _used(self):
        """(rows, columns, values), views of the triplets that are there."""
        counts = self._counts.tolist()
        if counts[_triplets.OUTSIDE]:
            at = counts[_triplets.OUTSIDE_ROW], counts[_triplets.OUTSIDE_COLUMN]
            others = f" and {counts[_triplets.OUTSIDE] - 1} more" if counts[_triplets.OUTSIDE] > 1 else ""
            raise RuntimeIndexError_(f"{self!r}: expected rows and columns inside of {self.shape}, got {at}{others}")
        appended = counts[_triplets.APPENDED]
        if appended > self.max_num_triplets:
            raise RuntimeValueError_(
                f"{self!r}: expected at most max_num_triplets={self.max_num_triplets} triplets, got {appended}: give it as many"
            )
        return tuple(part._values()[:appended] for part in self._parts[1:])

    def print_triplets(self) -> None:
        """Prints the triplets, by rows and columns. Raises as `build` does."""
        rows, columns, values = self._used()
        print(f"n={self.num_rows}, m={self.num_cols}, num_triplets={len(rows)} (max={self.max_num_triplets})")
        for k in np.lexsort((values, columns, rows)):
            print(f"[{rows[k]}, {columns[k]}] = {values[k]:g}")

    def build(self, dtype: Any = None, _format: str = "CSR") -> SparseMatrix:
        """The matrix whose entries are the sums of the triplets, which are forgotten.

        The additions to an entry are summed in f64 and in an order of their own, so that the same triplets give the same bits
        whatever the number of threads.

        Args:
            dtype: of the matrix; None: the builder's.
            _format: taken for Taichi's sake; the builder's storage_format counts.
        Raises RuntimeIndexError_ for additions outside of the matrix, RuntimeValueError_ for more than max_num_triplets: both
        name the line that made the builder, whose triplets stay.
        """
        matrix = SparseMatrix(self.num_rows, self.num_cols, None, self.dtype, "row_major" if self._is_row_major else "col_major")
        matrix._parts = matrix._assembled(*self._used())
        self.clear()
        return matrix if dtype is None or checked_type(dtype, "build") is self.dtype else matrix.astype(dtype)

    def __repr__(self) -> str:
        return f"SparseMatrixBuilder of {self._place}"
