"""Matrix Market files of sparse matrices: coordinate format, as https://math.nist.gov/MatrixMarket/formats.html has it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import RuntimeIOError_

_LARGEST = (1 << 31) - 1


def write(path: Any, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
    """Writes triplets; values are written so that reading gives them back."""
    digits = 9 if values.dtype == np.float32 else 17
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(f"%%MatrixMarket matrix coordinate real general\n{shape[0]} {shape[1]} {len(values)}\n")
            for i, j, value in zip(rows.tolist(), columns.tolist(), values.tolist()):
                file.write(f"{i + 1} {j + 1} {value:.{digits}g}\n")
    except OSError as error:
        raise RuntimeIOError_(f"mmwrite: {os.fspath(path)}: {error.strerror}") from None


def read(path: Any) -> tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray]:
    """(shape, rows, columns, values) of a file; of a symmetric one both halves. Raises RuntimeIOError_."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            field, symmetry = _header(file.readline())
            shape, count = _extents(file)
            width = 2 if field == "pattern" else 3
            numbers = np.loadtxt(file, comments="%", ndmin=2) if count else np.zeros((0, width))
    except OSError as error:
        raise RuntimeIOError_(f"mmread: {os.fspath(path)}: {error.strerror}") from None
    except ValueError as error:
        raise RuntimeIOError_(f"mmread: {os.fspath(path)}: {error}") from None
    if numbers.shape != (count, width):
        raise RuntimeIOError_(f"mmread: {os.fspath(path)}: expected {count} lines of {width} numbers, got {numbers.shape}")
    places = numbers[:, :2] - 1
    if not (np.array_equal(places, np.trunc(places)) and ((places >= 0) & (places < shape)).all()):
        raise RuntimeIOError_(f"mmread: {os.fspath(path)}: expected rows and columns from 1 to {shape}")
    rows, columns = places.astype(np.int32).T
    values = np.ones(count) if field == "pattern" else numbers[:, 2]
    if symmetry != "general":
        off = rows != columns
        mirrored = values[off] if symmetry == "symmetric" else -values[off]
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        values = np.concatenate([values, mirrored])
    return shape, rows, columns, values


def _header(line):
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("expected '%%MatrixMarket matrix' in its first line")
    kind, field, symmetry = words[2:]
    if kind != "coordinate":
        raise ValueError(f"expected coordinate format, got {kind}")
    if field not in ("real", "double", "integer", "pattern"):
        raise ValueError(f"expected real, integer or pattern numbers, got {field}")
    if symmetry not in ("general", "symmetric", "skew-symmetric"):
        raise ValueError(f"expected general, symmetric or skew-symmetric, got {symmetry}")
    return field, symmetry


def _extents(file):
    """((rows, columns), entries) from the first line that is no comment."""
    for line in file:
        if line.strip() and not line.startswith("%"):
            words = line.split()
            if len(words) != 3 or not all(word.isdecimal() for word in words):
                raise ValueError(f"expected rows, columns and entries, got {line.strip()!r}")
            n, m, count = map(int, words)
            if max(n, m, count) > _LARGEST:
                raise ValueError(f"expected at most {_LARGEST} rows, columns and entries, got {line.strip()!r}")
            return (n, m), count
    raise ValueError("expected rows, columns and entries, got the file's end")
