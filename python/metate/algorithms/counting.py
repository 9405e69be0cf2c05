"""Histograms: counts of each block, then the sum of each bin. Bins are NumPy's, compared with its edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import intrinsics as mt
from .. import value_types as _types
from ..dtypes import f64, i32, i64
from ..errors import RuntimeTypeError_, RuntimeValueError_
from ..kernel import kernel
from .arrays import borrowed, described
from .plan import Plan, Scratch, blocks_of, length_of, scalar_of
from .reducing import reduce

_Array = _types.ndarray
_MOST_BINS = 1 << 24


@kernel
def histogram_of(x: _Array(ndim=1), edges: _Array(f64, 1), bins: _Array(i64, 1), counts: _Array(i32, 2)):
    """How many elements lie in each bin: from its edge to the next one, which only the last bin has too."""
    size = x.shape[0]
    number = bins.shape[0]
    blocks = counts.shape[0]
    share = (size + blocks - i32(1)) // blocks
    for block in range(blocks):
        for b in range(number):
            counts[block, b] = i32(0)
        low = edges[0]
        high = edges[number]
        scale = f64(number) / (high - low)
        begin = i32(mt.min(i64(block) * share, size))
        for i in range(begin, i32(mt.min(i64(begin) + share, size))):
            value = f64(x[i])
            if value >= low and value <= high:
                b = mt.min(i32((value - low) * scale), number - i32(1))
                if value < edges[b]:
                    b -= i32(1)
                elif b < number - i32(1) and value >= edges[b + i32(1)]:
                    b += i32(1)
                counts[block, b] = counts[block, b] + i32(1)
    for b in range(number):
        total = i64(0)
        for block in range(blocks):
            total += counts[block, b]
        bins[b] = total


class Histogram(Plan):
    """Counts values of arrays of n elements in bins, again and again; or is shipped (`add_to`).

    Its kernel takes x, the edges of the bins (f64, ascending, one more than bins, at equal distances) and an i64 array of bins.

    Args:
        dtype: the elements' scalar type.
        n: how many elements there are, at most.
        bins: how many bins.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(self, dtype: Any, n: int, bins: int = 10):
        self.dtype = scalar_of(dtype, "Histogram")
        self.n = length_of(n, "Histogram")
        self.bins = length_of(bins, "Histogram: bins")
        if not 1 <= self.bins <= _MOST_BINS:
            raise RuntimeValueError_(f"histogram: bins: expected 1 to {_MOST_BINS}, got {bins}")
        blocks = max(1, min(blocks_of(self.n), (4 * _MOST_BINS) // self.bins))
        super().__init__(
            histogram_of, {"x": self.dtype, "edges": f64, "bins": i64},
            {"counts": Scratch(i32, (blocks, self.bins))}, {},
        )  # fmt: skip

    def run(self, x: Any, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """(counts, edges), as numpy.histogram gives them.

        Args:
            x: a field or array of shape (m,), m at most n, of the histogram's type.
            low, high: the first bin's lower edge and the last one's upper edge; what lies outside is not counted.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        found, count = described(x, "Histogram.run")
        if found != self.dtype:
            raise RuntimeTypeError_(f"Histogram.run: expected {self.dtype!r}, got {found!r}")
        if count > self.n:
            raise RuntimeValueError_(f"Histogram.run: expected at most {self.n} elements, got {count}")
        low, high = float(low), float(high)
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise RuntimeValueError_(f"histogram: range: expected two numbers, the lower one first, got {low} and {high}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges, bins = np.linspace(low, high, self.bins + 1), np.zeros(self.bins, np.int64)
        with borrowed(x, written=False) as memory:
            self._launch(memory, edges, bins)
        return bins, edges


def histogram(x: Any, bins: int = 10, range: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the elements of x in bins of equal width, and the bins' edges, as numpy.histogram gives them of 64-bit floats.

    Args:
        x: a field or array of scalars, of shape (n,).
        bins: how many bins.
        range: (low, high), the outer edges; None: the least and the greatest element.
    Returns counts, i64 of shape (bins,), and edges, f64 of shape (bins + 1,).
    Raises RuntimeTypeError_, RuntimeValueError_.
    """
    dtype, count = described(x, "histogram")
    if range is None:
        range = (reduce(x, "min"), reduce(x, "max")) if count else (0.0, 1.0)
    elif not (isinstance(range, (tuple, list)) and len(range) == 2):
        raise RuntimeTypeError_(f"histogram: range: expected two numbers, got {range!r}")
    return Histogram(dtype, count, bins).run(x, *range)
