"""Many systems of eight equations, solved by elimination: the matrix is local, in a field, or an array."""

import numpy as np
import ti
from harness.workload import Workload

SIZE = 8


def inputs(rng, n):
    a = rng.random((n, SIZE, SIZE), np.float32) + SIZE * np.eye(SIZE, dtype=np.float32)
    return {"a": a, "b": rng.random((n, SIZE), np.float32)}


def model(inputs, n):
    return {"x": np.linalg.solve(inputs["a"].astype(np.float64), inputs["b"].astype(np.float64)[..., None])[..., 0]}


WORK = Workload(
    title="systems of eight equations, by elimination",
    unit="multiplication",
    parameters={"n": 8000},
    device={"n": 100_000},
    smoke={"n": 37},
    items=lambda n: n * SIZE**3 / 3,
    inputs=inputs,
    model=model,
    tolerance=(2e-4, 1e-6),
)


def fields(inputs):
    n = len(inputs["a"])
    a, b, x = ti.field(ti.f32, shape=(n, SIZE, SIZE)), ti.field(ti.f32, shape=(n, SIZE)), ti.field(ti.f32, shape=(n, SIZE))
    a.from_numpy(inputs["a"])
    b.from_numpy(inputs["b"])
    return a, b, x


def made(step, x):
    return {"step": step, "outputs": lambda: {"x": x if isinstance(x, np.ndarray) else x.to_numpy()}}


@WORK.spelling("a local matrix, run-time loops")
def local(inputs, n):
    a, b, x = fields(inputs)

    @ti.kernel
    def step():
        for p in range(n):
            m, y = ti.Matrix.zero(ti.f32, SIZE, SIZE), ti.Vector.zero(ti.f32, SIZE)
            for i, j in ti.ndrange(SIZE, SIZE):
                m[i, j] = a[p, i, j]
            for i in range(SIZE):
                y[i] = b[p, i]
            for k in range(SIZE):
                for i in range(k + 1, SIZE):
                    factor = m[i, k] / m[k, k]
                    for j in range(k, SIZE):
                        m[i, j] -= factor * m[k, j]
                    y[i] -= factor * y[k]
            for r in range(SIZE):
                i = SIZE - 1 - r
                for j in range(i + 1, SIZE):
                    y[i] -= m[i, j] * y[j]
                y[i] /= m[i, i]
            for i in range(SIZE):
                x[p, i] = y[i]

    return made(step, x)


@WORK.spelling("a local matrix, the greatest pivot of each column, NumPy arrays")
def pivots(inputs, n):
    a, b, x = inputs["a"], inputs["b"], np.zeros((n, SIZE), np.float32)
    rows = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def step(a: ti.types.ndarray(dtype=ti.f32, ndim=3), b: rows, x: rows):
        for p in range(x.shape[0]):
            m, y = ti.Matrix.zero(ti.f32, SIZE, SIZE), ti.Vector.zero(ti.f32, SIZE)
            for i in ti.static(range(SIZE)):
                y[i] = b[p, i]
                for j in ti.static(range(SIZE)):
                    m[i, j] = a[p, i, j]
            for k in range(SIZE):
                best = k
                for i in range(k + 1, SIZE):
                    if abs(m[i, k]) > abs(m[best, k]):
                        best = i
                for j in range(SIZE):
                    m[k, j], m[best, j] = m[best, j], m[k, j]
                y[k], y[best] = y[best], y[k]
                for i in range(k + 1, SIZE):
                    factor = m[i, k] / m[k, k]
                    for j in range(k, SIZE):
                        m[i, j] -= factor * m[k, j]
                    y[i] -= factor * y[k]
            for r in range(SIZE):
                i = SIZE - 1 - r
                for j in range(i + 1, SIZE):
                    y[i] -= m[i, j] * y[j]
                y[i] /= m[i, i]
            for i in ti.static(range(SIZE)):
                x[p, i] = y[i]

    return made(lambda: step(a, b, x), x)


@WORK.spelling("in copies of the fields")
def in_fields(inputs, n):
    a, b, x = fields(inputs)
    m = ti.field(ti.f32, shape=(n, SIZE, SIZE))

    @ti.kernel
    def step():
        for p in range(n):
            for i, j in ti.ndrange(SIZE, SIZE):
                m[p, i, j] = a[p, i, j]
            for i in range(SIZE):
                x[p, i] = b[p, i]
            for k in range(SIZE):
                for i in range(k + 1, SIZE):
                    factor = m[p, i, k] / m[p, k, k]
                    for j in range(k, SIZE):
                        m[p, i, j] -= factor * m[p, k, j]
                    x[p, i] -= factor * x[p, k]
            for r in range(SIZE):
                i = SIZE - 1 - r
                for j in range(i + 1, SIZE):
                    x[p, i] -= m[p, i, j] * x[p, j]
                x[p, i] /= m[p, i, i]

    return made(step, x)


@WORK.spelling("a matrix field, a copy of it")
def matrix_field(inputs, n):
    a, b, x = (
        ti.Matrix.field(SIZE, SIZE, ti.f32, shape=n),
        ti.Vector.field(SIZE, ti.f32, shape=n),
        ti.Vector.field(SIZE, ti.f32, shape=n),
    )
    a.from_numpy(inputs["a"])
    b.from_numpy(inputs["b"])

    @ti.kernel
    def step():
        for p in a:
            m, y = a[p], b[p]
            for k in range(SIZE):
                for i in range(k + 1, SIZE):
                    factor = m[i, k] / m[k, k]
                    for j in range(k + 1, SIZE):
                        m[i, j] -= factor * m[k, j]
                    y[i] -= factor * y[k]
            for r in range(SIZE):
                i = SIZE - 1 - r
                for j in range(i + 1, SIZE):
                    y[i] -= m[i, j] * y[j]
                y[i] /= m[i, i]
            x[p] = y

    return made(step, x)
