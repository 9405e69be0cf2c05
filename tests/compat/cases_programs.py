"""Programs about functions, templates, classes and structs, as a Taichi user writes them."""

import numpy as np


def template_fields(ti):
    x = ti.field(ti.i32, shape=5)
    y = ti.field(ti.i32, shape=(2, 3))

    @ti.kernel
    def add(f: ti.template(), delta: ti.i32):
        for I in ti.grouped(f):
            f[I] += delta

    add(x, 42)
    add(x, 1)
    add(y, 3)
    return x.to_numpy(), y.to_numpy()


def template_function_argument(ti):
    x = ti.field(ti.f32, shape=6)

    @ti.func
    def square(a):
        return a * a

    @ti.func
    def cube(a):
        return a * a * a

    @ti.kernel
    def apply(f: ti.template()):
        for i in x:
            x[i] = f(i * 0.5)

    apply(square)
    first = x.to_numpy()
    apply(cube)
    return first, x.to_numpy()


def func_by_reference(ti):
    x = ti.field(ti.i32, shape=3)

    @ti.func
    def bump(a: ti.template(), b: ti.i32):
        a += b

    @ti.kernel
    def go() -> ti.i32:
        s = 1
        bump(s, 4)
        for i in x:
            bump(x[i], i)
        return s

    return go(), x.to_numpy()


def several_returns(ti):
    @ti.func
    def divide(a, b):
        return a // b, a % b

    @ti.kernel
    def go(a: ti.i32, b: ti.i32) -> ti.types.vector(2, ti.i32):
        q, r = divide(a, b)
        return ti.Vector([q, r])

    return go(17, 5).to_numpy()


def data_oriented(ti):
    @ti.data_oriented
    class Counter:
        def __init__(self, n, step):
            self.n = n
            self.step = step
            self.x = ti.field(ti.i32, shape=n)

        @ti.func
        def at(self, i):
            return i * self.step

        @ti.kernel
        def run(self, times: ti.i32):
            for i in self.x:
                self.x[i] += self.at(i) * times

        def go(self):
            self.run(2)
            return self.x.to_numpy()

    return Counter(4, 3).go(), Counter(3, 5).go()


def inheritance(ti):
    @ti.data_oriented
    class Base:
        def __init__(self):
            self.x = ti.field(ti.f32, shape=4)

        @ti.func
        def value(self, i):
            return i * 1.0

        @ti.kernel
        def run(self):
            for i in self.x:
                self.x[i] = self.value(i)

    @ti.data_oriented
    class Derived(Base):
        @ti.func
        def value(self, i):
            return i * 10.0 + 1.0

    a, b = Base(), Derived()
    a.run()
    b.run()
    return a.x.to_numpy(), b.x.to_numpy()


def nested_objects(ti):
    @ti.data_oriented
    class Grid:
        def __init__(self, n):
            self.u = ti.field(ti.f32, shape=(n, n))

    @ti.data_oriented
    class Solver:
        def __init__(self, n):
            self.grid = Grid(n)
            self.n = n

        @ti.kernel
        def step(self) -> ti.f32:
            s = 0.0
            for i, j in ti.ndrange(self.n, self.n):
                self.grid.u[i, j] = i + j
                s += self.grid.u[i, j]
            return s

    solver = Solver(5)
    return solver.step(), solver.grid.u.to_numpy()


def dataclass(ti):
    vec3 = ti.math.vec3

    @ti.dataclass
    class Sphere:
        center: vec3
        radius: ti.f32

        @ti.func
        def area(self):
            return 4 * ti.math.pi * self.radius * self.radius

        @ti.func
        def is_zero_sized(self):
            return self.radius == 0.0

    s = ti.field(ti.f32, shape=2)

    @ti.kernel
    def go():
        ball = Sphere(center=vec3(1.0, 2.0, 3.0), radius=2.0)
        s[0] = ball.area()
        s[1] = ball.center.sum() + ball.is_zero_sized()

    go()
    return s.to_numpy()


def struct_locals(ti):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)
    out = ti.field(ti.f32, shape=4)

    @ti.func
    def swap_sum(p):
        q = pair(a=ti.cast(p.b, ti.i32), b=p.a)
        return q

    @ti.kernel
    def go():
        p = pair(3, 4.5)
        q = p
        q.a = 10
        r = swap_sum(p)
        out[0] = p.a
        out[1] = q.a
        out[2] = r.a
        out[3] = r.b

    go()
    return out.to_numpy()


def static_loops(ti):
    x = ti.field(ti.i32, shape=10)
    table = [3, 1, 4, 1, 5]
    flags = {"twice": True}

    @ti.kernel
    def go():
        for k in ti.static(range(5)):
            x[k] = table[k]
        for k, value in ti.static(enumerate(table)):
            x[5 + k] = value * 2 if ti.static(flags["twice"]) else value

    go()
    return x.to_numpy()


def compile_time_containers(ti):
    out = ti.field(ti.f32, shape=3)

    @ti.kernel
    def go():
        w = [0.25, 0.5, 0.25]
        for i in range(3):
            s = 0.0
            for k in ti.static(range(3)):
                s += w[k] * (i + k)
            out[i] = s
        squares = [k * k for k in ti.static(range(4))]
        out[0] += squares[3]

    go()
    return out.to_numpy()


def stencil_weights(ti):
    n = 8
    x = ti.Vector.field(2, ti.f32, shape=n)
    grid = ti.field(ti.f32, shape=(8, 8))

    @ti.kernel
    def init():
        for i in x:
            x[i] = [0.3 + 0.05 * i, 0.6 - 0.03 * i]

    @ti.kernel
    def p2g():
        for p in x:
            base = (x[p] * 8 - 0.5).cast(int)
            fx = x[p] * 8 - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i][0] * w[j][1]
                grid[base + offset] += weight

    init()
    p2g()
    return grid.to_numpy()


def ndarray_arguments(ti):
    a = ti.ndarray(ti.f32, shape=(3, 4))
    v = ti.Vector.ndarray(2, ti.f32, shape=5)

    @ti.kernel
    def go(a: ti.types.ndarray(), v: ti.types.ndarray(dtype=ti.math.vec2, ndim=1), n: ti.types.ndarray()):
        for i, j in a:
            a[i, j] = i * 4 + j
        for i in v:
            v[i] = ti.Vector([i, i * i])
        for i in range(n.shape[0]):
            n[i] += a[0, 1]

    n = np.zeros(3, dtype=np.float32)
    go(a, v, n)
    return a.to_numpy(), v.to_numpy(), n, a[1, 2]


def kernel_returns(ti):
    @ti.kernel
    def scalar(x: ti.f32) -> ti.f32:
        return x * 2

    @ti.kernel
    def matrix() -> ti.types.matrix(2, 2, ti.f32):
        return ti.Matrix([[1.0, 2.0], [3.0, 4.0]])

    return scalar(1.5), matrix().to_numpy()


def early_exit(ti):
    x = ti.field(ti.i32, shape=12)

    @ti.kernel
    def go():
        for i in range(12):
            if i % 3 == 0:
                continue
            j = 0
            while True:
                j += 1
                if j * j > i:
                    break
            x[i] = j

    go()
    return x.to_numpy()


def math_functions(ti):
    from_library = ti.math
    out = ti.field(ti.f32, shape=10)

    @ti.kernel
    def go():
        v = from_library.vec3(1.0, 2.0, 2.0)
        out[0] = from_library.length(v)
        out[1] = from_library.mix(1.0, 3.0, 0.25)
        out[2] = from_library.clamp(5.0, 0.0, 2.0)
        out[3] = from_library.fract(2.75)
        out[4] = from_library.smoothstep(0.0, 1.0, 0.5)
        out[5] = from_library.dot(v, v)
        out[6] = from_library.normalize(v)[1]
        out[7] = from_library.mod(7.5, 2.0)
        out[8] = from_library.sign(-3.0)
        out[9] = from_library.cross(v, from_library.vec3(0.0, 1.0, 0.0)).z

    go()
    return out.to_numpy()


def linear_algebra(ti):
    m = ti.Matrix.field(2, 2, ti.f32, shape=5)

    @ti.kernel
    def go():
        a = ti.Matrix([[2.0, 1.0], [1.0, 3.0]])
        u, s, v = ti.svd(a)
        r, p = ti.polar_decompose(a)
        m[0] = u @ s @ v.transpose()
        m[1] = r @ p
        m[2] = a.inverse()
        m[3] = ti.Matrix.identity(ti.f32, 2) * a.determinant() + a.trace()
        m[4] = a.transpose() @ a

    go()
    return m.to_numpy()


def integer_semantics(ti):
    out = ti.field(ti.i32, shape=8)

    @ti.kernel
    def go(a: ti.i32, b: ti.i32):
        out[0] = a // b
        out[1] = a % b
        out[2] = ti.raw_div(a, b)
        out[3] = ti.raw_mod(a, b)
        out[4] = a >> 1
        out[5] = ti.bit_shr(a, 28)
        out[6] = a & 6 | 8 ^ b
        out[7] = ti.cast(a / b, ti.i32)

    go(-7, 3)
    return out.to_numpy()


def ndrange_forms(ti):
    x = ti.field(ti.i32, shape=(6, 7))

    @ti.kernel
    def go():
        for i, j in ti.ndrange((1, 4), 3):
            x[i, j] = 1
        for I in ti.grouped(ti.ndrange((2, 6), (4, 7))):
            x[I] += 10
        for i, j in ti.ndrange(*x.shape):
            x[i, j] += 100

    go()
    return x.to_numpy()


def select_and_logic(ti):
    out = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go(a: ti.i32):
        out[0] = ti.select(a > 2, 1.5, 2.5)
        out[1] = 1.0 if 0 < a < 10 and not a == 4 else 0.0
        v = ti.select(ti.Vector([1, 0]), ti.Vector([5, 6]), ti.Vector([7, 8]))
        out[2] = v[0] * 10 + v[1]
        out[3] = max(a, 1, 9) - min(a, 3)

    go(3)
    return out.to_numpy()


def loop_configuration(ti):
    x = ti.field(ti.i32, shape=10)

    @ti.kernel
    def prefix():
        ti.loop_config(serialize=True)
        for i in range(1, 10):
            x[i] = x[i - 1] + i

    prefix()
    return x.to_numpy()


def keyword_and_default_arguments(ti):
    @ti.func
    def scaled(a, factor=3, shift=1):
        return a * factor + shift

    out = ti.field(ti.i32, shape=3)

    @ti.kernel
    def go():
        out[0] = scaled(2)
        out[1] = scaled(2, shift=5)
        out[2] = scaled(2, 4, 6)

    go()
    return out.to_numpy()


def game_of_life(ti):
    n = 16
    alive = ti.field(ti.i32, shape=(n, n))
    count = ti.field(ti.i32, shape=(n, n))

    @ti.func
    def get_count(i, j):
        return (
            alive[i - 1, j] + alive[i + 1, j] + alive[i, j - 1] + alive[i, j + 1]
            + alive[i - 1, j - 1] + alive[i + 1, j - 1] + alive[i - 1, j + 1] + alive[i + 1, j + 1]
        )  # fmt: skip

    @ti.kernel
    def init():
        for i, j in alive:
            alive[i, j] = 1 if (i * 7 + j * 13) % 5 < 2 and 0 < i < n - 1 and 0 < j < n - 1 else 0

    @ti.kernel
    def run():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            count[i, j] = get_count(i, j)
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            c = count[i, j]
            if alive[i, j] == 0 and c == 3:
                alive[i, j] = 1
            elif alive[i, j] == 1 and c != 2 and c != 3:
                alive[i, j] = 0

    init()
    for _ in range(4):
        run()
    return alive.to_numpy()
