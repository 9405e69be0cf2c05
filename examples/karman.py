"""A Karman vortex street: a flow around a cylinder sheds vortices, to the left and right in turn.

Lattice Boltzmann, nine velocities, one rate of relaxation; flow comes in at the left, leaves at the right, and slides along
the other two sides (Y. Qian, D. d'Humieres, P. Lallemand, 1992; bounce back at the cylinder). How often is told by Strouhal's
number, f D / U.

python examples/karman.py --size 384 --frames 120 --out street.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=384, frames=120, size_help="cells along the flow, a third of them across")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

nx, ny = max(chosen.size, 24), max(chosen.size // 3, 8)
diameter = ny / 8
inflow = 0.1  # cells a step
reynolds = 120.0
relaxation = 1 / (3 * inflow * diameter / reynolds + 0.5)
ways = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
weights = [4 / 9] + 4 * [1 / 9] + 4 * [1 / 36]
back = [0, 3, 4, 1, 2, 7, 8, 5, 6]  # which velocity is the opposite one
mirror = [0, 1, 4, 3, 2, 8, 7, 6, 5]  # and which the one that a wall along the flow makes of it
vec9 = ti.types.vector(9, ti.f32)

f = ti.Vector.field(9, ti.f32, shape=(nx, ny))
later = ti.Vector.field(9, ti.f32, shape=(nx, ny))
velocity = ti.Vector.field(2, ti.f32, shape=(nx, ny))
solid = ti.field(ti.u8, shape=(nx, ny))
picture = ti.Vector.field(3, ti.f32, shape=(nx, ny))


@ti.func
def equilibrium(density, u):
    feq = vec9(0)
    for k in ti.static(range(9)):
        along = ti.Vector(ways[k]).dot(u)
        feq[k] = weights[k] * density * (1 + 3 * along + 4.5 * along * along - 1.5 * u.norm_sqr())
    return feq


@ti.kernel
def start():
    """The inflow everywhere, a little uneven behind the cylinder so that vortices begin."""
    for i, j in f:
        away = ti.Vector([i - nx / 5, j - ny / 2 + 0.5])
        solid[i, j] = away.norm() < diameter / 2
        uneven = 0.3 * inflow * ti.exp(-((i - nx / 3) ** 2 + (j - ny / 2) ** 2) / diameter**2)
        f[i, j] = equilibrium(1.0, ti.Vector([inflow, uneven]))


@ti.kernel
def step(x: ti.template(), out: ti.template()):
    for i, j in x:
        now = vec9(0)
        for k in ti.static(range(9)):
            l, m = i - ways[k][0], j - ways[k][1]
            if m < 0 or m >= ny:
                now[k] = x[ti.math.clamp(l, 0, nx - 1), j][mirror[k]]
            elif l < 0:
                now[k] = equilibrium(1.0, ti.Vector([inflow, 0.0]))[k]
            elif l >= nx:
                now[k] = x[i, j][k]
            elif solid[l, m] != 0:
                now[k] = x[i, j][back[k]]
            else:
                now[k] = x[l, m][k]
        density, u = now.sum(), ti.Vector([0.0, 0.0])
        for k in ti.static(range(9)):
            u += now[k] * ti.Vector(ways[k])
        u /= density
        if solid[i, j] != 0:
            u = ti.Vector([0.0, 0.0])
        velocity[i, j] = u
        out[i, j] = now + relaxation * (equilibrium(density, u) - now)


@ti.kernel
def color():
    for i, j in picture:
        west, east = velocity[ti.max(i - 1, 0), j], velocity[ti.min(i + 1, nx - 1), j]
        south, north = velocity[i, ti.max(j - 1, 0)], velocity[i, ti.min(j + 1, ny - 1)]
        spin = ti.math.clamp(0.25 * diameter / inflow * (east[1] - west[1] - north[0] + south[0]), -1, 1)
        side = ti.Vector([0.95, 0.45, 0.2]) if spin > 0 else ti.Vector([0.2, 0.55, 0.95])
        picture[i, j] = 0.06 + abs(spin) * side
        if solid[i, j] != 0:
            picture[i, j] = ti.Vector([0.85, 0.85, 0.85])


def advance(steps):
    """An even number of steps, so that the state is in `f` again."""
    for _ in range(steps // 2):
        step(f, later)
        step(later, f)


def main():
    start()
    gui = Window("Karman's vortex street", (nx, ny), chosen)
    while gui.running:
        advance(max(nx // 6, 2) // 2 * 2)
        color()
        gui.set_image(picture)
        gui.show()


if __name__ == "__main__":
    main()
