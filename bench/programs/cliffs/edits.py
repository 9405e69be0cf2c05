"""Edit distances of many pairs of words: rows of the table, each from the one above, in a local vector or in a field."""

import numpy as np
import ti
from harness.workload import Workload

SIZE = 24


def inputs(rng, n):
    return {"a": rng.integers(0, 4, (n, SIZE), np.int32), "b": rng.integers(0, 4, (n, SIZE), np.int32)}


def model(inputs, n):
    a, b = inputs["a"], inputs["b"]
    row = np.tile(np.arange(SIZE + 1), (n, 1))
    for i in range(SIZE):
        above, row = row, np.empty_like(row)
        row[:, 0] = i + 1
        for j in range(SIZE):
            row[:, j + 1] = np.minimum(above[:, j] + (a[:, i] != b[:, j]), np.minimum(above[:, j + 1], row[:, j]) + 1)
    return {"out": row[:, SIZE]}


WORK = Workload(
    title="edit distances of words of 24 letters",
    unit="cell",
    parameters={"n": 4000},
    device={"n": 100_000},
    smoke={"n": 37},
    items=lambda n: n * SIZE * SIZE,
    inputs=inputs,
    model=model,
)


def fields(inputs):
    n = len(inputs["a"])
    a, b, out = ti.field(ti.i32, shape=(n, SIZE)), ti.field(ti.i32, shape=(n, SIZE)), ti.field(ti.i32, shape=n)
    a.from_numpy(inputs["a"])
    b.from_numpy(inputs["b"])
    return a, b, out


def made(step, out):
    return {"step": step, "outputs": lambda: {"out": out if isinstance(out, np.ndarray) else out.to_numpy()}}


@WORK.spelling("a local vector, run-time loops")
def local(inputs, n):
    a, b, out = fields(inputs)

    @ti.kernel
    def step():
        for p in out:
            row = ti.Vector([0] * (SIZE + 1))
            for j in range(SIZE + 1):
                row[j] = j
            for i in range(SIZE):
                above = row[0]
                row[0] = i + 1
                for j in range(SIZE):
                    changed = above + (a[p, i] != b[p, j])
                    above = row[j + 1]
                    row[j + 1] = ti.min(changed, ti.min(above, row[j]) + 1)
            out[p] = row[SIZE]

    return made(step, out)


@WORK.spelling("a local vector, a func of the words, NumPy arrays, an if")
def local_arrays(inputs, n):
    a, b, out = inputs["a"], inputs["b"], np.zeros(n, np.int32)
    words = ti.types.ndarray(dtype=ti.i32, ndim=2)

    @ti.func
    def distance(a: ti.template(), b: ti.template(), p):
        row = ti.Vector([j for j in range(SIZE + 1)])
        for i in range(SIZE):
            above = row[0]
            row[0] += 1
            for j in range(SIZE):
                best = above
                if a[p, i] != b[p, j]:
                    best = ti.min(above, ti.min(row[j + 1], row[j])) + 1
                above = row[j + 1]
                row[j + 1] = best
        return row[SIZE]

    @ti.kernel
    def step(a: words, b: words, out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for p in range(out.shape[0]):
            out[p] = distance(a, b, p)

    return made(lambda: step(a, b, out), out)


@WORK.spelling("two rows of a local matrix")
def two_rows(inputs, n):
    a, b, out = fields(inputs)

    @ti.kernel
    def step():
        for p in range(n):
            rows = ti.Matrix.zero(ti.i32, 2, SIZE + 1)
            for j in range(SIZE + 1):
                rows[0, j] = j
            for i in range(SIZE):
                now, above = (i + 1) % 2, i % 2
                rows[now, 0] = i + 1
                for j in range(1, SIZE + 1):
                    changed = rows[above, j - 1] + (a[p, i] != b[p, j - 1])
                    rows[now, j] = ti.min(changed, rows[above, j] + 1, rows[now, j - 1] + 1)
            out[p] = rows[SIZE % 2, SIZE]

    return made(step, out)


@WORK.spelling("a row of a field")
def in_field(inputs, n):
    a, b, out = fields(inputs)
    row = ti.field(ti.i32, shape=(n, SIZE + 1))

    @ti.kernel
    def step():
        for p in out:
            for j in range(SIZE + 1):
                row[p, j] = j
            for i in range(SIZE):
                above = row[p, 0]
                row[p, 0] = i + 1
                for j in range(SIZE):
                    changed = above + (a[p, i] != b[p, j])
                    above = row[p, j + 1]
                    row[p, j + 1] = ti.min(changed, ti.min(above, row[p, j]) + 1)
            out[p] = row[p, SIZE]

    return made(step, out)


@WORK.spelling("a row of a NumPy array, a func of the table")
def in_array(inputs, n):
    a, b, out, rows = inputs["a"], inputs["b"], np.zeros(n, np.int32), np.zeros((n, SIZE + 1), np.int32)
    words = ti.types.ndarray(dtype=ti.i32, ndim=2)

    @ti.func
    def least(row: ti.template(), p, j, changed):
        return ti.min(changed, ti.min(row[p, j + 1], row[p, j]) + 1)

    @ti.kernel
    def step(a: words, b: words, row: words, out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for p in range(out.shape[0]):
            for j in range(SIZE + 1):
                row[p, j] = j
            for i in range(SIZE):
                above = row[p, 0]
                row[p, 0] = i + 1
                for j in range(SIZE):
                    changed = above + ti.cast(a[p, i] != b[p, j], ti.i32)
                    above = row[p, j + 1]
                    row[p, j + 1] = least(row, p, j, changed)
            out[p] = row[p, SIZE]

    return made(lambda: step(a, b, rows, out), out)


@WORK.spelling("a local vector, static inner loops")
def static(inputs, n):
    a, b, out = fields(inputs)

    @ti.kernel
    def step():
        for p in out:
            row = ti.Vector([j for j in range(SIZE + 1)])
            for i in range(SIZE):
                above = row[0]
                row[0] = i + 1
                for j in ti.static(range(SIZE)):
                    changed = above
                    if a[p, i] != b[p, j]:
                        changed += 1
                    above = row[j + 1]
                    row[j + 1] = ti.min(changed, ti.min(above, row[j]) + 1)
            out[p] = row[SIZE]

    return made(step, out)
