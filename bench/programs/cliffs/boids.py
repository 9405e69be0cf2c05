"""Boids: those within a distance, of all pairs, align, attract and push apart."""

import numpy as np
import ti
from harness.workload import Workload

R2 = 0.0101  # of the cut-off
NEAR = 0.001
ALIGN, ATTRACT, PUSH = 0.1, 0.05, 0.0002


def inputs(rng, n):
    x = (rng.integers(0, 1024, (n, 2)) / 1024).astype(np.float32)  # so that squares of distances are exact
    return {"x": x, "v": rng.random((n, 2), np.float32) - np.float32(0.5)}


def model(inputs, n):
    x, v = inputs["x"].astype(np.float64), inputs["v"].astype(np.float64)
    d = x[:, None] - x[None]
    r2 = (d * d).sum(axis=2)
    near = (r2 < R2) & ~np.eye(n, dtype=bool)
    count = near.sum(axis=1)
    most = np.maximum(count, 1)[:, None]
    push = (d * (near / (r2 + NEAR))[..., None]).sum(axis=1)
    new = v + ALIGN * (near @ v / most - v) + ATTRACT * (near @ x / most - x) + PUSH * push
    return {"new": np.where(count[:, None] > 0, new, v)}


WORK = Workload(
    title="boids with a cut-off over all pairs",
    unit="pair",
    parameters={"n": 1501},
    device={"n": 6001},
    smoke={"n": 211},
    items=lambda n: n * n,
    inputs=inputs,
    model=model,
    tolerance=(1e-3, 1e-4),
)


def fields(inputs, layout=None):
    n = len(inputs["x"])
    x, v, new = (ti.Vector.field(2, ti.f32, shape=n, layout=layout or ti.Layout.AOS) for _ in range(3))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    v.from_numpy(np.ascontiguousarray(inputs["v"]))
    return x, v, new


def made(step, new):
    return {"step": step, "outputs": lambda: {"new": new if isinstance(new, np.ndarray) else new.to_numpy()}}


@WORK.spelling("vector fields, an if of both tests")
def by_if(inputs, n):
    x, v, new = fields(inputs)

    @ti.kernel
    def steer():
        for i in x:
            count = 0
            mean_v, mean_x, push = ti.Vector([0.0, 0.0]), ti.Vector([0.0, 0.0]), ti.Vector([0.0, 0.0])
            for j in range(n):
                d = x[i] - x[j]
                r2 = d.norm_sqr()
                if i != j and r2 < R2:
                    count += 1
                    mean_v += v[j]
                    mean_x += x[j]
                    push += d / (r2 + NEAR)
            new[i] = v[i]
            if count > 0:
                new[i] += ALIGN * (mean_v / count - v[i]) + ATTRACT * (mean_x / count - x[i]) + PUSH * push

    return made(steer, new)


@WORK.spelling("SOA, continue, the count a float")
def soa(inputs, n):
    x, v, new = fields(inputs, ti.Layout.SOA)

    @ti.kernel
    def steer():
        for i in range(n):
            xi, vi = x[i], v[i]
            count = 0.0
            mean_v, mean_x, push = ti.Vector.zero(ti.f32, 2), ti.Vector.zero(ti.f32, 2), ti.Vector.zero(ti.f32, 2)
            for j in range(n):
                if i == j:
                    continue
                d = xi - x[j]
                r2 = d.dot(d)
                if r2 >= R2:
                    continue
                count += 1.0
                mean_v += v[j]
                mean_x += x[j]
                push += d / (r2 + NEAR)
            if count > 0.0:
                vi += ALIGN * (mean_v / count - v[i]) + ATTRACT * (mean_x / count - xi) + PUSH * push
            new[i] = vi

    return made(steer, new)


@WORK.spelling("a weight of 0 or 1 by select")
def by_select(inputs, n):
    x, v, new = fields(inputs)

    @ti.kernel
    def steer():
        for i in x:
            count = 0.0
            mean_v, mean_x, push = ti.math.vec2(0.0), ti.math.vec2(0.0), ti.math.vec2(0.0)
            for j in range(n):
                d = x[i] - x[j]
                r2 = d.dot(d)
                w = ti.select(r2 < R2, 1.0, 0.0)
                if i == j:
                    w = 0.0
                count += w
                mean_v += w * v[j]
                mean_x += w * x[j]
                push += w * d / (r2 + NEAR)
            most = ti.max(count, 1.0)
            change = ALIGN * (mean_v / most - v[i]) + ATTRACT * (mean_x / most - x[i]) + PUSH * push
            new[i] = ti.select(count > 0.0, v[i] + change, v[i])

    return made(steer, new)


@WORK.spelling("NumPy arrays, scalars")
def numpy(inputs, n):
    x, v, new = np.ascontiguousarray(inputs["x"]), np.ascontiguousarray(inputs["v"]), np.zeros((n, 2), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def steer(x: array, v: array, new: array):
        for i in range(x.shape[0]):
            count = 0
            vx, vy, mx, my, px, py = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(x.shape[0]):
                if j != i:
                    dx, dy = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
                    r2 = dx**2 + dy**2
                    if r2 < R2:
                        count += 1
                        vx += v[j, 0]
                        vy += v[j, 1]
                        mx += x[j, 0]
                        my += x[j, 1]
                        px += dx / (r2 + NEAR)
                        py += dy / (r2 + NEAR)
            new[i, 0] = v[i, 0]
            new[i, 1] = v[i, 1]
            if count > 0:
                new[i, 0] += ALIGN * (vx / count - v[i, 0]) + ATTRACT * (mx / count - x[i, 0]) + PUSH * px
                new[i, 1] += ALIGN * (vy / count - v[i, 1]) + ATTRACT * (my / count - x[i, 1]) + PUSH * py

    return made(lambda: steer(x, v, new), new)


@ti.dataclass
class Boid:
    x: ti.math.vec2
    v: ti.math.vec2

    @ti.func
    def sees(self, other):
        return ti.math.distance(self.x, other.x) < ti.sqrt(R2)


@WORK.spelling("dataclasses with a method, three passes by a func")
def by_dataclass(inputs, n):
    boids, new = Boid.field(shape=n), ti.Vector.field(2, ti.f32, shape=n)
    boids.x.from_numpy(np.ascontiguousarray(inputs["x"]))
    boids.v.from_numpy(np.ascontiguousarray(inputs["v"]))

    @ti.func
    def align_and_attract(i):
        own = boids[i]
        count = 0
        mean = Boid(x=ti.math.vec2(0.0), v=ti.math.vec2(0.0))
        for j in range(n):
            if j != i and own.sees(boids[j]):
                mean.x += boids[j].x
                mean.v += boids[j].v
                count += 1
        change = ti.math.vec2(0.0, 0.0)
        if count > 0:
            change = ALIGN * (mean.v / count - own.v) + ATTRACT * (mean.x / count - own.x)
        return change

    @ti.func
    def push_apart(i):
        s = ti.math.vec2(0.0, 0.0)
        for j in range(n):
            if j != i and boids[i].sees(boids[j]):
                d = boids[i].x - boids[j].x
                s += d / (d.norm_sqr() + NEAR)
        return PUSH * s

    @ti.kernel
    def steer():
        for i in boids:
            new[i] = boids[i].v + align_and_attract(i) + push_apart(i)

    return made(steer, new)
