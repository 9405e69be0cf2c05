"""The root of an equation for each of many numbers: x^5 + x = y."""

import numpy as np
import ti
from harness.workload import Workload

TURNS, NEAR = 40, 1e-5


def inputs(rng, n):
    return {"y": rng.random(n, np.float32) * 50}


def model(inputs, n):
    x, y = np.ones(n), inputs["y"].astype(np.float64)
    for _ in range(60):
        x -= (x**5 + x - y) / (5 * x**4 + 1)
    return {"x": x}


WORK = Workload(
    title="roots of x^5 + x = y",
    unit="root",
    parameters={"n": 100_000},
    device={"n": 2_000_000},
    smoke={"n": 501},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(1e-4, 1e-4),
)


def fields(inputs):
    x, y = ti.field(ti.f32, shape=len(inputs["y"])), ti.field(ti.f32, shape=len(inputs["y"]))
    y.from_numpy(np.ascontiguousarray(inputs["y"]))
    return x, y


def made(step, x):
    return {"step": step, "outputs": lambda: {"x": x if isinstance(x, np.ndarray) else x.to_numpy()}}


@WORK.spelling("Newton, for with break")
def by_break(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def solve():
        for i in x:
            r = 1.0
            for _ in range(TURNS):
                step = (r**5 + r - y[i]) / (5.0 * r**4 + 1.0)
                r -= step
                if ti.abs(step) < NEAR:
                    break
            x[i] = r

    return made(solve, x)


@WORK.spelling("Newton, while with a condition")
def by_while(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def solve():
        for i in range(n):
            r, step, turn = 1.0, 1.0, 0
            while ti.abs(step) >= NEAR and turn < TURNS:
                step = (r * r * r * r * r + r - y[i]) / (5.0 * r * r * r * r + 1.0)
                r -= step
                turn += 1
            x[i] = r

    return made(solve, x)


@WORK.spelling("Newton, funcs of function and slope, NumPy arrays")
def by_func(inputs, n):
    y, x = np.ascontiguousarray(inputs["y"]), np.zeros(n, np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.func
    def value(r, y):
        return r**5 + r - y

    @ti.func
    def slope(r):
        return 5.0 * r**4 + 1.0

    @ti.kernel
    def solve(x: array, y: array):
        for i in range(x.shape[0]):
            r = 1.0
            for _ in range(TURNS):
                step = value(r, y[i]) / slope(r)
                if ti.abs(step) < NEAR:
                    break
                r -= step
            x[i] = r

    return made(lambda: solve(x, y), x)


@WORK.spelling("Newton, a class, continue and break")
def by_class(inputs, n):
    x, y = fields(inputs)

    @ti.data_oriented
    class Solver:
        def __init__(self, turns):
            self.turns = turns

        @ti.func
        def step(self, r, target):
            square = r * r
            return (square * square * r + r - target) / (5.0 * square * square + 1.0)

        @ti.kernel
        def solve(self):
            for i in x:
                r = 1.0
                for _ in range(self.turns):
                    step = self.step(r, y[i])
                    r -= step
                    if ti.abs(step) >= NEAR:
                        continue
                    break
                x[i] = r

    return made(Solver(TURNS).solve, x)


@WORK.spelling("bisection, fixed turns", family="bisection")
def bisection(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def solve():
        for i in x:
            low, high = 0.0, 4.0
            for _ in range(24):
                middle = 0.5 * (low + high)
                if middle**5 + middle < y[i]:
                    low = middle
                else:
                    high = middle
            x[i] = 0.5 * (low + high)

    return made(solve, x)


@WORK.spelling("bisection, while the range is wide", family="bisection")
def bisection_while(inputs, n):
    x, y = fields(inputs)

    @ti.kernel
    def solve():
        for i in x:
            low, high = 0.0, 4.0
            while high - low > 1e-6:
                middle = 0.5 * (low + high)
                if middle == low or middle == high:
                    break
                above = middle**5 + middle >= y[i]
                high = ti.select(above, middle, high)
                low = ti.select(above, low, middle)
            x[i] = 0.5 * (low + high)

    return made(solve, x)
