"""The Cornell box: light that is traced from the eye; two blocks in a room with a red and a green wall, lit from above.

At each place that a path meets, a point of the lamp is asked whether it is seen (next event estimation); the path goes on in a
random direction, by the cosine. Frames are averaged (J. Kajiya, The Rendering Equation, 1986).

python examples/cornell_box.py --size 256 --frames 60 --out box.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=256, frames=60, size_help="pixels along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
vec3 = ti.math.vec3
bounces = 6
lamp_half, lamp_height = 0.3, 0.999
far = 1e9
walls = 6  # x = -1, x = 1, y = -1, y = 1, z = -1, z = 1; the last one only from inside; then two blocks and the lamp
LAMP = walls + 2

albedo = ti.Vector.field(3, ti.f32, shape=walls + 3)
emission = ti.Vector.field(3, ti.f32, shape=walls + 3)
light = ti.Vector.field(3, ti.f32, shape=(n, n))
picture = ti.Vector.field(3, ti.f32, shape=(n, n))
Hit = ti.types.struct(t=ti.f32, normal=vec3, what=ti.i32)


@ti.func
def turned(v, angle):
    c, s = ti.cos(angle), ti.sin(angle)
    return vec3(c * v.x + s * v.z, v.y, c * v.z - s * v.x)


@ti.func
def block(hit: ti.template(), origin, way, center, half, angle, what):
    """The nearer of `hit` and a block, which is turned about the y axis."""
    o, d = turned(origin - center, angle), turned(way, angle)
    one, other = (-half - o) / d, (half - o) / d
    near, beyond = ti.min(one, other), ti.max(one, other)
    t = near.max()
    if t < beyond.min() and 1e-4 < t < hit.t:
        side = vec3(0)
        for k in ti.static(range(3)):
            if near[k] == t:
                side[k] = -ti.math.sign(d[k])
        hit = Hit(t=t, normal=turned(side, -angle), what=what)


@ti.func
def meet(origin, way, closed):
    """What a ray meets first. Of an open room the front, z = 1, lets through."""
    hit = Hit(t=far, normal=vec3(0), what=-1)
    for axis, side in ti.static([(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)]):
        t = (side - origin[axis]) / way[axis]
        p = origin + t * way
        if t > 1e-4 and t < hit.t and way[axis] * side > 0 and abs(p).max() < 1.0001:
            if closed or side != 1 or axis != 2:
                normal = vec3(0)
                normal[axis] = -side
                hit = Hit(t=t, normal=normal, what=2 * axis + (side + 1) // 2)
    block(hit, origin, way, vec3(-0.35, -0.4, -0.35), vec3(0.28, 0.6, 0.28), -0.3, walls)
    block(hit, origin, way, vec3(0.38, -0.7, 0.3), vec3(0.28, 0.3, 0.28), 0.3, walls + 1)
    t = (lamp_height - origin.y) / way.y
    p = origin + t * way
    if 1e-4 < t < hit.t and way.y > 0 and abs(p.x) < lamp_half and abs(p.z) < lamp_half:
        hit = Hit(t=t, normal=vec3(0, -1, 0), what=LAMP)
    return hit


@ti.func
def by_cosine(normal):
    """A random direction on the normal's side: a point of a sphere that stands on the surface."""
    z = 2 * ti.random() - 1
    ring = ti.sqrt(ti.max(1 - z * z, 0.0)) * ti.math.vdir(2 * ti.math.pi * ti.random())
    return (normal * 1.0001 + vec3(ring.x, ring.y, z)).normalized()


@ti.func
def from_lamp(at, normal, closed):
    """What the lamp sends to a place, through one random point of it; times pi."""
    lit = vec3(0)
    to = vec3(lamp_half * (2 * ti.random() - 1), lamp_height, lamp_half * (2 * ti.random() - 1)) - at
    way = to.normalized()
    cosines = ti.max(normal.dot(way), 0.0) * ti.max(way.y, 0.0)
    if cosines > 0 and meet(at, way, closed).what == LAMP:
        lit = emission[LAMP] * cosines * (2 * lamp_half) ** 2 / to.norm_sqr()
    return lit


@ti.func
def radiance(origin, way, asks_lamp: ti.template(), closed: ti.template()):
    total, share = vec3(0), vec3(1)
    at, to = origin, way
    for k in range(bounces):
        hit = meet(at, to, closed)
        if hit.what < 0:
            break
        if ti.static(not asks_lamp) or k == 0 or hit.what != LAMP:
            total += share * emission[hit.what]
        at += hit.t * to
        share *= albedo[hit.what]
        if ti.static(asks_lamp):
            total += share * from_lamp(at, hit.normal, closed) / ti.math.pi
        to = by_cosine(hit.normal)
    return total


@ti.kernel
def trace(asks_lamp: ti.template()):
    """One more path for each pixel."""
    for i, j in light:
        x, y = (2 * (i + ti.random()) / n - 1, 2 * (j + ti.random()) / n - 1)
        light[i, j] += radiance(vec3(0, 0, 3.9), vec3(x, y, -2.85).normalized(), asks_lamp, False)


@ti.kernel
def probe(paths: ti.i32) -> ti.types.vector(3, ti.f32):
    """The mean of what comes to a place in the closed room from all around."""
    total = vec3(0)
    for _ in range(paths):
        way = by_cosine(vec3(0)).normalized()
        total += radiance(vec3(0.1, 0.2, 0.3), way, False, True) / paths
    return total


@ti.kernel
def color(paths: ti.i32):
    for i, j in picture:
        mean = 2.0 * light[i, j] / paths
        picture[i, j] = (mean / (1 + 0.35 * mean)) ** (1 / 2.2)


def furnish():
    white, red, green = [0.73, 0.73, 0.73], [0.65, 0.05, 0.05], [0.12, 0.45, 0.15]
    for k, rgb in enumerate([red, green, white, white, white, white, white, white, [0.0, 0.0, 0.0]]):
        albedo[k] = rgb
        emission[k] = [0.0, 0.0, 0.0]
    emission[LAMP] = [15.0, 12.0, 8.0]


def main():
    furnish()
    gui = Window("Cornell box", n, chosen)
    while gui.running:
        for _ in range(4):
            trace(True)
        color(4 * (gui.frame + 1))
        gui.set_image(picture)
        gui.show()


if __name__ == "__main__":
    main()
