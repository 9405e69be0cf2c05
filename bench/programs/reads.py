"""B9: reads of a sparse grid at random places, of 27 neighbours at a time, and along rays through a narrow band."""

import numpy as np
import ti

LEAF = 8


def grid(inputs, n, masked):
    """x, loaded with the cells of `inputs`."""
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ijk, n // LEAF)
    (block.bitmasked if masked else block.dense)(ti.ijk, LEAF).place(x)

    @ti.kernel
    def load(cells: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for c in range(values.shape[0]):
            x[cells[c, 0], cells[c, 1], cells[c, 2]] = values[c]

    load(np.ascontiguousarray(inputs["cells"]), np.ascontiguousarray(inputs["values"]))
    return x


def made(kernel, at, out):
    return {"step": lambda: kernel(at, out), "outputs": lambda: {"out": out}}


def single(inputs, n, share, count, masked, anywhere):
    x = grid(inputs, n, masked)

    @ti.kernel
    def read(at: ti.types.ndarray(dtype=ti.i32, ndim=2), out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for q in range(out.shape[0]):
            out[q] = x[at[q, 0], at[q, 1], at[q, 2]]

    return made(read, np.ascontiguousarray(inputs["at"]), np.zeros(count, np.float32))


def gather(inputs, n, share, count, masked, anywhere):
    x = grid(inputs, n, masked)

    @ti.kernel
    def read(at: ti.types.ndarray(dtype=ti.i32, ndim=2), out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for q in range(out.shape[0]):
            total = 0.0
            for a, b, c in ti.static(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                total += x[at[q, 0] + a, at[q, 1] + b, at[q, 2] + c]
            out[q] = total

    return made(read, np.ascontiguousarray(inputs["at"]), np.zeros(count, np.float32))


def march(inputs, n, band, image, masked):
    """Rays from the middle of one side; a cell holds its distance to the surface less `band`, 0 where that is greater.

    Places along a ray are counted in whole cells, so that every side goes through the same ones.
    """
    x = grid(inputs, n, masked)

    @ti.kernel
    def shoot(depth: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for u, v in ti.ndrange(image, image):
            found, k, go = -1, 0, 1
            while go == 1:
                i = n // 2 + ((2 * u - image + 1) * k) // (2 * image)
                j = n // 2 + ((2 * v - image + 1) * k) // (2 * image)
                distance = x[i, j, k] + band
                if distance < 0.5:
                    found, go = k, 0
                else:
                    k += ti.max(1, ti.cast(distance, ti.i32))
                    if k >= n:
                        go = 0
            depth[u, v] = found

    depth = np.zeros((image, image), np.int32)
    return {"step": lambda: shoot(depth), "outputs": lambda: {"depth": depth}}
