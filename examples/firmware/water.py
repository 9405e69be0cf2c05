"""Water for a microcontroller: mpm88 with 512 particles on a grid of 32 x 32, as an object and a header.

python examples/firmware/water.py --save build/firmware        water.o · water.h, for a Cortex-M4
"""

import argparse
import pathlib

import metate as ti

n_particles, n_grid = 512, 32
dx, dt = 1 / n_grid, 2e-4
stiffness, gravity, border = 400.0, 9.8, 3
mass = (dx / 2) ** 2

x = ti.Vector.field(2, ti.f32, shape=n_particles)  # positions
v = ti.Vector.field(2, ti.f32, shape=n_particles)  # velocities
C = ti.Matrix.field(2, 2, ti.f32, shape=n_particles)  # velocity around each particle, to first order
J = ti.field(ti.f32, shape=n_particles)  # volume, relative to the one at rest
grid_v = ti.Vector.field(2, ti.f32, shape=(n_grid, n_grid))
grid_m = ti.field(ti.f32, shape=(n_grid, n_grid))


@ti.func
def weights(f):
    return [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]


@ti.kernel
def fill():
    for p in x:
        x[p] = [0.2 + 0.4 * (p % 16 + 0.5) / 16, 0.2 + 0.6 * (p // 16 + 0.5) / 32]
        v[p] = [0, -1]
        C[p] = ti.Matrix.zero(ti.f32, 2, 2)
        J[p] = 1


@ti.kernel
def substep():
    for i, j in grid_m:
        grid_v[i, j] = [0, 0]
        grid_m[i, j] = 0
    for p in x:
        base = ti.cast(x[p] * n_grid - 0.5, ti.i32)
        f = x[p] * n_grid - base
        w = weights(f)
        pressure = -dt * 4 * stiffness * mass * (J[p] - 1) * n_grid * n_grid
        affine = ti.Matrix([[pressure, 0], [0, pressure]]) + mass * C[p]
        for i, j in ti.static(ti.ndrange(3, 3)):
            away = (ti.Vector([i, j]) - f) * dx
            weight = w[i].x * w[j].y
            grid_v[base + ti.Vector([i, j])] += weight * (mass * v[p] + affine @ away)
            grid_m[base + ti.Vector([i, j])] += weight * mass
    for i, j in grid_m:
        if grid_m[i, j] > 0:
            grid_v[i, j] /= grid_m[i, j]
        grid_v[i, j].y -= dt * gravity
        if (i < border and grid_v[i, j].x < 0) or (i > n_grid - border and grid_v[i, j].x > 0):
            grid_v[i, j].x = 0
        if (j < border and grid_v[i, j].y < 0) or (j > n_grid - border and grid_v[i, j].y > 0):
            grid_v[i, j].y = 0
    for p in x:
        base = ti.cast(x[p] * n_grid - 0.5, ti.i32)
        f = x[p] * n_grid - base
        w = weights(f)
        velocity = ti.Vector.zero(ti.f32, 2)
        around = ti.Matrix.zero(ti.f32, 2, 2)
        for i, j in ti.static(ti.ndrange(3, 3)):
            away = (ti.Vector([i, j]) - f) * dx
            weight = w[i].x * w[j].y
            g = grid_v[base + ti.Vector([i, j])]
            velocity += weight * g
            around += 4 * weight * g.outer_product(away) * n_grid * n_grid
        v[p] = velocity
        x[p] += dt * velocity
        J[p] *= 1 + dt * around.trace()
        C[p] = around


@ti.kernel
def positions(out: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)):
    """Copies the positions into an array of the host's."""
    for p in x:
        out[p] = x[p]


def save(folder: pathlib.Path, target: str, carrier: str = "o") -> pathlib.Path:
    """Writes water.o (or what the carrier is) and water.h: the same arithmetic, and the same bits, on every target, since no
    multiply-adds are fused."""
    folder.mkdir(parents=True, exist_ok=True)
    module = ti.aot.Module(targets=[target], name="water", contract=False)
    for kernel in (fill, substep, positions):
        module.add_kernel(kernel)
    return module.save(folder / f"water.{carrier}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", metavar="FOLDER", type=pathlib.Path, required=True)
    parser.add_argument("--target", default="thumbv7em-none-eabihf", help="default: %(default)s")
    parser.add_argument("--emit", choices=["o", "c"], default="o", help="an object, or C source; default: %(default)s")
    parsed = parser.parse_args()
    print(save(parsed.save, parsed.target, parsed.emit), parsed.save / "water.h", sep="\n")
