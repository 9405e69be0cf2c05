"""Water, jelly and snow fall on each other: MLS-MPM in two dimensions, with a singular value decomposition a particle.

python examples/mpm99.py --size 9000 --frames 200 --out materials.gif
"""

from example import Window, options

import metate as ti

WATER, JELLY, SNOW = 0, 1, 2
COLORS = (0x068587, 0xED553B, 0xEEEEF0)

n_grid = 128
dx = 1 / n_grid
dt = 1e-4
gravity = 20.0
border = 3
volume_of_particle = (dx / 2) ** 2
mass_of_particle = volume_of_particle  # density 1
young, poisson = 5e3, 0.2
mu_0 = young / (2 * (1 + poisson))
lambda_0 = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
crushed, stretched = 1 - 2.5e-2, 1 + 4.5e-3  # how far snow deforms before it yields


@ti.data_oriented
class Materials:
    """Particles of three materials, a third each.

    Args:
        n: number of particles.
    """

    def __init__(self, n):
        self.n = n
        self.x = ti.Vector.field(2, ti.f32, shape=n)  # positions
        self.v = ti.Vector.field(2, ti.f32, shape=n)  # velocities
        self.C = ti.Matrix.field(2, 2, ti.f32, shape=n)  # velocity around each particle, to first order
        self.F = ti.Matrix.field(2, 2, ti.f32, shape=n)  # elastic deformation
        self.Jp = ti.field(ti.f32, shape=n)  # volume by plastic deformation: snow hardens with it
        self.material = ti.field(ti.i32, shape=n)
        self.grid_v = ti.Vector.field(2, ti.f32, shape=(n_grid, n_grid))
        self.grid_m = ti.field(ti.f32, shape=(n_grid, n_grid))

    @ti.kernel
    def fill(self):
        """Three squares, one above and beside the other."""
        for p in range(self.n):
            kind = p * 3 // self.n
            corner = ti.Vector([0.3 + 0.1 * kind, 0.05 + 0.31 * kind])
            self.x[p] = corner + 0.2 * ti.Vector([ti.random(), ti.random()])
            self.v[p] = [0, 0]
            self.C[p] = ti.Matrix.zero(ti.f32, 2, 2)
            self.F[p] = ti.Matrix.identity(ti.f32, 2)
            self.Jp[p] = 1
            self.material[p] = kind

    @ti.func
    def stress(self, p):
        """Kirchhoff stress of the particle after one step's deformation; its F and Jp become what is elastic."""
        F = (ti.Matrix.identity(ti.f32, 2) + dt * self.C[p]) @ self.F[p]
        hardening = 1.0
        if self.material[p] == JELLY:
            hardening = 0.3
        if self.material[p] == SNOW:
            hardening = ti.exp(10 * (1 - self.Jp[p]))
        mu, lam = mu_0 * hardening, lambda_0 * hardening
        if self.material[p] == WATER:
            mu = 0.0
        U, sigma, V = ti.svd(F)
        J = 1.0
        for d in ti.static(range(2)):
            length = sigma[d, d]
            if self.material[p] == SNOW:
                length = ti.math.clamp(length, crushed, stretched)
                self.Jp[p] *= sigma[d, d] / length
                sigma[d, d] = length
            J *= length
        if self.material[p] == WATER:
            F = ti.Matrix.identity(ti.f32, 2) * ti.sqrt(J)
        if self.material[p] == SNOW:
            F = U @ sigma @ V.transpose()
        self.F[p] = F
        rotation = U @ V.transpose()
        return 2 * mu * (F - rotation) @ F.transpose() + ti.Matrix.identity(ti.f32, 2) * lam * J * (J - 1)

    @ti.kernel
    def substep(self):
        for i, j in self.grid_m:
            self.grid_v[i, j] = [0, 0]
            self.grid_m[i, j] = 0
        for p in range(self.n):
            base = ti.cast(self.x[p] * n_grid - 0.5, ti.i32)
            f = self.x[p] * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            affine = -dt * volume_of_particle * 4 * n_grid * n_grid * self.stress(p) + mass_of_particle * self.C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                self.grid_v[base + offset] += weight * (mass_of_particle * self.v[p] + affine @ ((offset - f) * dx))
                self.grid_m[base + offset] += weight * mass_of_particle
        for i, j in self.grid_m:
            if self.grid_m[i, j] > 0:
                v = self.grid_v[i, j] / self.grid_m[i, j]
                v.y -= dt * gravity
                if (i < border and v.x < 0) or (i > n_grid - border and v.x > 0):
                    v.x = 0
                if (j < border and v.y < 0) or (j > n_grid - border and v.y > 0):
                    v.y = 0
                self.grid_v[i, j] = v
        for p in range(self.n):
            base = ti.cast(self.x[p] * n_grid - 0.5, ti.i32)
            f = self.x[p] * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            v = ti.Vector.zero(ti.f32, 2)
            C = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                weight = w[i].x * w[j].y
                g = self.grid_v[base + ti.Vector([i, j])]
                v += weight * g
                C += 4 * n_grid * weight * g.outer_product(ti.Vector([i, j]) - f)
            self.v[p] = v
            self.C[p] = C
            self.x[p] += dt * v


def main():
    chosen = options(__doc__, size=9000, frames=200, size_help="number of particles")
    ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)
    materials = Materials(chosen.size)
    materials.fill()
    gui = Window("mpm99", 512, chosen, background_color=0x112F41)
    while gui.running:
        for _ in range(40):
            materials.substep()
        gui.circles(materials.x.to_numpy(), radius=1.5, palette=COLORS, palette_indices=materials.material.to_numpy())
        gui.show()


if __name__ == "__main__":
    main()
