"""A block of water that falls and splashes: the material point method (MLS-MPM) in two dimensions.

python examples/mpm88.py --size 8192 --frames 150 --out splash.gif
python examples/mpm88.py --save build/mpm88        the same kernels ahead of time: see mpm88_host/README.md
"""

import sys

import metate as ti

n_grid = 128
dx = 1 / n_grid
dt = 1e-4
density = 1.0
stiffness = 400.0
gravity = 9.8
border = 3
volume_of_particle = (dx / 2) ** 2
mass_of_particle = volume_of_particle * density


@ti.data_oriented
class Water:
    """Particles and the grid that they talk through.

    Args:
        n: number of particles.
    """

    def __init__(self, n):
        self.n = n
        self.x = ti.Vector.field(2, ti.f32, shape=n)  # positions
        self.v = ti.Vector.field(2, ti.f32, shape=n)  # velocities
        self.C = ti.Matrix.field(2, 2, ti.f32, shape=n)  # velocity around each particle, to first order
        self.J = ti.field(ti.f32, shape=n)  # volume, relative to the one at rest
        self.grid_v = ti.Vector.field(2, ti.f32, shape=(n_grid, n_grid))
        self.grid_m = ti.field(ti.f32, shape=(n_grid, n_grid))

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
        for i, j in self.grid_m:
            self.grid_v[i, j] = [0, 0]
            self.grid_m[i, j] = 0
        for p in range(self.n):
            base = ti.cast(self.x[p] * n_grid - 0.5, ti.i32)
            f = self.x[p] * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            pressure = -dt * 4 * stiffness * volume_of_particle * (self.J[p] - 1) * n_grid * n_grid
            affine = ti.Matrix([[pressure, 0], [0, pressure]]) + mass_of_particle * self.C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                away = (offset - f) * dx
                weight = w[i].x * w[j].y
                self.grid_v[base + offset] += weight * (mass_of_particle * self.v[p] + affine @ away)
                self.grid_m[base + offset] += weight * mass_of_particle
        for i, j in self.grid_m:
            if self.grid_m[i, j] > 0:
                self.grid_v[i, j] /= self.grid_m[i, j]
            self.grid_v[i, j].y -= dt * gravity
            if i < border and self.grid_v[i, j].x < 0:
                self.grid_v[i, j].x = 0
            if i > n_grid - border and self.grid_v[i, j].x > 0:
                self.grid_v[i, j].x = 0
            if j < border and self.grid_v[i, j].y < 0:
                self.grid_v[i, j].y = 0
            if j > n_grid - border and self.grid_v[i, j].y > 0:
                self.grid_v[i, j].y = 0
        for p in range(self.n):
            base = ti.cast(self.x[p] * n_grid - 0.5, ti.i32)
            f = self.x[p] * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            v = ti.Vector.zero(ti.f32, 2)
            C = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                away = (offset - f) * dx
                weight = w[i].x * w[j].y
                g = self.grid_v[base + offset]
                v += weight * g
                C += 4 * weight * g.outer_product(away) * n_grid * n_grid
            self.v[p] = v
            self.x[p] += dt * v
            self.J[p] *= 1 + dt * C.trace()
            self.C[p] = C

    @ti.kernel
    def positions(self, out: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)):
        """Copies the positions into an array of the host's."""
        for p in range(self.n):
            out[p] = self.x[p]

    @ti.kernel
    def mass_on_grid(self) -> ti.f64:
        """The mass that the last step's particles left on the grid: all of it."""
        total = ti.cast(0, ti.f64)
        for i, j in self.grid_m:
            total += ti.cast(self.grid_m[i, j], ti.f64)
        return total


def save(folder, n: int, target: str = "native") -> None:
    """Writes mpm88.metate for libmetate, and mpm88.o with mpm88.h for a linker."""
    water = Water(n)
    module = ti.aot.Module(targets=[target], name="mpm88")
    for kernel in (water.fill, water.substep, water.positions, water.mass_on_grid):
        module.add_kernel(kernel)
    folder.mkdir(parents=True, exist_ok=True)
    print(module.save(folder / "mpm88.metate"), module.save(folder / "mpm88.o"), folder / "mpm88.h", sep="\n")


def main():
    import argparse  # not needed by programs that take the water from here
    import pathlib

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--save", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--target", default="native")
    ahead, rest = parser.parse_known_args()
    sys.argv[1:] = rest

    from example import Window, options  # drawing is needed for this only

    chosen = options(__doc__, size=8192, frames=150, size_help="number of particles")
    if ahead.save:
        return save(ahead.save, chosen.size, ahead.target)
    ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)
    water = Water(chosen.size)
    water.fill()
    gui = Window("mpm88", 512, chosen, background_color=0x112F41)
    while gui.running:
        for _ in range(40):
            water.substep()
        gui.circles(water.x.to_numpy(), radius=1.5, color=0x068587)
        gui.show()


if __name__ == "__main__":
    main()
