"""Walkers that leave trails: a cell that is stepped on becomes active, fades, and is given up when it is dark.

The cells are bitmasked within blocks that have memory only where somebody is about (the lighter squares).

python examples/sparse/bitmasked.py --size 256 --frames 150 --out trails.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=128, frames=150, size_help="cells along each side, a multiple of 16")
if chosen.size % 16:
    raise SystemExit(f"--size: expected a multiple of 16, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=11)

n = chosen.size
walkers = 24
fading = 0.97
darkest = 0.1

light = ti.field(ti.f32)
blocks = ti.root.pointer(ti.ij, n // 16, name="blocks")
cells = blocks.bitmasked(ti.ij, 16, name="cells")
cells.place(light)
place = ti.Vector.field(2, ti.i32, shape=walkers)
heading = ti.field(ti.i32, shape=walkers)  # 0 to 3: right, up, left, down
picture = ti.field(ti.f32, shape=(n, n))


@ti.kernel
def init():
    for w in place:
        place[w] = [ti.i32(ti.random() * n), ti.i32(ti.random() * n)]
        heading[w] = ti.random(ti.i32) & 3


@ti.kernel
def walk():
    for w in place:
        if ti.random() < 0.1:
            heading[w] = (heading[w] + (1 if ti.random() < 0.5 else 3)) % 4
        along = ti.Vector([(1 - heading[w]) * (heading[w] % 2 == 0), (2 - heading[w]) * (heading[w] % 2)])
        place[w] = (place[w] + along + n) % n


@ti.kernel
def leave_light():
    for w in place:
        ti.atomic_max(light[place[w]], 1.0)  # several walkers may stand in one cell


@ti.kernel
def fade():
    for i, j in light:  # the active cells only
        light[i, j] *= fading
        if light[i, j] < darkest:
            ti.deactivate(cells, [i, j])


@ti.kernel
def give_up_blocks():
    for i, j in blocks:
        used = 0
        for k, l in ti.ndrange(16, 16):
            used += ti.is_active(cells, [16 * i + k, 16 * j + l])
        if used == 0:
            ti.deactivate(blocks, [i, j])


@ti.kernel
def shade():
    for I in ti.grouped(picture):
        picture[I] = 0.1 * ti.is_active(blocks, ti.rescale_index(light, blocks, I)) + 0.9 * light[I]


def step():
    walk()
    leave_light()
    fade()
    give_up_blocks()


def main():
    init()
    gui = Window("Bitmasked", n * max(512 // n, 1), chosen)
    while gui.running:
        step()
        shade()
        gui.set_image(ti.tools.imresize(picture, gui.res[0]))
        gui.show()


if __name__ == "__main__":
    main()
