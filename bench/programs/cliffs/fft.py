"""A Fourier transform, radix 2, stage by stage: the twiddles by sin and cos where they are needed."""

import math

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, bits):
    n = 1 << bits
    return {"re": rng.random(n, np.float32) - np.float32(0.5), "im": rng.random(n, np.float32) - np.float32(0.5)}


def model(inputs, bits):
    out = np.fft.fft(inputs["re"].astype(np.float64) + 1j * inputs["im"])
    return {"re": out.real, "im": out.imag}


WORK = Workload(
    title="a Fourier transform by stages",
    unit="value",
    parameters={"bits": 16},
    device={"bits": 20},
    smoke={"bits": 7},
    items=lambda bits: 1 << bits,
    inputs=inputs,
    model=model,
    tolerance=(1e-3, 1e-2),
)


def pair(inputs):
    return np.ascontiguousarray(np.stack([inputs["re"], inputs["im"]], axis=1))


@WORK.spelling("two fields, bits turned, one loop of butterflies, // and %")
def two_fields(inputs, bits):
    n = 1 << bits
    in_re, in_im, re, im = (ti.field(ti.f32, shape=n) for _ in range(4))
    in_re.from_numpy(np.ascontiguousarray(inputs["re"]))
    in_im.from_numpy(np.ascontiguousarray(inputs["im"]))

    @ti.kernel
    def turn():
        for i in range(n):
            r, k = 0, i
            for _ in range(bits):
                r = r * 2 + k % 2
                k //= 2
            re[r] = in_re[i]
            im[r] = in_im[i]

    @ti.kernel
    def stage(half: ti.i32):
        for b in range(n // 2):
            k = b % half
            i = b // half * 2 * half + k
            j = i + half
            angle = -math.pi * k / half
            c, s = ti.cos(angle), ti.sin(angle)
            tr = re[j] * c - im[j] * s
            tm = re[j] * s + im[j] * c
            re[j] = re[i] - tr
            im[j] = im[i] - tm
            re[i] += tr
            im[i] += tm

    def step():
        turn()
        half = 1
        while half < n:
            stage(half)
            half *= 2

    return {"step": step, "outputs": lambda: {"re": re.to_numpy(), "im": im.to_numpy()}}


@WORK.spelling("a field of vectors, ndrange of groups, a func of the product")
def vectors(inputs, bits):
    n = 1 << bits
    source, x = ti.Vector.field(2, ti.f32, shape=n), ti.Vector.field(2, ti.f32, shape=n)
    source.from_numpy(pair(inputs))

    @ti.func
    def times(a, b):
        return ti.Vector([a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]])

    @ti.func
    def reversed_bits(i):
        r = 0
        for b in range(bits):
            r |= ((i >> b) & 1) << (bits - 1 - b)
        return r

    @ti.kernel
    def turn():
        for i in source:
            x[reversed_bits(i)] = source[i]

    @ti.kernel
    def stage(half: int):
        for g, k in ti.ndrange(n // (2 * half), half):
            i = g * 2 * half + k
            angle = -math.pi * k / half
            w = ti.Vector([ti.cos(angle), ti.sin(angle)])
            even, odd = x[i], times(w, x[i + half])
            x[i] = even + odd
            x[i + half] = even - odd

    def step():
        turn()
        for s in range(bits):
            stage(1 << s)

    def outputs():
        out = x.to_numpy()
        return {"re": out[:, 0].copy(), "im": out[:, 1].copy()}

    return {"step": step, "outputs": outputs}


@WORK.spelling("NumPy arrays to and fro, no bits turned (Stockham)")
def stockham(inputs, bits):
    n = 1 << bits
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)
    source = pair(inputs)
    buffers = [np.zeros((n, 2), np.float32), np.zeros((n, 2), np.float32)]

    @ti.kernel
    def stage(a: array, b: array, width: ti.i32):
        half = a.shape[0] // 2
        for t in range(half):
            k = t & (width - 1)
            angle = -math.pi * ti.cast(k, ti.f32) / width
            c, s = ti.cos(angle), ti.sin(angle)
            re = a[t + half, 0] * c - a[t + half, 1] * s
            im = a[t + half, 0] * s + a[t + half, 1] * c
            o = ((t - k) << 1) + k
            b[o, 0] = a[t, 0] + re
            b[o, 1] = a[t, 1] + im
            b[o + width, 0] = a[t, 0] - re
            b[o + width, 1] = a[t, 1] - im

    def step():
        a = source
        for s in range(bits):
            stage(a, buffers[s % 2], 1 << s)
            a = buffers[s % 2]

    def outputs():
        out = buffers[(bits - 1) % 2]
        return {"re": out[:, 0].copy(), "im": out[:, 1].copy()}

    return {"step": step, "outputs": outputs}


@WORK.spelling("a dataclass with methods, all stages in one kernel, static")
def by_dataclass(inputs, bits):
    n = 1 << bits

    @ti.dataclass
    class Complex:
        re: ti.f32
        im: ti.f32

        @ti.func
        def times(self, other):
            return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

        @ti.func
        def plus(self, other):
            return Complex(self.re + other.re, self.im + other.im)

        @ti.func
        def minus(self, other):
            return Complex(self.re - other.re, self.im - other.im)

    @ti.func
    def unit(angle):
        return Complex(ti.cos(angle), ti.sin(angle))

    source, x = Complex.field(shape=n), Complex.field(shape=n)
    source.re.from_numpy(np.ascontiguousarray(inputs["re"]))
    source.im.from_numpy(np.ascontiguousarray(inputs["im"]))

    @ti.kernel
    def transform():
        for i in source:
            r = 0
            for b in ti.static(range(bits)):
                r += ((i >> b) & 1) << (bits - 1 - b)
            x[r] = source[i]
        for s in ti.static(range(bits)):
            for b in range(n // 2):
                k = b & ((1 << s) - 1)
                i = ((b >> s) << (s + 1)) + k
                j = i + (1 << s)
                t = unit(-2.0 * math.pi * k / (2 << s)).times(x[j])
                u = x[i]
                x[i] = u.plus(t)
                x[j] = u.minus(t)

    return {"step": transform, "outputs": lambda: {"re": x.re.to_numpy(), "im": x.im.to_numpy()}}


@ti.data_oriented
class Transform:
    def __init__(self, bits):
        self.bits, self.n = bits, 1 << bits
        self.source = ti.Vector.field(2, ti.f64, shape=self.n)
        self.a = ti.Vector.field(2, ti.f64, shape=self.n)
        self.b = ti.Vector.field(2, ti.f64, shape=self.n)

    @ti.kernel
    def stage(self, a: ti.template(), b: ti.template(), width: int):
        for t in range(self.n // 2):
            k = t % width
            angle = ti.cast(-math.pi, ti.f64) * k / width
            v = a[t + self.n // 2]
            c, s = ti.cos(angle), ti.sin(angle)
            o = ti.Vector([v.x * c - v.y * s, v.x * s + v.y * c])
            b[2 * t - k] = a[t] + o
            b[2 * t - k + width] = a[t] - o

    def run(self):
        a, b = self.source, self.a
        for s in range(self.bits):
            self.stage(a, b, 1 << s)
            a, b = b, self.b if b is self.a else self.a
        self.result = a


@WORK.spelling("f64, a class, its fields as templates (Stockham)", family="f64")
def by_class(inputs, bits):
    t = Transform(bits)
    t.source.from_numpy(pair(inputs).astype(np.float64))

    def outputs():
        out = t.result.to_numpy()
        return {"re": out[:, 0].copy(), "im": out[:, 1].copy()}

    return {"step": t.run, "outputs": outputs}
