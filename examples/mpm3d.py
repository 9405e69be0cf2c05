"""A cube of water breaks in a box: the material point method (MLS-MPM) in three dimensions.

python examples/mpm3d.py --size 60000 --frames 120 --out dam.gif
"""

import numpy as np
from example import SceneWindow, options

import metate as ti

n_grid = 64
dx = 1 / n_grid
dt = 2e-4
gravity = 9.8
border = 3
density = 1.0
stiffness = 400.0
volume_of_particle = (dx / 2) ** 3
mass_of_particle = volume_of_particle * density


@ti.data_oriented
class Water:
    """Particles, and the grid between them.

    Args:
        n: number of particles.
    """

    def __init__(self, n):
        self.n = n
        self.x = ti.Vector.field(3, ti.f32, shape=n)  # positions
        self.v = ti.Vector.field(3, ti.f32, shape=n)  # velocities
        self.C = ti.Matrix.field(3, 3, ti.f32, shape=n)  # velocity around each particle, to first order
        self.J = ti.field(ti.f32, shape=n)  # volume, relative to the one at rest
        self.grid_v = ti.Vector.field(3, ti.f32, shape=(n_grid,) * 3)
        self.grid_m = ti.field(ti.f32, shape=(n_grid,) * 3)

    @ti.kernel
    def fill(self):
        for p in range(self.n):
            self.x[p] = 0.08 + 0.4 * ti.Vector([ti.random(), ti.random(), ti.random()])
            self.v[p] = [0, 0, 0]
            self.C[p] = ti.Matrix.zero(ti.f32, 3, 3)
            self.J[p] = 1

    @ti.kernel
    def substep(self):
        for I in ti.grouped(self.grid_m):
            self.grid_v[I] = ti.Vector.zero(ti.f32, 3)
            self.grid_m[I] = 0
        for p in range(self.n):
            base = ti.cast(self.x[p] * n_grid - 0.5, ti.i32)
            f = self.x[p] * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            pressure = -dt * 4 * stiffness * volume_of_particle * (self.J[p] - 1) * n_grid * n_grid
            affine = ti.Matrix.identity(ti.f32, 3) * pressure + mass_of_particle * self.C[p]
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                weight = 1.0
                for d in ti.static(range(3)):
                    weight *= w[offset[d]][d]
                momentum = mass_of_particle * self.v[p] + affine @ ((offset - f) * dx)
                self.grid_v[base + offset] += weight * momentum
                self.grid_m[base + offset] += weight * mass_of_particle
        for I in ti.grouped(self.grid_m):
            if self.grid_m[I] > 0:
                v = self.grid_v[I] / self.grid_m[I]
                v.y -= dt * gravity
                for d in ti.static(range(3)):
                    if (I[d] < border and v[d] < 0) or (I[d] > n_grid - border and v[d] > 0):
                        v[d] = 0
                self.grid_v[I] = v
        for p in range(self.n):
            base = ti.cast(self.x[p] * n_grid - 0.5, ti.i32)
            f = self.x[p] * n_grid - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            v = ti.Vector.zero(ti.f32, 3)
            C = ti.Matrix.zero(ti.f32, 3, 3)
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                weight = 1.0
                for d in ti.static(range(3)):
                    weight *= w[offset[d]][d]
                g = self.grid_v[base + offset]
                v += weight * g
                C += 4 * n_grid * weight * g.outer_product(offset - f)
            self.v[p] = v
            self.C[p] = C
            self.x[p] += dt * v
            self.J[p] *= 1 + dt * C.trace()


def main():
    chosen = options(__doc__, size=60000, frames=120, size_help="number of particles")
    ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)
    water = Water(chosen.size)
    water.fill()
    window = SceneWindow("mpm3d", (512, 512), chosen, position=(1.75, 1.1, 2.05), lookat=(0.5, 0.36, 0.5))
    canvas, scene = window.get_canvas(), window.get_scene()
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], np.float32)
    edges = np.array([[a, a + step] for step in (1, 2, 4) for a in range(8) if not a & step], np.int32)
    while window.running:
        for _ in range(20):
            water.substep()
        canvas.set_background_color((0.067, 0.184, 0.255))
        scene.set_camera(window.camera)
        scene.ambient_light((0.3, 0.3, 0.3))
        scene.point_light(pos=(1.5, 3, 2), color=(0.8, 0.8, 0.8))
        scene.particles(water.x, radius=0.4 / n_grid, color=(0.31, 0.70, 0.83))
        scene.lines(corners, width=1.5, indices=edges, color=(0.6, 0.7, 0.75))
        canvas.scene(scene)
        window.show()


if __name__ == "__main__":
    main()
