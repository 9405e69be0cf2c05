"""Edit distances by NumPy, for tests of tables that kernels keep in local arrays and in rows of fields."""

import numpy as np


def last_rows(a, b):
    """The last row of the table of each pair of words, [pairs, letters + 1]: its last number is their distance."""
    letters = a.shape[1]
    rows = np.tile(np.arange(letters + 1), (len(a), 1))
    for i in range(letters):
        above, rows = rows, np.empty_like(rows)
        rows[:, 0] = i + 1
        for j in range(letters):
            rows[:, j + 1] = np.minimum(above[:, j] + (a[:, i] != b[:, j]), np.minimum(above[:, j + 1], rows[:, j]) + 1)
    return rows
