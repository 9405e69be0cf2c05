"""B7: a 7-point stencil over the active cells of a sparse grid; its leaves are 8 x 8 x 8 cells, dense or with a mask."""

import numpy as np
import ti

LEAF = 8


def stencil(inputs, n, masked):
    block = ti.root.pointer(ti.ijk, n // LEAF)
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    for field in (x, y):
        (block.bitmasked if masked else block.dense)(ti.ijk, LEAF).place(field)

    @ti.kernel
    def load(cells: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for c in range(values.shape[0]):
            x[cells[c, 0], cells[c, 1], cells[c, 2]] = values[c]

    @ti.kernel
    def store(cells: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for c in range(values.shape[0]):
            values[c] = y[cells[c, 0], cells[c, 1], cells[c, 2]]

    @ti.kernel
    def apply():
        for i, j, k in x:
            around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
            y[i, j, k] = 0.4 * x[i, j, k] + 0.1 * around

    cells, values = np.ascontiguousarray(inputs["cells"]), np.ascontiguousarray(inputs["values"])
    load(cells, values)

    def outputs():
        out = np.zeros(len(values), np.float32)
        store(cells, out)
        return {"out": out}

    return {"step": apply, "outputs": outputs}


def stencil_dense(inputs, n, share, fill):
    return stencil(inputs, n, False)


def stencil_masked(inputs, n, share, fill):
    return stencil(inputs, n, True)
