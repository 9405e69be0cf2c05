"""Traps of types and operators: what a Taichi user relies on without thinking of it."""

import numpy as np


def augmented_integers(ti):
    x = ti.field(ti.i32, shape=12)

    @ti.kernel
    def go(n: ti.i32):
        a = 17
        a //= n
        x[0] = a
        a = -17
        a %= n
        x[1] = a
        a = n
        a **= 3
        x[2] = a
        a <<= 2
        x[3] = a
        a >>= 1
        x[4] = a
        a |= 3
        x[5] = a
        a &= 0x7E
        x[6] = a
        a ^= n
        x[7] = a
        a -= 1000
        x[8] = a
        a *= -n
        x[9] = a

    go(5)
    return x.to_numpy()


def augmented_elements(ti):
    x = ti.field(ti.i32, shape=10)
    y = ti.field(ti.f32, shape=5)

    @ti.kernel
    def go():
        for i in x:
            x[i] = 100 + i
        for i in y:
            y[i] = 10.5 + i
        for _ in range(1):
            x[0] += 7
            x[1] -= 7
            x[2] |= 1
            x[3] &= 0x0F
            x[4] ^= 0xFF
            x[5] *= 3
            x[6] //= 4
            x[7] %= 9
            x[8] <<= 2
            x[9] >>= 3
            y[0] += 1
            y[1] -= 0.25
            y[2] *= 2
            y[3] /= 4
            y[4] **= 2

    go()
    return x.to_numpy(), y.to_numpy()


def augmented_vectors(ti):
    v = ti.Vector.field(3, ti.f32, shape=4)

    @ti.kernel
    def go():
        for i in v:
            a = ti.Vector([1.0, 2.0, 3.0]) * (i + 1)
            a += 1
            a -= ti.Vector([0.5, 0.25, 0.125])
            a *= ti.Vector([2.0, 4.0, 8.0])
            a /= 3.0
            v[i] = a
            v[i] += a
            v[i] *= 0.5
            v[i][1] -= 1.0

    go()
    return v.to_numpy()


def negative_modulo(ti):
    x = ti.field(ti.i32, shape=(4, 4))
    y = ti.field(ti.f32, shape=(4, 4))

    @ti.kernel
    def go():
        for i in range(4):
            a = 7 if i % 2 == 0 else -7
            b = 3 if i < 2 else -3
            x[i, 0] = a // b
            x[i, 1] = a % b
            x[i, 2] = ti.raw_mod(a, b)
            x[i, 3] = ti.raw_div(a, b)
            fa = a + 0.5
            fb = b * 1.0
            y[i, 0] = fa // fb
            y[i, 1] = fa % fb
            y[i, 2] = fa / fb
            y[i, 3] = a / b

    go()
    return x.to_numpy(), y.to_numpy()


def casts(ti):
    x = ti.field(ti.i32, shape=12)
    y = ti.field(ti.f64, shape=6)

    @ti.kernel
    def go(a: ti.f64, b: ti.f32, n: ti.i32):
        x[0] = int(a)
        x[1] = ti.cast(-a, ti.i32)
        x[2] = ti.i32(b)
        x[3] = ti.cast(n, ti.u8)
        x[4] = ti.cast(n, ti.i8)
        x[5] = ti.cast(n * 1000, ti.i16)
        x[6] = ti.cast(b, int)
        x[7] = ti.bit_cast(b, ti.i32)
        x[8] = int(b > 1)
        x[9] = ti.u8(200)
        x[10] = ti.cast(-1, ti.u16)
        x[11] = ti.cast(ti.cast(n, ti.u32), ti.i32)
        y[0] = float(n)
        y[1] = ti.cast(n, ti.f64) / 3
        y[2] = ti.f64(a) * 2
        y[3] = ti.cast(a, ti.f32)
        y[4] = ti.cast(a, float)
        y[5] = ti.bit_cast(n, ti.f32)

    go(1234567.891, 2.75, 300)
    return x.to_numpy(), y.to_numpy()


def wrapping(ti):
    a = ti.field(ti.u8, shape=4)
    b = ti.field(ti.u32, shape=4)
    c = ti.field(ti.i16, shape=3)
    d = ti.field(ti.i64, shape=3)
    e = ti.field(ti.i32, shape=3)

    @ti.kernel
    def go(n: ti.i32):
        u = ti.u8(250)
        u += ti.u8(10)
        a[0] = u
        a[1] = 255
        a[1] += 2
        a[2] = ti.cast(n, ti.u8) * ti.u8(3)
        a[3] = 0
        a[3] -= 1
        w = ti.u32(0)
        w -= 1
        b[0] = w
        b[1] = ti.u32(4000000000) + ti.u32(500000000)
        b[2] = ti.u32(3000000000) // 7
        b[3] = ti.u32(3000000000) >> 3
        c[0] = 32767
        c[0] += 1
        c[1] = ti.cast(n, ti.i16) * ti.cast(200, ti.i16)
        c[2] = ti.cast(-5, ti.i16) >> ti.cast(1, ti.i16)
        big = ti.i64(1) << 40
        d[0] = big
        d[1] = big * n
        d[2] = n * n
        e[0] = 2147483647
        e[0] += n
        e[1] = n << 30
        e[2] = -n >> 2

    go(200)
    return [f.to_numpy() for f in (a, b, c, d, e)]


def booleans(ti):
    flags = ti.field(ti.u1, shape=6)
    out = ti.field(ti.i32, shape=8)

    @ti.kernel
    def go(n: ti.i32, on: ti.u1):
        for i in flags:
            flags[i] = i % 2 == 0
        flags[1] = on
        flags[3] = not on
        out[0] = flags[0] and flags[1]
        out[1] = flags[3] or n > 3
        out[2] = not n
        out[3] = not (n > 100)
        out[4] = True
        ok = False
        if flags[0]:
            ok = True
        out[5] = ok
        if n and not flags[3]:
            out[6] = 1
        out[7] = 1 if flags[5] else 7

    go(4, True)
    return flags.to_numpy().astype(np.int32), out.to_numpy()


def chained_comparisons(ti):
    x = ti.field(ti.i32, shape=10)

    @ti.kernel
    def go(lo: ti.i32, hi: ti.i32):
        for i in x:
            x[i] = (lo <= i < hi) + 2 * (0 < i != 5) + 4 * (i == i == lo)

    go(3, 7)
    return x.to_numpy()


def truth_values(ti):
    x = ti.field(ti.i32, shape=8)

    @ti.kernel
    def go(n: ti.i32, z: ti.i32):
        x[0] = (n > 1) & (z == 0)
        x[1] = (n > 1) | (z == 1)
        x[2] = (n > 1) ^ (z == 0)
        x[3] = ti.cast(n > 1, int) + (z == 0)
        x[4] = (n > 1 and z > 1) or n == 6
        x[5] = not z
        x[6] = ~z
        x[7] = -int(n > 1)

    go(6, 0)
    return x.to_numpy()


def ternaries(ti):
    v = ti.Vector.field(2, ti.f32, shape=4)
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go():
        for i in v:
            a = ti.Vector([1.0, 2.0])
            b = ti.Vector([3.0, i * 1.0])
            if i % 2:
                v[i] = a
            else:
                v[i] = b
            x[i] = 1 if i > 1 else 0.5
            x[i] += ti.select(i > 2, 10, 20.5)
            w = ti.select(a > b, a, b)
            v[i] += w

    go()
    return v.to_numpy(), x.to_numpy()


def shadowed_types(ti):
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go():
        a = 1
        a = 2.7
        x[0] = a
        b = 1.0
        b = 7
        x[1] = b / 2
        c = 0
        for i in range(4):
            c += i
        x[2] = c
        d = 5
        d /= 2
        x[3] = d

    go()
    return x.to_numpy()


def literal_types(ti):
    y = ti.field(ti.f64, shape=8)

    @ti.kernel
    def go(n: ti.i32):
        y[0] = 1 / 3
        y[1] = 0.1
        y[2] = 0.1 + 0.2
        y[3] = n / 3
        y[4] = ti.f64(0.1) + 0.2
        y[5] = 1e-3 * n
        y[6] = 7 // 2 * 1.5
        y[7] = 3 % 2.5

    go(10)
    return y.to_numpy()


def wide_defaults(ti):
    ti.init(arch=ti.cpu, default_fp=ti.f64, default_ip=ti.i64, log_level="error")
    y = ti.field(float, shape=4)
    n = ti.field(int, shape=3)

    @ti.kernel
    def go(a: float, k: int) -> float:
        y[0] = 1 / 3
        y[1] = a * 0.1
        y[2] = ti.sqrt(2)
        y[3] = ti.math.pi
        n[0] = k * 5000000000
        n[1] = 1 << 40
        n[2] = ti.cast(a, int)
        s = 0.0
        for i in range(1000):
            s += 1e-9 * i
        return s + a

    total = go(0.3, 3)
    return y.to_numpy(), n.to_numpy(), total


def minimum_and_maximum(ti):
    x = ti.field(ti.f32, shape=8)

    @ti.kernel
    def go(a: ti.i32, b: ti.f32):
        x[0] = min(a, b)
        x[1] = max(a, b, 100)
        x[2] = ti.min(a, 2, b, -1.5)
        x[3] = ti.max(a, b)
        v = ti.Vector([a, 9, 2])
        x[4] = v.max()
        x[5] = v.min()
        w = ti.max(v, 4)
        x[6] = w.sum()
        x[7] = abs(-a) + ti.abs(-b)

    go(5, 3.5)
    return x.to_numpy()


def atomic_results(ti):
    x = ti.field(ti.i32, shape=8)
    olds = ti.field(ti.i32, shape=8)
    f = ti.field(ti.f32, shape=3)
    fo = ti.field(ti.f32, shape=3)

    @ti.kernel
    def go():
        for i in x:
            x[i] = 12
        for i in f:
            f[i] = 2.5
        for _ in range(1):
            olds[0] = ti.atomic_add(x[0], 3)
            olds[1] = ti.atomic_sub(x[1], 3)
            olds[2] = ti.atomic_min(x[2], 5)
            olds[3] = ti.atomic_max(x[3], 50)
            olds[4] = ti.atomic_and(x[4], 6)
            olds[5] = ti.atomic_or(x[5], 3)
            olds[6] = ti.atomic_xor(x[6], 5)
            olds[7] = ti.atomic_mul(x[7], 5)
            fo[0] = ti.atomic_add(f[0], 1.5)
            fo[1] = ti.atomic_max(f[1], 7)
            fo[2] = ti.atomic_min(f[2], -1)

    go()
    return [a.to_numpy() for a in (x, olds, f, fo)]


def local_atomics(ti):
    out = ti.field(ti.i32, shape=4)

    @ti.kernel
    def go():
        for i in range(1):
            a = 5
            old = ti.atomic_add(a, 7)
            out[0] = a
            out[1] = old
            b = ti.Vector([1, 2])
            ti.atomic_max(b[0], 9)
            out[2] = b[0]
            out[3] = b[1]

    go()
    return out.to_numpy()


def float_specials(ti):
    x = ti.field(ti.i32, shape=6)
    y = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go(z: ti.f32):
        nan = ti.math.nan
        inf = ti.math.inf
        x[0] = ti.math.isnan(nan)
        x[1] = ti.math.isinf(inf)
        x[2] = inf > 1e30
        x[3] = ti.math.isinf(1.0 / z)
        x[4] = ti.math.isnan(z)
        x[5] = -inf < z
        y[0] = ti.math.e
        y[1] = ti.math.pi
        y[2] = ti.exp(-inf)
        y[3] = ti.max(z, 3.0)

    go(0.0)
    return x.to_numpy(), y.to_numpy()


def bit_tricks(ti):
    out = ti.field(ti.i32, shape=16)

    @ti.func
    def reverse(v, bits):
        r = 0
        n = v
        for _ in range(bits):
            r = (r << 1) | (n & 1)
            n >>= 1
        return r

    @ti.func
    def hash(v):
        h = ti.cast(v, ti.u32) * ti.u32(2654435761)
        h ^= h >> 16
        return ti.cast(h & ti.u32(0x7FFFFFFF), ti.i32)

    @ti.kernel
    def go():
        for i in range(8):
            out[i] = reverse(i, 3)
        for i in range(8, 16):
            out[i] = hash(i)

    go()
    return out.to_numpy()


def counting_bits(ti):
    out = ti.field(ti.i32, shape=6)

    @ti.kernel
    def go(n: ti.i32, m: ti.u32):
        out[0] = ti.math.popcnt(n)
        out[1] = ti.math.clz(n)
        out[2] = ti.math.popcnt(m)
        out[3] = ti.bit_shr(n, 4)
        out[4] = ti.bit_shr(-n, 28)
        out[5] = ti.math.popcnt(-1)

    go(1234, 0xF0F0F0F0)
    return out.to_numpy()


def integer_powers(ti):
    out = ti.field(ti.i64, shape=6)
    y = ti.field(ti.f32, shape=4)

    @ti.kernel
    def go(n: ti.i32, x: ti.f32):
        out[0] = n**2
        out[1] = ti.i64(n) ** 20
        out[2] = (-n) ** 3
        out[3] = n**0
        out[4] = 2**10
        out[5] = ti.pow(n, 4)
        y[0] = x**n
        y[1] = n**x
        y[2] = x**-2
        y[3] = 2.0**0.5

    go(3, 1.5)
    return out.to_numpy(), y.to_numpy()
