"""A convolution by weights whose number only the launch knows; what lies outside counts as 0."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"a": rng.random((n, m), np.float32), "w": rng.random((5, 5), np.float32)}


def model(inputs, n, m):
    a, w = np.pad(inputs["a"].astype(np.float64), 2), inputs["w"].astype(np.float64)
    return {"b": sum(w[p, o] * a[p : p + n, o : o + m] for p in range(5) for o in range(5))}


WORK = Workload(
    title="a convolution by weights of run-time size",
    unit="cell",
    parameters={"n": 256, "m": 300},
    device={"n": 1024, "m": 1200},
    smoke={"n": 19, "m": 45},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-5),
)


def arrays(inputs, n, m):
    a, w, b = (ti.ndarray(ti.f32, shape=shape) for shape in ((n, m), (5, 5), (n, m)))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    w.from_numpy(np.ascontiguousarray(inputs["w"]))
    return a, w, b


def fields(inputs, n, m):
    a, w, b = (ti.field(ti.f32, shape=shape) for shape in ((n, m), (5, 5), (n, m)))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    w.from_numpy(np.ascontiguousarray(inputs["w"]))
    return a, w, b


def made(step, b):
    return {"step": step, "outputs": lambda: {"b": b.to_numpy()}}


@WORK.spelling("ndarrays, loops over the weights, an if")
def by_if(inputs, n, m):
    a, w, b = arrays(inputs, n, m)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def convolve(a: array, w: array, b: array):
        n, m = a.shape[0], a.shape[1]
        r, q = w.shape[0] // 2, w.shape[1] // 2
        for i, j in b:
            s = 0.0
            for p in range(w.shape[0]):
                for o in range(w.shape[1]):
                    k, l = i + p - r, j + o - q
                    if 0 <= k and k < n and 0 <= l and l < m:
                        s += a[k, l] * w[p, o]
            b[i, j] = s

    return made(lambda: convolve(a, w, b), b)


@WORK.spelling("fields, the radius an argument, ndrange")
def by_radius(inputs, n, m):
    a, w, b = fields(inputs, n, m)

    @ti.kernel
    def convolve(r: ti.i32):
        for i, j in a:
            s = 0.0
            for p, o in ti.ndrange((-r, r + 1), (-r, r + 1)):
                if i + p >= 0 and i + p < n and j + o >= 0 and j + o < m:
                    s += a[i + p, j + o] * w[p + r, o + r]
            b[i, j] = s

    return made(lambda: convolve(2), b)


@WORK.spelling("fields, a func that gives 0 outside")
def by_func(inputs, n, m):
    a, w, b = fields(inputs, n, m)

    @ti.func
    def sample(k, l):
        value = 0.0
        if 0 <= k < n and 0 <= l < m:
            value = a[k, l]
        return value

    @ti.kernel
    def convolve(size: ti.i32):
        for i, j in a:
            s = 0.0
            for p in range(size):
                for o in range(size):
                    s += sample(i + p - size // 2, j + o - size // 2) * w[p, o]
            b[i, j] = s

    return made(lambda: convolve(5), b)


@WORK.spelling("fields, static loops, an if")
def static_loops(inputs, n, m):
    a, w, b = fields(inputs, n, m)

    @ti.kernel
    def convolve():
        for i, j in a:
            s = 0.0
            for p, o in ti.static(ti.ndrange(5, 5)):
                k, l = i + p - 2, j + o - 2
                if 0 <= k < n and 0 <= l < m:
                    s += a[k, l] * w[p, o]
            b[i, j] = s

    return made(convolve, b)
