"""Values that pass a test go to one list, in any order."""

import numpy as np
import ti
from harness.workload import Workload

HALF = 500


def inputs(rng, n):
    return {"x": rng.integers(0, 1000, n, np.int32)}


def model(inputs, n):
    kept = inputs["x"][inputs["x"] < HALF]
    return {"found": np.array([len(kept), kept.sum()])}


WORK = Workload(
    title="values that pass a test, in one list",
    unit="value",
    parameters={"n": 60_000},
    device={"n": 4_000_000},
    smoke={"n": 1003},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def values(inputs):
    x = ti.field(ti.i32, shape=len(inputs["x"]))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x


def made(step, count_of, value_of):
    """The outputs by a kernel that walks the list."""
    found = np.zeros(2, np.int32)

    @ti.kernel
    def add_up(found: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        found[0] = count_of()
        found[1] = 0
        for j in range(count_of()):
            found[1] += value_of(j)

    def outputs():
        add_up(found)
        return {"found": found}

    return {"step": step, "outputs": outputs}


@WORK.spelling("a dynamic list")
def dynamic(inputs, n):
    x, kept = values(inputs), ti.field(ti.i32)
    level = ti.root.dynamic(ti.i, n, chunk_size=1024)
    level.place(kept)

    @ti.kernel
    def fill():
        for i in x:
            if x[i] < HALF:
                ti.append(level, [], x[i])

    @ti.func
    def count_of():
        return ti.length(level, [])

    @ti.func
    def value_of(j):
        return kept[j]

    def step():
        level.deactivate_all()
        fill()

    return made(step, count_of, value_of)


def field_with_counter(inputs):
    x, kept, count = values(inputs), ti.field(ti.i32, shape=len(inputs["x"])), ti.field(ti.i32, shape=())

    @ti.func
    def count_of():
        return count[None]

    @ti.func
    def value_of(j):
        return kept[j]

    return x, kept, count, count_of, value_of


@WORK.spelling("a field and a counter")
def counter(inputs, n):
    x, kept, count, count_of, value_of = field_with_counter(inputs)

    @ti.kernel
    def fill():
        count[None] = 0
        for i in x:
            if x[i] < HALF:
                kept[ti.atomic_add(count[None], 1)] = x[i]

    return made(fill, count_of, value_of)


@WORK.spelling("arrays, a place that is kept and tested")
def tested(inputs, n):
    x, kept, count = np.ascontiguousarray(inputs["x"]), np.zeros(n, np.int32), np.zeros(1, np.int32)
    array = ti.types.ndarray(dtype=ti.i32, ndim=1)
    found = np.zeros(2, np.int32)

    @ti.kernel
    def fill(x: array, kept: array, count: array):
        for i in range(1):
            count[i] = 0
        for i in range(x.shape[0]):
            value = x[i]
            if value < HALF:
                place = ti.atomic_add(count[0], 1)
                if place < kept.shape[0]:
                    kept[place] = value

    @ti.kernel
    def add_up(kept: array, count: array, found: array):
        found[0] = count[0]
        found[1] = 0
        for j in range(count[0]):
            found[1] += kept[j]

    def outputs():
        add_up(kept, count, found)
        return {"found": found}

    return {"step": lambda: fill(x, kept, count), "outputs": outputs}


@WORK.spelling("a field and a counter, a serialized loop")
def serial(inputs, n):
    x, kept, count, count_of, value_of = field_with_counter(inputs)

    @ti.kernel
    def fill():
        total = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            if x[i] < HALF:
                kept[total] = x[i]
                total += 1
        count[None] = total

    return made(fill, count_of, value_of)


def arrays_with_counter(inputs, fill):
    """A step by `fill(x, kept, count)` over arrays of NumPy."""
    x, kept = np.ascontiguousarray(inputs["x"]), np.zeros(len(inputs["x"]), np.int32)
    count, found = np.zeros(1, np.int32), np.zeros(2, np.int32)
    array = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def add_up(kept: array, count: array, found: array):
        found[0] = count[0]
        found[1] = 0
        for j in range(count[0]):
            found[1] += kept[j]

    def outputs():
        add_up(kept, count, found)
        return {"found": found}

    return {"step": lambda: fill(x, kept, count), "outputs": outputs}


@WORK.spelling("arrays, a serialized loop")
def serial_arrays(inputs, n):
    array = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def fill(x: array, kept: array, count: array):
        place = 0
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            value = x[i]
            if value < HALF:
                kept[place] = value
                place += 1
        count[0] = place

    return arrays_with_counter(inputs, fill)


@WORK.spelling("arrays, a while loop, a test in two parts")
def while_arrays(inputs, n):
    array = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def fill(x: array, kept: array, count: array):
        i = 0
        place = 0
        while i < x.shape[0]:
            if x[i] >= 0 and x[i] < HALF:
                kept[place] = x[i]
                place = place + 1
            i += 1
        count[0] = place

    return arrays_with_counter(inputs, fill)


@WORK.spelling("a serialized loop, two counters: the others from the end")
def two_counters(inputs, n):
    x, kept, count, count_of, value_of = field_with_counter(inputs)

    @ti.kernel
    def fill():
        low = 0
        high = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            if x[i] < HALF:
                kept[low] = x[i]
                low += 1
            else:
                high += 1
                kept[n - high] = x[i]
        count[None] = low

    return made(fill, count_of, value_of)


@WORK.spelling("counts of chunks, their sums, then places")
def chunks(inputs, n):
    x, kept, count, count_of, value_of = field_with_counter(inputs)
    parts = 50
    first = ti.field(ti.i32, shape=parts + 1)

    @ti.kernel
    def fill():
        for c in range(parts):
            s = 0
            for i in range(c * n // parts, (c + 1) * n // parts):
                if x[i] < HALF:
                    s += 1
            first[c + 1] = s
        first[0] = 0
        ti.loop_config(serialize=True)
        for c in range(parts):
            first[c + 1] += first[c]
        for c in range(parts):
            place = first[c]
            for i in range(c * n // parts, (c + 1) * n // parts):
                if x[i] < HALF:
                    kept[place] = x[i]
                    place += 1
        count[None] = first[parts]

    return made(fill, count_of, value_of)
