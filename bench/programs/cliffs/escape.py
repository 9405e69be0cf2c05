"""How many turns each point of a Julia set takes to escape."""

import numpy as np
import ti
from harness.workload import Workload

TURNS, RE, IM = 60, -0.1, 0.2
TILE = 8  # what is compared are sums of tiles: a point at the edge may escape a turn later in another arithmetic


def model(inputs, n):
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    z = (i / n - 0.5) * 3 + 1j * (j / n - 0.5) * 3
    count = np.zeros((n, n), int)
    for _ in range(TURNS):
        alive = (z.real**2 + z.imag**2) < 4
        count += alive
        z = np.where(alive, z * z + complex(RE, IM), z)
    return {"tiles": tiles(count)}


def tiles(values):
    n = len(values) // TILE
    return values.astype(np.float64).reshape(n, TILE, n, TILE).sum(axis=(1, 3))


WORK = Workload(
    title="escape time of a Julia set",
    unit="point",
    parameters={"n": 320},
    device={"n": 1280},
    smoke={"n": 24},
    items=lambda n: n * n,
    inputs=lambda rng, n: {},
    model=model,
    tolerance=(0.02, 4),
)


def made(step, out):
    return {"step": step, "outputs": lambda: {"tiles": tiles(out if isinstance(out, np.ndarray) else out.to_numpy())}}


@WORK.spelling("while with a condition, numbers")
def by_while(inputs, n):
    out = ti.field(ti.i32, shape=(n, n))

    @ti.kernel
    def escape():
        for i, j in out:
            x, y, count = (i / n - 0.5) * 3.0, (j / n - 0.5) * 3.0, 0
            while x * x + y * y < 4.0 and count < TURNS:
                x, y = x * x - y * y + RE, 2.0 * x * y + IM
                count += 1
            out[i, j] = count

    return made(escape, out)


@ti.func
def square(z):
    return ti.Vector([z[0] ** 2 - z[1] ** 2, 2.0 * z[0] * z[1]])


@WORK.spelling("while with a condition, vectors and norm()")
def vectors(inputs, n):
    out = ti.field(ti.f32, shape=(n, n))

    @ti.kernel
    def escape():
        for i, j in out:
            c = ti.Vector([RE, IM])
            z = ti.Vector([i / n - 0.5, j / n - 0.5]) * 3.0
            count = 0
            while z.norm() < 2.0 and count < TURNS:
                z = square(z) + c
                count += 1
            out[i, j] = count

    return made(escape, out)


@WORK.spelling("for with break")
def by_break(inputs, n):
    out = ti.field(ti.i32, shape=(n, n))

    @ti.kernel
    def escape():
        for i, j in out:
            z = ti.Vector([i / n - 0.5, j / n - 0.5]) * 3.0
            count = 0
            for _ in range(TURNS):
                if z.dot(z) >= 4.0:
                    break
                z = ti.math.cmul(z, z) + ti.Vector([RE, IM])
                count += 1
            out[i, j] = count

    return made(escape, out)


@WORK.spelling("while True with break, NumPy array, one loop")
def one_loop(inputs, n):
    out = np.zeros((n, n), np.int32)

    @ti.kernel
    def escape(out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        n = out.shape[0]
        for cell in range(n * n):
            x, y = (cell // n / n - 0.5) * 3.0, (cell % n / n - 0.5) * 3.0
            count = 0
            while True:
                if count == TURNS or x * x + y * y >= 4.0:
                    break
                new_x = x * x - y * y + RE
                y = 2.0 * x * y + IM
                x = new_x
                count += 1
            out[cell // n, cell % n] = count

    return made(lambda: escape(out), out)


@WORK.spelling("a func with the loop")
def by_func(inputs, n):
    out = ti.field(ti.i32, shape=(n, n))

    @ti.func
    def turns(x, y):
        count = 0
        while count < TURNS and x * x + y * y < 4.0:
            x, y = x * x - y * y + RE, 2.0 * x * y + IM
            count += 1
        return count

    @ti.kernel
    def escape():
        for i, j in out:
            out[i, j] = turns((i / n - 0.5) * 3.0, (j / n - 0.5) * 3.0)

    return made(escape, out)


@WORK.spelling("all turns, counted by an if")
def all_turns(inputs, n):
    out = ti.field(ti.i32, shape=(n, n))

    @ti.kernel
    def escape():
        for i, j in out:
            x, y, count = (i / n - 0.5) * 3.0, (j / n - 0.5) * 3.0, 0
            for _ in range(TURNS):
                if x * x + y * y < 4.0:
                    x, y = x * x - y * y + RE, 2.0 * x * y + IM
                    count += 1
            out[i, j] = count

    return made(escape, out)


@WORK.spelling("all turns, a flag, NumPy array")
def by_flag(inputs, n):
    out = np.zeros((n, n), np.int32)

    @ti.kernel
    def escape(out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for i, j in ti.ndrange(out.shape[0], out.shape[1]):
            x, y, count, inside = (i / n - 0.5) * 3.0, (j / n - 0.5) * 3.0, 0, True
            for _ in range(TURNS):
                if inside:
                    if x * x + y * y >= 4.0:
                        inside = False
                    else:
                        x, y = x * x - y * y + RE, 2.0 * x * y + IM
                        count += 1
            out[i, j] = count

    return made(lambda: escape(out), out)


@WORK.spelling("f64, while with a condition", family="f64")
def doubles(inputs, n):
    out = ti.field(ti.i32, shape=(n, n))

    @ti.kernel
    def escape():
        for i, j in out:
            x, y, count = (ti.cast(i, ti.f64) / n - 0.5) * 3.0, (ti.cast(j, ti.f64) / n - 0.5) * 3.0, 0
            while x * x + y * y < 4.0 and count < TURNS:
                x, y = x * x - y * y + RE, 2.0 * x * y + IM
                count += 1
            out[i, j] = count

    return made(escape, out)
