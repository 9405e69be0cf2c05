"""z = a x + y, over numbers kept in one way or another."""

import numpy as np
import ti
from harness.workload import Workload

A = 2.5


def inputs(rng, n):
    return {"x": rng.random(n, np.float32), "y": rng.random(n, np.float32)}


def model(inputs, n):
    return {"z": A * inputs["x"].astype(np.float64) + inputs["y"]}


WORK = Workload(
    title="a x + y",
    unit="value",
    parameters={"n": 300_003},
    device={"n": 16_000_005},
    smoke={"n": 303},
    items=lambda n: n,
    inputs=inputs,
    model=model,
)


def fields(inputs, dtype=None, shape=None):
    shape = shape or inputs["x"].shape
    x, y, z = (ti.field(dtype or ti.f32, shape=shape) for _ in range(3))
    x.from_numpy(np.ascontiguousarray(inputs["x"]).reshape(shape))
    y.from_numpy(np.ascontiguousarray(inputs["y"]).reshape(shape))
    return x, y, z


def made(step, z):
    return {"step": step, "outputs": lambda: {"z": z.reshape(-1) if isinstance(z, np.ndarray) else z.to_numpy().reshape(-1)}}


@WORK.spelling("for i in x")
def struct_for(inputs, n):
    x, y, z = fields(inputs)

    @ti.kernel
    def add():
        for i in x:
            z[i] = A * x[i] + y[i]

    return made(add, z)


@WORK.spelling("range(n), a an argument")
def argument(inputs, n):
    x, y, z = fields(inputs)

    @ti.kernel
    def add(a: ti.f32):
        for i in range(n):
            z[i] = a * x[i] + y[i]

    return made(lambda: add(A), z)


@WORK.spelling("NumPy arrays")
def numpy(inputs, n):
    x, y, z = np.ascontiguousarray(inputs["x"]), np.ascontiguousarray(inputs["y"]), np.zeros(n, np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def add(x: array, y: array, z: array):
        for i in range(x.shape[0]):
            z[i] = A * x[i] + y[i]

    return made(lambda: add(x, y, z), z)


@WORK.spelling("vectors of three")
def vectors(inputs, n):
    x, y, z = (ti.Vector.field(3, ti.f32, shape=n // 3) for _ in range(3))
    x.from_numpy(np.ascontiguousarray(inputs["x"]).reshape(-1, 3))
    y.from_numpy(np.ascontiguousarray(inputs["y"]).reshape(-1, 3))

    @ti.kernel
    def add():
        for i in x:
            z[i] = A * x[i] + y[i]

    return made(add, z)


@WORK.spelling("vectors of three, components by a run-time loop")
def components(inputs, n):
    x, y, z = (ti.Vector.field(3, ti.f32, shape=n // 3) for _ in range(3))
    x.from_numpy(np.ascontiguousarray(inputs["x"]).reshape(-1, 3))
    y.from_numpy(np.ascontiguousarray(inputs["y"]).reshape(-1, 3))

    @ti.kernel
    def add():
        for i in range(n // 3):
            for c in range(3):
                z[i][c] = A * x[i][c] + y[i][c]

    return made(add, z)


@WORK.spelling("structs of x, y and z")
def by_struct(inputs, n):
    cells = ti.Struct.field({"x": ti.f32, "y": ti.f32, "z": ti.f32}, shape=n)
    cells.x.from_numpy(np.ascontiguousarray(inputs["x"]))
    cells.y.from_numpy(np.ascontiguousarray(inputs["y"]))

    @ti.kernel
    def add():
        for i in cells:
            cells[i].z = A * cells[i].x + cells[i].y

    return made(add, cells.z)


@WORK.spelling("two dimensions by one loop, // and %")
def one_loop(inputs, n):
    x, y, z = fields(inputs, shape=(n // 3, 3))

    @ti.kernel
    def add():
        for c in range(n):
            z[c // 3, c % 3] = A * x[c // 3, c % 3] + y[c // 3, c % 3]

    return made(add, z)


@WORK.spelling("a func, z[i] += in two statements")
def by_func(inputs, n):
    x, y, z = fields(inputs)

    @ti.func
    def scaled(value):
        return A * value

    @ti.kernel
    def add():
        for i in z:
            z[i] = y[i]
            z[i] += scaled(x[i])

    return made(add, z)


@WORK.spelling("chunks of 100, an inner loop")
def chunks(inputs, n):
    x, y, z = fields(inputs)

    @ti.kernel
    def add():
        for c in range((n + 99) // 100):
            for i in range(c * 100, ti.min(c * 100 + 100, n)):
                z[i] = A * x[i] + y[i]

    return made(add, z)


@WORK.spelling("every third, then the next: a stride as in a grid-stride loop")
def strided(inputs, n):
    x, y, z = fields(inputs)

    @ti.kernel
    def add():
        for worker in range(3):
            i = worker
            while i < n:
                z[i] = A * x[i] + y[i]
                i += 3

    return made(add, z)


@WORK.spelling("NumPy arrays, four workers that take turns of a while loop from the second number on, the first apart")
def strided_arrays(inputs, n):
    x, y, z = np.ascontiguousarray(inputs["x"]), np.ascontiguousarray(inputs["y"]), np.zeros(n, np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def add(x: array, y: array, z: array):
        z[0] = A * x[0] + y[0]
        for worker in range(4):
            i = worker + 1
            while i < n:
                z[i] = A * x[i] + y[i]
                i += 4

    return made(lambda: add(x, y, z), z)


@WORK.spelling("f64, for i in x", family="f64")
def doubles(inputs, n):
    x, y, z = fields(inputs, ti.f64)

    @ti.kernel
    def add():
        for i in x:
            z[i] = A * x[i] + y[i]

    return made(add, z)


@WORK.spelling("f64, ndarrays", family="f64")
def double_arrays(inputs, n):
    x, y, z = (ti.ndarray(ti.f64, shape=n) for _ in range(3))
    x.from_numpy(inputs["x"].astype(np.float64))
    y.from_numpy(inputs["y"].astype(np.float64))
    array = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def add(x: array, y: array, z: array):
        for i in x:
            z[i] = A * x[i] + y[i]

    return made(lambda: add(x, y, z), z)


@WORK.spelling("a loop for the product, one for the sum")
def two_loops(inputs, n):
    x, y, z = fields(inputs)

    @ti.kernel
    def add():
        for i in x:
            z[i] = A * x[i]
        for i in x:
            z[i] = z[i] + y[i]

    return made(add, z)
