"""Three bunnies, of water, jelly and snow, fall on each other: MLS-MPM on a grid of 128^3 cells of which only those near
particles exist. The grid is given up and made anew in every step: particles activate what they write to.

A closed mesh is filled with particles. Any mesh will do: --mesh FILE.obj

python examples/sparse/mpm.py --frames 120 --out bunnies.gif
python examples/sparse/mpm.py --save build/mpm      the same kernels ahead of time, as a module with the type of the grid
"""

import argparse
import pathlib
import sys

import numpy as np

import metate as ti

WATER, JELLY, SNOW = range(3)
BUNNY = pathlib.Path("/usr/share/glmark2/models/bunny.obj")  # of the package glmark2-data
leaf = 4

parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("--mesh", type=pathlib.Path, default=BUNNY, metavar="FILE")
parser.add_argument("--save", type=pathlib.Path, metavar="FOLDER")
parser.add_argument("--target", default="native")
ahead, sys.argv[1:] = parser.parse_known_args()

from example import Window, options  # noqa: E402

chosen = options(__doc__, size=128, frames=120, size_help=f"cells along each side, a multiple of {leaf} from 16 on")
if chosen.size % leaf or chosen.size < 16:
    raise SystemExit(f"--size: expected a multiple of {leaf} from 16 on, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
dx = 1 / n
dt = 0.0128 * dx  # sound takes two steps through a cell, in snow that is packed hard one
steps = max(40 * n // 128, 1)  # of a frame
gravity = 20.0
border = 3
spacing = dx / 2  # of particles: eight a cell
width = min(0.3, (1 - 2 * (border + 1) * dx) / 3.1)  # of a mesh
volume_of_particle = spacing**3
mass_of_particle = volume_of_particle  # density 1
young, poisson = 1e3, 0.2
mu_0 = young / (2 * (1 + poisson))
lambda_0 = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
crushed, stretched = 1 - 2.5e-2, 1 + 4.5e-3  # how far snow deforms before it yields

vec3, mat3 = ti.math.vec3, ti.math.mat3
identity = ti.Matrix.identity(ti.f32, 3)
Particle = ti.types.struct(
    x=vec3,  # position
    v=vec3,  # velocity
    C=mat3,  # velocity around the particle, to first order
    F=mat3,  # elastic deformation
    J=ti.f32,  # of water, the volume relative to the one at rest; of snow, what plastic deformation made of that
    material=ti.i32,
)
Particles = ti.types.ndarray(dtype=Particle, ndim=1)
Grid = (
    ti.types.SNodeTreeBuilder()
    .pointer(ti.ijk, n // leaf, name="blocks")
    .dense(ti.ijk, leaf)
    .place(v=vec3, m=ti.f32)  # momentum, then velocity; mass
    .build()
)


@ti.func
def is_left(vertices: ti.template(), a, b, x, y):
    """Whether (x, y) is left of the edge from a to b, seen along the last axis.

    An edge is computed with in one direction always, so that of its two triangles exactly one has a place beside it.
    """
    first, second = min(a, b), max(a, b)
    along, up = vertices[second, 0] - vertices[first, 0], vertices[second, 1] - vertices[first, 1]
    left = along * (y - vertices[first, 1]) >= up * (x - vertices[first, 0])
    return left == (a < b)


@ti.kernel
def fill(
    vertices: ti.types.ndarray(dtype=ti.f64, ndim=2),
    triangles: ti.types.ndarray(dtype=ti.i32, ndim=2),
    inside: ti.types.ndarray(dtype=ti.i32, ndim=3),
):
    """inside, 0 on entry: 1 where the middle of a cell [i, i + 1] x ... is inside of the closed mesh.

    Below a triangle what is inside becomes outside and the other way around: inside is what an odd number is above of.
    """
    for t in range(triangles.shape[0]):
        p, q, r = (ti.Vector([vertices[triangles[t, corner], d] for d in range(3)]) for corner in ti.static(range(3)))
        low = ti.cast(ti.ceil(min(p, q, r) - 0.5), ti.i32)
        high = ti.cast(ti.floor(max(p, q, r) - 0.5), ti.i32)
        normal = (q - p).cross(r - p)
        for i, j in ti.ndrange((low.x, high.x + 1), (low.y, high.y + 1)):
            x, y = i + 0.5, j + 0.5
            side = is_left(vertices, triangles[t, 0], triangles[t, 1], x, y)
            other = is_left(vertices, triangles[t, 1], triangles[t, 2], x, y)
            if side == other and side == is_left(vertices, triangles[t, 2], triangles[t, 0], x, y) and normal.z != 0:
                height = p.z - (normal.x * (x - p.x) + normal.y * (y - p.y)) / normal.z
                for k in range(ti.cast(ti.ceil(height - 0.5), ti.i32)):
                    ti.atomic_xor(inside[i, j, k], 1)


@ti.func
def stress_of(particle: ti.template()):
    """Kirchhoff stress after a step's deformation; the particle's F and J become what is left of it."""
    stress = identity * 0
    if particle.material == WATER:
        particle.J *= 1 + dt * particle.C.trace()
        stress = identity * (lambda_0 * particle.J * (particle.J - 1))
    else:
        F = (identity + dt * particle.C) @ particle.F
        if particle.material == JELLY:
            mu, J = 0.3 * mu_0, F.determinant()
            stress = mu * (F @ F.transpose() - identity) + identity * (0.3 * lambda_0 * J * (J - 1))
        else:
            U, sigma, V = ti.svd(F)
            J = 1.0
            for d in ti.static(range(3)):
                length = ti.math.clamp(sigma[d, d], crushed, stretched)
                particle.J *= sigma[d, d] / length
                sigma[d, d] = length
                J *= length
            F = U @ sigma @ V.transpose()
            hardening = ti.math.clamp(ti.exp(10 * (1 - particle.J)), 0.1, 4.0)
            stress = 2 * mu_0 * (F - U @ V.transpose()) @ F.transpose() + identity * (lambda_0 * J * (J - 1))
            stress *= hardening
        particle.F = F
    return stress


@ti.func
def weights_around(x):
    """The first of the three cells a side that a particle talks to, its distance from it in cells, its weights there."""
    base = ti.cast(x * n - 0.5, ti.i32)
    f = x * n - base
    return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]


@ti.kernel
def scatter(particles: Particles, grid: Grid):
    """Particles to grid: mass and momentum; a block is there once a particle writes to it."""
    for p in particles:
        stress = stress_of(particles[p])
        affine = -dt * volume_of_particle * 4 * n * n * stress + mass_of_particle * particles[p].C
        base, f, w = weights_around(particles[p].x)
        for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
            weight = w[offset[0]].x * w[offset[1]].y * w[offset[2]].z
            grid.v[base + offset] += weight * (mass_of_particle * particles[p].v + affine @ ((offset - f) * dx))
            grid.m[base + offset] += weight * mass_of_particle


@ti.kernel
def move(grid: Grid):
    """Momentum becomes velocity; gravity, and walls that nothing goes through."""
    for I in ti.grouped(grid):
        if grid.m[I] > 0:
            v = grid.v[I] / grid.m[I]
            v.y -= dt * gravity
            for d in ti.static(range(3)):
                if (I[d] < border and v[d] < 0) or (I[d] > n - border and v[d] > 0):
                    v[d] = 0
            grid.v[I] = v


@ti.kernel
def gather(particles: Particles, grid: Grid):
    """Grid to particles, which then move."""
    for p in particles:
        base, f, w = weights_around(particles[p].x)
        v, C = vec3(0), identity * 0
        for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
            weight = w[offset[0]].x * w[offset[1]].y * w[offset[2]].z
            g = grid.v[base + offset]
            v += weight * g
            C += 4 * n * weight * g.outer_product(offset - f)
        particles[p].v = v
        particles[p].C = C
        particles[p].x += dt * v


def substep(particles, grid):
    grid.deactivate_all()
    scatter(particles, grid)
    move(grid)
    gather(particles, grid)


def read_mesh(path: pathlib.Path):
    """Vertices f64[n, 3], triangles i32[m, 3] of a file as Wavefront has them; faces become fans of triangles."""
    if path.suffix.lower() != ".obj" or not path.is_file():
        raise SystemExit(f"--mesh: expected a file of a closed mesh, FILE.obj (the bunny is in glmark2-data), got {path}")
    vertices, triangles = [], []
    for line in path.read_text().splitlines():
        kind, *words = line.split() or [""]
        if kind == "v":
            vertices.append([float(word) for word in words[:3]])
        elif kind == "f":
            corners = [int(word.split("/")[0]) for word in words]
            corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
            triangles += [[corners[0], *corners[k : k + 2]] for k in range(1, len(corners) - 1)]
    return np.array(vertices), np.array(triangles, np.int32)


def places_inside(vertices, triangles):
    """f32[m, 3]: places in [0, width]^3, about `spacing` apart, within the mesh, which is scaled to fit there."""
    count = round(width / spacing)
    low, extent = vertices.min(0), (vertices.max(0) - vertices.min(0)).max()
    inside = np.zeros((count + 1,) * 3, np.int32)
    fill((vertices - low) * (count / extent), triangles, inside)
    cells = np.argwhere(inside)
    away = np.random.default_rng(0).uniform(-0.3, 0.3, cells.shape)  # no rows and columns that show
    return ((cells + 0.5 + away) * spacing).astype(np.float32)


def three_of(places):
    """An array of Particle: one mesh of each material, one above and beside the other."""
    particles = ti.ndarray(Particle, 3 * len(places))
    data = np.asarray(particles).reshape(3, -1)
    data["F"], data["J"] = np.eye(3), 1
    for material in (WATER, JELLY, SNOW):
        aside, above = 0.1 * (material - 1), (border + 1) * dx + 1.03 * width * material
        data["x"][material] = places + np.float32([0.5 - width / 2 + aside, above, 0.5 - width / 2 - aside / 2])
        data["material"][material] = material
    return particles


def save(folder: pathlib.Path, target: str):
    """Writes sparse_mpm.metate: the kernels of a step and the grid's type, for hosts that clear the tree themselves."""
    module = ti.aot.Module(targets=[target], name="sparse_mpm")
    module.add_type(Grid, "grid")
    for kernel in (fill, scatter, move, gather):
        module.add_kernel(kernel)
    folder.mkdir(parents=True, exist_ok=True)
    print(module.save(folder / "sparse_mpm.metate"))


pixels = min(8 * n, 512)
zoom = 0.68  # of the picture that a length of 1 takes
right, up, ahead_of_us = vec3(0.82, 0, -0.57), vec3(-0.21, 0.93, -0.3), vec3(-0.53, -0.37, -0.76)
unseen = 0x7F800000 << 32  # infinitely far
radius = 0.75 * spacing * zoom * pixels  # of a particle, in pixels


@ti.kernel
def splat(particles: Particles, nearest: ti.types.ndarray(dtype=ti.i64, ndim=2)):
    """nearest, `unseen` on entry: the bits of the distance to the first ball that a pixel shows, and whose it is."""
    for p in particles:
        away = particles[p].x - 0.5
        at = pixels * (0.5 + zoom * ti.Vector([ti.math.dot(right, away), ti.math.dot(up, away)]))
        distance = 2 + ti.math.dot(ahead_of_us, away)
        low, high = ti.cast(ti.ceil(at - radius), ti.i32), ti.cast(ti.floor(at + radius), ti.i32)
        for i, j in ti.ndrange((max(low.x, 0), min(high.x + 1, pixels)), (max(low.y, 0), min(high.y + 1, pixels))):
            bulge = radius * radius - (ti.Vector([i, j]) - at).norm_sqr()
            if bulge > 0:
                bits = ti.bit_cast(distance - ti.sqrt(bulge) / (zoom * pixels), ti.i32)
                ti.atomic_min(nearest[i, j], (ti.cast(bits, ti.i64) << 32) | p)


@ti.func
def distance_at(nearest: ti.template(), i, j):
    return ti.bit_cast(ti.cast(nearest[min(max(i, 0), pixels - 1), min(max(j, 0), pixels - 1)] >> 32, ti.i32), ti.f32)


@ti.kernel
def shade(
    particles: Particles,
    nearest: ti.types.ndarray(dtype=ti.i64, ndim=2),
    picture: ti.types.ndarray(dtype=vec3, ndim=2),
):
    """Light from above on the right, by how distances differ around a pixel."""
    for i, j in picture:
        colour = vec3(0.07, 0.11, 0.16) * (0.7 + 0.6 * j / pixels)
        own, slope = distance_at(nearest, i, j), ti.Vector([0.0, 0.0])
        if own < 10:
            for k in ti.static(range(-2, 3)):
                limit = 6 / (zoom * pixels)
                slope.x += k * ti.math.clamp(distance_at(nearest, i + k, j) - own, -limit, limit)
                slope.y += k * ti.math.clamp(distance_at(nearest, i, j + k) - own, -limit, limit)
            normal = vec3(slope.x, slope.y, 10 / (zoom * pixels)).normalized()
            material = particles[ti.cast(nearest[i, j], ti.i32)].material
            own_colour = vec3(0.16, 0.5, 0.78)
            if material == JELLY:
                own_colour = vec3(0.86, 0.33, 0.24)
            if material == SNOW:
                own_colour = vec3(0.9, 0.91, 0.94)
            colour = own_colour * (0.3 + 0.75 * max(normal.dot(vec3(0.45, 0.65, 0.61)), 0.0))
        picture[i, j] = colour


def main():
    if ahead.save:
        return save(ahead.save, ahead.target)
    particles, grid = three_of(places_inside(*read_mesh(ahead.mesh))), Grid.new()
    nearest, picture = ti.ndarray(ti.i64, (pixels, pixels)), ti.ndarray(vec3, (pixels, pixels))
    gui = Window("Sparse MPM", pixels, chosen)
    while gui.running:
        for _ in range(steps):
            substep(particles, grid)
        nearest.fill(unseen)
        splat(particles, nearest)
        shade(particles, nearest, picture)
        gui.set_image(picture)
        gui.show()
        if gui.frame % 10 == 1:
            used = grid.stats()["blocks"].used
            share = used * leaf**3 / n**3
            print(f"frame {gui.frame}: {particles.shape[0]} particles, {used} blocks, {share:.1%} of the cells", file=sys.stderr)


if __name__ == "__main__":
    main()
