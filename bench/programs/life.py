"""B10: Conway's Game of Life, one generation."""

import numpy as np
import ti


def generation(cell, inputs, n):
    a, b = ti.field(cell, shape=(n, n)), ti.field(cell, shape=(n, n))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
            below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
            around = above + below + a[i, j - 1] + a[i, j + 1]
            alive = 0
            if around == 3 or (around == 2 and a[i, j] == 1):
                alive = 1
            b[i, j] = ti.cast(alive, cell)

    return {"step": step, "outputs": lambda: {"b": b.to_numpy()}}


def bytes_(inputs, n):
    return generation(ti.u8, inputs, n)


def words(inputs, n):
    return generation(ti.i32, inputs, n)
