"""What this machine can do at best, measured by two kernels: bytes a second from and to memory, and floating-point operations.

A task that moves so many bytes, or computes so much, can not be faster: `metate explain --run` shows its time beside that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..context import Context
from ..dtypes import f32, i32
from ..kernel import kernel
from ..value_types import ndarray

_ELEMENTS, _TURNS, _REPEATS = 1 << 25, 4096, 5
_CHAINS = 5  # of _multiply_add: two registers each and two for the numbers, of the sixteen that AVX2 has; enough to keep it busy


@dataclass(frozen=True)
class Limits:
    """Bytes a second of a copy that is much larger than the caches, read and written; f32 operations a second."""

    bandwidth: float
    operations: float


@kernel
def _copy(x: ndarray(f32, 1), y: ndarray(f32, 1)):
    for i in x:
        y[i] = x[i]


@kernel
def _multiply_add(x: ndarray(f32, 1), turns: i32):
    for i in x:
        a, b, c, d, e = x[i], x[i] + 1.0, x[i] + 2.0, x[i] + 3.0, x[i] + 4.0
        for _ in range(turns):
            a, b, c, d, e = a * 0.5 + 1.0, b * 0.5 + 1.0, c * 0.5 + 1.0, d * 0.5 + 1.0, e * 0.5 + 1.0
        x[i] = a + b + c + d + e


def measured(elements: int = _ELEMENTS) -> Limits:
    """The limits, the best of some runs: about a second. elements: of the arrays that are copied, f32."""
    with Context():
        x, y = np.ones(elements, np.float32), np.ones(elements, np.float32)
        copied = _best(lambda: _copy(x, y))
        few = np.ones(1 << 12, np.float32)
        computed = _best(lambda: _multiply_add(few, _TURNS))
    return Limits(2 * x.nbytes / copied, 2.0 * _CHAINS * _TURNS * few.size / computed)


def _best(run) -> float:
    """Seconds of the shortest run; the first one compiles."""
    run()
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
