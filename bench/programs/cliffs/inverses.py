"""The inverse of many 3 x 3 matrices."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"a": rng.random((n, 3, 3), np.float32) + 3 * np.eye(3, dtype=np.float32)}


def model(inputs, n):
    return {"b": np.linalg.inv(inputs["a"].astype(np.float64))}


WORK = Workload(
    title="inverse of 3 x 3 matrices",
    unit="matrix",
    parameters={"n": 60_000},
    device={"n": 1_000_000},
    smoke={"n": 131},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-5),
)


def fields(inputs, dtype=None):
    n = len(inputs["a"])
    a, b = ti.Matrix.field(3, 3, dtype or ti.f32, shape=n), ti.Matrix.field(3, 3, dtype or ti.f32, shape=n)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    return a, b


def made(step, b):
    return {"step": step, "outputs": lambda: {"b": b if isinstance(b, np.ndarray) else b.to_numpy()}}


@WORK.spelling(".inverse()")
def method(inputs, n):
    a, b = fields(inputs)

    @ti.kernel
    def invert():
        for p in a:
            b[p] = a[p].inverse()

    return made(invert, b)


@WORK.spelling("cofactors by run-time loops and % 3")
def run_time(inputs, n):
    a, b = fields(inputs)

    @ti.kernel
    def invert():
        for p in range(n):
            m = a[p]
            r = ti.Matrix.zero(ti.f32, 3, 3)
            for i in range(3):
                for j in range(3):
                    i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                    r[j, i] = m[i1, j1] * m[i2, j2] - m[i1, j2] * m[i2, j1]
            det = 0.0
            for i in range(3):
                det += m[0, i] * r[i, 0]
            b[p] = r / det

    return made(invert, b)


@WORK.spelling("cofactors by static loops and % 3")
def static(inputs, n):
    a, b = fields(inputs)

    @ti.kernel
    def invert():
        for p in range(n):
            m = a[p]
            r = ti.Matrix.zero(ti.f32, 3, 3)
            for i, j in ti.static(ti.ndrange(3, 3)):
                i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                r[j, i] = m[i1, j1] * m[i2, j2] - m[i1, j2] * m[i2, j1]
            det = m[0, 0] * r[0, 0] + m[0, 1] * r[1, 0] + m[0, 2] * r[2, 0]
            b[p] = r / det

    return made(invert, b)


@WORK.spelling("a func of the cofactor, run-time ndrange")
def by_func(inputs, n):
    a, b = fields(inputs)

    @ti.func
    def cofactor(m, i, j):
        i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        return m[i1, j1] * m[i2, j2] - m[i1, j2] * m[i2, j1]

    @ti.kernel
    def invert():
        for p in range(n):
            m = a[p]
            scale = 1.0 / m.determinant()
            for i, j in ti.ndrange(3, 3):
                b[p][j, i] = cofactor(m, i, j) * scale

    return made(invert, b)


@WORK.spelling("rows' cross products")
def crosses(inputs, n):
    a, b = fields(inputs)

    @ti.kernel
    def invert():
        for p in a:
            m = a[p]
            r0 = ti.Vector([m[0, 0], m[0, 1], m[0, 2]])
            r1 = ti.Vector([m[1, 0], m[1, 1], m[1, 2]])
            r2 = ti.Vector([m[2, 0], m[2, 1], m[2, 2]])
            c = r1.cross(r2)
            b[p] = ti.Matrix.cols([c, r2.cross(r0), r0.cross(r1)]) / r0.dot(c)

    return made(invert, b)


@WORK.spelling("a member of a struct, .inverse()")
def by_struct(inputs, n):
    cells = ti.Struct.field({"a": ti.types.matrix(3, 3, ti.f32), "b": ti.types.matrix(3, 3, ti.f32)}, shape=n)
    cells.a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def invert():
        for p in cells:
            cells[p].b = cells[p].a.inverse()

    return {"step": invert, "outputs": lambda: {"b": cells.b.to_numpy()}}


@WORK.spelling("NumPy arrays, elimination in run-time loops")
def elimination(inputs, n):
    a, b = np.ascontiguousarray(inputs["a"]), np.zeros((n, 3, 3), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def invert(a: array, b: array):
        for p in range(a.shape[0]):
            m = ti.Matrix.zero(ti.f32, 3, 3)
            r = ti.Matrix.identity(ti.f32, 3)
            for i in range(3):
                for j in range(3):
                    m[i, j] = a[p, i, j]
            for k in range(3):
                scale = 1.0 / m[k, k]
                for j in range(3):
                    m[k, j] *= scale
                    r[k, j] *= scale
                for i in range(3):
                    if i != k:
                        f = m[i, k]
                        for j in range(3):
                            m[i, j] -= f * m[k, j]
                            r[i, j] -= f * r[k, j]
            for i in range(3):
                for j in range(3):
                    b[p, i, j] = r[i, j]

    return made(lambda: invert(a, b), b)


@WORK.spelling("ndarrays of matrices, .inverse()")
def ndarrays(inputs, n):
    a, b = ti.Matrix.ndarray(3, 3, ti.f32, shape=n), ti.Matrix.ndarray(3, 3, ti.f32, shape=n)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    array = ti.types.ndarray(dtype=ti.types.matrix(3, 3, ti.f32), ndim=1)

    @ti.kernel
    def invert(a: array, b: array):
        for p in a:
            b[p] = a[p].inverse()

    return made(lambda: invert(a, b), b)


@WORK.spelling("f64, .inverse()", family="f64")
def doubles(inputs, n):
    a, b = fields(inputs, ti.f64)

    @ti.kernel
    def invert():
        for p in a:
            b[p] = a[p].inverse()

    return made(invert, b)


@WORK.spelling("f64, cofactors by run-time loops and % 3", family="f64")
def doubles_run_time(inputs, n):
    a, b = fields(inputs, ti.f64)

    @ti.kernel
    def invert():
        for p in range(n):
            m = a[p]
            scale = 1.0 / m.determinant()
            for i in range(3):
                for j in range(3):
                    i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                    b[p][j, i] = (m[i1, j1] * m[i2, j2] - m[i1, j2] * m[i2, j1]) * scale

    return made(invert, b)
