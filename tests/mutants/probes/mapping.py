"""Probes of the map stage's faults: tasks, chunks, captured values, LLVM operations."""

import numpy as np

import metate as mt

from . import expect, probe


@probe("ChunkEndShort")
def chunk_end_short():
    @mt.kernel
    def run(out: mt.types.ndarray(mt.i32, 1)):
        for i in range(out.shape[0]):
            out[i] = i + 1

    out = np.zeros(5, np.int32)
    run(out)
    expect(out, [1, 2, 3, 4, 5])
