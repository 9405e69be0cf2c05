"""Classes, functions, templates and static decisions, as larger Taichi programs are built of them."""

import numpy as np


def static_methods(ti):
    @ti.data_oriented
    class Integrator:
        gravity = 9.8
        order = 2

        def __init__(self, n, dt):
            self.n = n
            self.dt = dt
            self.pos = ti.field(ti.f32, shape=n)
            self.vel = ti.field(ti.f32, shape=n)

        @staticmethod
        @ti.func
        def clamp(x, low, high):
            return ti.max(low, ti.min(high, x))

        @ti.func
        def force(self, i):
            return -self.gravity + 0.1 * i

        @ti.kernel
        def step(self):
            for i in range(self.n):
                self.vel[i] += self.force(i) * self.dt
                self.pos[i] = self.clamp(self.pos[i] + self.vel[i] * self.dt, -0.5, 0.5)
                if ti.static(self.order == 2):
                    self.pos[i] += 0.5 * self.dt

        @property
        def energy(self):
            return float((self.vel.to_numpy() ** 2).sum())

    s = Integrator(5, 0.05)
    for _ in range(10):
        s.step()
    return s.pos.to_numpy(), s.vel.to_numpy(), s.energy


def overridden_methods(ti):
    @ti.data_oriented
    class Shape:
        def __init__(self, n):
            self.area_of = ti.field(ti.f32, shape=n)
            self.n = n

        @ti.func
        def area(self, size):
            return size * 0.0

        @ti.kernel
        def measure(self):
            for i in self.area_of:
                self.area_of[i] = self.area(i + 1.0)

    @ti.data_oriented
    class Square(Shape):
        @ti.func
        def area(self, size):
            return size * size

    @ti.data_oriented
    class Disk(Shape):
        def __init__(self, n, scale):
            super().__init__(n)
            self.scale = scale

        @ti.func
        def area(self, size):
            return 3.0 * size * size * self.scale

    shapes = [Shape(3), Square(3), Disk(3, 0.5), Disk(3, 2.0)]
    for s in shapes:
        s.measure()
    return [s.area_of.to_numpy() for s in shapes]


def class_fields(ti):
    @ti.data_oriented
    class Counter:
        total = ti.field(ti.i32, shape=())

        def __init__(self, step):
            self.step = step

        @ti.kernel
        def add(self, n: ti.i32):
            for i in range(n):
                self.total[None] += self.step

    a, b = Counter(1), Counter(10)
    a.add(3)
    b.add(2)
    return Counter.total[None], a.total[None]


def objects_in_lists(ti):
    @ti.data_oriented
    class Body:
        def __init__(self, mass):
            self.mass = mass
            self.x = ti.field(ti.f32, shape=3)

    bodies = [Body(1.0), Body(2.5)]

    @ti.kernel
    def go():
        for i in range(3):
            for b in ti.static(bodies):
                b.x[i] = b.mass * i

    go()
    return [b.x.to_numpy() for b in bodies]


def dataclass_methods(ti):
    vec3 = ti.math.vec3

    @ti.dataclass
    class Sphere:
        centre: vec3
        radius: ti.f32

        @ti.func
        def area(self):
            return 4 * ti.math.pi * self.radius**2

        @ti.func
        def is_hit(self, p):
            return (p - self.centre).norm() < self.radius

        @ti.func
        def grow(self, k: ti.f32):
            self.radius *= k

    spheres = Sphere.field(shape=4)
    out = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go():
        for i in spheres:
            spheres[i] = Sphere(centre=vec3(i, 0, 0), radius=i + 0.5)
        for i in spheres:
            s = spheres[i]
            s.grow(2)
            out[i] = s.area() + s.is_hit(vec3(0, 0.5, 0))

    go()
    one = Sphere(vec3(1, 2, 3), 2)
    return out.to_numpy(), one.radius, one.centre[2], spheres[1].radius


def dataclass_results(ti):
    @ti.dataclass
    class Hit:
        t: ti.f32
        index: ti.i32
        normal: ti.math.vec2

    @ti.func
    def nearest(a, b):
        best = a
        if b.t < a.t:
            best = b
        return best

    @ti.func
    def make(t, i):
        return Hit(t=t, index=i, normal=ti.math.vec2(t, i))

    @ti.kernel
    def go(n: ti.i32) -> Hit:
        best = Hit(t=1e9, index=-1, normal=ti.math.vec2(0))
        ti.loop_config(serialize=True)
        for i in range(n):
            best = nearest(best, make((i - 3.5) ** 2 + 1, i))
        return best

    hit = go(10)
    return hit.t, hit.index, [hit.normal[0], hit.normal[1]]


def default_members(ti):
    @ti.dataclass
    class Options:
        a: ti.i32
        b: ti.f32
        c: ti.math.vec2

    @ti.kernel
    def go() -> ti.f32:
        o = Options()
        p = Options(a=4)
        q = Options(1, 2.5)
        return o.a + o.b + p.a + p.c.x + q.b + q.a

    return go()


def static_strings(ti):
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def go(mode: ti.template()):
        for i in x:
            if ti.static(mode == "double"):
                x[i] = 2 * i
            elif ti.static(mode in ("square", "power")):
                x[i] = i * i
            else:
                x[i] = -1

    results = []
    for mode in ("double", "power", "other"):
        go(mode)
        results.append(x.to_numpy())
    return results


def static_truth(ti):
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def go(extra: ti.template()):
        for i in x:
            x[i] = i
            if ti.static(extra):
                x[i] += extra

    go(0)
    first = x.to_numpy()
    go(5)
    return first, x.to_numpy()


def nested_functions(ti):
    @ti.func
    def outer(x):
        return inner(x) + inner(x + 1)

    @ti.func
    def inner(x):
        y = x * 2
        if x > 2:
            y = x * 3
        return y

    @ti.kernel
    def go(n: ti.i32) -> ti.i32:
        s = 0
        for i in range(n):
            s += outer(i)
        return s

    return go(5)


def keyword_functions(ti):
    @ti.func
    def line(x, slope=2.0, start=0.5):
        return x * slope + start

    @ti.kernel
    def go(x: ti.f32) -> ti.f32:
        return line(x) + line(x, 3) * 10 + line(x, start=1) * 100 + line(start=4, slope=0.25, x=x) * 1000

    return go(1.5)


def annotated_functions(ti):
    vec2 = ti.types.vector(2, ti.f32)

    @ti.func
    def rotate(v: vec2, angle: ti.f32) -> vec2:
        c = ti.cos(angle)
        s = ti.sin(angle)
        return vec2(c * v[0] - s * v[1], s * v[0] + c * v[1])

    @ti.func
    def whole(x: ti.i32) -> ti.i32:
        return x

    @ti.kernel
    def go(a: ti.f32) -> vec2:
        v = rotate(vec2(1, 2), a)
        return v + whole(3)

    r = go(0.5)
    return r[0], r[1]


def several_values(ti):
    @ti.func
    def divide(a, b):
        return a // b, a % b

    @ti.func
    def minmax(v: ti.template()):
        return v.min(), v.max(), v.sum() / v.n

    @ti.kernel
    def go(a: ti.i32, b: ti.i32) -> ti.f32:
        q, r = divide(a, b)
        lo, hi, mean = minmax(ti.Vector([3.0, 1.0, 8.0]))
        return q * 100 + r * 10 + lo + hi + mean

    return go(47, 6)


def tuple_results(ti):
    @ti.kernel
    def go(a: ti.i32) -> (ti.i32, ti.f32):
        return a * 2, a / 4

    n, x = go(5)
    return n, x


def real_functions(ti):
    @ti.real_func
    def gcd(a: ti.i32, b: ti.i32) -> ti.i32:
        x = a
        y = b
        while y != 0:
            x, y = y, x % y
        return x

    @ti.kernel
    def go() -> ti.i32:
        return gcd(84, 36) + 1000 * gcd(35, 49)

    return go()


def python_functions(ti):
    @ti.pyfunc
    def cubic(x):
        return x * x * (3 - 2 * x)

    @ti.kernel
    def go(x: ti.f32) -> ti.f32:
        return cubic(x)

    return cubic(0.25), go(0.25)


def function_templates(ti):
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go(f: ti.template(), k: ti.template()):
        for i in x:
            x[i] = f(i * 1.0) * k

    @ti.func
    def half(v):
        return v * 0.5

    @ti.func
    def twice(v):
        return v * 2

    go(half, 3)
    first = x.to_numpy()
    go(twice, 5)
    return first, x.to_numpy()


def static_ranges(ti):
    x = ti.field(ti.i32, shape=(3, 4))

    @ti.kernel
    def go():
        for i in ti.static(range(3)):
            for j in ti.static(range(0, 4, 2)):
                x[i, j] = i * 10 + j
        for i, j in ti.static(ti.ndrange(2, (1, 3))):
            x[i, j] += 100
        for a, b in ti.static(zip((0, 1), (3, 3))):
            x[a, b] -= 7

    go()
    return x.to_numpy()


def comprehensions(ti):
    @ti.kernel
    def go(n: ti.i32) -> ti.i32:
        squares = [n * k for k in range(4)]
        pairs = ti.Vector([squares[k] + 1 for k in range(4)])
        m = ti.Matrix([[i * j + n for j in range(3)] for i in range(2)])
        s = 0
        for k in ti.static(range(4)):
            s += squares[k] * pairs[k]
        return s + m[1, 2]

    return go(3)


def constants_and_tables(ti):
    table = [1, 4, 9, 16]
    stencil = {(-1, 0): 0.5, (1, 0): 0.25, (0, 1): 2.0}
    offsets = np.array([[0, 1], [1, 0]], dtype=np.int32)
    x = ti.field(ti.f32, shape=(3, 3))

    @ti.kernel
    def go():
        for i, j in x:
            s = 0.0
            for k in ti.static(range(len(table))):
                s += table[k]
            for d in ti.static(list(stencil.keys())):
                s += stencil[d] * (i + d[0])
            for k in ti.static(range(2)):
                s += ti.static(int(offsets[k, 0])) * j
            x[i, j] = s

    go()
    return x.to_numpy()


def early_returns(ti):
    out = ti.field(ti.i32, shape=8)

    @ti.real_func
    def classify(x: ti.i32) -> ti.i32:
        if x < 2:
            return -1
        if x % 2 == 0:
            return 2
        k = 3
        while k * k <= x:
            if x % k == 0:
                return k
            k += 2
        return x

    @ti.kernel
    def go():
        for i in out:
            out[i] = classify(i * 3 + 1)

    go()
    return out.to_numpy()


def matrices_as_arguments(ti):
    mat = ti.types.matrix(2, 3, ti.f32)
    vec = ti.types.vector(3, ti.f64)

    @ti.kernel
    def go(m: mat, v: vec, k: ti.math.mat2) -> ti.f64:
        w = m @ ti.cast(v, ti.f32)
        return (k @ w).sum()

    return go(mat([[1, 2, 3], [4, 5, 6]]), vec(1, 0.5, 2), ti.math.mat2(1, 2, 3, 4))


def argument_packs(ti):
    params = ti.types.struct(dt=ti.f32, n=ti.i32, wind=ti.math.vec2)
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go(p: params):
        for i in x:
            if i < p.n:
                x[i] = p.dt * p.wind.y + p.wind[0]

    go(params(dt=0.5, n=3, wind=[1, 4]))
    return x.to_numpy()


def methods_of_attributes(ti):
    @ti.data_oriented
    class Grid:
        def __init__(self, n):
            self.n = n
            self.cells = ti.field(ti.f32, shape=(n, n))

        @ti.func
        def at(self, i, j):
            return self.cells[i % self.n, j % self.n]

    @ti.data_oriented
    class Solver:
        def __init__(self, n):
            self.grid = Grid(n)
            self.out = ti.field(ti.f32, shape=(n, n))
            self.steps = 0

        @ti.kernel
        def run(self, k: ti.f32):
            for i, j in self.grid.cells:
                self.grid.cells[i, j] = i * k + j
            for i, j in self.out:
                self.out[i, j] = self.grid.at(i + 1, j) - self.grid.at(i, j - 1 + self.grid.n)

        def loop(self):
            for _ in range(2):
                self.run(self.steps + 1.0)
                self.steps += 1

    s = Solver(3)
    s.loop()
    return s.out.to_numpy(), s.steps


def kernels_calling_python(ti):
    x = ti.field(ti.f32, shape=3)

    def factor(k):
        return k * 2.5

    @ti.kernel
    def go():
        for i in x:
            x[i] = i * ti.static(factor(2))

    go()
    return x.to_numpy()


def struct_types_with_methods(ti):
    @ti.func
    def length(self):
        return ti.sqrt(self.x**2 + self.y**2)

    Point = ti.types.struct(x=ti.f32, y=ti.f32, __struct_methods={"length": length})

    @ti.kernel
    def go() -> ti.f32:
        p = Point(x=3, y=4)
        return p.length()

    return go()


def generic_lerp(ti):
    v = ti.Vector.field(2, ti.f32, shape=3)
    s = ti.field(ti.f32, shape=3)

    @ti.func
    def lerp(a, b, t):
        return a + (b - a) * t

    @ti.kernel
    def go():
        for i in v:
            t = i / 2
            v[i] = lerp(ti.Vector([0.0, 1.0]), ti.Vector([4.0, 3.0]), t)
            s[i] = lerp(10, 20, t)

    go()
    return v.to_numpy(), s.to_numpy()
