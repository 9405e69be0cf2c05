"""Conway's Game of Life on a torus; in a window, the mouse draws living cells.

python examples/game_of_life.py --frames 200 --out life.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=128, frames=150, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=7)

n = chosen.size
cell_size = max(512 // n, 1)
alive = ti.field(ti.u8, shape=(n, n))
neighbors = ti.field(ti.u8, shape=(n, n))


@ti.func
def count_around(i, j):
    total = 0
    for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
        if ti.static(di != 0 or dj != 0):
            total += alive[(i + di) % n, (j + dj) % n]
    return total


@ti.kernel
def init(density: ti.f32):
    for i, j in alive:
        alive[i, j] = ti.random() < density


@ti.kernel
def step():
    for i, j in alive:
        neighbors[i, j] = count_around(i, j)
    for i, j in alive:  # runs after the loop above
        stays = alive[i, j] == 1 and neighbors[i, j] == 2
        alive[i, j] = neighbors[i, j] == 3 or stays


def main():
    init(0.25)
    gui = Window("Game of Life", n * cell_size, chosen)
    while gui.running:
        if gui.is_pressed(ti.GUI.LMB):
            x, y = gui.get_cursor_pos()
            alive[min(int(x * n), n - 1), min(int(y * n), n - 1)] = 1
        step()
        gui.set_image(ti.tools.imresize(alive, gui.res[0]) * 255)
        gui.show()


if __name__ == "__main__":
    main()
