"""Functions of each value: sin, exp and a power, as in a sum of waves that decay."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"x": rng.random(n, np.float32) * 6 - 3}


def model(inputs, n):
    x = inputs["x"].astype(np.float64)
    return {"y": np.exp(-x * x) * np.sin(3 * x) + np.log(1 + x * x) * np.cos(x)}


WORK = Workload(
    title="sin, cos, exp and log of each value",
    unit="value",
    parameters={"n": 200_001},
    device={"n": 8_000_001},
    smoke={"n": 303},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-5),
)


def fields(inputs, dtype=None):
    x, y = ti.field(dtype or ti.f32, shape=len(inputs["x"])), ti.field(dtype or ti.f32, shape=len(inputs["x"]))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, y


def made(step, y):
    return {"step": step, "outputs": lambda: {"y": y.reshape(-1) if isinstance(y, np.ndarray) else y.to_numpy().reshape(-1)}}


@WORK.spelling("for i in x")
def struct_for(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def evaluate():
        for i in x:
            y[i] = ti.exp(-x[i] * x[i]) * ti.sin(3.0 * x[i]) + ti.log(1.0 + x[i] ** 2) * ti.cos(x[i])

    return made(evaluate, y)


@WORK.spelling("a func, NumPy arrays")
def numpy(inputs, n):
    x, y = np.ascontiguousarray(inputs["x"]), np.zeros(n, np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.func
    def wave(t):
        return ti.exp(-t * t) * ti.sin(3.0 * t) + ti.log(1.0 + t * t) * ti.cos(t)

    @ti.kernel
    def evaluate(x: array, y: array):
        for i in range(x.shape[0]):
            y[i] = wave(x[i])

    return made(lambda: evaluate(x, y), y)


@WORK.spelling("vectors of three")
def vectors(inputs, n):
    x, y = ti.Vector.field(3, ti.f32, shape=n // 3), ti.Vector.field(3, ti.f32, shape=n // 3)
    x.from_numpy(np.ascontiguousarray(inputs["x"]).reshape(-1, 3))

    @ti.kernel
    def evaluate():
        for i in x:
            t = x[i]
            y[i] = ti.exp(-t * t) * ti.sin(3.0 * t) + ti.log(1.0 + t * t) * ti.cos(t)

    return made(evaluate, y)


@WORK.spelling("structs")
def by_struct(inputs, n):
    points = ti.Struct.field({"x": ti.f32, "y": ti.f32}, shape=n)
    points.x.from_numpy(np.ascontiguousarray(inputs["x"]))

    @ti.kernel
    def evaluate():
        for i in points:
            t = points[i].x
            points[i].y = ti.exp(-t * t) * ti.sin(3.0 * t) + ti.log(1.0 + t * t) * ti.cos(t)

    return made(evaluate, points.y)


@WORK.spelling("a branch for small values, where a term is nearly nothing")
def branch(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def evaluate():
        for i in range(n):
            t = x[i]
            s = ti.exp(-t * t) * ti.sin(3.0 * t)
            if ti.abs(t) > 1e-3:
                s += ti.log(1.0 + t * t) * ti.cos(t)
            y[i] = s

    return made(evaluate, y)


@WORK.spelling("f64, for i in x", family="f64")
def doubles(inputs, n):
    x, y = fields(inputs, ti.f64)

    @ti.kernel
    def evaluate():
        for i in x:
            t = x[i]
            y[i] = ti.exp(-t * t) * ti.sin(3.0 * t) + ti.log(1.0 + t * t) * ti.cos(t)

    return made(evaluate, y)
