"""One tiny kernel for each deliberate fault: right without it, wrong with it.

A probe is a function under `@probe("Name")`; it runs kernels on fixed data and calls `expect`. Probes know
the result by heart (NumPy), never by asking another stage of the compiler. They test the switch and that
each fault can be seen at all; that random kernels see it is the differential tester's business.
"""

import numpy as np

PROBES = {}


class Mismatch(Exception):
    """The kernel ran and gave other values than it means."""


def probe(name):
    def register(function):
        assert name not in PROBES, f"two probes for {name}"
        PROBES[name] = function
        return function

    return register


def expect(got, want):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or not np.array_equal(got, want, equal_nan=want.dtype.kind in "fc"):
        raise Mismatch(f"expected {want.tolist()}, got {got.tolist()}")
