"""Rays march through a distance field until they hit, or are too far: a loop that each pixel leaves at another turn."""

import numpy as np
import ti
from harness.workload import Workload

STEPS, FAR, NEAR = 64, 10.0, 1e-3
TILE = 8  # what is compared are sums of tiles: a pixel at an edge may hit in one arithmetic and not in another


def model(inputs, n):
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    d = np.stack([(i + 0.5) / n - 0.5, (j + 0.5) / n - 0.5, np.ones((n, n))])
    d /= np.linalg.norm(d, axis=0)
    t, alive = np.zeros((n, n)), np.ones((n, n), bool)
    for _ in range(STEPS):
        p = d * t
        ball = np.sqrt(p[0] ** 2 + p[1] ** 2 + (p[2] - 3) ** 2) - 1
        distance = np.minimum(ball, p[0] + 0.8)
        alive &= (distance >= NEAR) & (t <= FAR)
        t = np.where(alive, t + distance, t)
    return {"tiles": tiles(t)}


def tiles(values):
    n = len(values) // TILE
    return values.astype(np.float64).reshape(n, TILE, n, TILE).mean(axis=(1, 3))


WORK = Workload(
    title="rays that march through a distance field",
    unit="ray",
    parameters={"n": 256},
    device={"n": 1024},
    smoke={"n": 24},
    items=lambda n: n * n,
    inputs=lambda rng, n: {},
    model=model,
    tolerance=(1e-3, 0.3),
)


def made(step, out):
    return {"step": step, "outputs": lambda: {"tiles": tiles(out if isinstance(out, np.ndarray) else out.to_numpy())}}


@ti.func
def scene(p):
    ball = (p - ti.Vector([0.0, 0.0, 3.0])).norm() - 1.0
    return ti.min(ball, p[0] + 0.8)


@ti.func
def direction(i, j, n):
    return ti.Vector([(i + 0.5) / n - 0.5, (j + 0.5) / n - 0.5, 1.0]).normalized()


@WORK.spelling("for with break")
def by_break(inputs, n):
    out = ti.field(ti.f32, shape=(n, n))

    @ti.kernel
    def march():
        for i, j in out:
            d = direction(i, j, n)
            t = 0.0
            for _ in range(STEPS):
                distance = scene(d * t)
                if distance < NEAR or t > FAR:
                    break
                t += distance
            out[i, j] = t

    return made(march, out)


@WORK.spelling("while with a condition")
def by_while(inputs, n):
    out = ti.field(ti.f32, shape=(n, n))

    @ti.kernel
    def march():
        for i, j in out:
            d = direction(i, j, n)
            t, step = 0.0, 0
            distance = scene(d * t)
            while step < STEPS and distance >= NEAR and t <= FAR:
                t += distance
                distance = scene(d * t)
                step += 1
            out[i, j] = t

    return made(march, out)


@WORK.spelling("while True, two breaks")
def two_breaks(inputs, n):
    out = np.zeros((n, n), np.float32)

    @ti.kernel
    def march(out: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in ti.ndrange(out.shape[0], out.shape[1]):
            d = direction(i, j, out.shape[0])
            t, step = 0.0, 0
            while True:
                distance = scene(d * t)
                if distance < NEAR:
                    break
                if t > FAR or step == STEPS:
                    break
                t += distance
                step += 1
            out[i, j] = t

    return made(lambda: march(out), out)


@WORK.spelling("a func that marches, one loop, // and %")
def by_func(inputs, n):
    out = ti.field(ti.f32, shape=(n, n))

    @ti.func
    def trace(d):
        t = 0.0
        for _ in range(STEPS):
            distance = scene(d * t)
            if distance < NEAR or t > FAR:
                break
            t += distance
        return t

    @ti.kernel
    def march():
        for c in range(n * n):
            out[c // n, c % n] = trace(direction(c // n, c % n, n))

    return made(march, out)


@WORK.spelling("a flag, no break")
def by_flag(inputs, n):
    out = ti.field(ti.f32, shape=(n, n))

    @ti.kernel
    def march():
        for i, j in out:
            d = direction(i, j, n)
            t, done = 0.0, 0
            for _ in range(STEPS):
                if done == 0:
                    distance = scene(d * t)
                    if distance < NEAR or t > FAR:
                        done = 1
                    else:
                        t += distance
            out[i, j] = t

    return made(march, out)


@ti.data_oriented
class Camera:
    def __init__(self, n):
        self.n = n
        self.out = ti.field(ti.f32, shape=(n, n))

    @ti.func
    def distance(self, x, y, z):
        return ti.min(ti.sqrt(x * x + y * y + (z - 3.0) ** 2) - 1.0, x + 0.8)

    @ti.kernel
    def march(self):
        for i, j in self.out:
            d = direction(i, j, self.n)
            t = 0.0
            for _ in range(STEPS):
                s = self.distance(d[0] * t, d[1] * t, d[2] * t)
                if s < NEAR or t > FAR:
                    break
                t += s
            self.out[i, j] = t


@WORK.spelling("a class, coordinates one by one")
def by_class(inputs, n):
    camera = Camera(n)
    return made(camera.march, camera.out)
