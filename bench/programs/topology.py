"""B8: changing which leaves of a sparse grid are active; its leaves are 8 x 8 x 8 cells."""

import numpy as np
import ti

LEAF = 8


def grid(n):
    """(the level whose cells are leaves, a field in them)."""
    field = ti.field(ti.f32)
    block = ti.root.pointer(ti.ijk, n // LEAF)
    block.dense(ti.ijk, LEAF).place(field)
    return block, field


def writing(x):
    @ti.kernel
    def write(leaves: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for l, c in ti.ndrange(leaves.shape[0], LEAF * LEAF * LEAF):
            i, j, k = c // 64, c // 8 % 8, c % 8
            x[leaves[l, 0] * LEAF + i, leaves[l, 1] * LEAF + j, leaves[l, 2] * LEAF + k] = 1.0

    return write


def map_of(block, n):
    """A function that returns u8[n, n, n] of leaves: 1 where one is active."""

    @ti.kernel
    def fill(out: ti.types.ndarray(dtype=ti.u8, ndim=3)):
        for i, j, k in ti.ndrange(n // LEAF, n // LEAF, n // LEAF):
            if ti.is_active(block, [i, j, k]):
                out[i, j, k] = ti.cast(1, ti.u8)

    def outputs():
        out = np.zeros((n // LEAF,) * 3, np.uint8)
        fill(out)
        return {"active": out}

    return outputs


def refill(inputs, n, share):
    block, x = grid(n)
    write, leaves = writing(x), np.ascontiguousarray(inputs["leaves"])

    def step():
        block.deactivate_all()
        write(leaves)

    return {"step": step, "outputs": map_of(block, n)}


def unchanged(inputs, n, share):
    block, x = grid(n)
    write, leaves = writing(x), np.ascontiguousarray(inputs["leaves"])
    write(leaves)
    return {"step": lambda: write(leaves), "outputs": map_of(block, n)}


def dilation(inputs, n):
    """(the level that grows, a kernel that activates it around each leaf of another)."""
    block, x = grid(n)
    wider, _ = grid(n)
    writing(x)(np.ascontiguousarray(inputs["leaves"]))

    @ti.kernel
    def grow():
        for i, j, k in block:
            for a, b, c in ti.static(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                ti.activate(wider, [i + a, j + b, k + c])

    return wider, grow


def dilate(inputs, n, share):
    wider, grow = dilation(inputs, n)

    def step():
        wider.deactivate_all()
        grow()

    return {"step": step, "outputs": map_of(wider, n)}


def dilate_unchanged(inputs, n, share):
    wider, grow = dilation(inputs, n)
    grow()
    return {"step": grow, "outputs": map_of(wider, n)}
