"""Probes of the simplify stage's faults."""

import numpy as np

import metate as mt

from . import expect, probe


@probe("LoopValueDropped")
def loop_value_dropped():
    @mt.kernel
    def run(out: mt.types.ndarray(mt.i32, 1)):
        for i in range(out.shape[0]):
            total = 0
            for k in range(i):
                total += k
            out[i] = total

    out = np.zeros(6, np.int32)
    run(out)
    expect(out, [0, 0, 1, 3, 6, 10])
