"""Implicit finite elements: a rubber bar of tetrahedra, held at one end, falls and swings, by steps of a sixtieth of a second.

Neo-Hookean rubber; each step of backward Euler is one of Newton's, whose system conjugate gradients solve without its matrix:
the product with the stiffness is computed element by element (J. Bonet, R. Wood, Nonlinear Continuum Mechanics for Finite
Element Analysis).

python examples/implicit_fem.py --size 24 --frames 120 --out bar.gif
"""

from itertools import permutations

import numpy as np
from example import SceneWindow, options

import metate as ti

chosen = options(__doc__, size=24, frames=120, size_help="cubes along the bar")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

long, thick = max(chosen.size, 2), max(chosen.size // 6, 1)
side = 1.0 / long
mass_density, young, poisson = 1000.0, 3e5, 0.4
mu, lam = young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))
dt, gravity = 1 / 60, ti.Vector([0.0, -9.8, 0.0])
mat3, vec3 = ti.types.matrix(3, 3, ti.f32), ti.types.vector(3, ti.f32)

corners = np.stack(np.meshgrid(range(long + 1), range(thick + 1), range(thick + 1), indexing="ij"), -1).reshape(-1, 3)


def number(at):
    return (at[..., 0] * (thick + 1) + at[..., 1]) * (thick + 1) + at[..., 2]


def tetrahedra():
    """Six of each cube: from its lowest corner to its highest along three edges, in each order of the axes."""
    cubes = corners[(corners < [long, thick, thick]).all(1)]
    paths = [np.cumsum([[0, 0, 0], *np.eye(3, dtype=int)[list(order)]], 0) for order in permutations(range(3))]
    return np.concatenate([number(cubes[:, None] + path) for path in paths])


def surface(elements):
    """Triangles that one element only has, counterclockwise from outside."""
    faces = np.concatenate([np.delete(elements, k, 1) for k in range(4)])
    a, b, c, inside = (corners[part] for part in (*faces.T, elements.T.reshape(-1)))
    inwards = ((np.cross(b - a, c - a) * (inside - a)).sum(1) > 0)[:, None]
    faces = np.where(inwards, faces[:, ::-1], faces)
    _, first, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    return faces[first[count == 1]].astype(np.int32)


elements = tetrahedra()
outside = surface(elements)
nodes, count = len(corners), len(elements)
x, v, force = (ti.Vector.field(3, ti.f32, shape=nodes) for _ in range(3))
change, residual, way, product = (ti.Vector.field(3, ti.f32, shape=nodes) for _ in range(4))  # of conjugate gradients
mass = ti.field(ti.f32, shape=nodes)
held = ti.field(ti.u8, shape=nodes)
element = ti.Vector.field(4, ti.i32, shape=count)
from_rest = ti.Matrix.field(3, 3, ti.f32, shape=count)  # inverse of the edges at rest
volume = ti.field(ti.f32, shape=count)
triangles = ti.field(ti.i32, shape=outside.size)


@ti.func
def edges(f: ti.template(), e):
    """f at three corners of an element, less f at the fourth: as columns."""
    last = f[element[e][3]]
    return ti.Matrix.cols([f[element[e][0]] - last, f[element[e][1]] - last, f[element[e][2]] - last])


@ti.func
def spread(f: ti.template(), e, h):
    """Adds the columns of h at three corners, and what balances them at the fourth."""
    for k in ti.static(range(3)):
        f[element[e][k]] += h[:, k]
        f[element[e][3]] -= h[:, k]


@ti.kernel
def measure():
    for e in element:
        at_rest = edges(x, e)
        volume[e] = abs(at_rest.determinant()) / 6
        from_rest[e] = at_rest.inverse()
        for k in ti.static(range(4)):
            mass[element[e][k]] += mass_density * volume[e] / 4
    for k in x:
        held[k] = x[k][0] < 1e-6


@ti.kernel
def energy() -> ti.f64:
    total = ti.f64(0)
    for e in element:
        F = edges(x, e) @ from_rest[e]
        J = ti.log(ti.max(F.determinant(), 0.05))
        total += volume[e] * (0.5 * mu * ((F.transpose() @ F).trace() - 3) - mu * J + 0.5 * lam * J * J)
    return total


@ti.kernel
def pull(g: vec3):
    """Forces of gravity and rubber: less the gradient of the energy."""
    for k in x:
        force[k] = mass[k] * g
    for e in element:
        F = edges(x, e) @ from_rest[e]
        J = ti.max(F.determinant(), 0.05)
        inverse = F.inverse().transpose()
        stress = mu * (F - inverse) + lam * ti.log(J) * inverse
        spread(force, e, -volume[e] * stress @ from_rest[e].transpose())


@ti.kernel
def stiff(p: ti.template(), out: ti.template(), dt2: ti.f32):
    """out = (mass + dt^2 stiffness) p: how forces change where nodes go along p."""
    for k in p:
        out[k] = mass[k] * p[k]
    for e in element:
        F = edges(x, e) @ from_rest[e]
        dF = edges(p, e) @ from_rest[e]
        J = ti.max(F.determinant(), 0.05)
        inverse = F.inverse()
        turned = (inverse @ dF @ inverse).transpose()
        # lambda log(J) - mu is below 0 unless the rubber is blown up, and so its term leaves the sum positive.
        change_of_stress = mu * dF + ti.max(mu - lam * ti.log(J), 0.0) * turned
        change_of_stress += lam * (inverse @ dF).trace() * inverse.transpose()
        spread(out, e, dt2 * volume[e] * change_of_stress @ from_rest[e].transpose())
    for k in p:
        if held[k] != 0:
            out[k] = p[k]


@ti.kernel
def begin():
    """The system's right-hand side, dt (f - dt K v), less nothing: the first residual. `way` has v before."""
    for k in x:
        residual[k] = dt * force[k] - (product[k] - mass[k] * way[k])
        if held[k] != 0:
            residual[k] = vec3(0)
        way[k] = residual[k]
        change[k] = vec3(0)


@ti.kernel
def dot(a: ti.template(), b: ti.template()) -> ti.f64:
    total = ti.f64(0)
    for k in a:
        total += a[k].dot(b[k])
    return total


@ti.kernel
def add(out: ti.template(), a: ti.template(), scale: ti.f32, b: ti.template()):
    for k in a:
        out[k] = a[k] + scale * b[k]


def step(tolerance=1e-4):
    """A step of time; gives how many rounds the conjugate gradients took."""
    pull(gravity)
    way.copy_from(v)
    stiff(way, product, dt * dt)
    begin()
    square = first = dot(residual, residual)
    rounds = 0
    while square > tolerance**2 * first and rounds < 300:
        stiff(way, product, dt * dt)
        length = square / dot(way, product)
        add(change, change, length, way)
        add(residual, residual, -length, product)
        before, square = square, dot(residual, residual)
        add(way, residual, square / before, way)
        rounds += 1
    add(v, v, 1.0, change)
    add(x, x, dt, v)
    return rounds


def start():
    x.from_numpy((corners * side).astype(np.float32))
    v.fill(0)
    mass.fill(0)
    element.from_numpy(elements.astype(np.int32))
    triangles.from_numpy(outside.reshape(-1))
    measure()


def main():
    start()
    window = SceneWindow("Implicit finite elements", (512, 512), chosen, position=(0.6, 0.1, 2.0), lookat=(0.5, -0.35, 0.0))
    canvas, scene = window.get_canvas(), window.get_scene()
    while window.running:
        step()
        canvas.set_background_color((0.96, 0.95, 0.9))
        scene.set_camera(window.camera)
        scene.ambient_light((0.35, 0.35, 0.35))
        scene.point_light(pos=(0.5, 2, 2), color=(0.8, 0.8, 0.8))
        scene.mesh(x, indices=triangles, color=(0.83, 0.3, 0.25), two_sided=True)
        canvas.scene(scene)
        window.show()


if __name__ == "__main__":
    main()
