"""Semi-Lagrangian advection: each cell reads, between cells, where its value came from."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"q": rng.random((n, m), np.float32), "v": (rng.random((n, m, 2), np.float32) - 0.5) * 6}


def model(inputs, n, m):
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    q, v = inputs["q"].astype(np.float64), inputs["v"].astype(np.float64)
    x, y = np.clip(i - v[..., 0], 0, n - 1.001), np.clip(j - v[..., 1], 0, m - 1.001)
    i0, j0 = x.astype(int), y.astype(int)
    fx, fy = x - i0, y - j0
    top = q[i0, j0] * (1 - fy) + q[i0, j0 + 1] * fy
    bottom = q[i0 + 1, j0] * (1 - fy) + q[i0 + 1, j0 + 1] * fy
    return {"out": top * (1 - fx) + bottom * fx}


WORK = Workload(
    title="semi-Lagrangian advection",
    unit="cell",
    parameters={"n": 509, "m": 511},
    device={"n": 2039, "m": 2047},
    smoke={"n": 21, "m": 30},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-3, 1e-3),
)


def scalars(inputs, count):
    return [ti.field(ti.f32, shape=inputs["q"].shape) for _ in range(count)]


def made(step, out):
    return {"step": step, "outputs": lambda: {"out": out if isinstance(out, np.ndarray) else out.to_numpy()}}


@WORK.spelling("velocity in two fields, written out")
def two_fields(inputs, n, m):
    q, u, v, out = scalars(inputs, 4)
    q.from_numpy(np.ascontiguousarray(inputs["q"]))
    u.from_numpy(np.ascontiguousarray(inputs["v"][..., 0]))
    v.from_numpy(np.ascontiguousarray(inputs["v"][..., 1]))

    @ti.kernel
    def advect():
        for i, j in q:
            x = ti.max(0.0, ti.min(n - 1.001, i - u[i, j]))
            y = ti.max(0.0, ti.min(m - 1.001, j - v[i, j]))
            i0, j0 = int(x), int(y)
            fx, fy = x - i0, y - j0
            top = q[i0, j0] * (1.0 - fy) + q[i0, j0 + 1] * fy
            bottom = q[i0 + 1, j0] * (1.0 - fy) + q[i0 + 1, j0 + 1] * fy
            out[i, j] = top * (1.0 - fx) + bottom * fx

    return made(advect, out)


def with_vectors(inputs):
    q, out = scalars(inputs, 2)
    v = ti.Vector.field(2, ti.f32, shape=inputs["q"].shape)
    q.from_numpy(np.ascontiguousarray(inputs["q"]))
    v.from_numpy(np.ascontiguousarray(inputs["v"]))
    return q, v, out


@WORK.spelling("two layers of one field, an argument says which is read")
def layers(inputs, n, m):
    q = ti.field(ti.f32, shape=(2, n, m))
    u, v = scalars(inputs, 2)
    q.from_numpy(np.stack([inputs["q"], inputs["q"]]))
    u.from_numpy(np.ascontiguousarray(inputs["v"][..., 0]))
    v.from_numpy(np.ascontiguousarray(inputs["v"][..., 1]))

    @ti.kernel
    def advect(t: ti.i32):
        for i, j in u:
            x = ti.max(0.0, ti.min(n - 1.001, i - u[i, j]))
            y = ti.max(0.0, ti.min(m - 1.001, j - v[i, j]))
            i0, j0 = int(x), int(y)
            fx, fy = x - i0, y - j0
            top = q[t, i0, j0] * (1.0 - fy) + q[t, i0, j0 + 1] * fy
            bottom = q[t, i0 + 1, j0] * (1.0 - fy) + q[t, i0 + 1, j0 + 1] * fy
            q[1 - t, i, j] = top * (1.0 - fx) + bottom * fx

    return {"step": lambda: advect(0), "outputs": lambda: {"out": q.to_numpy()[1]}}


@WORK.spelling("velocity in a vector field, a func that interpolates")
def by_func(inputs, n, m):
    q, v, out = with_vectors(inputs)

    @ti.func
    def lerp(a, b, t):
        return a + t * (b - a)

    @ti.func
    def bilerp(p):
        x, y = ti.max(0.0, ti.min(n - 1.001, p[0])), ti.max(0.0, ti.min(m - 1.001, p[1]))
        i, j = int(x), int(y)
        return lerp(lerp(q[i, j], q[i, j + 1], y - j), lerp(q[i + 1, j], q[i + 1, j + 1], y - j), x - i)

    @ti.kernel
    def advect():
        for i, j in q:
            out[i, j] = bilerp(ti.Vector([i, j]) - v[i, j])

    return made(advect, out)


@WORK.spelling("a func of a template field, indices clamped, as in stable fluids")
def sample(inputs, n, m):
    q, v, out = with_vectors(inputs)

    @ti.func
    def at(field, i, j):
        p = ti.Vector([int(i), int(j)])
        p[0], p[1] = ti.max(0, ti.min(n - 1, p[0])), ti.max(0, ti.min(m - 1, p[1]))
        return field[p]

    @ti.func
    def bilerp(field, x, y):
        s, t = ti.floor(x), ti.floor(y)
        fs, ft = x - s, y - t
        top = ti.math.mix(at(field, s, t), at(field, s, t + 1), ft)
        return ti.math.mix(top, ti.math.mix(at(field, s + 1, t), at(field, s + 1, t + 1), ft), fs)

    @ti.kernel
    def advect(values: ti.template(), new: ti.template()):
        for i, j in values:
            p = ti.Vector([i, j]) - v[i, j]
            new[i, j] = bilerp(values, ti.math.clamp(p.x, 0.0, n - 1.001), ti.math.clamp(p.y, 0.0, m - 1.001))

    return made(lambda: advect(q, out), out)


@WORK.spelling("run-time loops over four corners")
def run_time(inputs, n, m):
    q, v, out = with_vectors(inputs)

    @ti.kernel
    def advect():
        for I in ti.grouped(q):
            p = ti.max(0.0, ti.min(ti.Vector([n - 1.001, m - 1.001]), I - v[I]))
            base = int(p)
            f = p - base
            s = 0.0
            for i in range(2):
                for j in range(2):
                    weight = (i * f[0] + (1 - i) * (1.0 - f[0])) * (j * f[1] + (1 - j) * (1.0 - f[1]))
                    s += weight * q[base + ti.Vector([i, j])]
            out[I] = s

    return made(advect, out)


@WORK.spelling("structs of value and velocity")
def by_struct(inputs, n, m):
    cells = ti.Struct.field({"q": ti.f32, "v": ti.types.vector(2, ti.f32), "new": ti.f32}, shape=(n, m))
    cells.q.from_numpy(np.ascontiguousarray(inputs["q"]))
    cells.v.from_numpy(np.ascontiguousarray(inputs["v"]))

    @ti.kernel
    def advect():
        for i, j in cells:
            x = ti.math.clamp(i - cells[i, j].v[0], 0.0, n - 1.001)
            y = ti.math.clamp(j - cells[i, j].v[1], 0.0, m - 1.001)
            i0, j0 = int(x), int(y)
            fx, fy = x - i0, y - j0
            top = cells[i0, j0].q * (1.0 - fy) + cells[i0, j0 + 1].q * fy
            bottom = cells[i0 + 1, j0].q * (1.0 - fy) + cells[i0 + 1, j0 + 1].q * fy
            cells[i, j].new = top * (1.0 - fx) + bottom * fx

    return made(advect, cells.new)


@WORK.spelling("NumPy arrays, one loop, // and %")
def one_loop(inputs, n, m):
    q, v = np.ascontiguousarray(inputs["q"]), np.ascontiguousarray(inputs["v"])
    out = np.zeros((n, m), np.float32)
    two, three = ti.types.ndarray(dtype=ti.f32, ndim=2), ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def advect(q: two, v: three, out: two):
        n, m = q.shape[0], q.shape[1]
        for c in range(n * m):
            i, j = c // m, c % m
            x = ti.max(0.0, ti.min(n - 1.001, i - v[i, j, 0]))
            y = ti.max(0.0, ti.min(m - 1.001, j - v[i, j, 1]))
            i0, j0 = ti.floor(x, ti.i32), ti.floor(y, ti.i32)
            fx, fy = x - i0, y - j0
            top = q[i0, j0] + fy * (q[i0, j0 + 1] - q[i0, j0])
            bottom = q[i0 + 1, j0] + fy * (q[i0 + 1, j0 + 1] - q[i0 + 1, j0])
            out[i, j] = top + fx * (bottom - top)

    return made(lambda: advect(q, v, out), out)
