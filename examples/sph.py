"""Smoothed particle hydrodynamics: a column of water breaks over a floor.

Density and forces are sums over neighbours with a cubic spline; pressure is a stiff function of density, so that water is
nearly incompressible; floor and walls are particles that stay (M. Becker, M. Teschner, Weakly compressible SPH for free
surface flows, 2007; viscosity after J. Monaghan, 1992).

python examples/sph.py --size 1800 --frames 120 --out water.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=1800, frames=120, size_help="particles")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
spacing = 0.45 / n**0.5  # of particles at rest; the box is 1 by 1
support = 2.6 * spacing  # where the spline ends: 2 h
rest = 1000.0
mass = rest * spacing**2
sound = 18.0
stiffness, exponent = rest * sound**2 / 7, 7
viscosity = 0.08
dt = 0.25 * spacing / sound
gravity = ti.Vector([0.0, -9.8])
cells = int(1 / support)
room = 48  # particles that a cell may hold
per_frame = max(int(0.012 / dt), 1)
# Two rows of particles behind each side of the box.
along = np.arange(-1.5 * spacing, 1 + 2 * spacing, spacing)
rows = [np.column_stack([along, np.full_like(along, depth)]) for depth in (-0.5 * spacing, -1.5 * spacing)]
walls = np.concatenate([part for row in rows for part in (row, row[:, ::-1], 1 - row, 1 - row[:, ::-1])]).astype(np.float32)
everything = n + len(walls)

x = ti.Vector.field(2, ti.f32, shape=everything)
v = ti.Vector.field(2, ti.f32, shape=everything)
a = ti.Vector.field(2, ti.f32, shape=n)
density = ti.field(ti.f32, shape=everything)
pressure = ti.field(ti.f32, shape=everything)
held = ti.field(ti.i32, shape=(cells, cells))
members = ti.field(ti.i32, shape=(cells, cells, room))


@ti.func
def spline(r):
    """The cubic spline over a disc of radius `support`; its integral is 1."""
    s = 2 * r / support
    value = 0.0
    if s < 1:
        value = 1 - 1.5 * s * s * (1 - 0.5 * s)
    elif s < 2:
        value = 0.25 * (2 - s) ** 3
    return value * 40 / (7 * ti.math.pi * support**2)


@ti.func
def spline_gradient(away):
    r = away.norm()
    s = 2 * r / support
    slope = 0.0
    if 1e-6 < s < 1:
        slope = s * (2.25 * s - 3)
    elif 1 <= s < 2:
        slope = -0.75 * (2 - s) ** 2
    return slope * 80 / (7 * ti.math.pi * support**3) * away / ti.max(r, 1e-9)


@ti.func
def cell(p):
    return ti.math.clamp(int(p * cells), 0, cells - 1)


def start():
    """A column at rest at the left."""
    columns = int(0.3 / spacing)
    column = np.column_stack([np.arange(n) % columns + 0.5, np.arange(n) // columns + 0.5]) * spacing
    x.from_numpy(np.concatenate([column.astype(np.float32), walls]))
    v.fill(0)


@ti.kernel
def sort():
    for i, j in held:
        held[i, j] = 0
    for k in x:
        at = cell(x[k])
        slot = ti.atomic_add(held[at], 1)
        if slot < room:
            members[at[0], at[1], slot] = k


@ti.kernel
def weigh():
    for k in x:
        total, at = 0.0, cell(x[k])
        for i in range(ti.max(at[0] - 1, 0), ti.min(at[0] + 2, cells)):
            for j in range(ti.max(at[1] - 1, 0), ti.min(at[1] + 2, cells)):
                for slot in range(ti.min(held[i, j], room)):
                    total += mass * spline((x[k] - x[members[i, j, slot]]).norm())
        density[k] = total
        pressure[k] = ti.max(stiffness * ((total / rest) ** exponent - 1), 0.0)


@ti.kernel
def push(g: ti.types.vector(2, ti.f32)):
    for k in a:
        total, at = g, cell(x[k])
        for i in range(ti.max(at[0] - 1, 0), ti.min(at[0] + 2, cells)):
            for j in range(ti.max(at[1] - 1, 0), ti.min(at[1] + 2, cells)):
                for slot in range(ti.min(held[i, j], room)):
                    other = members[i, j, slot]
                    away = x[k] - x[other]
                    meeting = ti.min((v[k] - v[other]).dot(away), 0.0) / (away.norm_sqr() + 0.01 * support**2)
                    drag = -viscosity * sound * support * meeting / (density[k] + density[other])
                    share = pressure[k] / density[k] ** 2 + pressure[other] / density[other] ** 2 + drag
                    total -= mass * share * spline_gradient(away)
        a[k] = total


@ti.kernel
def move():
    for k in a:
        v[k] += dt * a[k]
        x[k] += dt * v[k]


def step():
    sort()
    weigh()
    push(gravity)
    move()


def main():
    start()
    gui = Window("Smoothed particles", 512, chosen, background_color=0x0D1B2A)
    while gui.running:
        for _ in range(per_frame):
            step()
        fast = (v.to_numpy()[:n] ** 2).sum(1) ** 0.5 > 1.2
        places = x.to_numpy()[:n]
        gui.circles(places[~fast], radius=512 * spacing / 1.9, color=0x2A9DF4)
        gui.circles(places[fast], radius=512 * spacing / 1.9, color=0xBDE0FE)
        gui.show()


if __name__ == "__main__":
    main()
