"""A round of k-means in the plane: points go to the nearest centre (the first of equals), centres to their points' mean."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, k):
    return {
        "p": rng.integers(0, 1000, (n, 2)).astype(np.float32),  # whole numbers: distances are exact
        "c": rng.integers(0, 1000, (k, 2)).astype(np.float32),
    }


def model(inputs, n, k):
    p, c = inputs["p"].astype(np.float64), inputs["c"].astype(np.float64)
    label = ((p[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    count = np.bincount(label, minlength=k)
    sums = np.stack([np.bincount(label, p[:, d], k) for d in range(2)], axis=1)
    return {"label": label, "count": count, "centre": np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], c)}


WORK = Workload(
    title="a round of k-means",
    unit="point",
    parameters={"n": 60_007, "k": 13},
    device={"n": 2_000_003, "k": 13},
    smoke={"n": 301, "k": 5},
    items=lambda n, k: n,
    inputs=inputs,
    model=model,
    tolerance=(1e-3, 1e-3),
)


def made(step, label, count, centre):
    def outputs():
        every = {"label": label, "count": count, "centre": centre}
        return {name: value if isinstance(value, np.ndarray) else value.to_numpy() for name, value in every.items()}

    return {"step": step, "outputs": outputs}


def fields(inputs):
    n, k = len(inputs["p"]), len(inputs["c"])
    p, c = ti.Vector.field(2, ti.f32, shape=n), ti.Vector.field(2, ti.f32, shape=k)
    p.from_numpy(np.ascontiguousarray(inputs["p"]))
    c.from_numpy(np.ascontiguousarray(inputs["c"]))
    label, count, centre = ti.field(ti.i32, shape=n), ti.field(ti.i32, shape=k), ti.Vector.field(2, ti.f32, shape=k)
    return p, c, label, count, centre


@WORK.spelling("vectors, atomics into the centres, one kernel of three loops")
def one_kernel(inputs, n, k):
    p, c, label, count, centre = fields(inputs)

    @ti.kernel
    def turn():
        for q in centre:
            centre[q] = ti.Vector([0.0, 0.0])
            count[q] = 0
        for i in p:
            best, least = 0, 1e20
            for q in range(k):
                d = (p[i] - c[q]).norm_sqr()
                if d < least:
                    least = d
                    best = q
            label[i] = best
            count[best] += 1
            centre[best] += p[i]
        for q in centre:
            if count[q] > 0:
                centre[q] /= count[q]
            else:
                centre[q] = c[q]

    return made(turn, label, count, centre)


@WORK.spelling("two kernels: labels, then sums by atomics, a func of the nearest")
def two_kernels(inputs, n, k):
    p, c, label, count, centre = fields(inputs)

    @ti.func
    def nearest(x):
        best = 0
        for q in range(1, k):
            if (x - c[q]).dot(x - c[q]) < (x - c[best]).dot(x - c[best]):
                best = q
        return best

    @ti.kernel
    def assign():
        for i in p:
            label[i] = nearest(p[i])

    @ti.kernel
    def accumulate():
        for i in p:
            ti.atomic_add(centre[label[i]], p[i])
            ti.atomic_add(count[label[i]], 1)

    @ti.kernel
    def divide():
        for q in range(k):
            centre[q] = c[q] if count[q] == 0 else centre[q] / float(count[q])

    def step():
        centre.fill(0)
        count.fill(0)
        assign()
        accumulate()
        divide()

    return made(step, label, count, centre)


@WORK.spelling("NumPy arrays, coordinates one by one")
def numpy(inputs, n, k):
    table, row = ti.types.ndarray(dtype=ti.f32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=1)
    p, c = np.ascontiguousarray(inputs["p"]), np.ascontiguousarray(inputs["c"])
    label, count, centre = np.zeros(n, np.int32), np.zeros(k, np.int32), np.zeros((k, 2), np.float32)

    @ti.kernel
    def turn(p: table, c: table, label: row, count: row, centre: table):
        for q in range(c.shape[0]):
            count[q] = 0
            for d in range(2):
                centre[q, d] = 0.0
        for i in range(p.shape[0]):
            least = 3.0e38
            best = -1
            for q in range(c.shape[0]):
                s = 0.0
                for d in range(2):
                    s += (p[i, d] - c[q, d]) ** 2
                if s < least:
                    least, best = s, q
            label[i] = best
            count[best] += 1
            for d in range(2):
                centre[best, d] += p[i, d]
        for q, d in ti.ndrange(c.shape[0], 2):
            if count[q] == 0:
                centre[q, d] = c[q, d]
            else:
                centre[q, d] = centre[q, d] / count[q]

    return made(lambda: turn(p, c, label, count, centre), label, count, centre)


@WORK.spelling("labels, then each centre walks all blocks: sums of blocks in a table")
def blocks(inputs, n, k):
    p, c, label, count, centre = fields(inputs)
    size = 500
    parts = (n + size - 1) // size
    sums = ti.Vector.field(3, ti.f32, shape=(parts, k))

    @ti.kernel
    def turn():
        for b in range(parts):
            for q in range(k):
                sums[b, q] = ti.Vector([0.0, 0.0, 0.0])
            for i in range(b * size, min(b * size + size, n)):
                best, least = 0, (p[i] - c[0]).norm_sqr()
                for q in range(1, k):
                    d = (p[i] - c[q]).norm_sqr()
                    if d < least:
                        best, least = q, d
                label[i] = best
                sums[b, best] += ti.Vector([p[i].x, p[i].y, 1.0])
        for q in range(k):
            s = ti.Vector([0.0, 0.0, 0.0])
            for b in range(parts):
                s += sums[b, q]
            count[q] = int(s.z)
            centre[q] = c[q]
            if s.z > 0.5:
                centre[q] = s.xy / s.z

    return made(turn, label, count, centre)


@WORK.spelling("a dataclass of a cluster, points by two fields")
def by_dataclass(inputs, n, k):
    @ti.dataclass
    class Cluster:
        x: ti.f32
        y: ti.f32
        sx: ti.f32
        sy: ti.f32
        count: ti.i32

        @ti.func
        def distance(self, x, y):
            return (x - self.x) * (x - self.x) + (y - self.y) * (y - self.y)

    clusters = Cluster.field(shape=k)
    clusters.x.from_numpy(np.ascontiguousarray(inputs["c"][:, 0]))
    clusters.y.from_numpy(np.ascontiguousarray(inputs["c"][:, 1]))
    px, py, label = ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=n), ti.field(ti.i32, shape=n)
    px.from_numpy(np.ascontiguousarray(inputs["p"][:, 0]))
    py.from_numpy(np.ascontiguousarray(inputs["p"][:, 1]))
    centre = ti.Vector.field(2, ti.f32, shape=k)

    @ti.kernel
    def turn():
        for q in clusters:
            clusters[q].sx, clusters[q].sy, clusters[q].count = 0.0, 0.0, 0
        for i in label:
            best, least = 0, ti.math.inf
            for q in range(k):
                d = clusters[q].distance(px[i], py[i])
                if d < least:
                    best = q
                    least = d
            label[i] = best
            clusters[best].sx += px[i]
            clusters[best].sy += py[i]
            clusters[best].count += 1
        for q in clusters:
            cluster = clusters[q]
            centre[q] = ti.Vector([cluster.x, cluster.y])
            if cluster.count > 0:
                centre[q] = ti.Vector([cluster.sx, cluster.sy]) / cluster.count

    return made(turn, label, clusters.count, centre)
