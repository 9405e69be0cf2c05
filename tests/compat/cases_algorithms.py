"""Whole programs: solvers, sorting, scans, transforms, automata, particles, rays."""

import numpy as np


def conjugate_gradients(ti):
    n = 16
    x = ti.field(ti.f64, shape=(n, n))
    b = ti.field(ti.f64, shape=(n, n))
    r = ti.field(ti.f64, shape=(n, n))
    p = ti.field(ti.f64, shape=(n, n))
    ap = ti.field(ti.f64, shape=(n, n))

    @ti.func
    def at(f: ti.template(), i, j):
        result = ti.cast(0, ti.f64)
        if 0 <= i < n and 0 <= j < n:
            result = f[i, j]
        return result

    @ti.kernel
    def multiply(out: ti.template(), v: ti.template()):
        for i, j in v:
            out[i, j] = 4 * v[i, j] - at(v, i - 1, j) - at(v, i + 1, j) - at(v, i, j - 1) - at(v, i, j + 1)

    @ti.kernel
    def dot(a: ti.template(), c: ti.template()) -> ti.f64:
        s = ti.cast(0.0, ti.f64)
        for I in ti.grouped(a):
            s += a[I] * c[I]
        return s

    @ti.kernel
    def axpy(y: ti.template(), k: ti.f64, v: ti.template()):
        for I in ti.grouped(y):
            y[I] += k * v[I]

    @ti.kernel
    def direction(k: ti.f64):
        for I in ti.grouped(p):
            p[I] = r[I] + k * p[I]

    @ti.kernel
    def start():
        for i, j in b:
            b[i, j] = ti.sin(i * 0.7) + 0.1 * j
            r[i, j] = b[i, j]
            p[i, j] = b[i, j]

    start()
    old = dot(r, r)
    for _ in range(60):
        multiply(ap, p)
        alpha = old / dot(p, ap)
        axpy(x, alpha, p)
        axpy(r, -alpha, ap)
        new = dot(r, r)
        if new < 1e-16:
            break
        direction(new / old)
        old = new
    return x.to_numpy(), dot(r, r) < 1e-10


def jacobi(ti):
    n = 12
    u = ti.field(ti.f32, shape=(2, n, n))

    @ti.kernel
    def sweep(src: ti.i32, dst: ti.i32):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            u[dst, i, j] = 0.25 * (u[src, i - 1, j] + u[src, i + 1, j] + u[src, i, j - 1] + u[src, i, j + 1])

    @ti.kernel
    def boundary():
        for i in range(n):
            for k in range(2):
                u[k, i, 0] = 1.0
                u[k, 0, i] = i / n

    boundary()
    for t in range(30):
        sweep(t % 2, (t + 1) % 2)
    return u.to_numpy()


def prefix_sum(ti):
    n = 64
    a = ti.field(ti.i32, shape=n)
    b = ti.field(ti.i32, shape=n)

    @ti.kernel
    def fill():
        for i in a:
            a[i] = (i * 7 + 3) % 10

    @ti.kernel
    def scan(src: ti.template(), dst: ti.template(), step: ti.i32):
        for i in src:
            if i >= step:
                dst[i] = src[i] + src[i - step]
            else:
                dst[i] = src[i]

    @ti.kernel
    def serial() -> ti.i32:
        total = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            total += a[i]
            b[i] = total
        return total

    fill()
    total = serial()
    expected = b.to_numpy()
    source, target = a, b
    step = 1
    while step < n:
        scan(source, target, step)
        source, target = target, source
        step *= 2
    return source.to_numpy(), expected, total


def odd_even_sort(ti):
    n = 25
    keys = ti.field(ti.i32, shape=n)
    values = ti.field(ti.f32, shape=n)

    @ti.kernel
    def fill():
        for i in keys:
            keys[i] = (i * 37 + 11) % 101
            values[i] = keys[i] * 0.5

    @ti.kernel
    def phase(parity: ti.i32):
        for k in range((n - parity) // 2):
            i = 2 * k + parity
            if keys[i] > keys[i + 1]:
                keys[i], keys[i + 1] = keys[i + 1], keys[i]
                t = values[i]
                values[i] = values[i + 1]
                values[i + 1] = t

    fill()
    for k in range(n):
        phase(k % 2)
    return keys.to_numpy(), values.to_numpy()


def bubble_sort_in_order(ti):
    a = ti.field(ti.f32, shape=12)

    @ti.kernel
    def sort():
        for i in a:
            a[i] = (i * 5) % 12 + 0.25
        for _ in range(1):
            for i in range(12):
                for j in range(11 - i):
                    if a[j] > a[j + 1]:
                        a[j], a[j + 1] = a[j + 1], a[j]

    sort()
    return a.to_numpy()


def fast_fourier_transform(ti):
    n, log_n = 16, 4
    x = ti.Vector.field(2, ti.f64, shape=n)
    y = ti.Vector.field(2, ti.f64, shape=n)

    @ti.func
    def reversed_bits(v):
        r = 0
        for b in ti.static(range(log_n)):
            r |= ((v >> b) & 1) << (log_n - 1 - b)
        return r

    @ti.kernel
    def scatter():
        for i in x:
            y[reversed_bits(i)] = x[i]

    @ti.kernel
    def butterflies(half: ti.i32):
        for k in range(n // 2):
            group, pos = k // half, k % half
            i = group * half * 2 + pos
            j = i + half
            angle = -ti.math.pi * pos / half
            w = ti.Vector([ti.cos(angle), ti.sin(angle)])
            t = ti.math.cmul(w, y[j])
            y[j] = y[i] - t
            y[i] += t

    x.from_numpy(np.stack([np.cos(np.arange(n)), np.arange(n) * 0.25], axis=1))
    scatter()
    half = 1
    while half < n:
        butterflies(half)
        half *= 2
    return y.to_numpy().round(4)


def mandelbrot(ti):
    n = 24
    pixels = ti.field(ti.f32, shape=(n * 2, n))

    @ti.func
    def complex_sqr(z):
        return ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2])

    @ti.kernel
    def paint(t: ti.f32):
        for i, j in pixels:
            c = ti.Vector([-0.8, ti.cos(t) * 0.2])
            z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
            iterations = 0
            while z.norm() < 20 and iterations < 50:
                z = complex_sqr(z) + c
                iterations += 1
            pixels[i, j] = 1 - iterations * 0.02

    paint(0.3)
    return pixels.to_numpy()


def marching_cells(ti):
    n = 9
    level = ti.field(ti.f32, shape=(n, n))
    cases = ti.field(ti.i32, shape=(n - 1, n - 1))
    ends = ti.Vector.field(2, ti.f32, shape=(n * n, 2))
    count = ti.field(ti.i32, shape=())

    @ti.func
    def crossing(a, b):
        return a / (a - b)

    @ti.kernel
    def march():
        for i, j in level:
            level[i, j] = (i - 4.2) ** 2 + (j - 3.8) ** 2 - 7.5
        count[None] = 0
        for i, j in cases:
            id = 0
            if level[i, j] > 0:
                id |= 1
            if level[i + 1, j] > 0:
                id |= 2
            if level[i + 1, j + 1] > 0:
                id |= 4
            if level[i, j + 1] > 0:
                id |= 8
            cases[i, j] = id
            if id != 0 and id != 15:
                k = ti.atomic_add(count[None], 1)
                ends[k, 0] = [i + crossing(level[i, j], level[i + 1, j] + 1e-3), j]

    march()
    return cases.to_numpy(), count[None]


def binning(ti):
    n, cells = 200, 8
    pos = ti.Vector.field(2, ti.f32, shape=n)
    count = ti.field(ti.i32, shape=(cells, cells))
    start = ti.field(ti.i32, shape=cells * cells)
    cursor = ti.field(ti.i32, shape=cells * cells)
    order = ti.field(ti.i32, shape=n)

    @ti.kernel
    def place():
        for i in pos:
            pos[i] = [(i * 0.37) % 1.0, (i * 0.73 + 0.1) % 1.0]

    @ti.kernel
    def build():
        for i, j in count:
            count[i, j] = 0
        for i in pos:
            cell = ti.floor(pos[i] * cells, int)
            ti.atomic_add(count[cell], 1)
        ti.loop_config(serialize=True)
        for c in range(cells * cells):
            if c > 0:
                start[c] = start[c - 1] + count[(c - 1) // cells, (c - 1) % cells]
            cursor[c] = start[c]
        for i in pos:
            cell = (pos[i] * cells).cast(int)
            c = cell[0] * cells + cell[1]
            slot = ti.atomic_add(cursor[c], 1)
            order[slot] = i

    place()
    build()
    slots = order.to_numpy()
    first = start.to_numpy()
    sorted_slots = np.concatenate([np.sort(part) for part in np.split(slots, first[1:])])
    return count.to_numpy(), first, sorted_slots


def ray_tracer(ti):
    vec3 = ti.math.vec3
    n = 12

    @ti.dataclass
    class Ray:
        origin: vec3
        direction: vec3

        @ti.func
        def at(self, t):
            return self.origin + t * self.direction

    @ti.dataclass
    class Sphere:
        centre: vec3
        radius: ti.f32
        colour: vec3

        @ti.func
        def hit(self, ray, t_min, t_max):
            oc = ray.origin - self.centre
            a = ti.math.dot(ray.direction, ray.direction)
            b = 2.0 * ti.math.dot(oc, ray.direction)
            c = ti.math.dot(oc, oc) - self.radius**2
            disc = b * b - 4 * a * c
            found = False
            t = 0.0
            if disc > 0:
                root = (-b - ti.sqrt(disc)) / (2 * a)
                if root < t_max and root > t_min:
                    found = True
                    t = root
            return found, t

    @ti.data_oriented
    class Scene:
        def __init__(self):
            self.objects = []
            self.image = ti.Vector.field(3, ti.f32, shape=(n, n))

        def add(self, thing):
            self.objects.append(thing)

        @ti.func
        def nearest(self, ray):
            best = 1e10
            colour = vec3(0)
            normal = vec3(0, 0, 1)
            is_hit = False
            for k in ti.static(range(len(self.objects))):
                found, t = self.objects[k].hit(ray, 0.001, best)
                if found:
                    is_hit = True
                    best = t
                    colour = self.objects[k].colour
                    normal = (ray.at(t) - self.objects[k].centre).normalized()
            return is_hit, normal, colour

        @ti.kernel
        def render(self):
            for i, j in self.image:
                uv = ti.Vector([i, j]) / n - 0.5
                ray = Ray(origin=vec3(0, 0, 3), direction=vec3(uv.x, uv.y, -1).normalized())
                is_hit, normal, colour = self.nearest(ray)
                if is_hit:
                    self.image[i, j] = colour * ti.max(0.1, normal.dot(vec3(1, 1, 1).normalized()))
                else:
                    self.image[i, j] = ti.math.mix(vec3(1), vec3(0.5, 0.7, 1), uv.y + 0.5)

    scene = Scene()
    scene.add(Sphere(centre=vec3(0, 0, 0), radius=0.8, colour=vec3(1, 0.3, 0.2)))
    scene.add(Sphere(centre=vec3(0.6, 0.4, 0.7), radius=0.3, colour=vec3(0.2, 0.9, 0.4)))
    scene.render()
    return scene.image.to_numpy()


def mass_springs(ti):
    n = 5
    x = ti.Vector.field(3, ti.f32, shape=(n, n))
    v = ti.Vector.field(3, ti.f32, shape=(n, n))
    links = [ti.Vector(d) for d in ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1))]

    @ti.kernel
    def init():
        for i, j in x:
            x[i, j] = ti.Vector([i * 0.2, 0.5, j * 0.2])
            v[i, j] = ti.Vector([0.0, 0.0, 0.0])

    @ti.kernel
    def step(dt: ti.f32):
        for I in ti.grouped(x):
            force = ti.Vector([0.0, -9.8, 0.0])
            for d in ti.static(links):
                J = I + d
                if 0 <= J[0] < n and 0 <= J[1] < n:
                    rel = x[I] - x[J]
                    length = 0.2 * ti.cast(d, ti.f32).norm()
                    force += -200.0 * rel.normalized() * (rel.norm() / length - 1)
            v[I] = (v[I] + dt * force) * ti.exp(-dt)
        for I in ti.grouped(x):
            if I[0] == 0:
                v[I] *= 0
            x[I] += dt * v[I]

    init()
    for _ in range(20):
        step(0.005)
    return x.to_numpy()


def automaton(ti):
    n = 16
    state = ti.field(ti.u8, shape=(2, n, n))

    @ti.kernel
    def init():
        for i, j in ti.ndrange(n, n):
            state[0, i, j] = ti.cast((i * 3 + j * 5) % 7 < 3, ti.u8)

    @ti.kernel
    def step(now: ti.template(), nxt: ti.template()):
        for i, j in ti.ndrange(n, n):
            alive = 0
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(di != 0 or dj != 0):
                    alive += state[now, (i + di + n) % n, (j + dj) % n]
            if state[now, i, j]:
                state[nxt, i, j] = 1 if alive == 2 or alive == 3 else 0
            else:
                state[nxt, i, j] = alive == 3

    init()
    for t in range(6):
        step(t % 2, 1 - t % 2)
    return state.to_numpy()


def euler_rotation(ti):
    points = ti.Vector.field(3, ti.f32, shape=4)

    @ti.kernel
    def go(angle: ti.f32):
        for i in points:
            p = ti.Vector([1.0, i, -0.5])
            r = ti.math.rotation3d(angle, 0.2, -0.1)
            q = r @ ti.Vector([p.x, p.y, p.z, 1.0])
            points[i] = q.xyz

    go(0.7)
    return points.to_numpy()


def histogram(ti):
    image = ti.field(ti.u8, shape=(32, 32))
    counts = ti.field(ti.i32, shape=16)
    stats = ti.field(ti.f32, shape=3)

    @ti.kernel
    def go():
        for i, j in image:
            image[i, j] = (i * j * 7 + i) % 256
        for i in range(16):
            counts[i] = 0
        stats[1] = 1e9
        stats[2] = -1e9
        for i, j in image:
            counts[image[i, j] // 16] += 1
            stats[0] += image[i, j] / 1024
            ti.atomic_min(stats[1], image[i, j])
            ti.atomic_max(stats[2], image[i, j])

    go()
    return counts.to_numpy(), stats.to_numpy()


def matrix_product(ti):
    a = ti.field(ti.f32, shape=(5, 7))
    b = ti.field(ti.f32, shape=(7, 4))
    c = ti.field(ti.f32, shape=(5, 4))
    out = ti.ndarray(ti.f32, shape=(5, 4))

    @ti.kernel
    def go(out: ti.types.ndarray(ndim=2)):
        for i, j in a:
            a[i, j] = i - 0.5 * j
        for i, j in b:
            b[i, j] = i * 0.25 + j
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
            out[i, j] = c[i, j] * 2

    go(out)
    return c.to_numpy(), out.to_numpy()


def random_walks_are_in_range(ti):
    x = ti.field(ti.f32, shape=500)
    n = ti.field(ti.i32, shape=500)

    @ti.kernel
    def go():
        for i in x:
            x[i] = ti.random()
            n[i] = ti.random(ti.i32) % 6

    go()
    values, numbers = x.to_numpy(), n.to_numpy()
    return (
        bool((values >= 0).all() and (values < 1).all()),
        bool(abs(values.mean() - 0.5) < 0.1),
        bool((numbers >= 0).all() and (numbers < 6).all()),
    )


def weighted_gather(ti):
    n = 8
    grid = ti.Vector.field(2, ti.f32, shape=(n, n))
    mass = ti.field(ti.f32, shape=(n, n))
    x = ti.Vector.field(2, ti.f32, shape=6)
    affine = ti.Matrix.field(2, 2, ti.f32, shape=6)

    @ti.kernel
    def go():
        for p in x:
            x[p] = [0.3 + 0.05 * p, 0.4 + 0.03 * p]
            affine[p] = ti.Matrix([[0.1 * p, 1.0], [-1.0, 0.5]])
        for p in x:
            xp = x[p] * n
            base = (xp - 0.5).cast(int)
            fx = xp - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                grid[base + offset] += weight * (ti.Vector([1.0, 2.0]) + affine[p] @ (offset - fx))
                mass[base + offset] += weight

    go()
    return grid.to_numpy(), mass.to_numpy()
