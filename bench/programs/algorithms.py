"""Sorting, prefix sums, compaction and histograms; each step begins with a copy of the input.

What is worked on is a NumPy array, an ndarray or a field; a program keeps the plan (`Sorter`, ...) that has the scratch
memory, or calls the function (`parallel_sort`, ...), which makes one each time.
"""

import numpy as np
import ti


def copied(values, dtype, over):
    """(memory, function that fills it with `values` again, function that gives it as a NumPy array)."""
    values = np.ascontiguousarray(values)
    if over == "numpy":
        memory = np.empty_like(values)
        return memory, lambda: np.copyto(memory, values), lambda: memory
    make = {"ndarray": ti.ndarray, "field": ti.field}[over]
    given, memory = make(dtype, len(values)), make(dtype, len(values))
    given.from_numpy(values)
    return memory, lambda: memory.copy_from(given), memory.to_numpy


def stepping(values, dtype, over, run, result=None):
    """A program whose step copies the values and runs on the copy; `result()` gives its output, by default the copy."""
    memory, copy, taken = copied(values, dtype, over)

    def step():
        copy()
        run(memory)

    return {"step": step, "outputs": lambda: {"out": (result or taken)()}}


def sort(inputs, n):
    return stepping(inputs["x"], ti.u32, "numpy", ti.algorithms.Sorter(ti.u32, n).run)


def sort_once(inputs, n):
    return stepping(inputs["x"], ti.u32, "numpy", ti.algorithms.parallel_sort)


def sort_ndarray(inputs, n):
    return stepping(inputs["x"], ti.u32, "ndarray", ti.algorithms.Sorter(ti.u32, n).run)


def sort_field(inputs, n):
    return stepping(inputs["x"], ti.u32, "field", ti.algorithms.parallel_sort)


def pairs(inputs, n):
    """Keys in one array, values in another one."""
    sorter, numbers = ti.algorithms.Sorter(ti.u32, n, ti.i32), np.arange(n, dtype=np.int32)
    keys, copy, _ = copied(inputs["keys"], ti.u32, "numpy")
    values, copy_values, _ = copied(numbers, ti.i32, "numpy")

    def step():
        copy()
        copy_values()
        sorter.run(keys, values)

    return {"step": step, "outputs": lambda: {"keys": keys, "values": values}}


def pairs_of(layout):
    """Members of a struct field."""

    def program(inputs, n):
        pairs = ti.types.struct(key=ti.u32, value=ti.i32).field(shape=n, layout=layout)
        keys = ti.field(ti.u32, n)
        keys.from_numpy(np.ascontiguousarray(inputs["keys"]))

        @ti.kernel
        def copy():
            for i in keys:
                pairs[i].key = keys[i]
                pairs[i].value = i

        def step():
            copy()
            ti.algorithms.parallel_sort(pairs.key, pairs.value)

        return {"step": step, "outputs": lambda: {"keys": pairs.key.to_numpy(), "values": pairs.value.to_numpy()}}

    return program


pairs_aos, pairs_soa = pairs_of(ti.Layout.AOS), pairs_of(ti.Layout.SOA)


def scan(inputs, n):
    return stepping(inputs["x"], ti.i32, "numpy", ti.algorithms.PrefixSumExecutor(n, ti.i32).run)


def scan_once(inputs, n):
    return stepping(inputs["x"], ti.i32, "numpy", lambda x: ti.algorithms.PrefixSumExecutor(n).run(x))


def scan_field(inputs, n):
    return stepping(inputs["x"], ti.i32, "field", ti.algorithms.PrefixSumExecutor(n).run)


@ti.func
def is_odd(value):
    return value % ti.u32(2) == ti.u32(1)


def compact(inputs, n):
    compactor, out = ti.algorithms.Compactor(ti.u32, n, is_odd), np.zeros(n, np.uint32)
    return stepping(inputs["x"], ti.u32, "numpy", lambda x: compactor.run(x, out), lambda: out)


def compact_mask(inputs, n):
    """By a mask, which NumPy makes in each step."""
    out = np.zeros(n, np.uint32)
    run = lambda x: ti.algorithms.compact(x, (x & np.uint32(1)).astype(np.uint8), out)
    return stepping(inputs["x"], ti.u32, "numpy", run, lambda: out)


def compact_field(inputs, n):
    out = ti.field(ti.u32, n)
    return stepping(inputs["x"], ti.u32, "field", lambda x: ti.algorithms.compact(x, is_odd, out), out.to_numpy)


def counting(inputs, over, count):
    """`count(x)` gives counts and edges."""
    kept = {}
    return stepping(inputs["x"], ti.f32, over, lambda x: kept.update(out=count(x)[0]), lambda: kept["out"])


def histogram(inputs, n):
    bins = ti.algorithms.Histogram(ti.f32, n, 256)
    return counting(inputs, "numpy", lambda x: bins.run(x, 0.0, 1.0))


def histogram_once(inputs, n):
    return counting(inputs, "numpy", lambda x: ti.algorithms.histogram(x, 256, (0.0, 1.0)))


def histogram_field(inputs, n):
    bins = ti.algorithms.Histogram(ti.f32, n, 256)
    return counting(inputs, "field", lambda x: bins.run(x, 0.0, 1.0))
