"""Programs about types, operators and statements, as a Taichi user writes them."""

import math

import numpy as np


def mixed_promotion(ti):
    out = ti.field(ti.f64, shape=8)

    @ti.kernel
    def go(a: ti.i32, b: ti.f32, c: ti.i64, d: ti.u8):
        out[0] = a * b
        out[1] = a + c
        out[2] = d * 3
        out[3] = a / 2
        out[4] = a // 2
        out[5] = b // 0.5
        out[6] = -b % 0.75
        out[7] = c * b

    go(7, 1.25, 1 << 33, 200)
    return out.to_numpy()


def powers(ti):
    out = ti.field(ti.f32, shape=6)

    @ti.kernel
    def go(n: ti.i32, x: ti.f32):
        out[0] = n**3
        out[1] = x**2
        out[2] = x**0.5
        out[3] = x ** (-1)
        out[4] = 2**n
        out[5] = ti.pow(x, 3)

    go(5, 2.5)
    return out.to_numpy()


def bit_operations(ti):
    out = ti.field(ti.i32, shape=8)

    @ti.kernel
    def go(a: ti.i32, b: ti.u32):
        out[0] = a << 3
        out[1] = a >> 2
        out[2] = ti.cast(b >> 28, ti.i32)
        out[3] = ~a
        out[4] = a ^ 255
        out[5] = ti.math.popcnt(a)
        out[6] = ti.math.clz(a)
        out[7] = ti.bit_cast(ti.cast(1.5, ti.f32), ti.i32)

    go(37, 0xF0000001)
    return out.to_numpy()


def rounding(ti):
    out = ti.field(ti.f32, shape=(7, 4))

    @ti.kernel
    def go():
        for i in range(7):
            x = i * 0.75 - 2.25
            out[i, 0] = ti.floor(x)
            out[i, 1] = ti.ceil(x)
            out[i, 2] = ti.round(x)
            out[i, 3] = ti.cast(x, ti.i32)

    go()
    return out.to_numpy()


def elementary_functions(ti):
    out = ti.field(ti.f64, shape=(5, 14))

    @ti.kernel
    def go():
        for i in range(5):
            x = ti.cast(i, ti.f64) * 0.2 + 0.1
            out[i, 0] = ti.sin(x)
            out[i, 1] = ti.cos(x)
            out[i, 2] = ti.tan(x)
            out[i, 3] = ti.asin(x * 0.5)
            out[i, 4] = ti.acos(x * 0.5)
            out[i, 5] = ti.atan2(x, 0.3)
            out[i, 6] = ti.tanh(x)
            out[i, 7] = ti.exp(x)
            out[i, 8] = ti.log(x)
            out[i, 9] = ti.sqrt(x)
            out[i, 10] = ti.rsqrt(x)
            out[i, 11] = ti.abs(-x)
            out[i, 12] = ti.max(x, 0.5, 0.2)
            out[i, 13] = ti.min(x, 0.5)

    go()
    return out.to_numpy()


def python_math(ti):
    out = ti.field(ti.f32, shape=3)

    @ti.kernel
    def go(x: ti.f32):
        out[0] = math.pi * x
        out[1] = abs(-x) + max(x, 1.0) + min(x, 1.0)
        out[2] = pow(x, 2) + ti.round(x)

    go(1.75)
    return out.to_numpy()


def vector_arithmetic(ti):
    out = ti.Vector.field(3, ti.f32, shape=9)

    @ti.kernel
    def go():
        a = ti.Vector([1.0, -2.0, 3.0])
        b = ti.Vector([0.5, 4.0, -1.0])
        out[0] = a + b
        out[1] = a - 2.0
        out[2] = 3.0 * a / b
        out[3] = ti.max(a, b)
        out[4] = a.cross(b)
        out[5] = abs(a)
        out[6] = -a
        out[7] = ti.Vector([a.norm(), a.norm_sqr(), a.dot(b)])
        c = a
        c += b
        c *= 2
        c[1] = 9.0
        out[8] = c.normalized() + a * 0

    go()
    return out.to_numpy()


def vector_comparisons(ti):
    out = ti.field(ti.i32, shape=5)

    @ti.kernel
    def go():
        a = ti.Vector([1, 2, 3])
        b = ti.Vector([1, 5, 0])
        out[0] = (a == b).sum()
        out[1] = (a < b).any()
        out[2] = (a <= b).all()
        out[3] = a.max() * 10 + a.min()
        out[4] = a.sum()

    go()
    return np.abs(out.to_numpy())


def swizzles(ti):
    out = ti.Vector.field(3, ti.f32, shape=4)

    @ti.kernel
    def go():
        v = ti.math.vec4(1.0, 2.0, 3.0, 4.0)
        out[0] = v.xyz
        out[1] = v.wzy
        v.xy = v.yx
        out[2] = v.rgb
        v.zw += 10.0
        out[3] = v.yzw

    go()
    return out.to_numpy()


def matrix_operations(ti):
    out = ti.Matrix.field(2, 2, ti.f32, shape=7)

    @ti.kernel
    def go():
        a = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        b = ti.Matrix.rows([ti.Vector([0.0, 1.0]), ti.Vector([1.0, 1.0])])
        c = ti.Matrix.cols([ti.Vector([0.0, 1.0]), ti.Vector([2.0, 3.0])])
        out[0] = a @ b
        out[1] = a * b
        out[2] = a.transpose() + c
        out[3] = ti.Matrix.zero(ti.f32, 2, 2) + ti.Matrix.one(ti.f32, 2, 2)
        out[4] = ti.Vector([1.0, 2.0]).outer_product(ti.Vector([3.0, 4.0]))
        v = a @ ti.Vector([1.0, -1.0])
        out[5] = ti.Matrix([[v[0], v[1]], [a[1, 0], a.determinant()]])
        out[6] = a.inverse() @ a

    go()
    return out.to_numpy()


def wide_matrices(ti):
    out = ti.field(ti.f32, shape=(3, 2))

    @ti.kernel
    def go():
        a = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = a.transpose()
        c = a @ b
        for i, j in ti.static(ti.ndrange(3, 2)):
            out[i, j] = b[i, j] + c[j, j]

    go()
    return out.to_numpy()


def control_flow(ti):
    out = ti.field(ti.i32, shape=20)

    @ti.func
    def collatz(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    @ti.kernel
    def go():
        for i in range(20):
            out[i] = collatz(i + 1)

    go()
    return out.to_numpy()


def nested_loops(ti):
    out = ti.field(ti.i32, shape=6)

    @ti.kernel
    def go():
        for i in range(6):
            s = 0
            for j in range(i):
                for k in range(1, j + 1):
                    if k == 3:
                        continue
                    s += k
                if s > 12:
                    break
            out[i] = s

    go()
    return out.to_numpy()


def top_level_statements(ti):
    out = ti.field(ti.i32, shape=4)

    @ti.kernel
    def go(n: ti.i32) -> ti.i32:
        out[0] = n
        for i in range(1, 4):
            out[i] = out[0] + i
        s = 0
        for i in range(4):
            s += out[i]
        if s > 10:
            s = -s
        return s

    return go(3), out.to_numpy()


def vector_arguments(ti):
    vec = ti.types.vector(3, ti.f32)
    mat = ti.types.matrix(2, 2, ti.f32)
    out = ti.field(ti.f32, shape=2)

    @ti.kernel
    def go(v: vec, m: mat, w: ti.math.vec2):
        out[0] = v.sum() + m[1, 0]
        out[1] = (m @ w)[1]

    go(vec(1, 2, 3), mat([[1, 2], [3, 4]]), ti.math.vec2(5, 6))
    return out.to_numpy()


def struct_arguments(ti):
    vec2 = ti.types.vector(2, ti.f32)
    ball = ti.types.struct(position=vec2, radius=ti.f32)
    out = ti.field(ti.f32, shape=3)

    @ti.kernel
    def go(b: ball):
        out[0] = b.position.x
        out[1] = b.position.y
        out[2] = b.radius

    go(ball(position=vec2(1.5, 2.5), radius=4))
    return out.to_numpy()


def struct_results(ti):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def go(n: ti.i32) -> pair:
        return pair(a=n * 2, b=n * 0.5)

    p = go(7)
    return p.a, p.b


def default_types(ti):
    ti.init(arch=ti.cpu, default_ip=ti.i64, default_fp=ti.f64)
    x = ti.field(float, shape=2)
    k = ti.field(int, shape=2)

    @ti.kernel
    def go(a: float, n: int):
        x[0] = a / 3
        x[1] = 1.0 / 3.0
        k[0] = n * 3
        k[1] = 1 << 3

    go(0.1, 1 << 40)
    return x.to_numpy(), k.to_numpy()


def small_types(ti):
    a = ti.field(ti.u8, shape=3)
    b = ti.field(ti.i16, shape=3)
    h = ti.field(ti.f16, shape=3)

    @ti.kernel
    def go():
        for i in range(3):
            a[i] = 250 + i * 3
            b[i] = -i * 300
            h[i] = i * 0.1

    go()
    return a.to_numpy(), b.to_numpy(), h.to_numpy().astype(np.float32)


def captured_values(ti):
    n, scale = 5, 0.25
    weights = (1.0, 2.0, 4.0)
    out = ti.field(ti.f32, shape=n)

    @ti.kernel
    def go():
        for i in range(n):
            out[i] = i * scale + weights[1]

    go()
    return out.to_numpy()


def static_decisions(ti):
    out = ti.field(ti.i32, shape=3)
    verbose, mode = True, "fast"

    @ti.kernel
    def go():
        if ti.static(verbose):
            out[0] = 1
        if ti.static(mode == "fast"):
            out[1] = 2
        else:
            out[1] = 3
        ti.static_assert(mode != "slow", "no")
        for k in ti.static([5, 6, 7]):
            out[2] += k

    go()
    return out.to_numpy()


def grouped_arithmetic(ti):
    x = ti.field(ti.i32, shape=(5, 5))
    y = ti.field(ti.i32, shape=(5, 5))

    @ti.kernel
    def go():
        for I in ti.grouped(x):
            x[I] = I.dot(ti.Vector([1, 5]))
        for I in ti.grouped(y):
            s = 0
            for D in ti.static(ti.grouped(ti.ndrange((-1, 2), (-1, 2)))):
                J = I + D
                if 0 <= J[0] < 5 and 0 <= J[1] < 5:
                    s += x[J]
            y[I] = s

    go()
    return y.to_numpy()


def several_targets(ti):
    out = ti.field(ti.i32, shape=6)

    @ti.kernel
    def go():
        a, b = 1, 2
        a, b = b, a
        c = d = a + b
        v = ti.Vector([7, 8])
        e, f = v
        out[0], out[1] = a, b
        out[2] = c
        out[3] = d
        out[4] = e
        out[5] = f

    go()
    return out.to_numpy()


def python_scope_vectors(ti):
    v = ti.Vector([1.0, 2.0, 3.0])
    w = ti.Vector([4.0, 5.0, 6.0])
    m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
    x = (v + w * 2).to_numpy()
    return x, v.dot(w), v.cross(w).to_numpy(), v.norm(), (m @ m).to_numpy(), m.transpose().to_numpy(), v.x + w.z


def structured_arrays(ti):
    n = 7
    x = np.arange(n, dtype=np.float32)
    y = np.zeros((n, 2), dtype=np.float32)

    @ti.kernel
    def go(x: ti.types.ndarray(), y: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=1)):
        for i in x:
            y[i] = ti.Vector([x[i], -x[i]])

    go(x, y)
    return y


def reductions(ti):
    n = 1000
    x = ti.field(ti.f32, shape=n)
    low = ti.field(ti.f32, shape=())
    high = ti.field(ti.f32, shape=())

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.sin(i * 1.7)
        low[None] = 1e9
        high[None] = -1e9

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i] * x[i]
            ti.atomic_min(low[None], x[i])
            ti.atomic_max(high[None], x[i])
        return s

    fill()
    return round(total(), 1), low[None], high[None]
