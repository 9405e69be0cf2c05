"""What `K[i, j] += v` of a sparse matrix builder does, in the language: inlined where it stands."""

from __future__ import annotations

from ..dtypes import i32, i64
from ..intrinsics import atomic_add
from ..triplets import APPENDED, COLUMNS, OUTSIDE, OUTSIDE_COLUMN, OUTSIDE_ROW, ROWS
from .function import func, template


@func
def append(counts: template(), rows: template(), columns: template(), values: template(), i, j, value):
    row, column = i64(i), i64(j)
    if row >= 0 and row < counts[ROWS] and column >= 0 and column < counts[COLUMNS]:
        at = atomic_add(counts[APPENDED], i64(1))
        if at < rows.shape[0]:
            rows[at] = i32(row)
            columns[at] = i32(column)
            values[at] = value
    else:
        if atomic_add(counts[OUTSIDE], i64(1)) == 0:
            counts[OUTSIDE_ROW] = row
            counts[OUTSIDE_COLUMN] = column
