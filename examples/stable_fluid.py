"""Stable fluids: smoke in a box, carried by a flow that has no sources; in a window, the mouse pushes it.

Advection looks back along the flow (semi-Lagrangian, second order), the pressure is Jacobi's.

python examples/stable_fluid.py --size 256 --frames 120 --out smoke.gif
"""

import math

from example import Window, options

import metate as ti

chosen = options(__doc__, size=256, frames=120, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
dt = 0.03
jacobi_steps = 60
force_radius = n / 12
force_strength = 1500.0 * n / 256
dye_decay = 0.998


class Pair:
    """A field and the one that its next state goes to."""

    def __init__(self, now, later):
        self.now, self.later = now, later

    def swap(self):
        self.now, self.later = self.later, self.now


velocity = Pair(ti.Vector.field(2, ti.f32, shape=(n, n)), ti.Vector.field(2, ti.f32, shape=(n, n)))
pressure = Pair(ti.field(ti.f32, shape=(n, n)), ti.field(ti.f32, shape=(n, n)))
dye = Pair(ti.Vector.field(3, ti.f32, shape=(n, n)), ti.Vector.field(3, ti.f32, shape=(n, n)))
divergence = ti.field(ti.f32, shape=(n, n))


@ti.func
def at(f: ti.template(), i, j):
    """The nearest cell's value."""
    return f[ti.math.clamp(i, 0, n - 1), ti.math.clamp(j, 0, n - 1)]


@ti.func
def mixed(f: ti.template(), p):
    """The value at p, in cells: bilinear between the four cells around it."""
    corner = ti.floor(p - 0.5)
    i, j = int(corner[0]), int(corner[1])
    fx, fy = p[0] - corner[0] - 0.5, p[1] - corner[1] - 0.5
    low = at(f, i, j) * (1 - fx) + at(f, i + 1, j) * fx
    high = at(f, i, j + 1) * (1 - fx) + at(f, i + 1, j + 1) * fx
    return low * (1 - fy) + high * fy


@ti.kernel
def advect(flow: ti.template(), f: ti.template(), out: ti.template(), keep: ti.f32):
    for i, j in out:
        here = ti.Vector([i + 0.5, j + 0.5])
        middle = here - 0.5 * dt * flow[i, j]
        out[i, j] = keep * mixed(f, here - dt * mixed(flow, middle))


@ti.kernel
def push(flow: ti.template(), smoke: ti.template(), at_x: ti.f32, at_y: ti.f32, force: ti.math.vec2, color: ti.math.vec3):
    for i, j in flow:
        away = ti.Vector([i + 0.5 - at_x, j + 0.5 - at_y])
        share = ti.exp(-away.dot(away) / (force_radius * force_radius))
        flow[i, j] += dt * share * force
        smoke[i, j] += dt * 2.5 * share * color


@ti.kernel
def measure(flow: ti.template()):
    """The divergence of the flow; walls let nothing through."""
    for i, j in flow:
        left, right = at(flow, i - 1, j)[0], at(flow, i + 1, j)[0]
        below, above = at(flow, i, j - 1)[1], at(flow, i, j + 1)[1]
        if i == 0:
            left = -flow[i, j][0]
        if i == n - 1:
            right = -flow[i, j][0]
        if j == 0:
            below = -flow[i, j][1]
        if j == n - 1:
            above = -flow[i, j][1]
        divergence[i, j] = 0.5 * (right - left + above - below)


@ti.kernel
def relax(p: ti.template(), out: ti.template()):
    for i, j in p:
        around = at(p, i - 1, j) + at(p, i + 1, j) + at(p, i, j - 1) + at(p, i, j + 1)
        out[i, j] = 0.25 * (around - divergence[i, j])


@ti.kernel
def subtract_gradient(flow: ti.template(), p: ti.template()):
    for i, j in flow:
        flow[i, j] -= 0.5 * ti.Vector([at(p, i + 1, j) - at(p, i - 1, j), at(p, i, j + 1) - at(p, i, j - 1)])


def project():
    """Takes the part with sources out of the flow."""
    measure(velocity.now)
    for _ in range(jacobi_steps):
        relax(pressure.now, pressure.later)
        pressure.swap()
    subtract_gradient(velocity.now, pressure.now)


def step(pushes):
    """One time step; pushes: (x, y, force, colour) with places in cells."""
    advect(velocity.now, dye.now, dye.later, dye_decay)
    advect(velocity.now, velocity.now, velocity.later, 1.0)
    velocity.swap()
    dye.swap()
    for x, y, force, color in pushes:
        push(velocity.now, dye.now, x, y, force, color)
    project()


def jets(frame):
    """Two jets from the sides that sway."""
    sway = 0.12 * n * math.sin(0.05 * frame)
    return [
        (0.08 * n, 0.5 * n + sway, ti.Vector([force_strength, 0.0]), ti.Vector([0.2, 0.5, 1.0])),
        (0.92 * n, 0.5 * n - sway, ti.Vector([-force_strength, 0.0]), ti.Vector([1.0, 0.45, 0.15])),
    ]


def main():
    gui = Window("Stable fluid", n, chosen)
    before = None
    while gui.running:
        pushes = jets(gui.frame)
        if gui.is_pressed(ti.GUI.LMB):
            x, y = (n * share for share in gui.get_cursor_pos())
            if before is not None:
                way = ti.Vector([200 * (x - before[0]), 200 * (y - before[1])])
                pushes.append((x, y, way, ti.Vector([0.7, 0.9, 0.4])))
            before = x, y
        else:
            before = None
        step(pushes)
        gui.set_image(dye.now)
        gui.show()


if __name__ == "__main__":
    main()
