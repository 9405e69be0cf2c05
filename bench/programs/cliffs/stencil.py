"""Five points over the interior of a grid of odd sizes; what lies on the border stays."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"a": rng.random((n, m), np.float32)}


def model(inputs, n, m):
    a = inputs["a"].astype(np.float64)
    b = np.zeros_like(a)
    b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return {"b": b}


WORK = Workload(
    title="5 points over the interior of a grid",
    unit="cell",
    parameters={"n": 509, "m": 1021},
    device={"n": 2045, "m": 4093},
    smoke={"n": 21, "m": 45},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
)

OFFSETS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def fields(inputs, dtype=None):
    shape = inputs["a"].shape
    a, b = ti.field(dtype or ti.f32, shape=shape), ti.field(dtype or ti.f32, shape=shape)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    return a, b


def made(step, b):
    return {"step": step, "outputs": lambda: {"b": b if isinstance(b, np.ndarray) else b.to_numpy()}}


@WORK.spelling("ndrange of the interior")
def interior(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("all cells, the border by an if")
def by_if(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            if i > 0 and i < n - 1 and j > 0 and j < m - 1:
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("all cells, continue at the border, sizes from the shape")
def by_continue(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in a:
            if i == 0 or j == 0 or i + 1 == a.shape[0] or j + 1 == a.shape[1]:
                continue
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("grouped, index vectors")
def grouped(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for I in ti.grouped(ti.ndrange((1, n - 1), (1, m - 1))):
            di, dj = ti.Vector([1, 0]), ti.Vector([0, 1])
            b[I] = 0.25 * (a[I - di] + a[I + di] + a[I - dj] + a[I + dj])

    return made(sweep, b)


@WORK.spelling("offsets in a static loop")
def static(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for I in ti.grouped(ti.ndrange((1, n - 1), (1, m - 1))):
            s = 0.0
            for offset in ti.static(OFFSETS):
                s += a[I + ti.Vector(offset)]
            b[I] = 0.25 * s

    return made(sweep, b)


@WORK.spelling("offsets by run-time loops and an if")
def run_time(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if abs(di) + abs(dj) == 1:
                        s += a[i + di, j + dj]
            b[i, j] = 0.25 * s

    return made(sweep, b)


@WORK.spelling("run-time loops around the cell: range(i - 1, i + 2)")
def around(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            s = 0.0
            for p in range(i - 1, i + 2):
                for q in range(j - 1, j + 2):
                    if ti.abs(p - i) + ti.abs(q - j) == 1:
                        s += a[p, q]
            b[i, j] = 0.25 * s

    return made(sweep, b)


@WORK.spelling("offsets in a field")
def field_of_offsets(inputs, n, m):
    a, b = fields(inputs)
    offsets = ti.Vector.field(2, ti.i32, shape=4)
    offsets.from_numpy(np.array(OFFSETS, np.int32))

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            s = 0.0
            for q in range(4):
                s += a[ti.Vector([i, j]) + offsets[q]]
            b[i, j] = 0.25 * s

    return made(sweep, b)


@WORK.spelling("a func of the cell")
def by_func(inputs, n, m):
    a, b = fields(inputs)

    @ti.func
    def around(i, j):
        return a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]

    @ti.kernel
    def sweep():
        for i, j in a:
            if 0 < i < n - 1 and 0 < j < m - 1:
                b[i, j] = 0.25 * around(i, j)

    return made(sweep, b)


@WORK.spelling("a func of an index vector")
def by_vector_func(inputs, n, m):
    a, b = fields(inputs)

    @ti.func
    def sample(p):
        return a[p]

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            p = ti.Vector([i, j])
            s = sample(p + ti.Vector([-1, 0])) + sample(p + ti.Vector([1, 0]))
            s += sample(p + ti.Vector([0, -1])) + sample(p + ti.Vector([0, 1]))
            b[p] = 0.25 * s

    return made(sweep, b)


@WORK.spelling("one loop, // and %, the border by an if")
def one_loop(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for c in range(n * m):
            i, j = c // m, c % m
            if i > 0 and i < n - 1 and j > 0 and j < m - 1:
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("one loop over a flat NumPy array")
def flat(inputs, n, m):
    a, b = np.ascontiguousarray(inputs["a"]).reshape(-1), np.zeros(n * m, np.float32)

    @ti.kernel
    def sweep(a: ti.types.ndarray(dtype=ti.f32, ndim=1), b: ti.types.ndarray(dtype=ti.f32, ndim=1), n: int, m: int):
        for c in range(n * m):
            i = c // m
            j = c - i * m
            if i > 0 and i < n - 1 and j > 0 and j < m - 1:
                b[c] = 0.25 * (a[c - m] + a[c + m] + a[c - 1] + a[c + 1])

    return made(lambda: sweep(a, b, n, m), b.reshape(n, m))


@WORK.spelling("rows in parallel, an inner serial loop")
def rows(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("columns outermost: for j, i in ndrange")
def turned(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for j, i in ti.ndrange((1, m - 1), (1, n - 1)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("columns outermost: one loop, i = c % n, j = c // n")
def turned_number(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for c in range(n * m):
            i, j = c % n, c // n
            if 0 < i < n - 1 and 0 < j < m - 1:
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("columns in parallel, an inner serial loop")
def columns(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def sweep():
        for j in range(1, m - 1):
            for i in range(1, n - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("ndarrays, sizes from their shape")
def ndarrays(inputs, n, m):
    a, b = ti.ndarray(ti.f32, shape=(n, m)), ti.ndarray(ti.f32, shape=(n, m))
    a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def sweep(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(lambda: sweep(a, b), b)


@WORK.spelling("members of a struct")
def by_struct(inputs, n, m):
    cells = ti.Struct.field({"a": ti.f32, "b": ti.f32}, shape=(n, m))
    cells.a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            cells[i, j].b = 0.25 * (cells[i - 1, j].a + cells[i + 1, j].a + cells[i, j - 1].a + cells[i, j + 1].a)

    return {"step": sweep, "outputs": lambda: {"b": cells.b.to_numpy()}}


@WORK.spelling("members placed side by side")
def side_by_side(inputs, n, m):
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (n, m)).place(a, b)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@ti.data_oriented
class Sweep:
    def __init__(self, a, b):
        self.a, self.b = a, b
        self.n, self.m = a.shape

    @ti.func
    def inside(self, i, j):
        return 1 <= i and i < self.n - 1 and 1 <= j and j < self.m - 1

    @ti.kernel
    def run(self):
        for i, j in self.a:
            if self.inside(i, j):
                self.b[i, j] = 0.25 * (self.a[i - 1, j] + self.a[i + 1, j] + self.a[i, j - 1] + self.a[i, j + 1])


@WORK.spelling("a class, the border by its method")
def by_class(inputs, n, m):
    a, b = fields(inputs)
    return made(Sweep(a, b).run, b)


@WORK.spelling("f64, all cells, the border by an if", family="f64")
def doubles(inputs, n, m):
    a, b = fields(inputs, ti.f64)

    @ti.kernel
    def sweep():
        for i, j in a:
            if i > 0 and i < n - 1 and j > 0 and j < m - 1:
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)


@WORK.spelling("f64, ndrange of the interior", family="f64")
def doubles_interior(inputs, n, m):
    a, b = fields(inputs, ti.f64)

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    return made(sweep, b)
