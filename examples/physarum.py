"""Slime mould: agents that follow the trail they leave, which spreads and fades. Networks come from it.

Each agent smells the trail ahead, to its left and to its right, turns to where there is most, steps and drops some more (J.
Jones, Characteristics of Pattern Formation and Evolution in Approximations of Physarum Transport Networks, 2010).

python examples/physarum.py --size 256 --frames 120 --out physarum.gif
"""

import math

from example import Window, options

import metate as ti

chosen = options(__doc__, size=256, frames=120, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
agents = n * n // 8
look, turn = math.radians(22.5), math.radians(45)  # where it smells; how far it turns
reach, stride = 9.0, 1.0  # how far ahead; how far a step: in cells
drop, keep = 1.0, 0.9
steps = 3

place = ti.Vector.field(2, ti.f32, shape=agents)
heading = ti.field(ti.f32, shape=agents)
trail = ti.field(ti.f32, shape=(n, n))
scratch = ti.field(ti.f32, shape=(n, n))
picture = ti.Vector.field(3, ti.f32, shape=(n, n))


@ti.func
def cell(p):
    """The cell of a place; the plane has no edges."""
    return int(ti.floor(p)) % n


@ti.func
def smell(p, angle):
    return trail[cell(p + reach * ti.math.vdir(angle))]


@ti.kernel
def scatter():
    """Agents anywhere, heading anywhere."""
    for k in place:
        place[k] = n * ti.Vector([ti.random(), ti.random()])
        heading[k] = 2 * ti.math.pi * ti.random()


@ti.kernel
def move():
    for k in place:
        angle = heading[k]
        ahead, left, right = smell(place[k], angle), smell(place[k], angle + look), smell(place[k], angle - look)
        if ahead < left and ahead < right:
            angle += turn if ti.random() < 0.5 else -turn
        elif left > ahead and left > right:
            angle += turn
        elif right > ahead and right > left:
            angle -= turn
        heading[k] = angle
        place[k] = ti.math.mod(place[k] + stride * ti.math.vdir(angle), float(n))
    for k in place:
        trail[cell(place[k])] += drop


@ti.kernel
def spread():
    """The mean of nine cells, less what fades."""
    for i, j in trail:
        total = 0.0
        for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            total += trail[(i + di + n) % n, (j + dj + n) % n]
        scratch[i, j] = keep * total / 9
    for i, j in trail:
        trail[i, j] = scratch[i, j]


@ti.kernel
def color():
    for i, j in picture:
        light = 1 - ti.exp(-0.25 * trail[i, j])
        picture[i, j] = ti.Vector([light**1.6, light, 0.25 * light + 0.6 * light**4]) + 0.04


def main():
    scatter()
    gui = Window("Physarum", n, chosen)
    while gui.running:
        for _ in range(steps):
            move()
            spread()
        color()
        gui.set_image(picture)
        gui.show()


if __name__ == "__main__":
    main()
