"""Reads of a dense grid at points between its cells."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, points):
    return {"grid": rng.random((n, n, n), np.float32), "at": rng.random((points, 3), np.float32) * np.float32(n - 1.01)}


def model(inputs, n, points):
    at = inputs["at"].astype(np.float64)
    base = at.astype(int)
    f = at - base
    s = np.zeros(points)
    for c in range(8):
        d = np.array([c >> 2 & 1, c >> 1 & 1, c & 1])
        weight = np.where(d, f, 1 - f).prod(axis=1)
        s += weight * inputs["grid"][tuple((base + d).T)]
    return {"out": s}


WORK = Workload(
    title="trilinear reads of a dense grid",
    unit="point",
    parameters={"n": 64, "points": 100_000},
    device={"n": 192, "points": 4_000_000},
    smoke={"n": 9, "points": 300},
    items=lambda n, points: points,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-4),
)


def fields(inputs):
    n, points = len(inputs["grid"]), len(inputs["at"])
    grid, at, out = ti.field(ti.f32, shape=(n, n, n)), ti.Vector.field(3, ti.f32, shape=points), ti.field(ti.f32, shape=points)
    grid.from_numpy(np.ascontiguousarray(inputs["grid"]))
    at.from_numpy(np.ascontiguousarray(inputs["at"]))
    return grid, at, out


def made(step, out):
    return {"step": step, "outputs": lambda: {"out": out if isinstance(out, np.ndarray) else out.to_numpy()}}


@WORK.spelling("eight reads, written out")
def written_out(inputs, n, points):
    grid, at, out = fields(inputs)

    @ti.func
    def lerp(a, b, t):
        return a + (b - a) * t

    @ti.kernel
    def read():
        for p in at:
            i, j, k = int(at[p][0]), int(at[p][1]), int(at[p][2])
            fx, fy, fz = at[p][0] - i, at[p][1] - j, at[p][2] - k
            x00 = lerp(grid[i, j, k], grid[i + 1, j, k], fx)
            x10 = lerp(grid[i, j + 1, k], grid[i + 1, j + 1, k], fx)
            x01 = lerp(grid[i, j, k + 1], grid[i + 1, j, k + 1], fx)
            x11 = lerp(grid[i, j + 1, k + 1], grid[i + 1, j + 1, k + 1], fx)
            out[p] = lerp(lerp(x00, x10, fy), lerp(x01, x11, fy), fz)

    return made(read, out)


@WORK.spelling("static grouped corners, a product of weights")
def static(inputs, n, points):
    grid, at, out = fields(inputs)

    @ti.kernel
    def read():
        for p in at:
            base = ti.floor(at[p]).cast(int)
            f = at[p] - base
            s = 0.0
            for d in ti.static(ti.grouped(ti.ndrange(2, 2, 2))):
                weight = 1.0
                for a in ti.static(range(3)):
                    weight *= f[a] if ti.static(d[a] == 1) else 1.0 - f[a]
                s += weight * grid[base + d]
            out[p] = s

    return made(read, out)


@WORK.spelling("run-time ndrange, weights by arithmetic")
def run_time(inputs, n, points):
    grid, at, out = fields(inputs)

    @ti.kernel
    def read():
        for p in at:
            base = int(at[p])
            f = at[p] - base
            s = 0.0
            for i, j, k in ti.ndrange(2, 2, 2):
                wx = i * f[0] + (1 - i) * (1.0 - f[0])
                wy = j * f[1] + (1 - j) * (1.0 - f[1])
                wz = k * f[2] + (1 - k) * (1.0 - f[2])
                s += wx * wy * wz * grid[base[0] + i, base[1] + j, base[2] + k]
            out[p] = s

    return made(read, out)


@WORK.spelling("run-time loops, weights w[i] of a local matrix")
def matrix(inputs, n, points):
    grid, at, out = fields(inputs)

    @ti.kernel
    def read():
        for p in range(points):
            base = int(at[p])
            f = at[p] - base
            w = ti.Matrix([[1.0 - f[0], f[0]], [1.0 - f[1], f[1]], [1.0 - f[2], f[2]]])
            s = 0.0
            for i in range(2):
                for j in range(2):
                    for k in range(2):
                        s += w[0, i] * w[1, j] * w[2, k] * grid[base + ti.Vector([i, j, k])]
            out[p] = s

    return made(read, out)


@WORK.spelling("one run-time loop of 8 corners, bits of its index")
def bits(inputs, n, points):
    grid, at, out = fields(inputs)

    @ti.kernel
    def read():
        for p in at:
            base = int(at[p])
            f = at[p] - base
            s = 0.0
            for c in range(8):
                d = ti.Vector([(c >> 2) & 1, (c >> 1) & 1, c & 1])
                w = ti.select(d == 1, f, 1.0 - f)
                s += w[0] * w[1] * w[2] * grid[base + d]
            out[p] = s

    return made(read, out)


@WORK.spelling("a func of a vector, clamped, ti.math.mix")
def by_func(inputs, n, points):
    grid, at, out = fields(inputs)

    @ti.func
    def value(i, j, k):
        return grid[ti.min(ti.max(i, 0), n - 1), ti.min(ti.max(j, 0), n - 1), ti.min(ti.max(k, 0), n - 1)]

    @ti.func
    def sample(x):
        b = ti.floor(x, ti.i32)
        f = x - b
        near = ti.math.mix(
            ti.math.mix(value(b.x, b.y, b.z), value(b.x, b.y, b.z + 1), f.z),
            ti.math.mix(value(b.x, b.y + 1, b.z), value(b.x, b.y + 1, b.z + 1), f.z),
            f.y,
        )
        far = ti.math.mix(
            ti.math.mix(value(b.x + 1, b.y, b.z), value(b.x + 1, b.y, b.z + 1), f.z),
            ti.math.mix(value(b.x + 1, b.y + 1, b.z), value(b.x + 1, b.y + 1, b.z + 1), f.z),
            f.y,
        )
        return ti.math.mix(near, far, f.x)

    @ti.kernel
    def read():
        for p in at:
            out[p] = sample(at[p])

    return made(read, out)


@WORK.spelling("NumPy arrays, run-time loops and an if each")
def numpy(inputs, n, points):
    grid, at = np.ascontiguousarray(inputs["grid"]), np.ascontiguousarray(inputs["at"])
    out = np.zeros(points, np.float32)

    @ti.kernel
    def read(
        grid: ti.types.ndarray(dtype=ti.f32, ndim=3),
        at: ti.types.ndarray(dtype=ti.f32, ndim=2),
        out: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        for p in range(at.shape[0]):
            i0, j0, k0 = int(at[p, 0]), int(at[p, 1]), int(at[p, 2])
            s = 0.0
            for i in range(i0, i0 + 2):
                for j in range(j0, j0 + 2):
                    for k in range(k0, k0 + 2):
                        wx, wy, wz = 1.0 - ti.abs(at[p, 0] - i), 1.0 - ti.abs(at[p, 1] - j), 1.0 - ti.abs(at[p, 2] - k)
                        if wx > 0.0 and wy > 0.0 and wz > 0.0:
                            s += wx * wy * wz * grid[i, j, k]
            out[p] = s

    return made(lambda: read(grid, at, out), out)
