"""A product of two 3 x 3 matrices for each of many particles."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"a": rng.random((n, 3, 3), np.float32), "b": rng.random((n, 3, 3), np.float32)}


def model(inputs, n):
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}


WORK = Workload(
    title="products of 3 x 3 matrices",
    unit="product",
    parameters={"n": 60_000},
    device={"n": 1_000_000},
    smoke={"n": 131},
    items=lambda n: n,
    inputs=inputs,
    model=model,
)


def fields(inputs, layout=None):
    options = {"layout": layout} if layout else {}
    a, b, c = (ti.Matrix.field(3, 3, ti.f32, shape=len(inputs["a"]), **options) for _ in range(3))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    b.from_numpy(np.ascontiguousarray(inputs["b"]))
    return a, b, c


def made(step, c):
    return {"step": step, "outputs": lambda: {"c": c if isinstance(c, np.ndarray) else c.to_numpy()}}


@WORK.spelling("@ of fields' elements")
def operator(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for p in c:
            c[p] = a[p] @ b[p]

    return made(multiply, c)


@WORK.spelling("@, structure of arrays")
def soa(inputs, n):
    a, b, c = fields(inputs, ti.Layout.SOA)

    @ti.kernel
    def multiply():
        for p in c:
            c[p] = a[p] @ b[p]

    return made(multiply, c)


@WORK.spelling("three run-time loops over locals")
def run_time(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for p in range(n):
            x, y = a[p], b[p]
            r = ti.Matrix.zero(ti.f32, 3, 3)
            for i in range(3):
                for j in range(3):
                    for k in range(3):
                        r[i, j] += x[i, k] * y[k, j]
            c[p] = r

    return made(multiply, c)


@WORK.spelling("three run-time loops over the fields")
def on_fields(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for p in range(n):
            for i in range(3):
                for j in range(3):
                    s = 0.0
                    for k in range(3):
                        s += a[p][i, k] * b[p][k, j]
                    c[p][i, j] = s

    return made(multiply, c)


@WORK.spelling("run-time ndrange, a static inner sum")
def ndrange(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for p in range(n):
            x, y = a[p], b[p]
            for i, j in ti.ndrange(3, 3):
                s = 0.0
                for k in ti.static(range(3)):
                    s += x[i, k] * y[k, j]
                c[p][i, j] = s

    return made(multiply, c)


@WORK.spelling("three static loops")
def static(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for p in range(n):
            x, y = a[p], b[p]
            r = ti.Matrix.zero(ti.f32, 3, 3)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                r[i, j] += x[i, k] * y[k, j]
            c[p] = r

    return made(multiply, c)


@WORK.spelling("a func with loops of its arguments' size")
def by_func(inputs, n):
    a, b, c = fields(inputs)

    @ti.func
    def product(x, y):
        r = ti.Matrix.zero(ti.f32, x.n, y.m)
        for i in range(x.n):
            for j in range(y.m):
                for k in range(x.m):
                    r[i, j] += x[i, k] * y[k, j]
        return r

    @ti.kernel
    def multiply():
        for p in c:
            c[p] = product(a[p], b[p])

    return made(multiply, c)


@WORK.spelling("NumPy arrays, cells in parallel")
def numpy(inputs, n):
    a, b = np.ascontiguousarray(inputs["a"]), np.ascontiguousarray(inputs["b"])
    c = np.zeros((n, 3, 3), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def multiply(a: array, b: array, c: array):
        for p, i, j in ti.ndrange(a.shape[0], 3, 3):
            s = 0.0
            for k in range(3):
                s += a[p, i, k] * b[p, k, j]
            c[p, i, j] = s

    return made(lambda: multiply(a, b, c), c)


@WORK.spelling("NumPy arrays, matrices in parallel, three run-time loops")
def numpy_matrices(inputs, n):
    a, b = np.ascontiguousarray(inputs["a"]), np.ascontiguousarray(inputs["b"])
    c = np.zeros((n, 3, 3), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def multiply(a: array, b: array, c: array):
        for p in range(a.shape[0]):
            for i in range(3):
                for j in range(3):
                    s = 0.0
                    for k in range(3):
                        s += a[p, i, k] * b[p, k, j]
                    c[p, i, j] = s

    return made(lambda: multiply(a, b, c), c)


@WORK.spelling("ndarrays of matrices, @")
def ndarrays(inputs, n):
    a, b, c = (ti.Matrix.ndarray(3, 3, ti.f32, shape=n) for _ in range(3))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    b.from_numpy(np.ascontiguousarray(inputs["b"]))
    array = ti.types.ndarray(dtype=ti.types.matrix(3, 3, ti.f32), ndim=1)

    @ti.kernel
    def multiply(a: array, b: array, c: array):
        for p in c:
            c[p] = a[p] @ b[p]

    return made(lambda: multiply(a, b, c), c)
