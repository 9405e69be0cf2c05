"""Thirty small kernels one after the other: a step of a solver on few cells, in a loop outside."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n, turns):
    return {"x": rng.random(n, np.float32)}


def model(inputs, n, turns):
    x = inputs["x"].astype(np.float64)
    for _ in range(turns):
        x = 0.5 * x + 0.25 * (np.roll(x, 1) + np.roll(x, -1))
    return {"x": x}


WORK = Workload(
    title="thirty sweeps over 256 cells",
    unit="sweep",
    parameters={"n": 256, "turns": 30},
    smoke={"n": 32, "turns": 4},
    items=lambda n, turns: turns,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-5),
)


def fields(inputs):
    x, y = ti.field(ti.f32, shape=len(inputs["x"])), ti.field(ti.f32, shape=len(inputs["x"]))
    return x, y


def made(inputs, step, x):
    """Each step begins anew: what is measured includes one `from_numpy`, the same in all spellings."""
    start = np.ascontiguousarray(inputs["x"])

    def step_from_start():
        x.from_numpy(start)
        step()

    return {"step": step_from_start, "outputs": lambda: {"x": x.to_numpy()}}


@WORK.spelling("Python calls a kernel of two loops", family="a launch each")
def two_loops(inputs, n, turns):
    x, y = fields(inputs)

    @ti.kernel
    def sweep():
        for i in x:
            y[i] = 0.5 * x[i] + 0.25 * (x[(i + n - 1) % n] + x[(i + 1) % n])
        for i in x:
            x[i] = y[i]

    def step():
        for _ in range(turns):
            sweep()

    return made(inputs, step, x)


@WORK.spelling("Python calls a kernel with fields as templates, in turns", family="a launch each")
def templates(inputs, n, turns):
    x, y = fields(inputs)

    @ti.kernel
    def sweep(a: ti.template(), b: ti.template()):
        for i in a:
            b[i] = 0.5 * a[i] + 0.25 * (a[(i + n - 1) % n] + a[(i + 1) % n])

    def step():
        for _ in range(turns // 2):
            sweep(x, y)
            sweep(y, x)

    return made(inputs, step, x)


@WORK.spelling("Python calls a kernel with ndarrays, in turns", family="a launch each")
def ndarrays(inputs, n, turns):
    x, y = ti.ndarray(ti.f32, shape=n), ti.ndarray(ti.f32, shape=n)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def sweep(a: array, b: array):
        n = a.shape[0]
        for i in a:
            b[i] = 0.5 * a[i] + 0.25 * (a[(i + n - 1) % n] + a[(i + 1) % n])

    def step():
        for _ in range(turns // 2):
            sweep(x, y)
            sweep(y, x)

    return made(inputs, step, x)


@WORK.spelling("Python calls two kernels, one copies", family="a launch each")
def two_kernels(inputs, n, turns):
    x, y = fields(inputs)

    @ti.kernel
    def sweep():
        for i in x:
            left, right = x[n - 1], x[0]
            if i > 0:
                left = x[i - 1]
            if i < n - 1:
                right = x[i + 1]
            y[i] = 0.5 * x[i] + 0.25 * (left + right)

    @ti.kernel
    def back():
        for i in x:
            x[i] = y[i]

    def step():
        for _ in range(turns):
            sweep()
            back()

    return made(inputs, step, x)


@WORK.spelling("one kernel, a serial loop with two loops inside")
def serial(inputs, n, turns):
    x, y = fields(inputs)

    @ti.kernel
    def sweeps():
        ti.loop_config(serialize=True)
        for _ in range(turns):
            for i in range(n):
                y[i] = 0.5 * x[i] + 0.25 * (x[(i + n - 1) % n] + x[(i + 1) % n])
            for i in range(n):
                x[i] = y[i]

    return made(inputs, sweeps, x)


@WORK.spelling("one kernel, its loops repeated statically")
def unrolled(inputs, n, turns):
    x, y = fields(inputs)

    @ti.kernel
    def sweeps():
        for _ in ti.static(range(2)):
            for i in x:
                y[i] = 0.5 * x[i] + 0.25 * (x[(i + n - 1) % n] + x[(i + 1) % n])
            for i in x:
                x[i] = 0.5 * y[i] + 0.25 * (y[(i + n - 1) % n] + y[(i + 1) % n])

    @ti.kernel
    def pair():
        for i in x:
            y[i] = 0.5 * x[i] + 0.25 * (x[(i + n - 1) % n] + x[(i + 1) % n])
        for i in x:
            x[i] = 0.5 * y[i] + 0.25 * (y[(i + n - 1) % n] + y[(i + 1) % n])

    def step():
        for _ in range(turns // 4):
            sweeps()
        if turns % 4:
            pair()

    return made(inputs, step, x)


@ti.data_oriented
class Bar:
    def __init__(self, n):
        self.n, self.x, self.y = n, ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=n)

    @ti.kernel
    def sweep(self, weight: ti.f32):
        for i in self.x:
            around = self.x[(i + self.n - 1) % self.n] + self.x[(i + 1) % self.n]
            self.y[i] = (1.0 - 2.0 * weight) * self.x[i] + weight * around
        for i in self.x:
            self.x[i] = self.y[i]


@WORK.spelling("a class' kernel with an argument", family="a launch each")
def by_class(inputs, n, turns):
    bar = Bar(n)

    def step():
        for _ in range(turns):
            bar.sweep(0.25)

    return made(inputs, step, bar.x)
