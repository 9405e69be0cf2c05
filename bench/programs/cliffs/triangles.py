"""A triangular system of equations, from the last row to the first: sums in place or in a variable, of fields or arrays."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    a = np.triu(rng.random((n, n), np.float32)) + n * np.eye(n, dtype=np.float32)
    return {"a": a, "b": rng.random(n, np.float32)}


def model(inputs, n):
    return {"x": np.linalg.solve(inputs["a"].astype(np.float64), inputs["b"].astype(np.float64))}


WORK = Workload(
    title="a triangular system, from the last row on",
    unit="multiplication",
    parameters={"n": 700},
    smoke={"n": 37},
    items=lambda n: n * n / 2,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-7),
)


def fields(inputs, n):
    a, b, x = ti.field(ti.f32, shape=(n, n)), ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=n)
    a.from_numpy(inputs["a"])
    b.from_numpy(inputs["b"])
    return a, b, x


def made(step, x):
    return {"step": step, "outputs": lambda: {"x": x if isinstance(x, np.ndarray) else x.to_numpy()}}


@WORK.spelling("in place, a serialized loop over fields")
def in_place(inputs, n):
    a, b, x = fields(inputs, n)

    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for r in range(n):
            i = n - 1 - r
            x[i] = b[i]
            for j in range(i + 1, n):
                x[i] -= a[i, j] * x[j]
            x[i] /= a[i, i]

    return made(step, x)


@WORK.spelling("in place, NumPy arrays, a while loop")
def arrays(inputs, n):
    a, b, x = inputs["a"], inputs["b"], np.zeros(n, np.float32)
    row = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def step(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: row, x: row):
        i = x.shape[0] - 1
        while i >= 0:
            x[i] = b[i]
            for j in range(i + 1, x.shape[0]):
                x[i] = x[i] - a[i, j] * x[j]
            x[i] = x[i] / a[i, i]
            i -= 1

    return made(lambda: step(a, b, x), x)


@WORK.spelling("a sum in a variable, a func of the row")
def by_func(inputs, n):
    a, b, x = fields(inputs, n)

    @ti.func
    def rest(i):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        return s

    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for r in range(n):
            i = n - 1 - r
            x[i] = rest(i) / a[i, i]

    return made(step, x)
