"""Shortest paths between all pairs by Floyd and Warshall: three loops in order, or a launch for each middle."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"d": rng.random((n, n), np.float32)}


def model(inputs, n):
    d = inputs["d"].astype(np.float64)
    for k in range(n):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return {"d": d}


WORK = Workload(
    title="shortest paths between all pairs",
    unit="triple",
    parameters={"n": 192},
    device={"n": 768},
    smoke={"n": 37},
    items=lambda n: n * n * n,
    inputs=inputs,
    model=model,
)


def field(inputs):
    d = ti.field(ti.f32, shape=inputs["d"].shape)
    d.from_numpy(np.ascontiguousarray(inputs["d"]))
    return d


def made(step, d):
    return {"step": step, "outputs": lambda: {"d": d.to_numpy()}}


@WORK.spelling("three loops in order, min", family="in order")
def in_order(inputs, n):
    d = field(inputs)

    @ti.kernel
    def relax():
        ti.loop_config(serialize=True)
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    d[i, j] = ti.min(d[i, j], d[i, k] + d[k, j])

    return made(relax, d)


@WORK.spelling("inside of a loop of one turn", family="in order")
def in_one_turn(inputs, n):
    d = field(inputs)

    @ti.kernel
    def relax():
        for _ in range(1):
            for k in range(n):
                for i in range(n):
                    for j in range(n):
                        d[i, j] = ti.min(d[i, j], d[i, k] + d[k, j])

    return made(relax, d)


@WORK.spelling("an ndarray, the sum in a local, an if", family="in order")
def by_if(inputs, n):
    d = ti.ndarray(ti.f32, shape=(n, n))
    d.from_numpy(np.ascontiguousarray(inputs["d"]))

    @ti.kernel
    def relax(d: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        ti.loop_config(serialize=True)
        for k in range(d.shape[0]):
            for i in range(d.shape[0]):
                for j in range(d.shape[0]):
                    through = d[i, k] + d[k, j]
                    if through < d[i, j]:
                        d[i, j] = through

    return made(lambda: relax(d), d)


@WORK.spelling("fields, the sum written twice, an if", family="in order")
def by_if_twice(inputs, n):
    d = field(inputs)

    @ti.kernel
    def relax():
        ti.loop_config(serialize=True)
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    if d[i, k] + d[k, j] < d[i, j]:
                        d[i, j] = d[i, k] + d[k, j]

    return made(relax, d)


@WORK.spelling("an ndarray, min", family="in order")
def by_min_of_array(inputs, n):
    d = ti.ndarray(ti.f32, shape=(n, n))
    d.from_numpy(np.ascontiguousarray(inputs["d"]))

    @ti.kernel
    def relax(d: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        ti.loop_config(serialize=True)
        for k in range(d.shape[0]):
            for i in range(d.shape[0]):
                for j in range(d.shape[0]):
                    d[i, j] = ti.min(d[i, j], d[i, k] + d[k, j])

    return made(lambda: relax(d), d)


@WORK.spelling("a launch for each middle", family="launches")
def by_launches(inputs, n):
    d = field(inputs)

    @ti.kernel
    def relax(k: ti.i32):
        for i, j in d:
            d[i, j] = ti.min(d[i, j], d[i, k] + d[k, j])

    def step():
        for k in range(n):
            relax(k)

    return made(step, d)


@WORK.spelling("a launch for each middle, an if", family="launches")
def by_launches_and_ifs(inputs, n):
    d = field(inputs)

    @ti.kernel
    def relax(k: ti.i32):
        for i, j in d:
            if d[i, k] + d[k, j] < d[i, j]:
                d[i, j] = d[i, k] + d[k, j]

    def step():
        for k in range(n):
            relax(k)

    return made(step, d)
