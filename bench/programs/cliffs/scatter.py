"""Particles write to a grid: mass and momentum over 3 x 3 cells with quadratic weights (the first half of mpm88)."""

import numpy as np
import ti
from harness.workload import Workload

from .gather import weights


def inputs(rng, particles, grid):
    return {"x": rng.random((particles, 2), np.float32) * 0.8 + 0.1, "v": rng.random((particles, 2), np.float32) - 0.5}


def model(inputs, particles, grid):
    base, _, w = weights(inputs["x"], grid)
    m, v = np.zeros((grid, grid)), np.zeros((grid, grid, 2))
    for i in range(3):
        for j in range(3):
            weight = w[i][:, 0] * w[j][:, 1]
            at = (base[:, 0] + i, base[:, 1] + j)
            np.add.at(m, at, weight)
            np.add.at(v, at, weight[:, None] * inputs["v"])
    return {"m": m, "v": v}


WORK = Workload(
    title="mass and momentum of particles to 3 x 3 cells",
    unit="particle",
    parameters={"particles": 60_000, "grid": 128},
    device={"particles": 1_000_000, "grid": 512},
    smoke={"particles": 200, "grid": 16},
    items=lambda particles, grid: particles,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-4),
)


def particles_of(inputs):
    x, v = (ti.Vector.field(2, ti.f32, shape=len(inputs["x"])) for _ in range(2))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    v.from_numpy(np.ascontiguousarray(inputs["v"]))
    return x, v


def grids(grid):
    return ti.field(ti.f32, shape=(grid, grid)), ti.Vector.field(2, ti.f32, shape=(grid, grid))


def made(step, m, v):
    return {"step": step, "outputs": lambda: {"m": m.to_numpy(), "v": v.to_numpy()}}


@WORK.spelling("static ndrange, w[i] of a list")
def static(inputs, particles, grid):
    (x, v), (m, g) = particles_of(inputs), grids(grid)

    @ti.kernel
    def scatter():
        for i, j in m:
            m[i, j] = 0.0
            g[i, j] = [0.0, 0.0]
        for p in x:
            base = (x[p] * grid - 0.5).cast(int)
            fx = x[p] * grid - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                m[base + ti.Vector([i, j])] += weight
                g[base + ti.Vector([i, j])] += weight * v[p]

    return made(scatter, m, g)


@WORK.spelling("run-time loops, a vector of weights an axis")
def run_time(inputs, particles, grid):
    (x, v), (m, g) = particles_of(inputs), grids(grid)

    @ti.kernel
    def scatter():
        m.fill(0.0)
        g.fill(0.0)
        for p in x:
            at = x[p] * grid
            base = (at - 0.5).cast(int)
            fx = at - base
            wx = ti.Vector([0.5 * (1.5 - fx[0]) ** 2, 0.75 - (fx[0] - 1.0) ** 2, 0.5 * (fx[0] - 0.5) ** 2])
            wy = ti.Vector([0.5 * (1.5 - fx[1]) ** 2, 0.75 - (fx[1] - 1.0) ** 2, 0.5 * (fx[1] - 0.5) ** 2])
            for i in range(3):
                for j in range(3):
                    weight = wx[i] * wy[j]
                    m[base[0] + i, base[1] + j] += weight
                    g[base[0] + i, base[1] + j] += weight * v[p]

    return made(scatter, m, g)


@WORK.spelling("cells are structs, atomic_add by member")
def by_struct(inputs, particles, grid):
    x, v = particles_of(inputs)
    cells = ti.Struct.field({"m": ti.f32, "v": ti.types.vector(2, ti.f32)}, shape=(grid, grid))

    @ti.kernel
    def scatter():
        for I in ti.grouped(cells):
            cells[I].m = 0.0
            cells[I].v = ti.Vector([0.0, 0.0])
        for p in x:
            base = (x[p] * grid - 0.5).cast(int)
            fx = x[p] * grid - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3))):
                weight = w[offset[0]][0] * w[offset[1]][1]
                ti.atomic_add(cells[base + offset].m, weight)
                ti.atomic_add(cells[base + offset].v, weight * v[p])

    return made(scatter, cells.m, cells.v)


@WORK.spelling("NumPy arrays of particles, mass and momentum in one vector")
def together(inputs, particles, grid):
    x, v = np.ascontiguousarray(inputs["x"]), np.ascontiguousarray(inputs["v"])
    cells = ti.Vector.field(3, ti.f32, shape=(grid, grid))

    @ti.kernel
    def scatter(x: ti.types.ndarray(dtype=ti.f32, ndim=2), v: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in cells:
            cells[i, j] = ti.Vector([0.0, 0.0, 0.0])
        for p in range(x.shape[0]):
            at = ti.Vector([x[p, 0], x[p, 1]]) * grid
            base = (at - 0.5).cast(int)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            q = ti.Vector([1.0, v[p, 0], v[p, 1]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                cells[base[0] + i, base[1] + j] += w[i][0] * w[j][1] * q

    def outputs():
        got = cells.to_numpy()
        return {"m": got[..., 0], "v": got[..., 1:]}

    return {"step": lambda: scatter(x, v), "outputs": outputs}


@WORK.spelling("range(n) of an argument")
def as_many(inputs, particles, grid):
    (x, v), (m, g) = particles_of(inputs), grids(grid)

    @ti.kernel
    def scatter(n: ti.i32):
        m.fill(0.0)
        g.fill(0.0)
        for p in range(n):
            at = x[p] * grid
            base = (at - 0.5).cast(int)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                m[base + ti.Vector([i, j])] += weight
                g[base + ti.Vector([i, j])] += weight * v[p]

    return made(lambda: scatter(particles), m, g)


@WORK.spelling("range(n[None]) of a field, those that are alive")
def alive(inputs, particles, grid):
    (x, v), (m, g) = particles_of(inputs), grids(grid)
    n, lives = ti.field(ti.i32, shape=()), ti.field(ti.u8, shape=particles)
    n[None] = particles
    lives.fill(1)

    @ti.kernel
    def scatter():
        for i, j in m:
            m[i, j] = 0.0
            g[i, j] = [0.0, 0.0]
        for p in range(n[None]):
            if lives[p] != 0:
                base = (x[p] * grid - 0.5).cast(int)
                fx = x[p] * grid - base.cast(ti.f32)
                w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
                for i, j in ti.static(ti.ndrange(3, 3)):
                    weight = w[i][0] * w[j][1]
                    m[base + ti.Vector([i, j])] += weight
                    g[base + ti.Vector([i, j])] += weight * v[p]

    return made(scatter, m, g)


@WORK.spelling("a test of the border around each cell")
def bordered(inputs, particles, grid):
    (x, v), (m, g) = particles_of(inputs), grids(grid)

    @ti.kernel
    def scatter():
        m.fill(0.0)
        g.fill(0.0)
        for p in x:
            base = (x[p] * grid - 0.5).cast(int)
            fx = x[p] * grid - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                cell = base + ti.Vector([i, j])
                if cell.min() >= 0 and cell.max() < grid:
                    weight = w[i][0] * w[j][1]
                    m[cell] += weight
                    g[cell] += weight * v[p]

    return made(scatter, m, g)


@WORK.spelling("ndarrays of vectors")
def in_ndarrays(inputs, particles, grid):
    two = ti.types.vector(2, ti.f32)
    x, v = ti.Vector.ndarray(2, ti.f32, particles), ti.Vector.ndarray(2, ti.f32, particles)
    m, g = ti.ndarray(ti.f32, (grid, grid)), ti.Vector.ndarray(2, ti.f32, (grid, grid))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    v.from_numpy(np.ascontiguousarray(inputs["v"]))
    many, nodes = ti.types.ndarray(dtype=two, ndim=1), ti.types.ndarray(dtype=two, ndim=2)

    @ti.kernel
    def scatter(x: many, v: many, m: ti.types.ndarray(dtype=ti.f32, ndim=2), g: nodes):
        for I in ti.grouped(m):
            m[I] = 0.0
            g[I] = ti.Vector([0.0, 0.0])
        for p in x:
            base = (x[p] * grid - 0.5).cast(int)
            fx = x[p] * grid - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                m[base + ti.Vector([i, j])] += weight
                g[base + ti.Vector([i, j])] += weight * v[p]

    return made(lambda: scatter(x, v, m, g), m, g)


@WORK.spelling("NumPy arrays, mass and momentum in their last dimension")
def in_arrays(inputs, particles, grid):
    x, v = np.ascontiguousarray(inputs["x"]), np.ascontiguousarray(inputs["v"])
    cells = np.zeros((grid, grid, 3), np.float32)
    two, three = ti.types.ndarray(dtype=ti.f32, ndim=2), ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def scatter(x: two, v: two, cells: three):
        for i, j, k in cells:
            cells[i, j, k] = 0.0
        for p in range(x.shape[0]):
            at = ti.Vector([x[p, 0], x[p, 1]]) * cells.shape[0]
            base = ti.cast(at - 0.5, ti.i32)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                cells[base[0] + i, base[1] + j, 0] += weight
                cells[base[0] + i, base[1] + j, 1] += weight * v[p, 0]
                cells[base[0] + i, base[1] + j, 2] += weight * v[p, 1]

    return {"step": lambda: scatter(x, v, cells), "outputs": lambda: {"m": cells[..., 0], "v": cells[..., 1:]}}
