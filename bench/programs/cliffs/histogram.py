"""How often each of 256 values occurs."""

import numpy as np
import ti
from harness.workload import Workload

BINS = 256


def inputs(rng, n):
    return {"x": rng.integers(0, 1 << 16, n, np.int32)}


def model(inputs, n):
    return {"counts": np.bincount(inputs["x"] >> 8, minlength=BINS)}


WORK = Workload(
    title=f"histogram of i32 values into {BINS} bins",
    unit="value",
    parameters={"n": 500_000},
    device={"n": 8_000_000},
    smoke={"n": 5003},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def fields(inputs):
    x, counts = ti.field(ti.i32, shape=len(inputs["x"])), ti.field(ti.i32, shape=BINS)
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, counts


def made(step, counts):
    return {"step": step, "outputs": lambda: {"counts": counts if isinstance(counts, np.ndarray) else counts.to_numpy()}}


@WORK.spelling("parallel, shifted")
def parallel(inputs, n):
    x, counts = fields(inputs)

    @ti.kernel
    def count():
        counts.fill(0)
        for i in x:
            counts[x[i] >> 8] += 1

    return made(count, counts)


@WORK.spelling("parallel, // 256")
def divided(inputs, n):
    x, counts = fields(inputs)

    @ti.kernel
    def count():
        for b in counts:
            counts[b] = 0
        for i in range(n):
            ti.atomic_add(counts[x[i] // 256], 1)

    return made(count, counts)


@WORK.spelling("NumPy arrays, by a func clamped")
def numpy(inputs, n):
    x, counts = np.ascontiguousarray(inputs["x"]), np.zeros(BINS, np.int32)

    @ti.func
    def bin_of(value):
        return ti.max(0, ti.min(BINS - 1, value // 256))

    @ti.kernel
    def count(x: ti.types.ndarray(dtype=ti.i32, ndim=1), counts: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for b in range(BINS):
            counts[b] = 0
        for i in range(x.shape[0]):
            counts[bin_of(x[i])] += 1

    return made(lambda: count(x, counts), counts)


@WORK.spelling("a table of counts for each chunk, then added")
def private(inputs, n):
    x, counts = fields(inputs)
    chunks = 8
    table = ti.field(ti.i32, shape=(chunks, BINS))

    @ti.kernel
    def count():
        for c, b in table:
            table[c, b] = 0
        for c in range(chunks):
            for i in range(c * n // chunks, (c + 1) * n // chunks):
                table[c, x[i] >> 8] += 1
        for b in counts:
            s = 0
            for c in range(chunks):
                s += table[c, b]
            counts[b] = s

    return made(count, counts)


@WORK.spelling("serialized loop", family="one thread")
def serial(inputs, n):
    x, counts = fields(inputs)

    @ti.kernel
    def count():
        for b in counts:
            counts[b] = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            counts[x[i] >> 8] += 1

    return made(count, counts)


@WORK.spelling("serialized loop, read and stored", family="one thread")
def serial_plain(inputs, n):
    x, counts = fields(inputs)

    @ti.kernel
    def count():
        counts.fill(0)
        ti.loop_config(serialize=True)
        for i in range(n):
            b = x[i] // 256
            counts[b] = counts[b] + 1

    return made(count, counts)


@WORK.spelling("a loop inside one parallel turn", family="one thread")
def one_turn(inputs, n):
    x, counts = fields(inputs)

    @ti.kernel
    def count():
        counts.fill(0)
        for _ in range(1):
            for i in range(n):
                counts[x[i] >> 8] += 1

    return made(count, counts)
