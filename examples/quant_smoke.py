"""Smoke in half the memory: the same fluid twice, with quantised numbers on the left and in f32 on the right.

A cell's velocity is two floats that share an exponent, in one word of 32 bits. Density is a fixed-point number and pressure
a small float, of 16 bits each. Kernels are the same for both: they are compiled for the types of the fields that they get.
At the end the program prints the bytes of both and how far they are apart; a turbulent flow makes any difference larger with
time, that of rounding too, so that many frames say more about the flow than about its numbers.

python examples/quant_smoke.py --size 256 --frames 150 --out smoke.gif
"""

import math

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=192, frames=100, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
dt = 0.03
jacobi_steps = 40
reach = n / 14  # of a jet
force = 900.0 * n / 192
fade = 0.998

velocity_type = ti.types.quant.float(exp=6, frac=13)  # 6 bits for both components and 13 for each: a word of 32
density_type = ti.types.quant.fixed(bits=16, signed=False, max_value=4.0)
most = density_type.range()[1]
pressure_type = ti.types.quant.float(exp=5, frac=11)


class Pair:
    """A field and the one that its next state goes to."""

    def __init__(self, make):
        self.now, self.later = make(), make()

    def swap(self):
        self.now, self.later = self.later, self.now


class Smoke:
    """The state of a fluid.

    Args:
        quantised: whether its numbers are stored in the types above; else in f32.
    """

    def __init__(self, quantised):
        self.quantised = quantised
        self.bytes = 0
        self.velocity = Pair(self.vectors)
        self.density = Pair(lambda: self.numbers(density_type))
        self.pressure = Pair(lambda: self.numbers(pressure_type))
        self.divergence = self.numbers(pressure_type)

    def vectors(self):
        if not self.quantised:
            return self.placed(field := ti.Vector.field(2, ti.f32), field)
        field, word = ti.Vector.field(2, velocity_type), ti.BitpackedFields(max_num_bits=32)
        word.place(field, shared_exponent=True)
        return self.placed(field, word)

    def numbers(self, type_):
        return self.placed(field := ti.field(type_ if self.quantised else ti.f32), field)

    def placed(self, field, what):
        """The field, once `what` is in cells of a tree of its own, whose bytes are counted."""
        builder = ti.FieldsBuilder()
        builder.dense(ti.ij, (n, n)).place(what)
        self.bytes += sum(type_.bytes() for type_ in builder.finalize().types)
        return field

    def step(self, frame):
        velocity, density, pressure = self.velocity, self.density, self.pressure
        carry(velocity.now, density.now, density.later, fade)
        carry(velocity.now, velocity.now, velocity.later, 1.0)
        velocity.swap()
        density.swap()
        for x, y, push in jets(frame):
            blow(velocity.now, density.now, x, y, push)
        measure(velocity.now, self.divergence)
        for _ in range(jacobi_steps):
            relax(pressure.now, self.divergence, pressure.later)
            pressure.swap()
        subtract_gradient(velocity.now, pressure.now)


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
def carry(flow: ti.template(), f: ti.template(), out: ti.template(), keep: ti.f32):
    for i, j in out:
        here = ti.Vector([i + 0.5, j + 0.5])
        middle = here - 0.5 * dt * flow[i, j]
        out[i, j] = keep * mixed(f, here - dt * mixed(flow, middle))


@ti.kernel
def blow(flow: ti.template(), smoke: ti.template(), x: ti.f32, y: ti.f32, push: ti.math.vec2):
    for i, j in flow:
        away = ti.Vector([i + 0.5 - x, j + 0.5 - y])
        share = ti.exp(-away.dot(away) / (reach * reach))
        flow[i, j] += dt * share * push
        smoke[i, j] = ti.min(smoke[i, j] + dt * 2.5 * share, most)  # beyond its range a fixed-point number would begin anew


@ti.kernel
def measure(flow: ti.template(), divergence: ti.template()):
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
def relax(p: ti.template(), divergence: ti.template(), out: ti.template()):
    for i, j in p:
        around = at(p, i - 1, j) + at(p, i + 1, j) + at(p, i, j - 1) + at(p, i, j + 1)
        out[i, j] = 0.25 * (around - divergence[i, j])


@ti.kernel
def subtract_gradient(flow: ti.template(), p: ti.template()):
    for i, j in flow:
        flow[i, j] -= 0.5 * ti.Vector([at(p, i + 1, j) - at(p, i - 1, j), at(p, i, j + 1) - at(p, i, j - 1)])


def jets(frame):
    """Two jets from below that sway: place, in cells, and force."""
    sway = math.sin(0.06 * frame)
    return [
        (0.3 * n, 0.08 * n, ti.Vector([0.4 * force * sway, force])),
        (0.7 * n, 0.08 * n, ti.Vector([-0.4 * force * sway, force])),
    ]


def apart(one, other):
    """Greatest and root mean square difference of two fields."""
    difference = one.to_numpy().astype(float) - other.to_numpy()
    return np.abs(difference).max(), np.sqrt((difference**2).mean())


def compared(small, plain, frames):
    """What the program prints."""
    lines = [f"memory: {small.bytes} bytes quantised, {plain.bytes} in f32: {plain.bytes / small.bytes:.2f} times as much"]
    for name in ("density", "velocity"):
        greatest, usual = apart(getattr(small, name).now, getattr(plain, name).now)
        largest = np.abs(getattr(plain, name).now.to_numpy()).max()
        error = f"error {greatest:.2e} at most, {usual:.2e} rms, of values up to {largest:.3g}"
        lines.append(f"{name} after {frames} frames: {error}")
    return "\n".join(lines)


def main():
    small, plain = Smoke(quantised=True), Smoke(quantised=False)
    zoom = max(384 // n, 1)
    gui = Window("Smoke: quantised, f32", (2 * n * zoom, n * zoom), chosen)
    while gui.running:
        for fluid in (small, plain):
            fluid.step(gui.frame)
        both = np.concatenate([fluid.density.now.to_numpy() for fluid in (small, plain)])
        shade = 1 - np.exp(-1.5 * both.repeat(zoom, axis=0).repeat(zoom, axis=1))
        gui.set_image(np.stack([0.9 * shade, shade, 0.3 + 0.7 * shade], axis=-1))
        gui.show()
    print(compared(small, plain, gui.frame))


if __name__ == "__main__":
    main()
