"""Seven points over the active cells of a sparse grid, in several trees and spellings.

The outermost blocks stay empty: what Taichi reads outside a tree's bounds is undefined.
"""

import numpy as np
import ti
from harness.workload import Workload

LEAF = 8


def inputs(rng, n, share):
    chosen = rng.permutation(n**3)[: int(share * n**3)].astype(np.int32)
    blocks = 1 + np.stack([chosen // n**2, chosen // n % n, chosen % n], axis=1).astype(np.int32)
    return {"blocks": blocks, "values": rng.random((len(chosen), LEAF, LEAF, LEAF), np.float32)}


def model(inputs, n, share):
    a = np.zeros(((n + 2) * LEAF,) * 3)
    for (i, j, k), values in zip(inputs["blocks"] * LEAF, inputs["values"]):
        a[i : i + LEAF, j : j + LEAF, k : k + LEAF] = values
    middle = slice(1, -1)
    around = a[:-2, middle, middle] + a[2:, middle, middle] + a[middle, :-2, middle] + a[middle, 2:, middle]
    around += a[middle, middle, :-2] + a[middle, middle, 2:]
    b = np.zeros_like(a)
    b[middle, middle, middle] = 0.4 * a[middle, middle, middle] + 0.1 * around
    return {"b": np.stack([b[i : i + LEAF, j : j + LEAF, k : k + LEAF] for i, j, k in inputs["blocks"] * LEAF])}


WORK = Workload(
    title="7 points over sparse leaves of 8 x 8 x 8",
    unit="cell",
    parameters={"n": 14, "share": 0.15},
    device={"n": 36, "share": 0.15},
    smoke={"n": 3, "share": 0.4},
    items=lambda n, share: int(share * n**3) * LEAF**3,
    inputs=inputs,
    model=model,
)


def branches(inputs, n, level="dense"):
    """(a, b) with a tree each."""
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    for field in (a, b):
        getattr(ti.root.pointer(ti.ijk, n + 2), level)(ti.ijk, LEAF).place(field)
    return a, b


def side_by_side(inputs, n, level="dense"):
    """(a, b) in the same cells of the same leaves."""
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    getattr(ti.root.pointer(ti.ijk, n + 2), level)(ti.ijk, LEAF).place(a, b)
    return a, b


def made(inputs, n, a, b, step):
    blocks, values = np.ascontiguousarray(inputs["blocks"]), np.ascontiguousarray(inputs["values"])
    out = np.zeros_like(values)
    blocks_type, values_type = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.f32, ndim=4)

    @ti.kernel
    def load(blocks: blocks_type, values: values_type):
        for q, i, j, k in ti.ndrange(blocks.shape[0], LEAF, LEAF, LEAF):
            a[blocks[q, 0] * LEAF + i, blocks[q, 1] * LEAF + j, blocks[q, 2] * LEAF + k] = values[q, i, j, k]

    @ti.kernel
    def store(blocks: blocks_type, values: values_type):
        for q, i, j, k in ti.ndrange(blocks.shape[0], LEAF, LEAF, LEAF):
            values[q, i, j, k] = b[blocks[q, 0] * LEAF + i, blocks[q, 1] * LEAF + j, blocks[q, 2] * LEAF + k]

    load(blocks, values)

    def outputs():
        store(blocks, out)
        return {"b": out}

    return {"step": step, "outputs": outputs}


def written_out(a, b):
    @ti.kernel
    def sweep():
        for i, j, k in a:
            around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
            b[i, j, k] = 0.4 * a[i, j, k] + 0.1 * around

    return sweep


@WORK.spelling("separate branches, written out")
def separate(inputs, n, share):
    a, b = branches(inputs, n)
    return made(inputs, n, a, b, written_out(a, b))


@WORK.spelling("place(a, b), written out")
def together(inputs, n, share):
    a, b = side_by_side(inputs, n)
    return made(inputs, n, a, b, written_out(a, b))


@WORK.spelling("place(a, b), bitmasked leaves, written out")
def masked(inputs, n, share):
    a, b = side_by_side(inputs, n, "bitmasked")
    return made(inputs, n, a, b, written_out(a, b))


@WORK.spelling("two places in one leaf: members after each other")
def after_each_other(inputs, n, share):
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    block = ti.root.pointer(ti.ijk, n + 2)
    block.dense(ti.ijk, LEAF).place(a)
    block.dense(ti.ijk, LEAF).place(b)
    return made(inputs, n, a, b, written_out(a, b))


@WORK.spelling("separate branches, grouped, static offsets")
def offsets(inputs, n, share):
    a, b = branches(inputs, n)

    @ti.kernel
    def sweep():
        for I in ti.grouped(a):
            s = 0.0
            for offset in ti.static(((-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1))):
                s += a[I + ti.Vector(offset)]
            b[I] = 0.4 * a[I] + 0.1 * s

    return made(inputs, n, a, b, sweep)


@WORK.spelling("place(a, b), grouped, ti.Vector.unit")
def unit(inputs, n, share):
    a, b = side_by_side(inputs, n)

    @ti.kernel
    def sweep():
        for I in ti.grouped(a):
            s = 0.0
            for d in ti.static(range(3)):
                s += a[I + ti.Vector.unit(3, d)] + a[I - ti.Vector.unit(3, d)]
            b[I] = 0.4 * a[I] + 0.1 * s

    return made(inputs, n, a, b, sweep)


@WORK.spelling("separate branches, offsets by run-time loops")
def run_time(inputs, n, share):
    a, b = branches(inputs, n)

    @ti.kernel
    def sweep():
        for i, j, k in a:
            s = 0.0
            for di, dj, dk in ti.ndrange((-1, 2), (-1, 2), (-1, 2)):
                if di * di + dj * dj + dk * dk == 1:
                    s += a[i + di, j + dj, k + dk]
            b[i, j, k] = 0.4 * a[i, j, k] + 0.1 * s

    return made(inputs, n, a, b, sweep)


@WORK.spelling("separate branches, a func of the cell")
def by_func(inputs, n, share):
    a, b = branches(inputs, n)

    @ti.func
    def around(I):
        s = 0.0
        for d in ti.static(range(3)):
            e = ti.Vector.unit(3, d)
            s += a[I + e] + a[I - e]
        return s

    @ti.kernel
    def sweep():
        for I in ti.grouped(a):
            b[I] = 0.4 * a[I] + 0.1 * around(I)

    return made(inputs, n, a, b, sweep)
