"""A number of each row of a table: the sum of its squares."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"a": rng.random((n, m), np.float32)}


def model(inputs, n, m):
    return {"sums": (inputs["a"].astype(np.float64) ** 2).sum(axis=1)}


WORK = Workload(
    title="sum of squares of each row of a table",
    unit="value",
    parameters={"n": 997, "m": 1021},
    device={"n": 3989, "m": 2039},
    smoke={"n": 19, "m": 45},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-3),
)


def fields(inputs, dtype=None):
    n, m = inputs["a"].shape
    a, sums = ti.field(dtype or ti.f32, shape=(n, m)), ti.field(dtype or ti.f32, shape=n)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    return a, sums


def made(step, sums):
    return {"step": step, "outputs": lambda: {"sums": sums if isinstance(sums, np.ndarray) else sums.to_numpy()}}


@WORK.spelling("rows in parallel, an inner loop")
def inner(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for i in range(n):
            s = 0.0
            for j in range(m):
                s += a[i, j] * a[i, j]
            sums[i] = s

    return made(add, sums)


@WORK.spelling("a local of the value, ** 2")
def squared(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for i in sums:
            s = 0.0
            for j in range(m):
                value = a[i, j]
                s = s + value**2
            sums[i] = s

    return made(add, sums)


@WORK.spelling("accumulated in the field")
def in_field(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for i in range(n):
            sums[i] = 0.0
            for j in range(m):
                sums[i] += a[i, j] * a[i, j]

    return made(add, sums)


@WORK.spelling("all cells in parallel, atomic +=")
def atomic(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        sums.fill(0.0)
        for i, j in a:
            sums[i] += a[i, j] * a[i, j]

    return made(add, sums)


@WORK.spelling("one loop over a flat ndarray, //")
def one_loop(inputs, n, m):
    a, sums = ti.ndarray(ti.f32, shape=n * m), ti.ndarray(ti.f32, shape=n)
    a.from_numpy(np.ascontiguousarray(inputs["a"]).reshape(-1))

    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.f32, ndim=1), sums: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in sums:
            sums[i] = 0.0
        for c in range(a.shape[0]):
            sums[c // m] += a[c] * a[c]

    return made(lambda: add(a, sums), sums)


@WORK.spelling("flat NumPy array, range(begin, end)")
def numpy_flat(inputs, n, m):
    a, sums = np.ascontiguousarray(inputs["a"]).reshape(-1), np.zeros(n, np.float32)

    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.f32, ndim=1), sums: ti.types.ndarray(dtype=ti.f32, ndim=1), m: int):
        for i in range(sums.shape[0]):
            s = 0.0
            for c in range(i * m, (i + 1) * m):
                s += a[c] * a[c]
            sums[i] = s

    return made(lambda: add(a, sums, m), sums)


@WORK.spelling("a while loop")
def by_while(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for i in range(n):
            s, j = 0.0, 0
            while j < m:
                s += a[i, j] * a[i, j]
                j += 1
            sums[i] = s

    return made(add, sums)


@WORK.spelling("a func of the row")
def by_func(inputs, n, m):
    a, sums = fields(inputs)

    @ti.func
    def norm_sqr(i):
        s = 0.0
        for j in range(m):
            s += a[i, j] ** 2
        return s

    @ti.kernel
    def add():
        for i in range(n):
            sums[i] = norm_sqr(i)

    return made(add, sums)


@WORK.spelling("summed in f64", family="f64 sums")
def double_sums(inputs, n, m):
    a, sums = fields(inputs)

    @ti.kernel
    def add():
        for i in range(n):
            s = ti.f64(0.0)
            for j in range(m):
                s += a[i, j] * a[i, j]
            sums[i] = ti.cast(s, ti.f32)

    return made(add, sums)


@WORK.spelling("f64, an inner loop", family="f64")
def doubles(inputs, n, m):
    a, sums = fields(inputs, ti.f64)

    @ti.kernel
    def add():
        for i in range(n):
            s = ti.cast(0.0, ti.f64)
            for j in range(m):
                s += a[i, j] * a[i, j]
            sums[i] = s

    return made(add, sums)
