"""A lattice Boltzmann step in two dimensions, nine directions, on a torus: collide, then push to the neighbours, or pull."""

import numpy as np
import ti
from harness.workload import Workload

DIRECTIONS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
RATE = 1.2


def inputs(rng, n, m):
    return {"f": rng.random((n, m, 9), np.float32) * 0.02 + np.array(WEIGHTS, np.float32)}


def model(inputs, n, m):
    f = inputs["f"].astype(np.float64)
    e, w = np.array(DIRECTIONS, float), np.array(WEIGHTS)
    rho = f.sum(axis=2)
    u = f @ e / rho[..., None]
    eu, uu = u @ e.T, (u * u).sum(axis=2)[..., None]
    f += RATE * (rho[..., None] * w * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * uu) - f)
    return {"g": np.stack([np.roll(f[..., q], d, (0, 1)) for q, d in enumerate(DIRECTIONS)], axis=2)}


WORK = Workload(
    title="a lattice Boltzmann step, nine directions",
    unit="cell",
    parameters={"n": 250, "m": 401},
    device={"n": 1000, "m": 1601},
    smoke={"n": 10, "m": 13},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-5),
)


@ti.func
def equilibrium(q, rho, u, e, w):
    eu = e[0] * u[0] + e[1] * u[1]
    return w * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * u.dot(u))


def vectors(inputs):
    shape = inputs["f"].shape[:2]
    f, g = ti.Vector.field(9, ti.f32, shape=shape), ti.Vector.field(9, ti.f32, shape=shape)
    f.from_numpy(np.ascontiguousarray(inputs["f"]))
    return f, g


def planes(inputs):
    n, m, _ = inputs["f"].shape
    f, g = ti.field(ti.f32, shape=(9, n, m)), ti.field(ti.f32, shape=(9, n, m))
    f.from_numpy(np.ascontiguousarray(inputs["f"].transpose(2, 0, 1)))
    return f, g, lambda: {"g": g.to_numpy().transpose(1, 2, 0)}


@WORK.spelling("vector field, static loops, push by %")
def push(inputs, n, m):
    f, g = vectors(inputs)

    @ti.kernel
    def step():
        for i, j in f:
            rho, u = 0.0, ti.Vector([0.0, 0.0])
            for q in ti.static(range(9)):
                rho += f[i, j][q]
                u += f[i, j][q] * ti.Vector(DIRECTIONS[q])
            u /= rho
            for q in ti.static(range(9)):
                e = ti.Vector(DIRECTIONS[q])
                value = f[i, j][q] + RATE * (equilibrium(q, rho, u, e, WEIGHTS[q]) - f[i, j][q])
                g[(i + e[0]) % n, (j + e[1]) % m][q] = value

    return {"step": step, "outputs": lambda: {"g": g.to_numpy()}}


@WORK.spelling("nine planes, static loops, push by %")
def push_planes(inputs, n, m):
    f, g, outputs = planes(inputs)

    @ti.kernel
    def step():
        for i, j in ti.ndrange(n, m):
            rho, u = 0.0, ti.Vector([0.0, 0.0])
            for q in ti.static(range(9)):
                rho += f[q, i, j]
                u += f[q, i, j] * ti.Vector(DIRECTIONS[q])
            u /= rho
            for q in ti.static(range(9)):
                e = ti.Vector(DIRECTIONS[q])
                value = f[q, i, j] + RATE * (equilibrium(q, rho, u, e, WEIGHTS[q]) - f[q, i, j])
                g[q, (i + e[0] + n) % n, (j + e[1] + m) % m] = value

    return {"step": step, "outputs": outputs}


@WORK.spelling("nine planes, run-time loops, directions in fields")
def run_time(inputs, n, m):
    f, g, outputs = planes(inputs)
    e, w = ti.Vector.field(2, ti.i32, shape=9), ti.field(ti.f32, shape=9)
    e.from_numpy(np.array(DIRECTIONS, np.int32))
    w.from_numpy(np.array(WEIGHTS, np.float32))

    @ti.kernel
    def step():
        for i, j in ti.ndrange(n, m):
            rho, u = 0.0, ti.Vector([0.0, 0.0])
            for q in range(9):
                rho += f[q, i, j]
                u += f[q, i, j] * e[q]
            u /= rho
            for q in range(9):
                value = f[q, i, j] + RATE * (equilibrium(q, rho, u, e[q], w[q]) - f[q, i, j])
                g[q, (i + e[q][0] + n) % n, (j + e[q][1] + m) % m] = value

    return {"step": step, "outputs": outputs}


@WORK.spelling("nine planes, pull: densities first, then each cell reads")
def pull(inputs, n, m):
    f, g, outputs = planes(inputs)
    rho, u = ti.field(ti.f32, shape=(n, m)), ti.Vector.field(2, ti.f32, shape=(n, m))

    @ti.kernel
    def step():
        for i, j in rho:
            rho[i, j] = 0.0
            u[i, j] = [0.0, 0.0]
            for q in ti.static(range(9)):
                rho[i, j] += f[q, i, j]
                u[i, j] += f[q, i, j] * ti.Vector(DIRECTIONS[q])
            u[i, j] /= rho[i, j]
        for i, j in rho:
            for q in ti.static(range(9)):
                e = ti.Vector(DIRECTIONS[q])
                a, b = (i - e[0] + n) % n, (j - e[1] + m) % m
                g[q, i, j] = f[q, a, b] + RATE * (equilibrium(q, rho[a, b], u[a, b], e, WEIGHTS[q]) - f[q, a, b])

    return {"step": step, "outputs": outputs}


@WORK.spelling("structs, push by ifs")
def by_struct(inputs, n, m):
    nine = ti.types.vector(9, ti.f32)
    cells = ti.Struct.field({"f": nine, "g": nine, "rho": ti.f32, "u": ti.types.vector(2, ti.f32)}, shape=(n, m))
    cells.f.from_numpy(np.ascontiguousarray(inputs["f"]))

    @ti.kernel
    def step():
        for i, j in cells:
            cells[i, j].rho = cells[i, j].f.sum()
            momentum = ti.Vector([0.0, 0.0])
            for q in ti.static(range(9)):
                momentum += cells[i, j].f[q] * ti.Vector(DIRECTIONS[q])
            cells[i, j].u = momentum / cells[i, j].rho
            for q in ti.static(range(9)):
                a, b = i + DIRECTIONS[q][0], j + DIRECTIONS[q][1]
                if a < 0:
                    a += n
                if a >= n:
                    a -= n
                if b < 0:
                    b += m
                if b >= m:
                    b -= m
                e = ti.Vector(DIRECTIONS[q])
                even = equilibrium(q, cells[i, j].rho, cells[i, j].u, e, WEIGHTS[q])
                cells[a, b].g[q] = cells[i, j].f[q] + RATE * (even - cells[i, j].f[q])

    return {"step": step, "outputs": lambda: {"g": cells.g.to_numpy()}}


@WORK.spelling("NumPy array of three dimensions, one loop, // and %")
def one_loop(inputs, n, m):
    f, g = np.ascontiguousarray(inputs["f"]), np.zeros((n, m, 9), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def step(f: array, g: array):
        n, m = f.shape[0], f.shape[1]
        for c in range(n * m):
            i, j = c // m, c % m
            rho, u = 0.0, ti.Vector([0.0, 0.0])
            for q in ti.static(range(9)):
                rho += f[i, j, q]
                u += f[i, j, q] * ti.Vector(DIRECTIONS[q])
            u /= rho
            for q in ti.static(range(9)):
                e = ti.Vector(DIRECTIONS[q])
                value = f[i, j, q] + RATE * (equilibrium(q, rho, u, e, WEIGHTS[q]) - f[i, j, q])
                g[(i + e[0] + n) % n, (j + e[1] + m) % m, q] = value

    return {"step": lambda: step(f, g), "outputs": lambda: {"g": g}}
