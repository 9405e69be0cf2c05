"""Path tracer over signed distances: shapes that are only functions of a point, below a lamp and a sky.

python examples/sdf_renderer.py --size 400 --frames 64 --out room.png
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=320, frames=32, size_help="height of the picture in pixels; samples add up over frames")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=5)

height = chosen.size
res = (height * 16 // 9, height)
fov = 0.22
far = 20.0
max_steps = 100
max_bounces = 5
camera = ti.Vector([0.0, 0.35, 4.0])
lamp_center = ti.Vector([-1.6, 1.9, 1.2])
lamp_radius = 0.7
lamp_light = ti.Vector([9.0, 8.2, 6.8])
sky_light = ti.Vector([0.25, 0.3, 0.4])

light = ti.Vector.field(3, ti.f32, shape=res)


@ti.func
def ball(p):
    return (p - ti.Vector([0.0, 0.22, 0.05])).norm() - 0.32


@ti.func
def carved_box(p):
    """A box with round edges, less a ball in its middle."""
    q = ti.abs(p - ti.Vector([0.85, 0.2, 0.0])) - 0.25
    outside = ti.max(q, 0.0).norm() + ti.min(ti.max(q[0], q[1], q[2]), 0.0) - 0.05
    return ti.max(outside, 0.37 - (p - ti.Vector([0.85, 0.2, 0.0])).norm())


@ti.func
def rings(p):
    """A stack of rings: one, repeated every 0.16 of the height."""
    q = p - ti.Vector([-0.85, 0.0, 0.0])
    level = ti.math.clamp(ti.round(q[1] / 0.16), 0.0, 3.0)
    around = ti.Vector([q[0], q[2]]).norm() - 0.24
    return ti.Vector([around, q[1] - 0.16 * level]).norm() - 0.07


@ti.func
def distance(p):
    """How far the nearest surface is: floor, wall, or one of the shapes."""
    return ti.min(p[1] + 0.1, p[2] + 0.6, ball(p), carved_box(p), rings(p))


@ti.func
def color(p):
    """The share of light that the surface at p gives back."""
    c = ti.Vector([0.75, 0.73, 0.7])
    if ball(p) < 1e-3:
        c = ti.Vector([0.85, 0.45, 0.2])
    elif carved_box(p) < 1e-3:
        c = ti.Vector([0.3, 0.55, 0.75])
    elif rings(p) < 1e-3:
        c = ti.Vector([0.8, 0.75, 0.35])
    return c


@ti.func
def march(origin, direction):
    """How far a ray goes until it meets a surface; `far` if it does not."""
    travelled = 0.0
    steps = 0
    step = 1.0
    while steps < max_steps and travelled < far and step > 1e-6:
        step = distance(origin + travelled * direction)
        travelled += step
        steps += 1
    return ti.min(far, travelled)


@ti.func
def normal_at(p):
    d = 1e-3
    n = ti.Vector([0.0, 0.0, 0.0])
    for i in ti.static(range(3)):
        ahead = p
        behind = p
        ahead[i] += d
        behind[i] -= d
        n[i] = distance(ahead) - distance(behind)
    return n.normalized()


@ti.func
def lamp_along(origin, direction):
    """How far the lamp is along a ray; `far` if the ray misses it."""
    away = origin - lamp_center
    b = direction.dot(away)
    inside = b * b - away.dot(away) + lamp_radius * lamp_radius
    found = far
    if inside > 0:
        near = -b - ti.sqrt(inside)
        if near > 0:
            found = near
    return found


@ti.func
def basis(n):
    """Two directions that stand upright on n and on one another."""
    u = ti.Vector([1.0, 0.0, 0.0])
    if ti.abs(n[1]) < 1 - 1e-3:
        u = n.cross(ti.Vector([0.0, 1.0, 0.0])).normalized()
    return u, n.cross(u)


@ti.func
def scatter(n):
    """A random direction around n, the likelier the closer, as matt surfaces reflect."""
    u, v = basis(n)
    phi = 2 * ti.math.pi * ti.random()
    r = ti.random()
    return ti.sqrt(r) * (ti.cos(phi) * u + ti.sin(phi) * v) + ti.sqrt(1 - r) * n


@ti.func
def lit_by_lamp(p, n):
    """Light that a surface at p gets from the lamp and gives back, were it white: one random point of the lamp."""
    to_lamp = lamp_center - p
    cos_edge = ti.sqrt(1 - lamp_radius * lamp_radius / to_lamp.dot(to_lamp))
    axis = to_lamp.normalized()
    u, v = basis(axis)
    phi = 2 * ti.math.pi * ti.random()
    cos_theta = 1 - ti.random() * (1 - cos_edge)
    sin_theta = ti.sqrt(1 - cos_theta * cos_theta)
    direction = sin_theta * (ti.cos(phi) * u + ti.sin(phi) * v) + cos_theta * axis
    found = ti.Vector([0.0, 0.0, 0.0])
    facing = direction.dot(n)
    if facing > 0 and march(p, direction) > lamp_along(p, direction):
        found = lamp_light * (2 * facing * (1 - cos_edge))  # 1/pi, times the lamp's solid angle
    return found


@ti.func
def trace(origin, direction):
    """Light that comes along a ray from where it goes."""
    found = ti.Vector([0.0, 0.0, 0.0])
    carried = ti.Vector([1.0, 1.0, 1.0])
    p = origin
    d = direction
    bounces = 0
    while bounces <= max_bounces:
        surface = march(p, d)
        lamp = lamp_along(p, d)
        if lamp < surface:
            if bounces == 0:  # later ones are in lit_by_lamp
                found += lamp_light
            break
        if surface >= far:
            found += carried * sky_light
            break
        p += surface * d
        n = normal_at(p)
        carried *= color(p)
        p += 1e-3 * n
        found += carried * lit_by_lamp(p, n)
        d = scatter(n)
        bounces += 1
    return found


@ti.kernel
def sample():
    for i, j in light:
        x = 2 * fov * (i + ti.random() - 0.5 * res[0]) / res[1]
        y = 2 * fov * (j + ti.random() - 0.5 * res[1]) / res[1]
        light[i, j] += trace(camera, ti.Vector([x, y, -1.0]).normalized())


def picture(samples):
    """The mean so far, its tones pressed into 0 to 1."""
    mean = light.to_numpy() / max(samples, 1)
    return (mean / (0.6 + mean)) ** 0.8


def main():
    gui = Window("SDF path tracer", res, chosen)
    while gui.running:
        sample()
        gui.set_image(picture(gui.frame + 1))
        gui.show()


if __name__ == "__main__":
    main()
