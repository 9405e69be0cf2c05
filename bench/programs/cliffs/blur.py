"""A picture blurred by 5 x 5 weights; the weights stand in one place or another."""

import numpy as np
import ti
from harness.workload import Workload

R = 2
LINE = np.array([1, 4, 6, 4, 1]) / 16
WEIGHTS = np.outer(LINE, LINE)


def inputs(rng, n, m):
    return {"a": rng.random((n, m), np.float32)}


def model(inputs, n, m):
    a, b = inputs["a"].astype(np.float64), np.zeros((n, m))
    for i in range(5):
        for j in range(5):
            b[R:-R, R:-R] += WEIGHTS[i, j] * a[i : n - 4 + i, j : m - 4 + j]
    return {"b": b}


WORK = Workload(
    title="5 x 5 weights over a picture",
    unit="cell",
    parameters={"n": 301, "m": 507},
    device={"n": 2401, "m": 1501},
    smoke={"n": 21, "m": 35},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
)


def fields(inputs):
    a, b = ti.field(ti.f32, shape=inputs["a"].shape), ti.field(ti.f32, shape=inputs["a"].shape)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    return a, b


def made(step, b):
    return {"step": step, "outputs": lambda: {"b": b if isinstance(b, np.ndarray) else b.to_numpy()}}


@WORK.spelling("static loops, weights Python's numbers")
def static(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def blur():
        for i, j in ti.ndrange((R, n - R), (R, m - R)):
            s = 0.0
            for di, dj in ti.static(ti.ndrange(5, 5)):
                s += float(WEIGHTS[di, dj]) * a[i + di - R, j + dj - R]
            b[i, j] = s

    return made(blur, b)


@WORK.spelling("run-time loops, weights in a field")
def in_field(inputs, n, m):
    a, b = fields(inputs)
    w = ti.field(ti.f32, shape=(5, 5))
    w.from_numpy(WEIGHTS.astype(np.float32))

    @ti.kernel
    def blur():
        for i, j in ti.ndrange((R, n - R), (R, m - R)):
            s = 0.0
            for di in range(-R, R + 1):
                for dj in range(-R, R + 1):
                    s += w[di + R, dj + R] * a[i + di, j + dj]
            b[i, j] = s

    return made(blur, b)


@WORK.spelling("run-time loops, weights a local vector, w[i] * w[j]")
def local(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def blur():
        for i, j in ti.ndrange((R, n - R), (R, m - R)):
            w = ti.Vector([0.0625, 0.25, 0.375, 0.25, 0.0625])
            s = 0.0
            for di in range(5):
                for dj in range(5):
                    s += w[di] * w[dj] * a[i + di - R, j + dj - R]
            b[i, j] = s

    return made(blur, b)


@WORK.spelling("NumPy arrays of picture and weights, the border by an if")
def numpy(inputs, n, m):
    a, b = np.ascontiguousarray(inputs["a"]), np.zeros((n, m), np.float32)
    w = WEIGHTS.astype(np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def blur(a: array, w: array, b: array):
        n, m = a.shape[0], a.shape[1]
        for i, j in ti.ndrange(n, m):
            if i >= R and i < n - R and j >= R and j < m - R:
                s = 0.0
                for di, dj in ti.ndrange(5, 5):
                    s += w[di, dj] * a[i + di - R, j + dj - R]
                b[i, j] = s

    return made(lambda: blur(a, w, b), b)


@WORK.spelling("a func, one loop, // and %")
def by_func(inputs, n, m):
    a, b = fields(inputs)
    w = ti.field(ti.f32, shape=25)
    w.from_numpy(WEIGHTS.astype(np.float32).reshape(-1))

    @ti.func
    def blurred(i, j):
        s = 0.0
        for q in range(25):
            s += w[q] * a[i + q // 5 - R, j + q % 5 - R]
        return s

    @ti.kernel
    def blur():
        for c in range(n * m):
            i, j = c // m, c % m
            if R <= i < n - R and R <= j < m - R:
                b[i, j] = blurred(i, j)

    return made(blur, b)


@WORK.spelling("two passes, rows then columns", family="two passes")
def passes(inputs, n, m):
    a, b = fields(inputs)
    t = ti.field(ti.f32, shape=(n, m))
    line = [float(value) for value in LINE]

    @ti.kernel
    def blur():
        for i, j in ti.ndrange(n, (R, m - R)):
            s = 0.0
            for d in ti.static(range(5)):
                s += line[d] * a[i, j + d - R]
            t[i, j] = s
        for i, j in ti.ndrange((R, n - R), (R, m - R)):
            s = 0.0
            for d in ti.static(range(5)):
                s += line[d] * t[i + d - R, j]
            b[i, j] = s

    return made(blur, b)
