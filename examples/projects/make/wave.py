"""A string that is fixed at its ends: one step of the wave equation."""

import metate as ti

string = ti.types.ndarray(dtype=ti.f64, ndim=1)


@ti.kernel
def step(before: string, now: string, after: string, courant: ti.f64):
    for i in now:
        if 0 < i < now.shape[0] - 1:
            after[i] = 2.0 * now[i] - before[i] + courant * courant * (now[i - 1] - 2.0 * now[i] + now[i + 1])
