"""Game of life on a torus whose sizes are powers of two: i32 cells, eight neighbours, indices that wrap around.

Sizes that are none are in periodic.py.
"""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"a": rng.integers(0, 2, (n, m), np.int32)}


def model(inputs, n, m):
    a = inputs["a"]
    around = sum(np.roll(a, (di, dj), (0, 1)) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj)
    return {"b": ((around == 3) | ((around == 2) & (a == 1))).astype(np.int32)}


WORK = Workload(
    title="game of life of i32 cells on a torus",
    unit="cell",
    parameters={"n": 512, "m": 1024},
    device={"n": 2048, "m": 4096},
    smoke={"n": 32, "m": 64},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def fields(inputs):
    a, b = ti.field(ti.i32, shape=inputs["a"].shape), ti.field(ti.i32, shape=inputs["a"].shape)
    a.from_numpy(np.ascontiguousarray(inputs["a"]))
    return a, b


def made(step, b):
    return {"step": step, "outputs": lambda: {"b": b if isinstance(b, np.ndarray) else b.to_numpy()}}


@ti.func
def rule(alive, around):
    return ti.cast(around == 3 or (around == 2 and alive == 1), ti.i32)


@WORK.spelling("% in each of eight reads")
def modulo(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def live():
        for i, j in a:
            s = a[(i - 1) % n, (j - 1) % m] + a[(i - 1) % n, j] + a[(i - 1) % n, (j + 1) % m] + a[i, (j - 1) % m]
            s += a[i, (j + 1) % m] + a[(i + 1) % n, (j - 1) % m] + a[(i + 1) % n, j] + a[(i + 1) % n, (j + 1) % m]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)


@WORK.spelling("neighbours' indices first, + n - 1")
def first(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def live():
        for i, j in a:
            up, down, left, right = (i + n - 1) % n, (i + 1) % n, (j + m - 1) % m, (j + 1) % m
            s = a[up, left] + a[up, j] + a[up, right] + a[i, left] + a[i, right]
            s += a[down, left] + a[down, j] + a[down, right]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)


@WORK.spelling("neighbours' indices by ifs")
def by_if(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def live():
        for i, j in a:
            up, down, left, right = i - 1, i + 1, j - 1, j + 1
            if up < 0:
                up = n - 1
            if down == n:
                down = 0
            if left < 0:
                left = m - 1
            if right == m:
                right = 0
            s = a[up, left] + a[up, j] + a[up, right] + a[i, left] + a[i, right]
            s += a[down, left] + a[down, j] + a[down, right]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)


@WORK.spelling("offsets in a static loop, %")
def static(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def live():
        for i, j in a:
            s = 0
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(di != 0 or dj != 0):
                    s += a[(i + di) % n, (j + dj) % m]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)


@WORK.spelling("offsets by run-time loops, %, less the middle")
def run_time(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def live():
        for i, j in a:
            s = -a[i, j]
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += a[(i + di + n) % n, (j + dj + m) % m]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)


@WORK.spelling("a func that wraps, run-time ndrange and an if")
def by_func(inputs, n, m):
    a, b = fields(inputs)

    @ti.func
    def at(i, j):
        return a[i % n, j % m]

    @ti.func
    def count(i, j):
        s = 0
        for di, dj in ti.ndrange((-1, 2), (-1, 2)):
            if di != 0 or dj != 0:
                s += at(i + di, j + dj)
        return s

    @ti.kernel
    def live():
        for i, j in a:
            b[i, j] = rule(a[i, j], count(i, j))

    return made(live, b)


@WORK.spelling("ndarrays, one loop, // and %")
def one_loop(inputs, n, m):
    a, b = np.ascontiguousarray(inputs["a"]), np.zeros((n, m), np.int32)
    array = ti.types.ndarray(dtype=ti.i32, ndim=2)

    @ti.kernel
    def live(a: array, b: array):
        n, m = a.shape[0], a.shape[1]
        for c in range(n * m):
            i, j = c // m, c % m
            s = -a[i, j]
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                s += a[(i + di + n) % n, (j + dj + m) % m]
            b[i, j] = rule(a[i, j], s)

    return made(lambda: live(a, b), b)


@WORK.spelling("one loop, shifts and masks")
def masks(inputs, n, m):
    a, b = fields(inputs)
    bits = m.bit_length() - 1

    @ti.kernel
    def live():
        for c in range(n << bits):
            i, j = c >> bits, c & (m - 1)
            up, down, left, right = (i - 1) & (n - 1), (i + 1) & (n - 1), (j - 1) & (m - 1), (j + 1) & (m - 1)
            s = a[up, left] + a[up, j] + a[up, right] + a[i, left] + a[i, right]
            s += a[down, left] + a[down, j] + a[down, right]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)


@WORK.spelling("a nest, & in each read")
def nest_masks(inputs, n, m):
    a, b = fields(inputs)

    @ti.kernel
    def live():
        for i, j in ti.ndrange(n, m):
            s = -a[i, j]
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                s += a[(i + di) & (n - 1), (j + dj) & (m - 1)]
            b[i, j] = rule(a[i, j], s)

    return made(live, b)
