"""A table copied as it is, or transposed, between fields, ndarrays and NumPy's arrays."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"x": rng.random((n, n), np.float32)}


WORK = Workload(
    title="copies of a table",
    unit="value",
    parameters={"n": 601},
    device={"n": 3001},
    smoke={"n": 33},
    items=lambda n: n * n,
    inputs=inputs,
    model=lambda inputs, n: {"y": inputs["x"]},
    tolerance=(0, 0),
)


def fields(inputs, transposed=False):
    x, y = ti.field(ti.f32, shape=inputs["x"].shape), ti.field(ti.f32, shape=inputs["x"].shape)
    x.from_numpy(np.ascontiguousarray(inputs["x"].T if transposed else inputs["x"]))
    return x, y


def made(step, y):
    return {"step": step, "outputs": lambda: {"y": y if isinstance(y, np.ndarray) else y.to_numpy()}}


@WORK.spelling("y.copy_from(x)")
def copy_from(inputs, n):
    x, y = fields(inputs)
    return made(lambda: y.copy_from(x), y)


@WORK.spelling("a kernel, grouped")
def grouped(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def copy():
        for I in ti.grouped(x):
            y[I] = x[I]

    return made(copy, y)


@WORK.spelling("a kernel, one loop, // and %")
def one_loop(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def copy():
        for c in range(n * n):
            y[c // n, c % n] = x[c // n, c % n]

    return made(copy, y)


@WORK.spelling("ndarrays, y.copy_from(x)")
def ndarrays(inputs, n):
    x, y = ti.ndarray(ti.f32, shape=(n, n)), ti.ndarray(ti.f32, shape=(n, n))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return made(lambda: y.copy_from(x), y)


@WORK.spelling("y.from_numpy(array)", family="NumPy")
def from_numpy(inputs, n):
    y, array = ti.field(ti.f32, shape=(n, n)), np.ascontiguousarray(inputs["x"])
    return made(lambda: y.from_numpy(array), y)


@WORK.spelling("x.to_numpy()", family="NumPy")
def to_numpy(inputs, n):
    x, _ = fields(inputs)
    last = [None]

    def step():
        last[0] = x.to_numpy()

    return {"step": step, "outputs": lambda: {"y": last[0]}}


@WORK.spelling("a kernel with a NumPy argument", family="NumPy")
def argument(inputs, n):
    y, array = ti.field(ti.f32, shape=(n, n)), np.ascontiguousarray(inputs["x"])

    @ti.kernel
    def copy(x: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in y:
            y[i, j] = x[i, j]

    return made(lambda: copy(array), y)


@WORK.spelling("transposed, y[j, i] = x[i, j]", family="transposed")
def scattered(inputs, n):
    x, y = fields(inputs, transposed=True)

    @ti.kernel
    def copy():
        for i, j in x:
            y[j, i] = x[i, j]

    return made(copy, y)


@WORK.spelling("transposed, y[i, j] = x[j, i]", family="transposed")
def gathered(inputs, n):
    x, y = fields(inputs, transposed=True)

    @ti.kernel
    def copy():
        for i, j in ti.ndrange(n, n):
            y[i, j] = x[j, i]

    return made(copy, y)
