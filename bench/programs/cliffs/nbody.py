"""Gravity of every body on every other, of a number of bodies that no vector's length divides."""

import numpy as np
import ti
from harness.workload import Workload

SOFTENING = 1e-4


def inputs(rng, n):
    return {"pos": rng.random((n, 3), np.float32)}


def model(inputs, n):
    pos = inputs["pos"].astype(np.float64)
    d = pos[None] - pos[:, None]
    return {"acc": (d * ((d * d).sum(axis=2) + SOFTENING)[..., None] ** -1.5).sum(axis=1)}


WORK = Workload(
    title="gravity of bodies on one another",
    unit="pair",
    parameters={"n": 2000},
    device={"n": 4000},
    smoke={"n": 67},
    items=lambda n: n * n,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 0.2),  # sums of some thousand terms of both signs, in f32
)


def vectors(inputs, dtype=None):
    """Fields of positions, which are loaded, and accelerations."""
    dtype = dtype or ti.f32
    n = len(inputs["pos"])
    pos, acc = ti.Vector.field(3, dtype, shape=n), ti.Vector.field(3, dtype, shape=n)
    pos.from_numpy(np.ascontiguousarray(inputs["pos"]))
    return pos, acc


def made(step, acc):
    return {"step": step, "outputs": lambda: {"acc": acc.to_numpy()}}


@WORK.spelling("vector field, own position read first")
def first(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in pos:
            p = pos[i]
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = pos[j] - p
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * (s * s * s)
            acc[i] = a

    return made(attract, acc)


@WORK.spelling("own position read in the inner loop")
def inside(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = pos[j] - pos[i]
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * s * s * s
            acc[i] = a

    return made(attract, acc)


@WORK.spelling("ti.rsqrt and ** 3")
def rsqrt(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in range(n):
            a = ti.Vector.zero(ti.f32, 3)
            for j in range(n):
                d = pos[j] - pos[i]
                a += d * ti.rsqrt(d.norm_sqr() + SOFTENING) ** 3
            acc[i] = a

    return made(attract, acc)


@WORK.spelling("norm(eps), other bodies by an if")
def by_if(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in range(n):
            p = pos[i]
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                if i != j:
                    d = pos[j] - p
                    r = d.norm(SOFTENING)
                    a += d / r**3
            acc[i] = a

    return made(attract, acc)


@WORK.spelling("other bodies by select")
def by_select(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in range(n):
            p = pos[i]
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = pos[j] - p
                s = ti.select(i == j, 0.0, 1.0 / ti.sqrt(d.dot(d) + SOFTENING))
                a += d * (s * s * s)
            acc[i] = a

    return made(attract, acc)


@WORK.spelling("accumulated in the field")
def in_field(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in range(n):
            acc[i] = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = pos[j] - pos[i]
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                acc[i] += d * (s * s * s)

    return made(attract, acc)


@ti.func
def pull(p, q):
    d = q - p
    s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
    return d * (s * s * s)


@WORK.spelling("a func of two positions")
def by_func(inputs, n):
    pos, acc = vectors(inputs)

    @ti.kernel
    def attract():
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                a += pull(pos[i], pos[j])
            acc[i] = a

    return made(attract, acc)


@ti.data_oriented
class System:
    def __init__(self, pos, acc):
        self.n, self.pos, self.acc = pos.shape[0], pos, acc

    @ti.func
    def force(self, i, j):
        d = self.pos[j] - self.pos[i]
        return d * ti.rsqrt(d.dot(d) + SOFTENING) ** 3

    @ti.kernel
    def attract(self):
        for i in range(self.n):
            total = ti.math.vec3(0.0)
            for j in range(self.n):
                total += self.force(i, j)
            self.acc[i] = total


@WORK.spelling("a class with a method a pair")
def by_class(inputs, n):
    pos, acc = vectors(inputs)
    return made(System(pos, acc).attract, acc)


def structs(inputs, n, body):
    bodies = body.field(shape=n)
    bodies.pos.from_numpy(np.ascontiguousarray(inputs["pos"]))
    return bodies, lambda: {"acc": bodies.acc.to_numpy()}


@WORK.spelling("structs, bodies[i].pos")
def by_struct(inputs, n):
    vec = ti.types.vector(3, ti.f32)
    bodies, outputs = structs(inputs, n, ti.types.struct(pos=vec, acc=vec, mass=ti.f32))

    @ti.kernel
    def attract():
        for i in bodies:
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = bodies[j].pos - bodies[i].pos
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * (s * s * s)
            bodies[i].acc = a

    return {"step": attract, "outputs": outputs}


@ti.dataclass
class Body:
    pos: ti.types.vector(3, ti.f32)
    acc: ti.types.vector(3, ti.f32)
    mass: ti.f32

    @ti.func
    def towards(self, other_pos):
        d = other_pos - self.pos
        s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
        return d * (s * s * s)


@WORK.spelling("a dataclass with a method, accumulated in it")
def by_dataclass(inputs, n):
    bodies, outputs = structs(inputs, n, Body)

    @ti.kernel
    def attract():
        for i in bodies:
            bodies[i].acc = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                bodies[i].acc += bodies[i].towards(bodies[j].pos)

    return {"step": attract, "outputs": outputs}


@WORK.spelling("three fields of coordinates")
def coordinates(inputs, n):
    x, y, z, ax, ay, az = (ti.field(ti.f32, shape=n) for _ in range(6))
    for d, field in enumerate((x, y, z)):
        field.from_numpy(np.ascontiguousarray(inputs["pos"][:, d]))

    @ti.kernel
    def attract():
        for i in range(n):
            ax[i] = 0.0
            ay[i] = 0.0
            az[i] = 0.0
            for j in range(n):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                s = 1.0 / ti.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
                ax[i] += dx * s * s * s
                ay[i] += dy * s * s * s
                az[i] += dz * s * s * s

    return {"step": attract, "outputs": lambda: {"acc": np.stack([a.to_numpy() for a in (ax, ay, az)], axis=1)}}


@WORK.spelling("ndarrays of vectors")
def ndarrays(inputs, n):
    pos, acc = ti.Vector.ndarray(3, ti.f32, shape=n), ti.Vector.ndarray(3, ti.f32, shape=n)
    pos.from_numpy(np.ascontiguousarray(inputs["pos"]))
    vectors = ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1)

    @ti.kernel
    def attract(pos: vectors, acc: vectors):
        for i in pos:
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(pos.shape[0]):
                d = pos[j] - pos[i]
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * (s * s * s)
            acc[i] = a

    return made(lambda: attract(pos, acc), acc)


@WORK.spelling("NumPy arrays, components in static loops")
def numpy(inputs, n):
    pos, acc = np.ascontiguousarray(inputs["pos"]), np.zeros((n, 3), np.float32)

    @ti.kernel
    def attract(pos: ti.types.ndarray(dtype=ti.f32, ndim=2), acc: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i in range(pos.shape[0]):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(pos.shape[0]):
                d = ti.Vector([0.0, 0.0, 0.0])
                for c in ti.static(range(3)):
                    d[c] = pos[j, c] - pos[i, c]
                a += d * ti.rsqrt(d.dot(d) + SOFTENING) ** 3
            for c in ti.static(range(3)):
                acc[i, c] = a[c]

    return {"step": lambda: attract(pos, acc), "outputs": lambda: {"acc": acc}}


@WORK.spelling("f64, own position read in the inner loop", family="f64")
def doubles(inputs, n):
    pos, acc = vectors(inputs, ti.f64)

    @ti.kernel
    def attract():
        for i in range(n):
            a = ti.Vector.zero(ti.f64, 3)
            for j in range(n):
                d = pos[j] - pos[i]
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * (s * s * s)
            acc[i] = a

    return made(attract, acc)


@WORK.spelling("f64, own position read first", family="f64")
def doubles_first(inputs, n):
    pos, acc = vectors(inputs, ti.f64)

    @ti.kernel
    def attract():
        for i in range(n):
            p = pos[i]
            a = ti.Vector.zero(ti.f64, 3)
            for j in range(n):
                d = pos[j] - p
                s = 1.0 / ti.sqrt(d.dot(d) + SOFTENING)
                a += d * (s * s * s)
            acc[i] = a

    return made(attract, acc)
