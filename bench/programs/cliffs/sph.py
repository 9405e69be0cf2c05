"""Densities of particles near each other: cells keep lists of particles, which are made anew in every step."""

import numpy as np
import ti
from harness.workload import Workload

MOST = 32  # particles of a cell
CHUNK = 16


def inputs(rng, particles, grid):
    return {"x": rng.random((particles, 2), np.float32) * np.float32(0.999)}


def model(inputs, particles, grid):
    x, h2 = inputs["x"].astype(np.float64), 1.0 / grid**2
    density = np.zeros(particles)
    for begin in range(0, particles, 500):
        d = x[begin : begin + 500, None] - x[None]
        density[begin : begin + 500] = (np.maximum(0, h2 - (d * d).sum(axis=2)) ** 3).sum(axis=1)
    return {"density": density / h2**3}


WORK = Workload(
    title="densities of particles, lists of each cell's",
    unit="particle",
    parameters={"particles": 12_000, "grid": 50},
    smoke={"particles": 300, "grid": 8},
    items=lambda particles, grid: particles,
    inputs=inputs,
    model=model,
    tolerance=(1e-3, 1e-3),
)


def fields(inputs):
    particles = len(inputs["x"])
    x, density = ti.Vector.field(2, ti.f32, shape=particles), ti.field(ti.f32, shape=particles)
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, density


def lists(grid):
    """(values, their dynamic level): a list of particles for each cell."""
    values = ti.field(ti.i32)
    level = ti.root.dense(ti.ij, (grid, grid)).dynamic(ti.k, MOST * 2, chunk_size=CHUNK)
    level.place(values)
    return values, level


def made(step, density):
    return {"step": step, "outputs": lambda: {"density": density.to_numpy()}}


def refilled(level, *kernels):
    def step():
        level.deactivate_all()
        for kernel in kernels:
            kernel()

    return step


@WORK.spelling("dynamic lists, run-time loops and an if")
def run_time(inputs, particles, grid):
    (x, density), (values, level) = fields(inputs), lists(grid)
    h2 = 1.0 / grid**2

    @ti.kernel
    def fill():
        for p in x:
            cell = int(x[p] * grid)
            values[cell[0], cell[1]].append(p)

    @ti.kernel
    def sum_up():
        for p in x:
            cell = int(x[p] * grid)
            s = 0.0
            for i in range(cell[0] - 1, cell[0] + 2):
                for j in range(cell[1] - 1, cell[1] + 2):
                    if 0 <= i < grid and 0 <= j < grid:
                        for k in range(values[i, j].length()):
                            d = x[p] - x[values[i, j, k]]
                            r2 = d.dot(d)
                            if r2 < h2:
                                s += (h2 - r2) ** 3
            density[p] = s / h2**3

    return made(refilled(level, fill, sum_up), density)


@WORK.spelling("dynamic lists, static offsets, ti.append")
def static(inputs, particles, grid):
    (x, density), (values, level) = fields(inputs), lists(grid)
    h2 = 1.0 / grid**2

    @ti.kernel
    def step():
        for p in x:
            cell = (x[p] * grid).cast(ti.i32)
            ti.append(level, [cell[0], cell[1]], p)
        for p in x:
            cell = (x[p] * grid).cast(ti.i32)
            s = 0.0
            for offset in ti.static(ti.grouped(ti.ndrange((-1, 2), (-1, 2)))):
                near = cell + offset
                if near.min() >= 0 and near.max() < grid:
                    for k in range(ti.length(level, [near[0], near[1]])):
                        r2 = (x[p] - x[values[near[0], near[1], k]]).norm_sqr()
                        s += ti.max(0.0, h2 - r2) ** 3
            density[p] = s / h2**3

    return made(refilled(level, step), density)


@WORK.spelling("dynamic lists, a func of the neighbour, clamped ranges")
def by_func(inputs, particles, grid):
    (x, density), (values, level) = fields(inputs), lists(grid)
    h2 = 1.0 / grid**2

    @ti.func
    def poly6(r2):
        return ti.select(r2 < h2, (h2 - r2) * (h2 - r2) * (h2 - r2), 0.0)

    @ti.func
    def cell_of(p):
        return ti.floor(x[p] * grid, ti.i32)

    @ti.kernel
    def step():
        for p in range(particles):
            cell = cell_of(p)
            values[cell.x, cell.y].append(p)
        for p in range(particles):
            density[p] = 0.0
            cell = cell_of(p)
            for i, j in ti.ndrange(
                (ti.max(cell.x - 1, 0), ti.min(cell.x + 2, grid)), (ti.max(cell.y - 1, 0), ti.min(cell.y + 2, grid))
            ):
                for k in range(values[i, j].length()):
                    density[p] += poly6((x[p] - x[values[i, j, k]]).norm_sqr()) / h2**3

    return made(refilled(level, step), density)


@WORK.spelling("a table of fixed size and a count each")
def table(inputs, particles, grid):
    x, density = fields(inputs)
    count, slots = ti.field(ti.i32, shape=(grid, grid)), ti.field(ti.i32, shape=(grid, grid, MOST * 2))
    h2 = 1.0 / grid**2

    @ti.kernel
    def step():
        for i, j in count:
            count[i, j] = 0
        for p in x:
            cell = int(x[p] * grid)
            slots[cell, ti.atomic_add(count[cell], 1)] = p
        for p in x:
            cell = int(x[p] * grid)
            s = 0.0
            for i in range(ti.max(cell[0] - 1, 0), ti.min(cell[0] + 2, grid)):
                for j in range(ti.max(cell[1] - 1, 0), ti.min(cell[1] + 2, grid)):
                    for k in range(count[i, j]):
                        d = x[p] - x[slots[i, j, k]]
                        s += ti.max(0.0, h2 - d.dot(d)) ** 3
            density[p] = s / h2**3

    return made(step, density)


@WORK.spelling("counted, scanned serially, sorted")
def sorted_(inputs, particles, grid):
    x, density = fields(inputs)
    count, first = ti.field(ti.i32, shape=grid * grid), ti.field(ti.i32, shape=grid * grid + 1)
    order = ti.field(ti.i32, shape=particles)
    h2 = 1.0 / grid**2

    @ti.func
    def number(cell):
        return cell[0] * grid + cell[1]

    @ti.kernel
    def step():
        count.fill(0)
        for p in x:
            count[number(int(x[p] * grid))] += 1
        total = 0
        ti.loop_config(serialize=True)
        for c in range(grid * grid):
            first[c] = total
            total += count[c]
            count[c] = 0
        first[grid * grid] = total
        for p in x:
            c = number(int(x[p] * grid))
            order[first[c] + ti.atomic_add(count[c], 1)] = p
        for p in x:
            cell = int(x[p] * grid)
            s = 0.0
            for i in range(ti.max(cell[0] - 1, 0), ti.min(cell[0] + 2, grid)):
                for j in range(ti.max(cell[1] - 1, 0), ti.min(cell[1] + 2, grid)):
                    for q in range(first[i * grid + j], first[i * grid + j + 1]):
                        d = x[p] - x[order[q]]
                        s += ti.max(0.0, h2 - d.dot(d)) ** 3
            density[p] = s / h2**3

    return made(step, density)
