"""Red and black cells relaxed in turns: Gauss-Seidel for Poisson's equation, in place."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, m):
    return {"x": rng.random((n, m), np.float32), "b": rng.random((n, m), np.float32) - 0.5}


def model(inputs, n, m):
    x, b = inputs["x"].astype(np.float64), inputs["b"].astype(np.float64)
    i, j = np.meshgrid(np.arange(1, n - 1), np.arange(1, m - 1), indexing="ij")
    for colour in (0, 1):
        new = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + b[1:-1, 1:-1])
        x[1:-1, 1:-1] = np.where((i + j) % 2 == colour, new, x[1:-1, 1:-1])
    return {"x": x}


WORK = Workload(
    title="red-black relaxation",
    unit="cell",
    parameters={"n": 510, "m": 1022},
    device={"n": 2046, "m": 4094},
    smoke={"n": 22, "m": 46},
    items=lambda n, m: n * m,
    inputs=inputs,
    model=model,
)


def made(inputs, make, x=None, b=None):
    """The program whose step is made of the fields x and b; every sample begins with the same x."""
    shape = inputs["x"].shape
    x, b = x or ti.field(ti.f32, shape=shape), b or ti.field(ti.f32, shape=shape)
    start = np.ascontiguousarray(inputs["x"])
    b.from_numpy(np.ascontiguousarray(inputs["b"]))
    step = make(x, b)
    return {"step": step, "reset": lambda: x.from_numpy(start), "outputs": lambda: {"x": x.to_numpy()}}


@WORK.spelling("colour an argument, (i + j) % 2 in an if")
def by_if(inputs, n, m):
    def make(x, b):
        @ti.kernel
        def relax(colour: ti.i32):
            for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
                if (i + j) % 2 == colour:
                    x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j])

        def step():
            relax(0)
            relax(1)

        return step

    return made(inputs, make)


@WORK.spelling("two loops in a kernel, (i + j) & 1")
def two_loops(inputs, n, m):
    def make(x, b):
        @ti.kernel
        def relax():
            for colour in ti.static(range(2)):
                for i, j in x:
                    if 0 < i < n - 1 and 0 < j < m - 1 and (i + j) & 1 == colour:
                        x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j])

        return relax

    return made(inputs, make)


@WORK.spelling("ndrange of half the columns, 2 * q + ...")
def half(inputs, n, m):
    def make(x, b):
        @ti.kernel
        def relax(colour: ti.i32):
            for i, q in ti.ndrange((1, n - 1), (m - 2) // 2):
                j = 2 * q + 1 + (i + colour + 1) % 2
                x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j])

        def step():
            for colour in range(2):
                relax(colour)

        return step

    return made(inputs, make)


@WORK.spelling("rows in parallel, a while with j += 2")
def by_while(inputs, n, m):
    def make(x, b):
        @ti.kernel
        def relax():
            for colour in ti.static(range(2)):
                for i in range(1, n - 1):
                    j = 1 + (i + 1 + colour) % 2
                    while j < m - 1:
                        x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j])
                        j += 2

        return relax

    return made(inputs, make)


@WORK.spelling("one loop, // and %, a func")
def one_loop(inputs, n, m):
    def make(x, b):
        @ti.func
        def relaxed(i, j):
            return 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j])

        @ti.kernel
        def relax(colour: ti.i32):
            for c in range(n * m):
                i, j = c // m, c % m
                if i > 0 and i < n - 1 and j > 0 and j < m - 1 and (i + j) % 2 == colour:
                    x[i, j] = relaxed(i, j)

        def step():
            relax(0)
            relax(1)

        return step

    return made(inputs, make)


@WORK.spelling("ndarrays, colour an argument")
def ndarrays(inputs, n, m):
    array = ti.types.ndarray(dtype=ti.f32, ndim=2)

    def make(x, b):
        @ti.kernel
        def relax(x: array, b: array, colour: int):
            for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
                if (i + j) % 2 == colour:
                    x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + b[i, j])

        def step():
            relax(x, b, 0)
            relax(x, b, 1)

        return step

    return made(inputs, make, ti.ndarray(ti.f32, shape=(n, m)), ti.ndarray(ti.f32, shape=(n, m)))
