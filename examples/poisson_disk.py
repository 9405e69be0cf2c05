"""Poisson-disk sampling: points at random, none nearer to another than r, until no more fit.

Cells of side r / sqrt(2) hold one point at most. Cells that are three apart cannot disturb each other, so a ninth of all cells
draws at once, and who fits stays (L.-Y. Wei, Parallel Poisson Disk Sampling, 2008).

python examples/poisson_disk.py --size 60 --frames 40 --out points.gif
"""

import math
import random

from example import Window, options

import metate as ti

chosen = options(__doc__, size=60, frames=40, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
radius = math.sqrt(2) / n  # of the unit square

point = ti.Vector.field(2, ti.f32, shape=(n, n))
since = ti.field(ti.i32, shape=(n, n))  # in which turn the cell got its point; 0: it has none


@ti.func
def fits(p, i, j):
    """Whether no point of the cells around is nearer than the radius."""
    free = True
    for di, dj in ti.static(ti.ndrange((-2, 3), (-2, 3))):
        k, l = i + di, j + dj
        if 0 <= k < n and 0 <= l < n:
            if since[k, l] > 0 and (point[k, l] - p).norm() < radius:
                free = False
    return free


@ti.kernel
def draw(first_i: ti.i32, first_j: ti.i32, turn: ti.i32):
    for a, b in ti.ndrange((n + 2) // 3, (n + 2) // 3):
        i, j = 3 * a + first_i, 3 * b + first_j
        if i < n and j < n:
            if since[i, j] == 0:
                p = (ti.Vector([i, j]) + ti.Vector([ti.random(), ti.random()])) / n
                if fits(p, i, j):
                    point[i, j] = p
                    since[i, j] = turn


def one_turn(turn):
    """The empty cells of a ninth draw once; `turn` is 1, 2, ...: nine turns have them all, in an order of their own."""
    ninths = [(i, j) for i in range(3) for j in range(3)]
    random.Random((turn - 1) // 9).shuffle(ninths)
    draw(*ninths[(turn - 1) % 9], turn)


def main():
    gui = Window("Poisson-disk sampling", 512, chosen, background_color=0x14213D)
    turn = 0
    while gui.running:
        turn += 1
        one_turn(turn)
        age = turn - since.to_numpy().reshape(-1)
        there = since.to_numpy().reshape(-1) > 0
        places = point.to_numpy().reshape(-1, 2)
        gui.circles(places[there & (age > 0)], radius=512 * radius / 2.2, color=0xE5E5E5)
        gui.circles(places[there & (age == 0)], radius=512 * radius / 2.2, color=0xFCA311)
        gui.show()


if __name__ == "__main__":
    main()
