"""Euler's equations of a gas: two layers that slide past each other roll up into vortices (Kelvin and Helmholtz).

Finite volumes without edges of the domain: values at cells' faces by slopes that the minmod limiter bounds, fluxes by HLL (A.
Harten, P. Lax, B. van Leer, 1983; E. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics), steps by Heun's rule.

python examples/euler_fluid.py --size 192 --frames 120 --out layers.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=192, frames=120, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
h = 1.0 / n
gamma = 1.4
courant = 0.4
frame_time = 0.02
vec4 = ti.types.vector(4, ti.f32)

q = ti.Vector.field(4, ti.f32, shape=(n, n))  # density, momentum (2), energy: of a unit of volume
before = ti.Vector.field(4, ti.f32, shape=(n, n))
primitive = ti.Vector.field(4, ti.f32, shape=(n, n))  # density, velocity (2), pressure
flux_x = ti.Vector.field(4, ti.f32, shape=(n, n))  # through the face on the left
flux_y = ti.Vector.field(4, ti.f32, shape=(n, n))  # through the face below
picture = ti.Vector.field(3, ti.f32, shape=(n, n))


@ti.func
def conserved(w):
    energy = w[3] / (gamma - 1) + 0.5 * w[0] * (w[1] * w[1] + w[2] * w[2])
    return ti.Vector([w[0], w[0] * w[1], w[0] * w[2], energy])


@ti.func
def flux_of(w, axis: ti.template()):
    speed = w[1 + axis]
    u = conserved(w)
    f = speed * u
    f[1 + axis] += w[3]
    f[3] += speed * w[3]
    return f


@ti.func
def hll(left, right, axis: ti.template()):
    """The flux between two states."""
    sound_l, sound_r = ti.sqrt(gamma * left[3] / left[0]), ti.sqrt(gamma * right[3] / right[0])
    slow = ti.min(left[1 + axis] - sound_l, right[1 + axis] - sound_r, 0.0)
    fast = ti.max(left[1 + axis] + sound_l, right[1 + axis] + sound_r, 0.0)
    jump = conserved(right) - conserved(left)
    return (fast * flux_of(left, axis) - slow * flux_of(right, axis) + slow * fast * jump) / (fast - slow)


@ti.func
def minmod(a, b):
    return 0.5 * (ti.math.sign(a) + ti.math.sign(b)) * ti.min(abs(a), abs(b))


@ti.func
def face(i, j, axis: ti.template()):
    """The flux into cell (i, j) through its face at the lower end of an axis."""
    at = ti.Vector([i, j])
    along = ti.Vector.unit(2, axis, ti.i32)
    a, b = primitive[(at - 2 * along + n) % n], primitive[(at - along + n) % n]
    c, d = primitive[at], primitive[(at + along) % n]
    return hll(b + 0.5 * minmod(b - a, c - b), c - 0.5 * minmod(c - b, d - c), axis)


@ti.kernel
def start():
    """A heavy layer in a light gas that flows the other way, a little disturbed."""
    for i, j in q:
        x, y = (i + 0.5) * h, (j + 0.5) * h
        inside = 0.5 * (ti.tanh((y - 0.25) / 0.01) - ti.tanh((y - 0.75) / 0.01))
        lift = 0.02 * ti.sin(4 * ti.math.pi * x) * (ti.exp(-200 * (y - 0.25) ** 2) + ti.exp(-200 * (y - 0.75) ** 2))
        q[i, j] = conserved(ti.Vector([1 + inside, inside - 0.5, lift, 2.5]))


@ti.kernel
def look() -> ti.f32:
    """Density, velocity and pressure of all cells; gives the greatest speed of a sound."""
    greatest = 0.0
    for i, j in q:
        u = q[i, j]
        v = ti.Vector([u[1], u[2]]) / u[0]
        pressure = (gamma - 1) * (u[3] - 0.5 * u[0] * v.norm_sqr())
        primitive[i, j] = ti.Vector([u[0], v[0], v[1], pressure])
        ti.atomic_max(greatest, abs(v).max() + ti.sqrt(gamma * pressure / u[0]))
    return greatest


@ti.kernel
def keep():
    for i, j in q:
        before[i, j] = q[i, j]


@ti.kernel
def change(dt: ti.f32, share: ti.f32):
    """q becomes `share` of what a step makes of it, and of what was kept the rest."""
    for i, j in q:
        flux_x[i, j] = face(i, j, 0)
        flux_y[i, j] = face(i, j, 1)
    for i, j in q:
        inwards = flux_x[i, j] - flux_x[(i + 1) % n, j] + flux_y[i, j] - flux_y[i, (j + 1) % n]
        q[i, j] = share * (q[i, j] + dt / h * inwards) + (1 - share) * before[i, j]


def step(longest):
    """One time step of at most `longest`; gives how long it was."""
    dt = min(courant * h / look(), longest)
    keep()
    change(dt, 1.0)
    look()
    change(dt, 0.5)
    return dt


@ti.kernel
def color():
    for i, j in picture:
        share = ti.math.clamp(q[i, j][0] - 1, 0, 1)
        warm = ti.math.mix(ti.Vector([0.15, 0.35, 0.65]), ti.Vector([0.98, 0.85, 0.45]), share)
        picture[i, j] = warm * (1 - 0.8 * share * (1 - share))


def main():
    start()
    gui = Window("Euler's equations", n, chosen)
    while gui.running:
        left = frame_time
        while left > 1e-7:
            left -= step(left)
        color()
        gui.set_image(picture)
        gui.show()


if __name__ == "__main__":
    main()
