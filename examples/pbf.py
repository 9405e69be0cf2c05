"""Position based fluids: a pool that a moving wall stirs. Places are corrected until density is right.

A few rounds of Jacobi on the constraint density = rest density, for each particle and its neighbours (M. Macklin, M. Mueller,
Position Based Fluids, 2013).

python examples/pbf.py --size 1500 --frames 120 --out pool.gif
"""

import math

from example import Window, options

import metate as ti

chosen = options(__doc__, size=1500, frames=120, size_help="particles")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
vec2 = ti.math.vec2
spacing = 0.6 / n**0.5  # of particles at rest; the box is 1 by 1
support = 2.5 * spacing
reach = 1.1 * support  # of neighbours: they move before they are looked for again
dt = 1 / 120
rounds = 8
gravity = vec2(0, -9.8)
relaxation = 0.2 / spacing**2  # softens the constraint, of a gradient's size
viscosity = 0.02
cells = int(1 / reach) + 1
room, most = 36, 48  # particles that a cell may hold; neighbours of one

x = ti.Vector.field(2, ti.f32, shape=n)
old = ti.Vector.field(2, ti.f32, shape=n)
v = ti.Vector.field(2, ti.f32, shape=n)
shift = ti.Vector.field(2, ti.f32, shape=n)
factor = ti.field(ti.f32, shape=n)  # lambda of the paper
density = ti.field(ti.f32, shape=n)  # rest density: 1
held = ti.field(ti.i32, shape=(cells, cells))
members = ti.field(ti.i32, shape=(cells, cells, room))
neighbours = ti.field(ti.i32, shape=n)
neighbour = ti.field(ti.i32, shape=(n, most))


@ti.func
def weight(r2):
    """poly6 in two dimensions, times a particle's area."""
    left = ti.max(support**2 - r2, 0.0)
    return 4 / (ti.math.pi * support**8) * left**3 * spacing**2


@ti.func
def weight_gradient(away):
    """Of the spiky kernel, which does not vanish where particles meet."""
    r = away.norm() + 1e-9
    left = ti.max(support - r, 0.0)
    return -30 / (ti.math.pi * support**5) * left**2 * spacing**2 * away / r


@ti.kernel
def start():
    columns = int(0.6 / spacing)
    for k in x:
        x[k] = vec2(k % columns + 1.0, k // columns + 1.0) * spacing + 0.01 * spacing * vec2(ti.random(), ti.random())
        v[k] = vec2(0, 0)


@ti.func
def inside(p, wall):
    edge = 0.5 * spacing
    return vec2(ti.math.clamp(p.x, edge, wall - edge), ti.math.clamp(p.y, edge, 1 - edge))


@ti.kernel
def predict(wall: ti.f32):
    for k in x:
        old[k] = x[k]
        v[k] += dt * gravity
        x[k] = inside(x[k] + dt * v[k], wall)


@ti.kernel
def find():
    for i, j in held:
        held[i, j] = 0
    for k in x:
        at = int(x[k] / reach)
        slot = ti.atomic_add(held[at], 1)
        if slot < room:
            members[at[0], at[1], slot] = k
    for k in x:
        found, at = 0, int(x[k] / reach)
        for i in range(ti.max(at[0] - 1, 0), ti.min(at[0] + 2, cells)):
            for j in range(ti.max(at[1] - 1, 0), ti.min(at[1] + 2, cells)):
                for slot in range(ti.min(held[i, j], room)):
                    other = members[i, j, slot]
                    if other != k and found < most and (x[k] - x[other]).norm() < reach:
                        neighbour[k, found] = other
                        found += 1
        neighbours[k] = found


@ti.kernel
def weigh():
    """Densities, and how far each particle is to push its neighbours."""
    for k in x:
        total, own, squares = weight(0.0), vec2(0, 0), 0.0
        for slot in range(neighbours[k]):
            away = x[k] - x[neighbour[k, slot]]
            gradient = weight_gradient(away)
            total += weight(away.norm_sqr())
            own += gradient
            squares += gradient.norm_sqr()
        density[k] = total
        factor[k] = -ti.max(total - 1, 0.0) / (squares + own.norm_sqr() + relaxation)


@ti.kernel
def correct(wall: ti.f32):
    for k in x:
        total = vec2(0, 0)
        for slot in range(neighbours[k]):
            other = neighbour[k, slot]
            total += (factor[k] + factor[other]) * weight_gradient(x[k] - x[other])
        shift[k] = total
    for k in x:
        x[k] = inside(x[k] + shift[k], wall)


@ti.kernel
def finish():
    """Velocities from places; neighbours slow each other (XSPH)."""
    for k in x:
        v[k] = (x[k] - old[k]) / dt
    for k in x:
        drag = vec2(0, 0)
        for slot in range(neighbours[k]):
            other = neighbour[k, slot]
            drag += (v[other] - v[k]) * weight((x[k] - x[other]).norm_sqr())
        shift[k] = viscosity * drag
    for k in x:
        v[k] += shift[k]


def step(wall):
    predict(wall)
    find()
    for _ in range(rounds):
        weigh()
        correct(wall)
    finish()


def main():
    start()
    gui = Window("Position based fluid", 512, chosen, background_color=0xF1FAEE)
    time = 0.0
    while gui.running:
        for _ in range(2):
            time += dt
            wall = 0.85 + 0.15 * math.cos(2.5 * time)
            step(wall)
        gui.circles(x.to_numpy(), radius=512 * spacing / 2, color=0x1D6FA5)
        gui.line((wall, 0), (wall, 1), radius=2, color=0xE63946)
        gui.show()


if __name__ == "__main__":
    main()
