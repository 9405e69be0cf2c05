"""B4: gravity of every body on every other."""

import numpy as np
import ti

SOFTENING = 1e-4


def accelerations(inputs, n):
    pos, acc = ti.Vector.field(3, ti.f32, shape=n), ti.Vector.field(3, ti.f32, shape=n)
    pos.from_numpy(np.ascontiguousarray(inputs["pos"]))

    @ti.kernel
    def attract():
        for i in pos:
            p = pos[i]
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = pos[j] - p
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * (s * s * s)
            acc[i] = a

    return {"step": attract, "outputs": lambda: {"acc": acc.to_numpy()}}
