"""The nearest of some centres to each point, in whole numbers: the first half of k-means."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, k):
    return {"p": rng.integers(0, 1000, (n, 2), np.int32), "c": rng.integers(0, 1000, (k, 2), np.int32)}


def model(inputs, n, k):
    d = inputs["p"][:, None] - inputs["c"][None]
    return {"best": (d * d).sum(axis=2).argmin(axis=1).astype(np.int32)}


WORK = Workload(
    title="nearest of 24 centres, i32",
    unit="pair",
    parameters={"n": 50_000, "k": 24},
    device={"n": 1_000_000, "k": 24},
    smoke={"n": 203, "k": 24},
    items=lambda n, k: n * k,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def fields(inputs):
    p, c = ti.Vector.field(2, ti.i32, shape=len(inputs["p"])), ti.Vector.field(2, ti.i32, shape=len(inputs["c"]))
    p.from_numpy(np.ascontiguousarray(inputs["p"]))
    c.from_numpy(np.ascontiguousarray(inputs["c"]))
    return p, c, ti.field(ti.i32, shape=len(inputs["p"]))


def made(step, best):
    return {"step": step, "outputs": lambda: {"best": best if isinstance(best, np.ndarray) else best.to_numpy()}}


@WORK.spelling("vector fields, an if")
def by_if(inputs, n, k):
    p, c, best = fields(inputs)

    @ti.kernel
    def assign():
        for i in p:
            least, at = 1 << 30, 0
            for q in range(k):
                d = p[i] - c[q]
                r = d.dot(d)
                if r < least:
                    least = r
                    at = q
            best[i] = at

    return made(assign, best)


@WORK.spelling("select for both")
def by_select(inputs, n, k):
    p, c, best = fields(inputs)

    @ti.kernel
    def assign():
        for i in p:
            least, at = 1 << 30, 0
            own = p[i]
            for q in range(k):
                r = (own - c[q]).norm_sqr()
                at = ti.select(r < least, q, at)
                least = ti.min(r, least)
            best[i] = at

    return made(assign, best)


@WORK.spelling("static loop over centres in a field")
def static(inputs, n, k):
    p, c, best = fields(inputs)

    @ti.kernel
    def assign():
        for i in p:
            least, at = 1 << 30, 0
            for q in ti.static(range(k)):
                r = (p[i] - c[q]).norm_sqr()
                if r < least:
                    least = r
                    at = q
            best[i] = at

    return made(assign, best)


@WORK.spelling("distance and index in one number")
def packed(inputs, n, k):
    p, c, best = fields(inputs)

    @ti.kernel
    def assign():
        for i in p:
            least = 1 << 30
            for q in range(k):
                d = p[i] - c[q]
                least = ti.min(least, d.dot(d) * 32 + q)
            best[i] = least % 32

    return made(assign, best)


@WORK.spelling("NumPy arrays of coordinates, best in the array")
def numpy(inputs, n, k):
    p, c, best = np.ascontiguousarray(inputs["p"]), np.ascontiguousarray(inputs["c"]), np.zeros(n, np.int32)
    array = ti.types.ndarray(dtype=ti.i32, ndim=2)

    @ti.kernel
    def assign(p: array, c: array, best: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(p.shape[0]):
            least = 1 << 30
            for q in range(c.shape[0]):
                dx, dy = p[i, 0] - c[q, 0], p[i, 1] - c[q, 1]
                r = dx * dx + dy * dy
                if r < least:
                    least = r
                    best[i] = q

    return made(lambda: assign(p, c, best), best)


@WORK.spelling("structs, a func of the distance")
def by_struct(inputs, n, k):
    points = ti.Struct.field({"x": ti.i32, "y": ti.i32, "best": ti.i32}, shape=n)
    centres = ti.Struct.field({"x": ti.i32, "y": ti.i32}, shape=k)
    for holder, values in ((points, inputs["p"]), (centres, inputs["c"])):
        holder.x.from_numpy(np.ascontiguousarray(values[:, 0]))
        holder.y.from_numpy(np.ascontiguousarray(values[:, 1]))

    @ti.func
    def distance(i, q):
        return (points[i].x - centres[q].x) ** 2 + (points[i].y - centres[q].y) ** 2

    @ti.kernel
    def assign():
        for i in points:
            points[i].best = 0
            for q in range(1, k):
                if distance(i, q) < distance(i, points[i].best):
                    points[i].best = q

    return made(assign, points.best)
