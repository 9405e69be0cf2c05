"""The sum of each column of a table that has few or many of them."""

import numpy as np
import ti
from harness.workload import Workload

WIDE = 8  # columns of the narrow table, a vector's length


def inputs(rng, n, m):
    return {"a": rng.random((n, m), np.float32)}


def model(inputs, n, m):
    return {"sums": inputs["a"].sum(axis=0, dtype=np.float64)}


WORK = Workload(
    title="sums of a table's columns",
    unit="value",
    parameters={"n": 1003, "m": 520},
    device={"n": 4003, "m": 2080},
    smoke={"n": 37, "m": 24},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-3),
)


def fields(inputs):
    n, m = inputs["a"].shape
    a, sums = ti.field(ti.f32, shape=(n, m)), ti.field(ti.f32, shape=m)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    return a, sums


def made(step, sums):
    return {"step": step, "outputs": lambda: {"sums": sums.to_numpy().reshape(-1)}}


@WORK.spelling("columns in parallel, an inner loop of rows")
def by_column(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for j in range(m):
            s = 0.0
            for i in range(n):
                s += a[i, j]
            sums[j] = s

    return made(add, sums)


@WORK.spelling("columns in parallel, accumulated in the field")
def in_field(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for j in range(m):
            sums[j] = 0.0
            for i in range(n):
                sums[j] += a[i, j]

    return made(add, sums)


@WORK.spelling("all cells in parallel, atomic +=")
def atomic(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for j in sums:
            sums[j] = 0.0
        for i, j in a:
            sums[j] += a[i, j]

    return made(add, sums)


@WORK.spelling("one loop, // and %, atomic +=")
def one_loop(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        sums.fill(0.0)
        for c in range(n * m):
            sums[c % m] += a[c // m, c % m]

    return made(add, sums)


@WORK.spelling("blocks of rows in parallel, a NumPy array")
def blocks(inputs, n, m):
    a, sums = np.ascontiguousarray(inputs["a"]), ti.field(ti.f32, shape=m)

    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for j in sums:
            sums[j] = 0.0
        for block, j in ti.ndrange((a.shape[0] + 99) // 100, a.shape[1]):
            s = 0.0
            for i in range(block * 100, ti.min(block * 100 + 100, a.shape[0])):
                s += a[i, j]
            sums[j] += s

    return made(lambda: add(a), sums)


@WORK.spelling("serialized loop of rows, an inner loop of columns", family="one thread")
def serial_rows(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for j in sums:
            sums[j] = 0.0
        ti.loop_config(serialize=True)
        for i in range(n):
            for j in range(m):
                sums[j] += a[i, j]

    return made(add, sums)


@WORK.spelling("one parallel turn, rows and columns inside", family="one thread")
def one_turn(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        sums.fill(0.0)
        for _ in range(1):
            for i in range(n):
                for j in range(m):
                    sums[j] += a[i, j]

    return made(add, sums)


@WORK.spelling("serialized loop over rows of vectors into a local vector", family="one thread, vectors")
def local_vector(inputs, n, m):
    a, sums = ti.Vector.field(WIDE, ti.f32, shape=(n, m // WIDE)), ti.Vector.field(WIDE, ti.f32, shape=m // WIDE)
    a.from_numpy(np.ascontiguousarray(inputs["a"]).reshape(n, m // WIDE, WIDE))

    @ti.kernel
    def add():
        ti.loop_config(serialize=True)
        for j in range(m // WIDE):
            s = ti.Vector.zero(ti.f32, WIDE)
            for i in range(n):
                s += a[i, j]
            sums[j] = s

    return made(add, sums)


@WORK.spelling("serialized loop over rows, sums a field of vectors", family="one thread, vectors")
def field_of_vectors(inputs, n, m):
    a, sums = ti.Vector.field(WIDE, ti.f32, shape=(n, m // WIDE)), ti.Vector.field(WIDE, ti.f32, shape=m // WIDE)
    a.from_numpy(np.ascontiguousarray(inputs["a"]).reshape(n, m // WIDE, WIDE))

    @ti.kernel
    def add():
        for j in sums:
            sums[j] = ti.Vector.zero(ti.f32, WIDE)
        ti.loop_config(serialize=True)
        for i in range(n):
            for j in range(m // WIDE):
                sums[j] += a[i, j]

    return made(add, sums)
