"""Distances that are lowered where a shorter way is known: a minimum, however it is said."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"near": rng.random((n, m), np.float32), "step": rng.random((n, m), np.float32)}


def model(inputs, n, m):
    return {"near": np.minimum(inputs["near"], inputs["step"].astype(np.float64) + 0.125)}


WORK = Workload(
    title="distances lowered where a shorter way is known",
    unit="cell",
    parameters={"n": 301, "m": 1000},
    device={"n": 2401, "m": 2000},
    smoke={"n": 7, "m": 33},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
)


def fields(inputs):
    near, step = (ti.field(ti.f32, shape=inputs["near"].shape) for _ in range(2))
    near.from_numpy(np.ascontiguousarray(inputs["near"]))
    step.from_numpy(np.ascontiguousarray(inputs["step"]))
    return near, step


def made(step, near):
    return {"step": step, "outputs": lambda: {"near": near if isinstance(near, np.ndarray) else near.to_numpy()}}


@WORK.spelling("min")
def by_min(inputs, n, m):
    near, step = fields(inputs)

    @ti.kernel
    def lower():
        for i, j in near:
            near[i, j] = ti.min(near[i, j], step[i, j] + 0.125)

    return made(lower, near)


@WORK.spelling("an if, the sum in a local")
def by_if(inputs, n, m):
    near, step = fields(inputs)

    @ti.kernel
    def lower():
        for i, j in near:
            way = step[i, j] + 0.125
            if way < near[i, j]:
                near[i, j] = way

    return made(lower, near)


@WORK.spelling("an if, the sum written twice, ndarrays")
def by_if_of_arrays(inputs, n, m):
    near, step = ti.ndarray(ti.f32, shape=(n, m)), ti.ndarray(ti.f32, shape=(n, m))
    near.from_numpy(np.ascontiguousarray(inputs["near"]))
    step.from_numpy(np.ascontiguousarray(inputs["step"]))
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.kernel
    def lower(near: array, step: array):
        for i, j in near:
            if near[i, j] > step[i, j] + 0.125:
                near[i, j] = step[i, j] + 0.125

    return made(lambda: lower(near, step), near)


@WORK.spelling("rows in parallel, an inner loop, a func that lowers")
def by_func(inputs, n, m):
    near, step = fields(inputs)

    @ti.func
    def lower_to(i, j, way):
        if way < near[i, j]:
            near[i, j] = way

    @ti.kernel
    def lower():
        for i in range(n):
            for j in range(m):
                lower_to(i, j, step[i, j] + 0.125)

    return made(lower, near)


@WORK.spelling("one thread, one loop, // and %, an if", family="one thread")
def in_order(inputs, n, m):
    near, step = fields(inputs)

    @ti.kernel
    def lower():
        ti.loop_config(serialize=True)
        for c in range(n * m):
            way = step[c // m, c % m] + 0.125
            if way < near[c // m, c % m]:
                near[c // m, c % m] = way

    return made(lower, near)


@WORK.spelling("one thread, a nest, an if with both sides", family="one thread")
def both_sides(inputs, n, m):
    near, step = fields(inputs)

    @ti.kernel
    def lower():
        ti.loop_config(serialize=True)
        for i in range(n):
            for j in range(m):
                if near[i, j] < step[i, j] + 0.125:
                    near[i, j] = near[i, j]
                else:
                    near[i, j] = step[i, j] + 0.125

    return made(lower, near)
