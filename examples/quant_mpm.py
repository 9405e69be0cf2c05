"""Water of packed particles: the material point method of mpm88.py twice, quantised on the left and in f32 on the right.

A particle's numbers, 36 bytes in f32, take 20: position and volume are fixed-point numbers in a word of 64 bits, the velocity
is two floats that share an exponent in a word of 32, its derivatives are four of them in 64. Kernels are the same for both: they
are compiled for the types of the fields that they get.

The grid stays in f32, for particles add to its cells: in a shared word each sum is a loop of its own. With --grid fixed, mass and
momentum are fixed-point numbers in one word all the same. Their sums are those of integers, which are the same bits in
whatever order particles come. At the end the program prints bytes, milliseconds a substep and how far both waters are apart.

python examples/quant_mpm.py --size 8192 --frames 100 --out splash.gif
python examples/quant_mpm.py --grid fixed
"""

import argparse
import time

import numpy as np
from example import Window, options

import metate as ti


def more(parser: argparse.ArgumentParser) -> None:
    text = "of the quantised water: f32 (default), or fixed-point numbers in one word"
    parser.add_argument("--grid", choices=("f32", "fixed"), default="f32", help=text)


chosen = options(__doc__, size=6000, frames=100, size_help="number of particles", more=more)
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n_grid = max(round((chosen.size / 0.37) ** 0.5), 16)  # two particles a cell, as they begin
dx = 1 / n_grid
dt = 1e-4
stiffness = 400.0
gravity = 9.8
border = 3
substeps = 25  # a frame
fixed, shared = ti.types.quant.fixed, ti.types.quant.float

position_type = fixed(bits=22, signed=False, max_value=1.0)  # of 128 cells a step is 1 / 32768 of one
ratio_type = fixed(bits=20, signed=False, max_value=2.0)  # of a volume to the one at rest
velocity_type = shared(exp=6, frac=13)  # 6 + 2 * 13 = 32 bits
affine_type = shared(exp=8, frac=14)  # 8 + 4 * 14 = 64 bits
mass_type = fixed(bits=20, signed=False, max_value=64.0)
momentum_type = fixed(bits=22, max_value=512.0)


def placed(shape, *words):
    """Puts each field, or word of fields, into a dense level of its own, so that words of 32 bits leave no gaps; their bytes."""
    builder = ti.FieldsBuilder()
    for what in words:
        builder.dense(ti.ij if len(shape) == 2 else ti.i, shape).place(what)
    return sum(type_.bytes() for type_ in builder.finalize().types)


def packed(bits, *fields, **named):
    """A word of fields, from its lowest bit on."""
    word = ti.BitpackedFields(max_num_bits=bits)
    word.place(*fields, **named)
    return word


@ti.data_oriented
class Water:
    """Particles and the grid that they talk through.

    Args:
        n: number of particles.
        quantised: whether particles are stored in the types above; else in f32.
        fixed_grid: whether mass and momentum of the grid are.
    """

    def __init__(self, n, quantised, fixed_grid=False):
        self.n, self.seconds = n, 0.0
        of = lambda type_, is_packed: type_ if is_packed else ti.f32
        self.x = ti.Vector.field(2, of(position_type, quantised))
        self.v = ti.Vector.field(2, of(velocity_type, quantised))
        self.C = ti.Matrix.field(2, 2, of(affine_type, quantised))  # velocity around each particle, to first order
        self.J = ti.field(of(ratio_type, quantised))  # volume, relative to the one at rest
        self.momentum = ti.Vector.field(2, of(momentum_type, fixed_grid))
        self.mass = ti.field(of(mass_type, fixed_grid))
        self.grid_v = ti.Vector.field(2, ti.f32)
        particles, cells = (self.x, self.J, self.v, self.C), (self.momentum, self.mass, self.grid_v)
        if quantised:
            motion = packed(32, self.v, shared_exponent=True), packed(64, self.C, shared_exponent=True)
            particles = packed(64, self.x, self.J), *motion
        if fixed_grid:
            cells = packed(64, self.momentum, self.mass), self.grid_v
        self.bytes = placed((n,), *particles), placed((n_grid, n_grid), *cells)

    def go_on(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.substep()
        self.seconds += time.perf_counter() - start

    @ti.kernel
    def fill(self):
        """A square of water, its particles spread evenly by the golden ratio of the plane."""
        for p in range(self.n):
            turn = ti.cast(p, ti.f64)
            a = 0.5 + turn * 0.7548776662466927
            b = 0.5 + turn * 0.5698402909980532
            self.x[p] = [0.2 + 0.4 * (a - ti.floor(a)), 0.2 + 0.4 * (b - ti.floor(b))]
            self.v[p] = [0, -1]
            self.C[p] = ti.Matrix.zero(ti.f32, 2, 2)
            self.J[p] = 1

    @ti.kernel
    def substep(self):
        for i, j in self.mass:
            self.momentum[i, j] = [0, 0]
            self.mass[i, j] = 0
        for p in range(self.n):
            x = self.x[p]
            base = ti.cast(x * n_grid - 0.5, ti.i32)
            f = x * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            pressure = -dt * 4 * stiffness * (self.J[p] - 1) * n_grid * n_grid
            affine = ti.Matrix([[pressure, 0], [0, pressure]]) + self.C[p]
            v = self.v[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                self.momentum[base + offset] += weight * (v + affine @ ((offset - f) * dx))
                self.mass[base + offset] += weight
        for i, j in self.mass:
            v = self.momentum[i, j]
            if self.mass[i, j] > 0:
                v /= self.mass[i, j]
            v.y -= dt * gravity
            if (i < border and v.x < 0) or (i > n_grid - border and v.x > 0):
                v.x = 0
            if (j < border and v.y < 0) or (j > n_grid - border and v.y > 0):
                v.y = 0
            self.grid_v[i, j] = v
        for p in range(self.n):
            x = self.x[p]
            base = ti.cast(x * n_grid - 0.5, ti.i32)
            f = x * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            v = ti.Vector.zero(ti.f32, 2)
            C = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                g = self.grid_v[base + offset]
                v += weight * g
                C += 4 * weight * g.outer_product((offset - f) * dx) * n_grid * n_grid
            self.v[p] = v
            self.x[p] = x + dt * v
            self.J[p] *= 1 + dt * C.trace()
            self.C[p] = C


def apart(one, other):
    """Greatest and root mean square difference of two fields."""
    difference = one.to_numpy().astype(float) - other.to_numpy()
    return np.abs(difference).max(), np.sqrt((difference**2).mean())


def compared(small, plain, frames):
    """What the program prints."""
    lines = []
    for k, name in enumerate(("particles", "grid")):
        one, other = small.bytes[k], plain.bytes[k]
        lines.append(f"{name}: {one} bytes quantised, {other} in f32: {other / one:.2f} times as much")
    took = [1e3 * water.seconds / (frames * substeps) for water in (small, plain)]
    lines.append(f"a substep takes {took[0]:.2f} ms quantised, {took[1]:.2f} in f32")
    for name, field in (("position", "x"), ("velocity", "v"), ("volume", "J")):
        greatest, usual = apart(getattr(small, field), getattr(plain, field))
        lines.append(f"{name} after {frames} frames: error {greatest:.2e} at most, {usual:.2e} rms")
    return "\n".join(lines)


def main():
    small, plain = Water(chosen.size, True, chosen.grid == "fixed"), Water(chosen.size, False)
    for water in (small, plain):
        water.substep()  # of nothing: compiles
        water.fill()
    gui = Window("Water: quantised, f32", (768, 384), chosen, background_color=0x112F41)
    while gui.running:
        for side, water in enumerate((small, plain)):
            water.go_on(substeps)
            gui.circles(water.x.to_numpy() * [0.5, 1] + [0.5 * side, 0], radius=2, color=(0x7FE3E0, 0x5FA8E8)[side])
        gui.show()
    print(compared(small, plain, gui.frame))


if __name__ == "__main__":
    main()
