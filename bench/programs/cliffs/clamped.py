"""Five points over all cells of a grid, whose border is repeated outwards."""

import numpy as np
import ti
from harness.workload import Workload

from .stencil import fields, inputs, made


def model(inputs, n, m):
    a = np.pad(inputs["a"].astype(np.float64), 1, mode="edge")
    return {"b": a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]}


WORK = Workload(
    title="5 points over a grid, indices clamped",
    unit="cell",
    parameters={"n": 509, "m": 1021},
    device={"n": 2045, "m": 4093},
    smoke={"n": 21, "m": 45},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-5),
)


@WORK.spelling("min and max of each index")
def min_max(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            up, down = a[ti.max(i - 1, 0), j], a[ti.min(i + 1, n - 1), j]
            left, right = a[i, ti.max(j - 1, 0)], a[i, ti.min(j + 1, m - 1)]
            b[i, j] = up + down + left + right - 4.0 * a[i, j]

    return made(sweep, b)


@WORK.spelling("a func that clamps both")
def by_func(inputs, n, m):
    a, b = fields(inputs)

    @ti.func
    def sample(i, j):
        return a[ti.max(0, ti.min(n - 1, i)), ti.max(0, ti.min(m - 1, j))]

    @ti.kernel
    def sweep():
        for i, j in a:
            b[i, j] = sample(i - 1, j) + sample(i + 1, j) + sample(i, j - 1) + sample(i, j + 1) - 4.0 * a[i, j]

    return made(sweep, b)


@WORK.spelling("ti.math.clamp of an index vector")
def clamp(inputs, n, m):
    a, b = fields(inputs)
    highest = ti.Vector([n - 1, m - 1])

    @ti.func
    def sample(p):
        return a[ti.math.clamp(p, 0, highest)]

    @ti.kernel
    def sweep():
        for p in ti.grouped(a):
            s = -4.0 * a[p]
            for offset in ti.static(((-1, 0), (1, 0), (0, -1), (0, 1))):
                s += sample(p + ti.Vector(offset))
            b[p] = s

    return made(sweep, b)


@WORK.spelling("ifs that keep the middle")
def by_if(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            middle = a[i, j]
            up, down, left, right = middle, middle, middle, middle
            if i > 0:
                up = a[i - 1, j]
            if i < n - 1:
                down = a[i + 1, j]
            if j > 0:
                left = a[i, j - 1]
            if j < m - 1:
                right = a[i, j + 1]
            b[i, j] = up + down + left + right - 4.0 * middle

    return made(sweep, b)


@WORK.spelling("select of each index")
def by_select(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            im, ip = ti.select(i > 0, i - 1, 0), ti.select(i < n - 1, i + 1, i)
            jm, jp = ti.select(j > 0, j - 1, 0), ti.select(j < m - 1, j + 1, j)
            b[i, j] = a[im, j] + a[ip, j] + a[i, jm] + a[i, jp] - 4.0 * a[i, j]

    return made(sweep, b)


@WORK.spelling("ifs around each difference added")
def differences(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            s = 0.0
            if i > 0:
                s += a[i - 1, j] - a[i, j]
            if i < n - 1:
                s += a[i + 1, j] - a[i, j]
            if j > 0:
                s += a[i, j - 1] - a[i, j]
            if j < m - 1:
                s += a[i, j + 1] - a[i, j]
            b[i, j] = s

    return made(sweep, b)


@WORK.spelling("one loop, // and %, min and max, ndarrays")
def one_loop(inputs, n, m):
    a, b = ti.ndarray(ti.f32, shape=(n, m)), ti.ndarray(ti.f32, shape=(n, m))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def sweep(a: array, b: array):
        n, m = a.shape[0], a.shape[1]
        for c in range(n * m):
            i, j = c // m, c % m
            s = a[ti.max(i - 1, 0), j] + a[ti.min(i + 1, n - 1), j] + a[i, ti.max(j - 1, 0)] + a[i, ti.min(j + 1, m - 1)]
            b[i, j] = s - 4.0 * a[i, j]

    return made(lambda: sweep(a, b), b)


@WORK.spelling("offsets by run-time loops, clamped")
def run_time(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di * di + dj * dj == 1:
                        s += a[ti.min(ti.max(i + di, 0), n - 1), ti.min(ti.max(j + dj, 0), m - 1)]
            b[i, j] = s - 4.0 * a[i, j]

    return made(sweep, b)
