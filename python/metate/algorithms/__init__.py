"""`mt.algorithms`: sorting, prefix sums, reductions, compaction, histograms, over fields and arrays.

Each is written as kernels of the language. A function runs it at once; its class (`Sorter`, ...) is a plan that keeps its scratch
memory and can be shipped in a module.
"""

from __future__ import annotations

from .compacting import Compactor, compact, unique
from .counting import Histogram, histogram
from .plan import Plan, Scratch
from .reducing import Reducer, reduce
from .scanning import PrefixSumExecutor
from .sorter import Sorter, parallel_sort

__all__ = [
    "Compactor", "Histogram", "Plan", "PrefixSumExecutor", "Reducer", "Scratch", "Sorter", "compact", "histogram",
    "parallel_sort", "reduce", "unique",
]  # fmt: skip
