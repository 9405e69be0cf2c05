"""Powers of each number, by exponents that are written, given or read."""

import numpy as np
import ti
from harness.workload import Workload

N = 3


def inputs(rng, n):
    return {"x": rng.random(n, np.float32) + np.float32(0.5)}


def model(inputs, n):
    return {"y": inputs["x"].astype(np.float64) ** N}


WORK = Workload(
    title="a power of each number",
    unit="number",
    parameters={"n": 100_003},
    device={"n": 4_000_003},
    smoke={"n": 303},
    items=lambda n: n,
    inputs=inputs,
    model=model,
)


def fields(inputs):
    x, y = ti.field(ti.f32, shape=len(inputs["x"])), ti.field(ti.f32, shape=len(inputs["x"]))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, y


def made(step, y, power=1.0):
    """`power`: what of the result is the third power."""
    return {
        "step": step,
        "outputs": lambda: {"y": (y if isinstance(y, np.ndarray) else y.to_numpy()).astype(np.float64) ** power},
    }


@WORK.spelling("x ** 3")
def constant(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] ** 3

    return made(raise_all, y)


@WORK.spelling("x ** 3.0")
def constant_float(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] ** 3.0

    return made(raise_all, y)


@WORK.spelling("the exponent an argument")
def argument(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all(e: ti.i32):
        for i in x:
            y[i] = x[i] ** e

    return made(lambda: raise_all(N), y)


@WORK.spelling("the exponent in a field, ti.pow, NumPy arrays")
def in_field(inputs, n):
    x, y = np.ascontiguousarray(inputs["x"]), np.zeros(n, np.float32)
    e = ti.field(ti.i32, shape=())
    e[None] = N
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def raise_all(x: array, y: array):
        for i in range(x.shape[0]):
            y[i] = ti.pow(x[i], e[None])

    return made(lambda: raise_all(x, y), y)


@WORK.spelling("a loop of products")
def by_loop(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all(e: ti.i32):
        for i in x:
            p = 1.0
            for _ in range(e):
                p *= x[i]
            y[i] = p

    return made(lambda: raise_all(N), y)


@WORK.spelling("an exponent for each number", family="read")
def each(inputs, n):
    x, y = fields(inputs)
    e = ti.field(ti.i32, shape=n)
    e.fill(N)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] ** e[i]

    return made(raise_all, y)


@WORK.spelling("an exponent for each number, a func, NumPy arrays", family="read")
def each_of_arrays(inputs, n):
    x, e, y = np.ascontiguousarray(inputs["x"]), np.full(n, N, np.int32), np.zeros(n, np.float32)

    @ti.func
    def power(base, exponent):
        return base**exponent

    @ti.kernel
    def raise_all(
        x: ti.types.ndarray(dtype=ti.f32, ndim=1),
        e: ti.types.ndarray(dtype=ti.i32, ndim=1),
        y: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        for i in range(x.shape[0]):
            y[i] = power(x[i], e[i])

    return made(lambda: raise_all(x, e, y), y)


@WORK.spelling("an exponent for each number, structs", family="read")
def each_of_structs(inputs, n):
    cell = ti.types.struct(x=ti.f32, e=ti.i32, y=ti.f32)
    cells = cell.field(shape=n)
    cells.x.from_numpy(np.ascontiguousarray(inputs["x"]))
    cells.e.fill(N)

    @ti.kernel
    def raise_all():
        for i in cells:
            cells[i].y = cells[i].x ** cells[i].e

    return made(raise_all, cells.y)


@WORK.spelling("x ** -3", family="below zero")
def negative(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] ** -3

    return made(raise_all, y, -1.0)


@WORK.spelling("1 / x ** 3", family="below zero")
def inverse(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = 1.0 / x[i] ** 3

    return made(raise_all, y, -1.0)


@WORK.spelling("the exponent an argument, -3", family="below zero")
def negative_argument(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all(e: ti.i32):
        for i in x:
            y[i] = x[i] ** e

    return made(lambda: raise_all(-N), y, -1.0)


@WORK.spelling("x ** 1.5", family="a half")
def half(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] ** 1.5

    return made(raise_all, y, 2.0)


@WORK.spelling("x * ti.sqrt(x)", family="a half")
def root(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] * ti.sqrt(x[i])

    return made(raise_all, y, 2.0)


@WORK.spelling("x ** -1.5, vectors' norm_sqr()", family="a half below zero")
def half_below(inputs, n):
    x, y = ti.Vector.field(2, ti.f32, shape=n), ti.field(ti.f32, shape=n)
    x.from_numpy(np.stack([np.sqrt(inputs["x"]), np.zeros(n, np.float32)], axis=1))

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i].norm_sqr() ** -1.5

    return made(raise_all, y, -2.0)


@WORK.spelling("1 / (x * ti.sqrt(x)), vectors' norm_sqr()", family="a half below zero")
def root_below(inputs, n):
    x, y = ti.Vector.field(2, ti.f32, shape=n), ti.field(ti.f32, shape=n)
    x.from_numpy(np.stack([np.sqrt(inputs["x"]), np.zeros(n, np.float32)], axis=1))

    @ti.kernel
    def raise_all():
        for i in x:
            r = x[i].norm_sqr()
            y[i] = 1.0 / (r * ti.sqrt(r))

    return made(raise_all, y, -2.0)
