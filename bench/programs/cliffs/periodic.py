"""Five points on a torus of odd sizes; the other one, of powers of two, is in wrapped.py."""

import numpy as np
import ti
from harness.workload import Workload

from .stencil import fields, inputs, made


def model(inputs, n, m):
    a = inputs["a"].astype(np.float64)
    return {"b": 0.6 * a + 0.1 * sum(np.roll(a, *how) for how in ((1, 0), (-1, 0), (1, 1), (-1, 1)))}


WORK = Workload(
    title="5 points on a torus of odd sizes",
    unit="cell",
    parameters={"n": 509, "m": 1021},
    device={"n": 2045, "m": 4093},
    smoke={"n": 21, "m": 45},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
)


@WORK.spelling("% in each read")
def modulo(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            around = a[(i - 1) % n, j] + a[(i + 1) % n, j] + a[i, (j - 1) % m] + a[i, (j + 1) % m]
            b[i, j] = 0.6 * a[i, j] + 0.1 * around

    return made(sweep, b)


@WORK.spelling("ndarrays, sizes from their shape, + n - 1")
def ndarrays(inputs, n, m):
    a, b = ti.ndarray(ti.f32, shape=(n, m)), ti.ndarray(ti.f32, shape=(n, m))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def sweep(a: array, b: array):
        n, m = a.shape
        for i, j in a:
            up, down, left, right = (i + n - 1) % n, (i + 1) % n, (j + m - 1) % m, (j + 1) % m
            b[i, j] = 0.6 * a[i, j] + 0.1 * (a[up, j] + a[down, j] + a[i, left] + a[i, right])

    return made(lambda: sweep(a, b), b)


@WORK.spelling("a func of an index vector, % per axis")
def by_func(inputs, n, m):
    a, b = fields(inputs)

    @ti.func
    def at(p):
        return a[p[0] % n, p[1] % m]

    @ti.kernel
    def sweep():
        for p in ti.grouped(a):
            s = 0.6 * a[p]
            for d in ti.static(range(2)):
                e = ti.Vector.unit(2, d)
                s += 0.1 * (at(p + e) + at(p - e))
            b[p] = s

    return made(sweep, b)


@WORK.spelling("select of each index")
def by_select(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            up, down = ti.select(i == 0, n - 1, i - 1), ti.select(i == n - 1, 0, i + 1)
            left, right = ti.select(j == 0, m - 1, j - 1), ti.select(j == m - 1, 0, j + 1)
            b[i, j] = 0.6 * a[i, j] + 0.1 * (a[up, j] + a[down, j] + a[i, left] + a[i, right])

    return made(sweep, b)


@WORK.spelling("offsets in a field, %")
def field_of_offsets(inputs, n, m):
    a, b = fields(inputs)
    offsets = ti.Vector.field(2, ti.i32, shape=4)
    offsets.from_numpy(np.array(((-1, 0), (1, 0), (0, -1), (0, 1)), np.int32))

    @ti.kernel
    def sweep():
        for i, j in a:
            s = 0.6 * a[i, j]
            for q in range(4):
                s += 0.1 * a[(i + offsets[q][0]) % n, (j + offsets[q][1]) % m]
            b[i, j] = s

    return made(sweep, b)


@WORK.spelling("rows in parallel, an inner loop, ifs that add the size")
def inner(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i in range(n):
            for j in range(m):
                left, right = j - 1, j + 1
                if left < 0:
                    left += m
                if right >= m:
                    right -= m
                b[i, j] = 0.6 * a[i, j] + 0.1 * (a[(i + n - 1) % n, j] + a[(i + 1) % n, j] + a[i, left] + a[i, right])

    return made(sweep, b)
