"""Layer norm: each row of a table less its mean, over its deviation, times and plus a value of the column."""

import numpy as np
import ti
from harness.workload import Workload

EPS = 1e-5


def inputs(rng, n, m):
    return {
        "x": rng.random((n, m), np.float32) + np.float32(0.5),
        "gamma": rng.random(m, np.float32) + np.float32(0.5),
        "beta": rng.random(m, np.float32),
    }


def model(inputs, n, m):
    x = inputs["x"].astype(np.float64)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return {"y": (x - mean) / np.sqrt(variance + EPS) * inputs["gamma"] + inputs["beta"]}


WORK = Workload(
    title="layer norm of a table's rows",
    unit="value",
    parameters={"n": 1501, "m": 387},
    device={"n": 8003, "m": 771},
    smoke={"n": 17, "m": 31},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-3, 1e-4),
)


def fields(inputs, dtype=None):
    dtype = dtype or ti.f32
    n, m = inputs["x"].shape
    x, y = ti.field(dtype, shape=(n, m)), ti.field(dtype, shape=(n, m))
    gamma, beta = ti.field(dtype, shape=m), ti.field(dtype, shape=m)
    for field, name in ((x, "x"), (gamma, "gamma"), (beta, "beta")):
        field.from_numpy(np.ascontiguousarray(inputs[name]))
    return x, y, gamma, beta


def made(step, y):
    return {"step": step, "outputs": lambda: {"y": y if isinstance(y, np.ndarray) else y.to_numpy()}}


@WORK.spelling("rows in parallel: the mean, then the variance, then values")
def two_sums(inputs, n, m):
    x, y, gamma, beta = fields(inputs)

    @ti.kernel
    def norm():
        for i in range(n):
            mean = 0.0
            for j in range(m):
                mean += x[i, j]
            mean /= m
            variance = 0.0
            for j in range(m):
                d = x[i, j] - mean
                variance += d * d
            variance /= m
            scale = 1.0 / ti.sqrt(variance + EPS)
            for j in range(m):
                y[i, j] = (x[i, j] - mean) * scale * gamma[j] + beta[j]

    return made(norm, y)


@WORK.spelling("ndarrays, sums of values and squares in one pass, rsqrt")
def squares(inputs, n, m):
    array, row = ti.types.ndarray(dtype=ti.f32, ndim=2), ti.types.ndarray(dtype=ti.f32, ndim=1)
    x, y = ti.ndarray(ti.f32, shape=(n, m)), ti.ndarray(ti.f32, shape=(n, m))
    gamma, beta = ti.ndarray(ti.f32, shape=m), ti.ndarray(ti.f32, shape=m)
    for to, name in ((x, "x"), (gamma, "gamma"), (beta, "beta")):
        to.from_numpy(np.ascontiguousarray(inputs[name]))

    @ti.kernel
    def norm(x: array, y: array, gamma: row, beta: row, eps: float):
        for i in range(x.shape[0]):
            s, s2 = 0.0, 0.0
            for j in range(x.shape[1]):
                v = x[i, j]
                s += v
                s2 += v**2
            mean = s / x.shape[1]
            scale = ti.rsqrt(s2 / x.shape[1] - mean**2 + eps)
            for j in range(x.shape[1]):
                y[i, j] = gamma[j] * (x[i, j] - mean) * scale + beta[j]

    return made(lambda: norm(x, y, gamma, beta, EPS), y)


@WORK.spelling("rows in parallel, Welford's running mean")
def welford(inputs, n, m):
    x, y, gamma, beta = fields(inputs)

    @ti.func
    def moments(i):
        mean, rest = 0.0, 0.0
        for j in range(m):
            d = x[i, j] - mean
            mean += d / (j + 1)
            rest += d * (x[i, j] - mean)
        return mean, rest / m

    @ti.kernel
    def norm():
        for i in range(n):
            mean, variance = moments(i)
            for j in range(m):
                y[i, j] = (x[i, j] - mean) / ti.sqrt(variance + EPS) * gamma[j] + beta[j]

    return made(norm, y)


@WORK.spelling("all values in parallel, atomics into a field of structs")
def atomic(inputs, n, m):
    x, y, gamma, beta = fields(inputs)
    rows = ti.Struct.field({"mean": ti.f32, "variance": ti.f32}, shape=n)

    @ti.kernel
    def norm():
        for i in rows:
            rows[i].mean = 0.0
            rows[i].variance = 0.0
        for i, j in x:
            rows[i].mean += x[i, j] / m
        for i, j in x:
            rows[i].variance += (x[i, j] - rows[i].mean) ** 2 / m
        for i, j in x:
            y[i, j] = (x[i, j] - rows[i].mean) / ti.sqrt(rows[i].variance + EPS) * gamma[j] + beta[j]

    return made(norm, y)


@WORK.spelling("NumPy arrays, a kernel for the moments and one for the values, one loop, // and %")
def two_kernels(inputs, n, m):
    array, row = ti.types.ndarray(dtype=ti.f32, ndim=2), ti.types.ndarray(dtype=ti.f32, ndim=1)
    x, y = np.ascontiguousarray(inputs["x"]), np.zeros((n, m), np.float32)
    gamma, beta = np.ascontiguousarray(inputs["gamma"]), np.ascontiguousarray(inputs["beta"])
    mean, deviation = np.zeros(n, np.float32), np.zeros(n, np.float32)

    @ti.kernel
    def moments(x: array, mean: row, deviation: row):
        for i in mean:
            s = 0.0
            for j in range(m):
                s += x[i, j]
            s = s / m
            v = 0.0
            for j in range(m):
                v += (x[i, j] - s) * (x[i, j] - s)
            mean[i] = s
            deviation[i] = ti.sqrt(v / m + EPS)

    @ti.kernel
    def values(x: array, y: array, mean: row, deviation: row, gamma: row, beta: row):
        for c in range(n * m):
            i, j = c // m, c % m
            y[i, j] = (x[i, j] - mean[i]) / deviation[i] * gamma[j] + beta[j]

    def step():
        moments(x, mean, deviation)
        values(x, y, mean, deviation, gamma, beta)

    return made(step, y)
