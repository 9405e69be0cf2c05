"""A grid of half the resolution: each coarse cell is the mean of 2 x 2 x 2 fine ones (multigrid's restriction)."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"fine": rng.random((2 * n,) * 3, np.float32)}


def model(inputs, n):
    return {"coarse": inputs["fine"].astype(np.float64).reshape(n, 2, n, 2, n, 2).mean(axis=(1, 3, 5))}


WORK = Workload(
    title="means of 2 x 2 x 2 cells",
    unit="fine cell",
    parameters={"n": 45},
    device={"n": 128},
    smoke={"n": 7},
    items=lambda n: 8 * n**3,
    inputs=inputs,
    model=model,
)


def fields(inputs, n):
    fine, coarse = ti.field(ti.f32, shape=(2 * n,) * 3), ti.field(ti.f32, shape=(n,) * 3)
    fine.from_numpy(np.ascontiguousarray(inputs["fine"]))
    return fine, coarse


def made(step, coarse):
    return {"step": step, "outputs": lambda: {"coarse": coarse if isinstance(coarse, np.ndarray) else coarse.to_numpy()}}


@WORK.spelling("gathered, static offsets")
def static(inputs, n):
    fine, coarse = fields(inputs, n)

    @ti.kernel
    def restrict():
        for I in ti.grouped(coarse):
            s = 0.0
            for offset in ti.static(ti.grouped(ti.ndrange(2, 2, 2))):
                s += fine[I * 2 + offset]
            coarse[I] = s / 8.0

    return made(restrict, coarse)


@WORK.spelling("gathered, run-time loops")
def run_time(inputs, n):
    fine, coarse = fields(inputs, n)

    @ti.kernel
    def restrict():
        for i, j, k in coarse:
            s = 0.0
            for di in range(2):
                for dj in range(2):
                    for dk in range(2):
                        s += fine[2 * i + di, 2 * j + dj, 2 * k + dk]
            coarse[i, j, k] = s * 0.125

    return made(restrict, coarse)


@WORK.spelling("gathered into the cell, run-time ndrange, NumPy arrays")
def numpy(inputs, n):
    fine, coarse = np.ascontiguousarray(inputs["fine"]), np.zeros((n, n, n), np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=3)

    @ti.kernel
    def restrict(fine: array, coarse: array):
        for i, j, k in ti.ndrange(coarse.shape[0], coarse.shape[1], coarse.shape[2]):
            coarse[i, j, k] = 0.0
            for a, b, c in ti.ndrange(2, 2, 2):
                coarse[i, j, k] += 0.125 * fine[2 * i + a, 2 * j + b, 2 * k + c]

    return made(lambda: restrict(fine, coarse), coarse)


@WORK.spelling("scattered, // 2")
def scattered(inputs, n):
    fine, coarse = fields(inputs, n)

    @ti.kernel
    def restrict():
        for I in ti.grouped(coarse):
            coarse[I] = 0.0
        for i, j, k in fine:
            coarse[i // 2, j // 2, k // 2] += 0.125 * fine[i, j, k]

    return made(restrict, coarse)


@WORK.spelling("scattered, grouped, >> 1, a template kernel")
def shifted(inputs, n):
    fine, coarse = fields(inputs, n)

    @ti.kernel
    def restrict(source: ti.template(), target: ti.template()):
        target.fill(0.0)
        for I in ti.grouped(source):
            ti.atomic_add(target[I >> 1], source[I] / 8.0)

    return made(lambda: restrict(fine, coarse), coarse)


@WORK.spelling("gathered, one loop, // and %")
def one_loop(inputs, n):
    fine, coarse = fields(inputs, n)

    @ti.kernel
    def restrict():
        for c in range(n * n * n):
            i, j, k = c // (n * n), c // n % n, c % n
            s = 0.0
            for q in range(8):
                s += fine[2 * i + q // 4, 2 * j + q // 2 % 2, 2 * k + q % 2]
            coarse[i, j, k] = s / 8.0

    return made(restrict, coarse)
