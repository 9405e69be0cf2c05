"""The greatest of each 2 x 2 pixels; a last odd row or column is left out."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"x": rng.random((n, m), np.float32) - np.float32(0.5)}


def model(inputs, n, m):
    x = inputs["x"][: n // 2 * 2, : m // 2 * 2]
    return {"y": x.reshape(n // 2, 2, m // 2, 2).max(axis=(1, 3))}


WORK = Workload(
    title="the greatest of each 2 x 2 pixels",
    unit="pixel",
    parameters={"n": 1001, "m": 1203},
    device={"n": 5001, "m": 4003},
    smoke={"n": 13, "m": 21},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def fields(inputs):
    n, m = inputs["x"].shape
    x, y = ti.field(ti.f32, shape=(n, m)), ti.field(ti.f32, shape=(n // 2, m // 2))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, y


def made(step, y):
    return {"step": step, "outputs": lambda: {"y": y if isinstance(y, np.ndarray) else y.to_numpy()}}


@WORK.spelling("struct-for of outputs, ti.max of four reads")
def four(inputs, n, m):
    x, y = fields(inputs)

    @ti.kernel
    def pool():
        for i, j in y:
            y[i, j] = ti.max(x[2 * i, 2 * j], x[2 * i, 2 * j + 1], x[2 * i + 1, 2 * j], x[2 * i + 1, 2 * j + 1])

    return made(pool, y)


@WORK.spelling("NumPy arrays, run-time loops and an if")
def run_time(inputs, n, m):
    x, y = np.ascontiguousarray(inputs["x"]), np.zeros((n // 2, m // 2), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def pool(x: array, y: array, size: ti.i32):
        for i, j in ti.ndrange(y.shape[0], y.shape[1]):
            most = x[i * size, j * size]
            for p in range(size):
                for q in range(size):
                    v = x[i * size + p, j * size + q]
                    if v > most:
                        most = v
            y[i, j] = most

    return made(lambda: pool(x, y, 2), y)


@WORK.spelling("static offsets, grouped, -inf at first")
def static(inputs, n, m):
    x, y = fields(inputs)

    @ti.kernel
    def pool():
        for I in ti.grouped(y):
            most = -ti.math.inf
            for D in ti.static(ti.grouped(ti.ndrange(2, 2))):
                most = ti.max(most, x[I * 2 + D])
            y[I] = most

    return made(pool, y)


@WORK.spelling("all inputs in parallel, atomic_max into the output")
def scatter(inputs, n, m):
    x, y = fields(inputs)

    @ti.kernel
    def pool():
        y.fill(-1e30)
        for i, j in x:
            if i // 2 < n // 2 and j // 2 < m // 2:
                ti.atomic_max(y[i // 2, j // 2], x[i, j])

    return made(pool, y)


@WORK.spelling("flat ndarrays, one loop, // and %, a func of two pairs")
def flat(inputs, n, m):
    x, y = ti.ndarray(ti.f32, shape=n * m), ti.ndarray(ti.f32, shape=(n // 2) * (m // 2))
    x.from_numpy(np.ascontiguousarray(inputs["x"]).reshape(-1))
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.func
    def greater(a, b):
        return a if a > b else b

    @ti.kernel
    def pool(x: array, y: array, n: int, m: int):
        for c in y:
            i, j = c // (m // 2), c % (m // 2)
            at = 2 * i * m + 2 * j
            y[c] = greater(greater(x[at], x[at + 1]), greater(x[at + m], x[at + m + 1]))

    return {"step": lambda: pool(x, y, n, m), "outputs": lambda: {"y": y.to_numpy().reshape(n // 2, m // 2)}}
