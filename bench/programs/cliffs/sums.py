"""One number of an array: sums, as the loops that people write for them."""

import numpy as np
import ti
from harness.workload import Workload

CHUNK = 1000


def inputs(rng, n):
    return {"x": rng.random(n, np.float32)}


def model(inputs, n):
    return {"sum": inputs["x"].sum(dtype=np.float64)}


WORK = Workload(
    title="sum of an f32 array",
    unit="value",
    parameters={"n": 1_000_000},
    device={"n": 16_000_000},
    smoke={"n": 5000},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(2e-4, 1e-3),  # a million terms one after the other in f32
)


def field(inputs):
    x = ti.field(ti.f32, shape=len(inputs["x"]))
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x


def returned(kernel):
    """A program whose step's result is a number."""
    last = [0.0]

    def step():
        last[0] = kernel()

    return {"step": step, "outputs": lambda: {"sum": np.array(last[0])}}


@WORK.spelling("parallel +=, returned")
def parallel(inputs, n):
    x = field(inputs)

    @ti.kernel
    def add() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    return returned(add)


@WORK.spelling("parallel += into a field of one")
def into_field(inputs, n):
    x, total = field(inputs), ti.field(ti.f32, shape=())

    @ti.kernel
    def add():
        total[None] = 0.0
        for i in range(n):
            total[None] += x[i]

    return {"step": add, "outputs": lambda: {"sum": total.to_numpy()}}


@WORK.spelling("parallel atomic_add of an ndarray argument")
def ndarray(inputs, n):
    x, total = ti.ndarray(ti.f32, shape=n), ti.field(ti.f32, shape=())
    x.from_numpy(np.ascontiguousarray(inputs["x"]))

    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        total[None] = 0.0
        for i in range(x.shape[0]):
            ti.atomic_add(total[None], x[i])

    return {"step": lambda: add(x), "outputs": lambda: {"sum": total.to_numpy()}}


@WORK.spelling("chunks, an inner serial loop each")
def chunks(inputs, n):
    x = field(inputs)

    @ti.kernel
    def add() -> ti.f32:
        total = 0.0
        for c in range(n // CHUNK):
            s = 0.0
            for q in range(CHUNK):
                s += x[c * CHUNK + q]
            total += s
        return total

    return returned(add)


@WORK.spelling("chunks of a NumPy array, range(begin, end)")
def numpy_chunks(inputs, n):
    x = np.ascontiguousarray(inputs["x"])

    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.f32:
        total = 0.0
        for c in range(x.shape[0] // CHUNK):
            s = 0.0
            for q in range(c * CHUNK, (c + 1) * CHUNK):
                s += x[q]
            ti.atomic_add(total, s)
        return total

    return returned(lambda: add(x))


@WORK.spelling("serialized loop, f32 local", family="one thread")
def serial(inputs, n):
    x = field(inputs)

    @ti.kernel
    def add() -> ti.f32:
        s = 0.0
        ti.loop_config(serialize=True)
        for i in range(n):
            s += x[i]
        return s

    return returned(add)


@WORK.spelling("serialized loop, f64 local", family="one thread")
def serial_double(inputs, n):
    x = field(inputs)

    @ti.kernel
    def add() -> ti.f64:
        s = ti.cast(0.0, ti.f64)
        ti.loop_config(serialize=True)
        for i in range(n):
            s += x[i]
        return s

    return returned(add)


@WORK.spelling("serialized loop into a field of one", family="one thread")
def serial_field(inputs, n):
    x, total = field(inputs), ti.field(ti.f64, shape=())

    @ti.kernel
    def add():
        total[None] = 0.0
        ti.loop_config(serialize=True)
        for i in range(n):
            total[None] += x[i]

    return {"step": add, "outputs": lambda: {"sum": total.to_numpy()}}


@WORK.spelling("a loop of one turn around it, f64 local", family="one thread")
def one_turn(inputs, n):
    x, total = field(inputs), ti.field(ti.f64, shape=())

    @ti.kernel
    def add():
        for _ in range(1):
            s = ti.cast(0.0, ti.f64)
            for i in range(n):
                s += x[i]
            total[None] = s

    return {"step": add, "outputs": lambda: {"sum": total.to_numpy()}}


@WORK.spelling("while at the kernel's top", family="one thread")
def by_while(inputs, n):
    x = field(inputs)

    @ti.kernel
    def add() -> ti.f32:
        s = 0.0
        i = 0
        while i < n:
            s += x[i]
            i += 1
        return s

    return returned(add)


@WORK.spelling("serial loop in a func", family="one thread")
def by_func(inputs, n):
    x = field(inputs)

    @ti.func
    def sum_of(begin: int, end: int):
        s = ti.cast(0.0, ti.f64)
        for i in range(begin, end):
            s += x[i]
        return s

    @ti.kernel
    def add() -> ti.f64:
        return sum_of(0, n)

    return returned(add)
