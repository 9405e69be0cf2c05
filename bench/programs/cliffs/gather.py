"""Particles read a grid: quadratic weights over 3 x 3 cells, velocity and its gradient (the second half of mpm88)."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, particles, grid):
    return {"x": rng.random((particles, 2), np.float32) * 0.8 + 0.1, "v": rng.random((grid, grid, 2), np.float32) - 0.5}


def weights(x, grid):
    """Cells' corners, and weights of three cells along each axis, in f64."""
    at = x.astype(np.float64) * grid
    base = (at - 0.5).astype(int)
    fx = at - base
    return base, fx, np.stack([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2])


def model(inputs, particles, grid):
    base, fx, w = weights(inputs["x"], grid)
    v, c = np.zeros((particles, 2)), np.zeros((particles, 2, 2))
    for i in range(3):
        for j in range(3):
            g = inputs["v"][base[:, 0] + i, base[:, 1] + j]
            weight = (w[i][:, 0] * w[j][:, 1])[:, None]
            v += weight * g
            c += 4 * weight[..., None] * g[:, :, None] * (np.array([i, j]) - fx)[:, None, :]
    return {"v": v, "c": c}


WORK = Workload(
    title="velocity and gradient of particles from 3 x 3 cells",
    unit="particle",
    parameters={"particles": 60_000, "grid": 128},
    device={"particles": 1_000_000, "grid": 512},
    smoke={"particles": 200, "grid": 16},
    items=lambda particles, grid: particles,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-4),
)


def fields(inputs):
    particles, grid = len(inputs["x"]), inputs["v"].shape[0]
    x, v = ti.Vector.field(2, ti.f32, shape=particles), ti.Vector.field(2, ti.f32, shape=particles)
    c, g = ti.Matrix.field(2, 2, ti.f32, shape=particles), ti.Vector.field(2, ti.f32, shape=(grid, grid))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    g.from_numpy(np.ascontiguousarray(inputs["v"]))
    return x, v, c, g


def made(step, v, c):
    return {"step": step, "outputs": lambda: {"v": v.to_numpy(), "c": c.to_numpy()}}


@WORK.spelling("static ndrange, w[i] of a list")
def static(inputs, particles, grid):
    x, v, c, g = fields(inputs)

    @ti.kernel
    def gather():
        for p in x:
            at = x[p] * grid
            base = (at - 0.5).cast(int)
            fx = at - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v, new_c = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                dpos = ti.Vector([i, j]).cast(ti.f32) - fx
                g_v = g[base + ti.Vector([i, j])]
                weight = w[i][0] * w[j][1]
                new_v += weight * g_v
                new_c += 4.0 * weight * g_v.outer_product(dpos)
            v[p] = new_v
            c[p] = new_c

    return made(gather, v, c)


@WORK.spelling("static grouped, weight a product over axes")
def grouped(inputs, particles, grid):
    x, v, c, g = fields(inputs)

    @ti.kernel
    def gather():
        for p in x:
            at = x[p] * grid
            base = int(at - 0.5)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v, new_c = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3))):
                weight = 1.0
                for d in ti.static(range(2)):
                    weight *= w[offset[d]][d]
                g_v = g[base + offset]
                new_v += weight * g_v
                new_c += 4.0 * weight * g_v.outer_product(offset - fx)
            v[p] = new_v
            c[p] = new_c

    return made(gather, v, c)


@WORK.spelling("run-time loops, w a matrix: w[i, 0]")
def run_time(inputs, particles, grid):
    x, v, c, g = fields(inputs)

    @ti.kernel
    def gather():
        for p in range(particles):
            at = x[p] * grid
            base = ti.floor(at - 0.5, ti.i32)
            fx = at - base
            w = ti.Matrix.rows([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2])
            new_v, new_c = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for i in range(3):
                for j in range(3):
                    offset = ti.Vector([i, j])
                    g_v = g[base + offset]
                    weight = w[i, 0] * w[j, 1]
                    new_v += weight * g_v
                    new_c += 4.0 * weight * g_v.outer_product(offset - fx)
            v[p] = new_v
            c[p] = new_c

    return made(gather, v, c)


@WORK.spelling("run-time ndrange, a vector of weights an axis")
def ndrange(inputs, particles, grid):
    x, v, c, g = fields(inputs)

    @ti.func
    def axis(f):
        return ti.Vector([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2])

    @ti.kernel
    def gather():
        for p in x:
            at = x[p] * grid
            base = (at - 0.5).cast(int)
            fx = at - base.cast(ti.f32)
            wx, wy = axis(fx[0]), axis(fx[1])
            new_v, new_c = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.ndrange(3, 3):
                weight = wx[i] * wy[j]
                g_v = g[base[0] + i, base[1] + j]
                new_v += weight * g_v
                new_c += 4.0 * weight * g_v.outer_product(ti.Vector([i - fx[0], j - fx[1]]))
            v[p] = new_v
            c[p] = new_c

    return made(gather, v, c)


@WORK.spelling("a func of the distance, run-time loops")
def by_func(inputs, particles, grid):
    x, v, c, g = fields(inputs)

    @ti.func
    def spline(distance):
        r = ti.abs(distance)
        w = 0.0
        if r < 0.5:
            w = 0.75 - r * r
        elif r < 1.5:
            w = 0.5 * (1.5 - r) ** 2
        return w

    @ti.kernel
    def gather():
        for p in x:
            at = x[p] * grid
            base = (at - 0.5).cast(int)
            new_v, new_c = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for i in range(3):
                for j in range(3):
                    cell = base + ti.Vector([i, j])
                    d = cell - at
                    weight = spline(d[0]) * spline(d[1])
                    new_v += weight * g[cell]
                    new_c += 4.0 * weight * g[cell].outer_product(d)
            v[p] = new_v
            c[p] = new_c

    return made(gather, v, c)


@WORK.spelling("structs of particles and cells, run-time loops")
def by_struct(inputs, particles, grid):
    vec, mat = ti.types.vector(2, ti.f32), ti.types.matrix(2, 2, ti.f32)
    points = ti.Struct.field({"x": vec, "v": vec, "c": mat}, shape=particles)
    cells = ti.Struct.field({"v": vec, "m": ti.f32}, shape=(grid, grid))
    points.x.from_numpy(np.ascontiguousarray(inputs["x"]))
    cells.v.from_numpy(np.ascontiguousarray(inputs["v"]))

    @ti.kernel
    def gather():
        for p in points:
            at = points[p].x * grid
            base = (at - 0.5).cast(int)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            points[p].v = ti.Vector([0.0, 0.0])
            points[p].c = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                g_v = cells[base[0] + i, base[1] + j].v
                points[p].v += weight * g_v
                points[p].c += 4.0 * weight * g_v.outer_product(ti.Vector([i, j]) - fx)

    return made(gather, points.v, points.c)
