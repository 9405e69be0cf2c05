"""The softmax of each row of a table: its greatest value, the sum of exponentials, the quotients."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"x": (rng.random((n, m), np.float32) * 8 - 4).astype(np.float32)}


def model(inputs, n, m):
    x = inputs["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}


WORK = Workload(
    title="softmax of a table's rows",
    unit="value",
    parameters={"n": 601, "m": 501},
    device={"n": 8003, "m": 1001},
    smoke={"n": 17, "m": 29},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-6),
)


def fields(inputs, dtype=None):
    shape = inputs["x"].shape
    x, y = ti.field(dtype or ti.f32, shape=shape), ti.field(dtype or ti.f32, shape=shape)
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, y


def made(step, y):
    return {"step": step, "outputs": lambda: {"y": y if isinstance(y, np.ndarray) else y.to_numpy()}}


@WORK.spelling("rows in parallel, three passes, exponentials kept in the output")
def three(inputs, n, m):
    x, y = fields(inputs)

    @ti.kernel
    def softmax():
        for i in range(n):
            most = x[i, 0]
            for j in range(1, m):
                most = ti.max(most, x[i, j])
            s = 0.0
            for j in range(m):
                y[i, j] = ti.exp(x[i, j] - most)
                s += y[i, j]
            for j in range(m):
                y[i, j] /= s

    return made(softmax, y)


@WORK.spelling("rows in parallel, online: the greatest and the sum in one pass")
def online(inputs, n, m):
    x, y = fields(inputs)

    @ti.kernel
    def softmax():
        for i in range(n):
            most, s = -1e30, 0.0
            for j in range(m):
                v = x[i, j]
                if v > most:
                    s *= ti.exp(most - v)
                    most = v
                s += ti.exp(v - most)
            for j in range(m):
                y[i, j] = ti.exp(x[i, j] - most) / s

    return made(softmax, y)


@WORK.spelling("NumPy arrays, online without an if, sizes from the shape")
def numpy(inputs, n, m):
    x, y = np.ascontiguousarray(inputs["x"]), np.zeros((n, m), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def softmax(x: array, y: array):
        for i in range(x.shape[0]):
            most = x[i, 0]
            s = 1.0
            for j in range(1, x.shape[1]):
                new = ti.max(most, x[i, j])
                s = s * ti.exp(most - new) + ti.exp(x[i, j] - new)
                most = new
            scale = 1.0 / s
            for j in range(x.shape[1]):
                y[i, j] = ti.exp(x[i, j] - most) * scale

    return made(lambda: softmax(x, y), y)


@WORK.spelling("all values in parallel, atomics into fields of the rows")
def atomic(inputs, n, m):
    x, y = fields(inputs)
    most, s = ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=n)

    @ti.kernel
    def softmax():
        for i in most:
            most[i] = -ti.math.inf
            s[i] = 0.0
        for i, j in x:
            ti.atomic_max(most[i], x[i, j])
        for i, j in x:
            y[i, j] = ti.exp(x[i, j] - most[i])
            s[i] += y[i, j]
        for i, j in y:
            y[i, j] = y[i, j] / s[i]

    return made(softmax, y)


@ti.data_oriented
class Softmax:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.n, self.m = x.shape

    @ti.func
    def greatest(self, i):
        r = self.x[i, 0]
        for j in range(self.m):
            if self.x[i, j] > r:
                r = self.x[i, j]
        return r

    @ti.func
    def total(self, i, most):
        s = 0.0
        for j in range(self.m):
            s += ti.exp(self.x[i, j] - most)
        return s

    @ti.kernel
    def run(self):
        for i in range(self.n):
            most = self.greatest(i)
            s = self.total(i, most)
            for j in range(self.m):
                self.y[i, j] = ti.exp(self.x[i, j] - most) / s


@WORK.spelling("a class, a method for each pass")
def by_class(inputs, n, m):
    x, y = fields(inputs)
    return made(Softmax(x, y).run, y)
