"""The product of two matrices of some hundred rows."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"a": rng.random((n, n), np.float32), "b": rng.random((n, n), np.float32)}


def model(inputs, n):
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}


WORK = Workload(
    title="product of two matrices",
    unit="multiply-add",
    parameters={"n": 252},
    device={"n": 1020},
    smoke={"n": 28},
    items=lambda n: n**3,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-4),
)


def fields(inputs, dtype=None, transposed=False):
    n = len(inputs["a"])
    a, b, c = (ti.field(dtype or ti.f32, shape=(n, n)) for _ in range(3))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    b.from_numpy(np.ascontiguousarray(inputs["b"].T if transposed else inputs["b"]))
    return a, b, c


def made(step, c):
    return {"step": step, "outputs": lambda: {"c": c if isinstance(c, np.ndarray) else c.to_numpy()}}


@WORK.spelling("cells in parallel, an inner sum")
def inner(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return made(multiply, c)


@WORK.spelling("second operand transposed")
def transposed(inputs, n):
    a, bt, c = fields(inputs, transposed=True)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k] * bt[j, k]
            c[i, j] = s

    return made(multiply, c)


@WORK.spelling("accumulated in the field")
def in_field(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for i, j in ti.ndrange(n, n):
            c[i, j] = 0.0
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]

    return made(multiply, c)


@WORK.spelling("rows in parallel, i k j")
def ikj(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for i in range(n):
            for j in range(n):
                c[i, j] = 0.0
            for k in range(n):
                for j in range(n):
                    c[i, j] += a[i, k] * b[k, j]

    return made(multiply, c)


@WORK.spelling("rows in parallel, i j k")
def ijk(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for i in range(n):
            for j in range(n):
                s = 0.0
                for k in range(n):
                    s += a[i, k] * b[k, j]
                c[i, j] = s

    return made(multiply, c)


@WORK.spelling("4 x 4 tiles in a local matrix, static loops")
def tiles(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        for bi, bj in ti.ndrange(n // 4, n // 4):
            tile = ti.Matrix.zero(ti.f32, 4, 4)
            for k in range(n):
                for p, q in ti.static(ti.ndrange(4, 4)):
                    tile[p, q] += a[bi * 4 + p, k] * b[k, bj * 4 + q]
            for p, q in ti.static(ti.ndrange(4, 4)):
                c[bi * 4 + p, bj * 4 + q] = tile[p, q]

    return made(multiply, c)


@WORK.spelling("ndarrays, one loop, // and %")
def one_loop(inputs, n):
    a, b, c = (ti.ndarray(ti.f32, shape=(n, n)) for _ in range(3))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    b.from_numpy(np.ascontiguousarray(inputs["b"]))
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def multiply(a: array, b: array, c: array):
        n = a.shape[0]
        for cell in range(n * n):
            i, j = cell // n, cell % n
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return made(lambda: multiply(a, b, c), c)


@WORK.spelling("NumPy arrays, sizes from their shape")
def numpy(inputs, n):
    a, b, c = np.ascontiguousarray(inputs["a"]), np.ascontiguousarray(inputs["b"]), np.zeros((n, n), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def multiply(a: array, b: array, c: array):
        for i, j in ti.ndrange(a.shape[0], b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return made(lambda: multiply(a, b, c), c)


@WORK.spelling("a func of row and column")
def by_func(inputs, n):
    a, b, c = fields(inputs)

    @ti.func
    def dot(i, j):
        s = 0.0
        for k in range(n):
            s += a[i, k] * b[k, j]
        return s

    @ti.kernel
    def multiply():
        for i, j in c:
            c[i, j] = dot(i, j)

    return made(multiply, c)


@WORK.spelling("all three loops in parallel, atomic +=")
def atomic(inputs, n):
    a, b, c = fields(inputs)

    @ti.kernel
    def multiply():
        c.fill(0.0)
        for i, j, k in ti.ndrange(n, n, n):
            c[i, j] += a[i, k] * b[k, j]

    return made(multiply, c)


@WORK.spelling("f64, cells in parallel, an inner sum", family="f64")
def doubles(inputs, n):
    a, b, c = fields(inputs, ti.f64)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = ti.cast(0.0, ti.f64)
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return made(multiply, c)


@WORK.spelling("f64, second operand transposed", family="f64")
def doubles_transposed(inputs, n):
    a, bt, c = fields(inputs, ti.f64, transposed=True)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = ti.cast(0.0, ti.f64)
            for k in range(n):
                s += a[i, k] * bt[j, k]
            c[i, j] = s

    return made(multiply, c)
