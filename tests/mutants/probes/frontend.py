"""Probes of the front end's faults: what an operator or a cast means."""

import numpy as np

import metate as mt

from . import expect, probe


@probe("FloorDivisionSign")
def floor_division_sign():
    @mt.kernel
    def run(a: mt.types.ndarray(mt.i32, 1), b: mt.types.ndarray(mt.i32, 1), out: mt.types.ndarray(mt.i32, 1)):
        for i in range(a.shape[0]):
            out[i] = a[i] // b[i]

    a, b = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
    out = np.zeros(4, np.int32)
    run(a, b, out)
    expect(out, a // b)
