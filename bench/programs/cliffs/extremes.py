"""The least and the greatest value of an array, and where the least one is."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, n):
    return {"x": rng.permutation(n).astype(np.float32)}


def model(inputs, n):
    x = inputs["x"]
    return {"found": np.array([x.min(), x.max(), x.argmin()])}


WORK = Workload(
    title="least, greatest, and where the least is",
    unit="value",
    parameters={"n": 400_003},
    device={"n": 8_000_003},
    smoke={"n": 4003},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def fields(inputs):
    x, found = ti.field(ti.f32, shape=len(inputs["x"])), ti.field(ti.f32, shape=3)
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    return x, found


def made(step, found):
    return {"step": step, "outputs": lambda: {"found": found.to_numpy()}}


@WORK.spelling("atomic_min and atomic_max into a field, then its place")
def atomics(inputs, n):
    x, found = fields(inputs)

    @ti.kernel
    def find():
        found[0], found[1], found[2] = x[0], x[0], 0.0
        for i in x:
            ti.atomic_min(found[0], x[i])
            ti.atomic_max(found[1], x[i])
        for i in x:
            if x[i] == found[0]:
                found[2] = i

    return made(find, found)


@WORK.spelling("atomics into locals, then its place")
def locals_(inputs, n):
    x, found = fields(inputs)

    @ti.kernel
    def find():
        least, greatest = x[0], x[0]
        for i in range(n):
            ti.atomic_min(least, x[i])
            ti.atomic_max(greatest, x[i])
        for i in range(n):
            if x[i] == least:
                found[2] = i
        found[0], found[1] = least, greatest

    return made(find, found)


@WORK.spelling("NumPy array, values by a func, the first that is no greater")
def first_of(inputs, n):
    x, found = np.ascontiguousarray(inputs["x"]), np.zeros(3, np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.func
    def value(x: ti.template(), i):
        return x[i]

    @ti.kernel
    def find(x: array, found: array):
        least, greatest, place = x[0], x[0], n
        for i in range(x.shape[0]):
            ti.atomic_min(least, value(x, i))
            ti.atomic_max(greatest, value(x, i))
        for i in range(x.shape[0]):
            if value(x, i) <= least:
                ti.atomic_min(place, i)
        found[0], found[1], found[2] = least, greatest, place

    return {"step": lambda: find(x, found), "outputs": lambda: {"found": found}}


@WORK.spelling("chunks, ifs in an inner loop, then the chunks serially")
def chunks(inputs, n):
    x, found = fields(inputs)
    count = 64
    part, at = ti.Vector.field(2, ti.f32, shape=count), ti.field(ti.i32, shape=count)

    @ti.kernel
    def find():
        for c in range(count):
            begin, end = c * n // count, (c + 1) * n // count
            least, greatest, place = x[begin], x[begin], begin
            for i in range(begin, end):
                if x[i] < least:
                    least = x[i]
                    place = i
                if x[i] > greatest:
                    greatest = x[i]
            part[c] = [least, greatest]
            at[c] = place
        ti.loop_config(serialize=True)
        for c in range(count):
            if c == 0 or part[c][0] < found[0]:
                found[0] = part[c][0]
                found[2] = at[c]
            if c == 0 or part[c][1] > found[1]:
                found[1] = part[c][1]

    return made(find, found)


@WORK.spelling("one loop inside a parallel turn, ifs", family="one thread")
def one_turn(inputs, n):
    x, found = fields(inputs)

    @ti.kernel
    def find():
        for _ in range(1):
            least, greatest, place = x[0], x[0], 0
            for i in range(1, n):
                value = x[i]
                if value < least:
                    least = value
                    place = i
                greatest = ti.max(greatest, value)
            found[0], found[1], found[2] = least, greatest, place

    return made(find, found)


@WORK.spelling("serialized loop, min and max of locals", family="one thread")
def serial(inputs, n):
    x, found = fields(inputs)

    @ti.kernel
    def find():
        least, greatest, place = x[0], x[0], 0
        ti.loop_config(serialize=True)
        for i in range(n):
            place = ti.select(x[i] < least, i, place)
            least = ti.min(least, x[i])
            greatest = ti.max(greatest, x[i])
        found[0], found[1], found[2] = least, greatest, place

    return made(find, found)


@WORK.spelling("NumPy array, a serialized loop, ifs", family="one thread")
def numpy(inputs, n):
    x, found = np.ascontiguousarray(inputs["x"]), np.zeros(3, np.float32)
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def find(x: array, found: array):
        least, greatest, place = x[0], x[0], 0
        ti.loop_config(serialize=True)
        for i in range(1, x.shape[0]):
            if x[i] < least:
                least, place = x[i], i
            if x[i] > greatest:
                greatest = x[i]
        found[0], found[1], found[2] = least, greatest, place

    return {"step": lambda: find(x, found), "outputs": lambda: {"found": found}}
