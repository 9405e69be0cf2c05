"""Every cell of a block of sparse leaves is rewritten; loops name leaves and their cells in several ways."""

import numpy as np
import ti
from harness.workload import Workload

LEAF = 8
CELLS = LEAF**3


def inputs(rng, n):
    order = rng.permutation(n**3).astype(np.int32)
    blocks = np.stack([order // n**2, order // n % n, order % n], axis=1).astype(np.int32)
    return {"x": rng.random((n * LEAF,) * 3, np.float32), "blocks": blocks}


def model(inputs, n):
    return {"x": 0.5 * inputs["x"].astype(np.float64) + 1}


WORK = Workload(
    title="rewriting all cells of sparse leaves of 8 x 8 x 8",
    unit="cell",
    parameters={"n": 6},
    device={"n": 20},
    smoke={"n": 2},
    items=lambda n: n**3 * CELLS,
    inputs=inputs,
    model=model,
)


def made(inputs, n, make):
    """The program whose step is the kernel that `make` gives for the sparse field."""
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ijk, n + 2).dense(ti.ijk, LEAF).place(x)
    start, out = np.ascontiguousarray(inputs["x"]), np.zeros((n * LEAF,) * 3, np.float32)

    @ti.kernel
    def load(values: ti.types.ndarray(dtype=ti.f32, ndim=3)):
        for i, j, k in ti.ndrange(n * LEAF, n * LEAF, n * LEAF):
            x[i, j, k] = values[i, j, k]

    @ti.kernel
    def store(values: ti.types.ndarray(dtype=ti.f32, ndim=3)):
        for i, j, k in ti.ndrange(n * LEAF, n * LEAF, n * LEAF):
            values[i, j, k] = x[i, j, k]

    def outputs():
        store(out)
        return {"x": out}

    return {"step": make(x), "reset": lambda: load(start), "outputs": outputs}


@WORK.spelling("for i, j, k in x")
def struct_for(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for i, j, k in x:
                x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("grouped")
def grouped(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for I in ti.grouped(x):
                x[I] = 0.5 * x[I] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("ndrange over all cells")
def all_cells(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for i, j, k in ti.ndrange(n * LEAF, n * LEAF, n * LEAF):
                x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("ndrange(blocks, 512), // and %")
def pairs(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for b, q in ti.ndrange(n**3, CELLS):
                i = b // (n * n) * LEAF + q // 64
                j = b // n % n * LEAF + q // 8 % 8
                k = b % n * LEAF + q % 8
                x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("for b: for q in range(512), // and %")
def nested(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for b in range(n**3):
                for q in range(CELLS):
                    i = b // (n * n) * LEAF + q // 64
                    j = b // n % n * LEAF + q // 8 % 8
                    k = b % n * LEAF + q % 8
                    x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("for b: for q in range(512), shifts and masks")
def shifts(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for b in range(n**3):
                bi, bj, bk = b // (n * n), b // n % n, b % n
                for q in range(CELLS):
                    i, j, k = (bi << 3) + (q >> 6), (bj << 3) + ((q >> 3) & 7), (bk << 3) | (q & 7)
                    x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("for b: a serial ndrange(8, 8, 8)")
def box(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for bi, bj, bk in ti.ndrange(n, n, n):
                for i, j, k in ti.ndrange(LEAF, LEAF, LEAF):
                    x[bi * LEAF + i, bj * LEAF + j, bk * LEAF + k] = 0.5 * x[bi * LEAF + i, bj * LEAF + j, bk * LEAF + k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("for b: three serial loops range(begin, end)")
def three(inputs, n):
    def make(x):
        @ti.kernel
        def rewrite():
            for b in range(n**3):
                bi, bj, bk = b // (n * n), b // n % n, b % n
                for i in range(bi * LEAF, bi * LEAF + LEAF):
                    for j in range(bj * LEAF, bj * LEAF + LEAF):
                        for k in range(bk * LEAF, bk * LEAF + LEAF):
                            x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


def listed(inputs):
    """A field of blocks' coordinates, in random order."""
    blocks = ti.Vector.field(3, ti.i32, shape=len(inputs["blocks"]))
    blocks.from_numpy(np.ascontiguousarray(inputs["blocks"]))
    return blocks


@WORK.spelling("a list of blocks, a serial ndrange(8, 8, 8)")
def list_box(inputs, n):
    def make(x):
        blocks = listed(inputs)

        @ti.kernel
        def rewrite():
            for b in blocks:
                corner = blocks[b] * LEAF
                for i, j, k in ti.ndrange(LEAF, LEAF, LEAF):
                    cell = corner + ti.Vector([i, j, k])
                    x[cell] = 0.5 * x[cell] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("a list of blocks, range(512), shifts and masks")
def list_shifts(inputs, n):
    def make(x):
        blocks = listed(inputs)

        @ti.kernel
        def rewrite():
            for b in range(n**3):
                block = blocks[b]
                for q in range(CELLS):
                    i, j, k = block[0] * 8 + (q >> 6), block[1] * 8 + ((q >> 3) & 7), block[2] * 8 + (q & 7)
                    x[i, j, k] = 0.5 * x[i, j, k] + 1.0

        return rewrite

    return made(inputs, n, make)


@WORK.spelling("ndrange(list of blocks, 512)")
def list_pairs(inputs, n):
    def make(x):
        blocks = listed(inputs)

        @ti.kernel
        def rewrite():
            for b, q in ti.ndrange(n**3, CELLS):
                cell = blocks[b] * LEAF + ti.Vector([q // 64, q // 8 % 8, q % 8])
                x[cell] = 0.5 * x[cell] + 1.0

        return rewrite

    return made(inputs, n, make)
