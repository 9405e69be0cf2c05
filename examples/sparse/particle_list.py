"""Discs that pile up: each cell of a grid has the list of the discs in it, and a disc meets those of nine lists only.

Lists are emptied and filled in every step; a cell is as wide as a disc.

python examples/sparse/particle_list.py --size 2000 --frames 150 --out discs.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=1000, frames=150, size_help="number of discs, at least 20")
if chosen.size < 20:
    raise SystemExit(f"--size: expected at least 20, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=2)

n = chosen.size
radius = (0.3 / (3.1416 * n)) ** 0.5  # all discs cover 30 % of the box, whose sides are 1
n_grid = int(1 / (2 * radius))
dt = 4e-4
stiffness = 8e4  # force per overlap; a disc's mass is 1
damping = 40.0
gravity = 4.0

position = ti.Vector.field(2, ti.f32, shape=n)
velocity = ti.Vector.field(2, ti.f32, shape=n)
force = ti.Vector.field(2, ti.f32, shape=n)
disc = ti.field(ti.i32)
lists = ti.root.dense(ti.ij, n_grid).dynamic(ti.k, 64, chunk_size=8, name="lists")
lists.place(disc)


@ti.func
def cell_of(p):
    return ti.math.clamp(ti.cast(position[p] * n_grid, ti.i32), 0, n_grid - 1)


@ti.kernel
def init():
    """A block of discs in rows, at the left wall."""
    across = ti.i32(0.55 / (2.05 * radius))
    for p in position:
        position[p] = radius * (2.05 * ti.Vector([p % across, p // across]) + 1 + 0.02 * ti.Vector([ti.random(), ti.random()]))
        velocity[p] = [0, 0]


@ti.kernel
def sort():
    """Puts each disc in the list of its cell; of those in a list, the order is any."""
    for i, j in ti.ndrange(n_grid, n_grid):
        disc[i, j].deactivate()
    for p in position:
        cell = cell_of(p)
        disc[cell.x, cell.y].append(p)


@ti.func
def push(away, apart):
    """The force on a disc from what it touches: a spring and a damper.

    Args:
        away: from the other's middle to the disc's; they touch at a distance of 2 * radius.
        apart: the disc's velocity relative to the other's.
    """
    result = ti.Vector([0.0, 0.0])
    distance = away.norm()
    overlap = 2 * radius - distance
    if overlap > 0 and distance > 0:
        direction = away / distance
        result = (stiffness * overlap - damping * apart.dot(direction)) * direction
    return result


@ti.kernel
def collide():
    for p in position:
        cell, total = cell_of(p), ti.Vector([0.0, 0.0])
        for i in range(max(cell.x - 1, 0), min(cell.x + 2, n_grid)):
            for j in range(max(cell.y - 1, 0), min(cell.y + 2, n_grid)):
                for k in range(disc[i, j].length()):
                    q = disc[i, j, k]
                    if q != p:
                        total += push(position[p] - position[q], velocity[p] - velocity[q])
        force[p] = total


@ti.kernel
def move():
    for p in position:
        x, v = position[p], velocity[p]
        total = force[p] - ti.Vector([0.0, gravity])
        for a in ti.static(range(2)):  # a wall is a disc mirrored in it
            for side in ti.static((0, 1)):
                away = ti.Vector.zero(ti.f32, 2)
                away[a] = 2 * (x[a] - side)
                apart = ti.Vector.zero(ti.f32, 2)
                apart[a] = 2 * v[a]
                total += push(away, apart)
        velocity[p] = v + dt * total
        position[p] = x + dt * velocity[p]


@ti.kernel
def contacts() -> ti.i32:
    """How many pairs of discs touch, counted list by list."""
    total = 0
    for i, j, k in disc:
        p = disc[i, j, k]
        for a, b in ti.ndrange((max(i - 1, 0), min(i + 2, n_grid)), (max(j - 1, 0), min(j + 2, n_grid))):
            for l in range(disc[a, b].length()):
                q = disc[a, b, l]
                if q < p and (position[p] - position[q]).norm() < 2 * radius:
                    total += 1
    return total


def step():
    sort()
    collide()
    move()


def main():
    init()
    gui = Window("Particle list", 512, chosen, background_color=0x112F41)
    while gui.running:
        for _ in range(25):
            step()
        gui.circles(position.to_numpy(), radius=512 * radius, color=0xE8A33D)
        gui.text(f"{contacts()} contacts", (0.03, 0.97), font_size=18, color=0xFFFFFF)
        gui.show()


if __name__ == "__main__":
    main()
