"""Reads of a sparse grid at random places, which lie in memory in several ways."""

import numpy as np
import ti
from harness.workload import Workload

LEAF = 8


def inputs(rng, n, leaves, reads):
    """Values of whole leaves, one leaf after the other, and places in them."""
    m = n // LEAF
    corners = np.stack(np.unravel_index(rng.permutation(m**3)[:leaves], (m, m, m)), axis=1)
    inside = np.stack(np.unravel_index(np.arange(LEAF**3), (LEAF,) * 3), axis=1)
    cells = (corners[:, None] * LEAF + inside).reshape(-1, 3).astype(np.int32)
    values = rng.random(len(cells), np.float32)
    return {"cells": cells, "values": values, "at": cells[rng.integers(0, len(cells), reads)]}


def model(inputs, n, leaves, reads):
    grid = np.zeros((n, n, n), np.float32)
    grid[tuple(inputs["cells"].T)] = inputs["values"]
    return {"out": grid[tuple(inputs["at"].T)]}


WORK = Workload(
    title="random reads of a sparse grid",
    unit="read",
    parameters={"n": 256, "leaves": 1024, "reads": 1 << 20},
    device={"n": 512, "leaves": 16384, "reads": 1 << 23},
    smoke={"n": 32, "leaves": 20, "reads": 1000},
    items=lambda n, leaves, reads: reads,
    inputs=inputs,
    model=model,
    tolerance=(0.0, 0.0),
)


def grid(inputs, n, masked=False):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ijk, n // LEAF)
    (block.bitmasked if masked else block.dense)(ti.ijk, LEAF).place(x)

    @ti.kernel
    def load(cells: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for c in range(values.shape[0]):
            x[cells[c, 0], cells[c, 1], cells[c, 2]] = values[c]

    load(np.ascontiguousarray(inputs["cells"]), np.ascontiguousarray(inputs["values"]))
    return x


def made(step, out):
    return {"step": step, "outputs": lambda: {"out": out if isinstance(out, np.ndarray) else out.to_numpy()}}


def of_rows(x, inputs, reads):
    at, out = np.ascontiguousarray(inputs["at"]), np.zeros(reads, np.float32)

    @ti.kernel
    def read(at: ti.types.ndarray(dtype=ti.i32, ndim=2), out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for q in range(out.shape[0]):
            out[q] = x[at[q, 0], at[q, 1], at[q, 2]]

    return made(lambda: read(at, out), out)


@WORK.spelling("a NumPy array, x[at[q, 0], at[q, 1], at[q, 2]]")
def rows(inputs, n, leaves, reads):
    return of_rows(grid(inputs, n), inputs, reads)


@WORK.spelling("the same of bitmasked leaves")
def masked(inputs, n, leaves, reads):
    return of_rows(grid(inputs, n, masked=True), inputs, reads)


@WORK.spelling("three NumPy arrays")
def three(inputs, n, leaves, reads):
    x, line, out = grid(inputs, n), ti.types.ndarray(dtype=ti.i32, ndim=1), np.zeros(reads, np.float32)
    i, j, k = (np.ascontiguousarray(inputs["at"][:, axis]) for axis in range(3))

    @ti.kernel
    def read(i: line, j: line, k: line, out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for q in range(out.shape[0]):
            out[q] = x[i[q], j[q], k[q]]

    return made(lambda: read(i, j, k, out), out)


@WORK.spelling("a field of vectors, a func of an index vector")
def by_func(inputs, n, leaves, reads):
    x, at, out = grid(inputs, n), ti.Vector.field(3, ti.i32, shape=reads), ti.field(ti.f32, shape=reads)
    at.from_numpy(np.ascontiguousarray(inputs["at"]))

    @ti.func
    def value(place):
        return x[place]

    @ti.kernel
    def read():
        for q in at:
            out[q] = value(at[q])

    return made(read, out)


@WORK.spelling("a field of structs")
def structs(inputs, n, leaves, reads):
    x, out = grid(inputs, n), ti.field(ti.f32, shape=reads)
    at = ti.Struct.field({"i": ti.i32, "j": ti.i32, "k": ti.i32}, shape=reads)
    at.from_numpy({name: np.ascontiguousarray(inputs["at"][:, axis]) for axis, name in enumerate("ijk")})

    @ti.kernel
    def read():
        for q in at:
            out[q] = x[at[q].i, at[q].j, at[q].k]

    return made(read, out)


@WORK.spelling("a NumPy array, a static loop fills an index vector")
def filled(inputs, n, leaves, reads):
    x, at, out = grid(inputs, n), np.ascontiguousarray(inputs["at"]), np.zeros(reads, np.float32)

    @ti.kernel
    def read(at: ti.types.ndarray(dtype=ti.i32, ndim=2), out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for q in range(out.shape[0]):
            place = ti.Vector([0, 0, 0])
            for d in ti.static(range(3)):
                place[d] = at[q, d]
            out[q] = x[place]

    return made(lambda: read(at, out), out)
