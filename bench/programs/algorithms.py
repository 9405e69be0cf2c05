"""Sorting, prefix sums, compaction and histograms of an array; each step begins with a copy of the input."""

import numpy as np
import ti


def stepping(inputs, result, run):
    """A program whose step copies x and runs on the copy; `result()` gives its outputs."""
    given, memory = inputs["x"], np.empty_like(inputs["x"])

    def step():
        np.copyto(memory, given)
        run(memory)

    return {"step": step, "outputs": lambda: result(memory)}


def sort(inputs, n):
    sorter = ti.algorithms.Sorter(ti.u32, n)
    return stepping(inputs, lambda keys: {"out": keys}, sorter.run)


def scan(inputs, n):
    sums = ti.algorithms.PrefixSumExecutor(n, ti.i32)
    return stepping(inputs, lambda x: {"out": x}, sums.run)


def compact(inputs, n):
    @ti.func
    def is_odd(value):
        return value % ti.u32(2) == ti.u32(1)

    compactor, out = ti.algorithms.Compactor(ti.u32, n, is_odd), np.zeros(n, np.uint32)
    return stepping(inputs, lambda _: {"out": out}, lambda x: compactor.run(x, out))


def histogram(inputs, n):
    bins, kept = ti.algorithms.Histogram(ti.f32, n, 256), {}

    def run(x):
        kept["out"] = bins.run(x, 0.0, 1.0)[0]

    return stepping(inputs, lambda _: kept, run)
