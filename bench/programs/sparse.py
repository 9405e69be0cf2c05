"""B7: a 7-point stencil, and a copy, over the active cells of a sparse grid of leaves of 8 x 8 x 8, dense or with a mask."""

import numpy as np
import ti

LEAF = 8


def grids(inputs, n, masked, trees=1):
    """(x, loaded with the cells of `inputs`, y of its shape, a function that reads y there); under one pointer level, or two."""
    blocks = [ti.root.pointer(ti.ijk, n // LEAF) for _ in range(trees)]
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    for field, block in ((x, blocks[0]), (y, blocks[-1])):
        (block.bitmasked if masked else block.dense)(ti.ijk, LEAF).place(field)

    @ti.kernel
    def load(cells: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for c in range(values.shape[0]):
            x[cells[c, 0], cells[c, 1], cells[c, 2]] = values[c]

    @ti.kernel
    def store(cells: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for c in range(values.shape[0]):
            values[c] = y[cells[c, 0], cells[c, 1], cells[c, 2]]

    cells, values = np.ascontiguousarray(inputs["cells"]), np.ascontiguousarray(inputs["values"])
    load(cells, values)

    def outputs():
        out = np.zeros(len(values), np.float32)
        store(cells, out)
        return {"out": out}

    return x, y, outputs


def stencil(inputs, n, masked):
    x, y, outputs = grids(inputs, n, masked)

    @ti.kernel
    def apply():
        for i, j, k in x:
            around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
            y[i, j, k] = 0.4 * x[i, j, k] + 0.1 * around

    return {"step": apply, "outputs": outputs}


def copy(inputs, n, trees):
    x, y, outputs = grids(inputs, n, True, trees)

    @ti.kernel
    def apply():
        for I in ti.grouped(x):
            y[I] = x[I]

    return {"step": apply, "outputs": outputs}


def stencil_dense(inputs, n, share, fill):
    return stencil(inputs, n, False)


def stencil_masked(inputs, n, share, fill):
    return stencil(inputs, n, True)


def copy_beside(inputs, n, share, fill):
    return copy(inputs, n, 1)


def copy_across(inputs, n, share, fill):
    return copy(inputs, n, 2)
