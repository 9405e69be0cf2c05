"""A convolution of an image of several channels with 3 x 3 weights for each pair of channels; zeros beyond the border."""

import numpy as np
import ti
from harness.workload import Workload

INS = 3
OUTS = 8


def inputs(rng, n, m):
    return {"x": rng.random((INS, n, m), np.float32), "w": rng.random((OUTS, INS, 3, 3), np.float32) - np.float32(0.5)}


def model(inputs, n, m):
    x = np.pad(inputs["x"].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    y = np.zeros((OUTS, n, m))
    for i in range(3):
        for j in range(3):
            y += np.einsum("oc,cnm->onm", inputs["w"][:, :, i, j].astype(np.float64), x[:, i : i + n, j : j + m])
    return {"y": y}


WORK = Workload(
    title="a convolution, 3 x 3, of 3 channels to 8",
    unit="pixel",
    parameters={"n": 121, "m": 133},
    device={"n": 1021, "m": 1033},
    smoke={"n": 9, "m": 14},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-4),
)


def fields(inputs):
    x, y = ti.field(ti.f32, shape=inputs["x"].shape), ti.field(ti.f32, shape=(OUTS, *inputs["x"].shape[1:]))
    w = ti.field(ti.f32, shape=(OUTS, INS, 3, 3))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    w.from_numpy(np.ascontiguousarray(inputs["w"]))
    return x, w, y


def made(step, y):
    return {"step": step, "outputs": lambda: {"y": y if isinstance(y, np.ndarray) else y.to_numpy()}}


@WORK.spelling("planes, run-time loops, an if at the border")
def by_if(inputs, n, m):
    x, w, y = fields(inputs)

    @ti.kernel
    def convolve():
        for o, i, j in y:
            s = 0.0
            for c in range(INS):
                for p in range(3):
                    for q in range(3):
                        r, t = i + p - 1, j + q - 1
                        if r >= 0 and r < n and t >= 0 and t < m:
                            s += x[c, r, t] * w[o, c, p, q]
            y[o, i, j] = s

    return made(convolve, y)


@WORK.spelling("planes with a border of zeros, static taps")
def padded(inputs, n, m):
    _, w, y = fields(inputs)
    x = ti.field(ti.f32, shape=(INS, n + 2, m + 2))
    x.from_numpy(np.pad(inputs["x"], ((0, 0), (1, 1), (1, 1))))

    @ti.kernel
    def convolve():
        for o, i, j in ti.ndrange(OUTS, n, m):
            s = 0.0
            for c in range(INS):
                for p, q in ti.static(ti.ndrange(3, 3)):
                    s += x[c, i + p, j + q] * w[o, c, p, q]
            y[o, i, j] = s

    return made(convolve, y)


@WORK.spelling("pixels of vectors, a matrix for each tap")
def matrices(inputs, n, m):
    x, y = ti.Vector.field(INS, ti.f32, shape=(n, m)), ti.Vector.field(OUTS, ti.f32, shape=(n, m))
    w = ti.Matrix.field(OUTS, INS, ti.f32, shape=(3, 3))
    x.from_numpy(np.ascontiguousarray(inputs["x"].transpose(1, 2, 0)))
    w.from_numpy(np.ascontiguousarray(inputs["w"].transpose(2, 3, 0, 1)))

    @ti.kernel
    def convolve():
        for i, j in x:
            s = ti.Vector.zero(ti.f32, OUTS)
            for p in range(-1, 2):
                for q in range(-1, 2):
                    if 0 <= i + p < n and 0 <= j + q < m:
                        s += w[p + 1, q + 1] @ x[i + p, j + q]
            y[i, j] = s

    return {"step": convolve, "outputs": lambda: {"y": np.ascontiguousarray(y.to_numpy().transpose(2, 0, 1))}}


@WORK.spelling("NumPy arrays, channels last, clamped ranges, one loop, // and %")
def channels_last(inputs, n, m):
    x, w = np.ascontiguousarray(inputs["x"].transpose(1, 2, 0)), np.ascontiguousarray(inputs["w"].transpose(2, 3, 1, 0))
    y = np.zeros((n, m, OUTS), np.float32)
    image, taps = ti.types.ndarray(dtype=ti.f32, ndim=3), ti.types.ndarray(dtype=ti.f32, ndim=4)

    @ti.kernel
    def convolve(x: image, w: taps, y: image):
        for t in range(y.shape[0] * y.shape[1] * y.shape[2]):
            o = t % y.shape[2]
            j = t // y.shape[2] % y.shape[1]
            i = t // (y.shape[2] * y.shape[1])
            s = 0.0
            for p in range(ti.max(i - 1, 0), ti.min(i + 2, x.shape[0])):
                for q in range(ti.max(j - 1, 0), ti.min(j + 2, x.shape[1])):
                    for c in range(x.shape[2]):
                        s += x[p, q, c] * w[p - i + 1, q - j + 1, c, o]
            y[i, j, o] = s

    return {"step": lambda: convolve(x, w, y), "outputs": lambda: {"y": np.ascontiguousarray(y.transpose(2, 0, 1))}}


@WORK.spelling("a func that reads 0 beyond the border, all outputs of a pixel in a local vector")
def by_func(inputs, n, m):
    x, w, y = fields(inputs)

    @ti.func
    def pixel(c, i, j):
        v = 0.0
        if not (i < 0 or j < 0 or i >= n or j >= m):
            v = x[c, i, j]
        return v

    @ti.kernel
    def convolve():
        for i, j in ti.ndrange(n, m):
            s = ti.Vector([0.0 for _ in range(OUTS)])
            for c, p, q in ti.ndrange(INS, 3, 3):
                v = pixel(c, i + p - 1, j + q - 1)
                for o in ti.static(range(OUTS)):
                    s[o] += v * w[o, c, p, q]
            for o in ti.static(range(OUTS)):
                y[o, i, j] = s[o]

    return made(convolve, y)
