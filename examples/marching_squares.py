"""Marching squares: the line where a function is zero, cell by cell, from its values at its corners; here of drops that merge.

Which corners are inside chooses one of 16 cases, a case says which edges the line crosses, values say where; of the two cases
that can be read in two ways the value in the middle decides (after W. Lorensen and H. Cline, Marching Cubes, 1987).

python examples/marching_squares.py --size 64 --frames 100 --out drops.gif
"""

import math

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=64, frames=100, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
drops = 7
# Edges: 0 below, 1 right, 2 above, 3 left; corners in bits: 1 (0, 0), 2 (1, 0), 4 (1, 1), 8 (0, 1).
# Two segments at most, -1: none.
CASES = """
    -1 -1 -1 -1   3  0 -1 -1   0  1 -1 -1   3  1 -1 -1   1  2 -1 -1   3  0  1  2   0  2 -1 -1   3  2 -1 -1
     2  3 -1 -1   2  0 -1 -1   0  1  2  3   2  1 -1 -1   1  3 -1 -1   1  0 -1 -1   0  3 -1 -1  -1 -1 -1 -1
"""

cases = ti.field(ti.i32, shape=(16, 4))
cases.from_numpy(np.array(CASES.split(), np.int32).reshape(16, 4))
value = ti.field(ti.f32, shape=(n + 1, n + 1))
center = ti.Vector.field(3, ti.f32, shape=drops)  # place and radius
begin = ti.Vector.field(2, ti.f32, shape=2 * n * n)
end = ti.Vector.field(2, ti.f32, shape=2 * n * n)
segments = ti.field(ti.i32, shape=())


@ti.kernel
def sample():
    """What drops add up to; above 0 is inside."""
    for i, j in value:
        total = -1.0
        for k in range(drops):
            away = ti.Vector([i, j]) / n - center[k].xy
            total += center[k].z ** 2 / (away.norm_sqr() + 1e-6)
        value[i, j] = total


@ti.func
def crossing(i, j, di, dj):
    """Where the line crosses the edge from corner (i, j) to (i + di, j + dj): linear between its ends."""
    low, high = value[i, j], value[i + di, j + dj]
    return (ti.Vector([float(i), float(j)]) + low / (low - high) * ti.Vector([float(di), float(dj)])) / n


@ti.func
def on_edge(edge, i, j):
    p = crossing(i, j, 1, 0)
    if edge == 1:
        p = crossing(i + 1, j, 0, 1)
    elif edge == 2:
        p = crossing(i, j + 1, 1, 0)
    elif edge == 3:
        p = crossing(i, j, 0, 1)
    return p


@ti.kernel
def march():
    segments[None] = 0
    for i, j in ti.ndrange(n, n):
        a, b, c, d = value[i, j], value[i + 1, j], value[i + 1, j + 1], value[i, j + 1]
        case = (a > 0) + 2 * (b > 0) + 4 * (c > 0) + 8 * (d > 0)
        if (case == 5 or case == 10) and a + b + c + d > 0:
            case = 15 - case
        for k in range(2):
            if cases[case, 2 * k] >= 0:
                at = ti.atomic_add(segments[None], 1)
                begin[at] = on_edge(cases[case, 2 * k], i, j)
                end[at] = on_edge(cases[case, 2 * k + 1], i, j)


def move(time):
    angles = 2 * math.pi * np.arange(drops) / drops
    wander = 0.3 * np.stack([np.cos(angles + time), np.sin(1.7 * time + 2 * angles)], 1) + 0.5
    radii = 0.07 + 0.03 * np.sin(3 * angles + 0.8 * time)
    center.from_numpy(np.column_stack([wander, radii]).astype(np.float32))


def main():
    gui = Window("Marching squares", 512, chosen, background_color=0x0B132B)
    while gui.running:
        move(0.04 * gui.frame)
        sample()
        march()
        found = segments[None]
        gui.lines(begin.to_numpy()[:found], end.to_numpy()[:found], radius=2, color=0x6FFFE9)
        gui.circles(center.to_numpy()[:, :2], radius=4, color=0x5BC0BE)
        gui.show()


if __name__ == "__main__":
    main()
