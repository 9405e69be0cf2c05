"""B2: Jacobi sweeps over dense fields."""

import numpy as np
import ti


def sweep2(inputs, n):
    a, b = ti.field(ti.f32, shape=(n, n)), ti.field(ti.f32, shape=(n, n))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return {"step": sweep, "outputs": lambda: {"b": b.to_numpy()}}


def sweep3(inputs, n):
    a, b = ti.field(ti.f32, shape=(n, n, n)), ti.field(ti.f32, shape=(n, n, n))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def sweep():
        for i, j, k in ti.ndrange((1, n - 1), (1, n - 1), (1, n - 1)):
            around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
            b[i, j, k] = 0.4 * a[i, j, k] + 0.1 * around

    return {"step": sweep, "outputs": lambda: {"b": b.to_numpy()}}
