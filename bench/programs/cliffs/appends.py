"""Values that go to the lists of their keys, which are empty at first."""

import numpy as np
import ti
from harness.workload import Workload


def inputs(rng, lists, values):
    return {"keys": rng.integers(0, lists, values, np.int32)}


def model(inputs, lists, values):
    return {
        "length": np.bincount(inputs["keys"], minlength=lists),
        "sum": np.bincount(inputs["keys"], weights=np.arange(values) % 1000, minlength=lists),
    }


WORK = Workload(
    title="appends to many lists",
    unit="append",
    parameters={"lists": 4096, "values": 1 << 20},
    smoke={"lists": 16, "values": 1 << 10},
    items=lambda lists, values: values,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)

MOST = 1024  # values of a list


def lists_of(lists):
    x = ti.field(ti.i32)
    level = ti.root.dense(ti.i, lists).dynamic(ti.j, MOST, chunk_size=64)
    level.place(x)
    return x, level


def of_lists(lists, length_of, value_of):
    """The outputs by a kernel that walks all lists: the order within one is not determined."""
    length, total = np.zeros(lists, np.int32), np.zeros(lists, np.int32)
    array = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def add_up(length: array, total: array):
        for i in range(lists):
            count = length_of(i)
            length[i] = count
            s = 0
            for j in range(count):
                s += value_of(i, j) % 1000
            total[i] = s

    def outputs():
        add_up(length, total)
        return {"length": length, "sum": total}

    return outputs


def dynamic_outputs(lists, x):
    @ti.func
    def length_of(i):
        return x[i].length()

    @ti.func
    def value_of(i, j):
        return x[i, j]

    return of_lists(lists, length_of, value_of)


@WORK.spelling("x[key].append(value)")
def method(inputs, lists, values):
    x, level = lists_of(lists)
    keys = ti.field(ti.i32, shape=values)
    keys.from_numpy(np.ascontiguousarray(inputs["keys"]))

    @ti.kernel
    def fill():
        for p in keys:
            x[keys[p]].append(p)

    def step():
        level.deactivate_all()
        fill()

    return {"step": step, "outputs": dynamic_outputs(lists, x)}


@WORK.spelling("ti.append of the level, NumPy keys")
def function(inputs, lists, values):
    x, level = lists_of(lists)
    keys = np.ascontiguousarray(inputs["keys"])

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for p in range(keys.shape[0]):
            ti.append(level, [keys[p]], p)

    def step():
        level.deactivate_all()
        fill(keys)

    return {"step": step, "outputs": dynamic_outputs(lists, x)}


@WORK.spelling("deactivated in the kernel, runs of 64 values in an inner loop")
def runs(inputs, lists, values):
    x, level = lists_of(lists)
    keys = np.ascontiguousarray(inputs["keys"])

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(lists):
            ti.deactivate(level, [i])
        for run in range(keys.shape[0] // 64):
            for q in range(64):
                p = run * 64 + q
                x[keys[p]].append(p)

    return {"step": lambda: fill(keys), "outputs": dynamic_outputs(lists, x)}


@WORK.spelling("lists below a pointer level, behind a test")
def below_pointers(inputs, lists, values):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, lists // 16)
    blocks.dense(ti.i, 16).dynamic(ti.j, MOST, chunk_size=64).place(x)
    keys = ti.field(ti.i32, shape=values)
    keys.from_numpy(np.ascontiguousarray(inputs["keys"]))

    @ti.kernel
    def fill():
        for p in keys:
            if keys[p] >= 0:
                x[keys[p]].append(p)

    def step():
        blocks.deactivate_all()
        fill()

    return {"step": step, "outputs": dynamic_outputs(lists, x)}


@WORK.spelling("structs of the value and its key")
def structs(inputs, lists, values):
    entry = ti.types.struct(value=ti.i32, key=ti.i32)
    x = entry.field()
    level = ti.root.dense(ti.i, lists).dynamic(ti.j, MOST, chunk_size=64)
    level.place(x)
    keys = np.ascontiguousarray(inputs["keys"])

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for p in range(keys.shape[0]):
            x[keys[p]].append(entry(value=p, key=keys[p]))

    @ti.func
    def length_of(i):
        return x[i].length()

    @ti.func
    def value_of(i, j):
        return x[i, j].value

    def step():
        level.deactivate_all()
        fill(keys)

    return {"step": step, "outputs": of_lists(lists, length_of, value_of)}


@WORK.spelling("a table and counters, atomic_add gives the place", family="table")
def table(inputs, lists, values):
    keys, count = ti.field(ti.i32, shape=values), ti.field(ti.i32, shape=lists)
    slots = ti.field(ti.i32, shape=(lists, MOST))
    keys.from_numpy(np.ascontiguousarray(inputs["keys"]))

    @ti.kernel
    def fill():
        for i in count:
            count[i] = 0
        for p in keys:
            slots[keys[p], ti.atomic_add(count[keys[p]], 1)] = p

    @ti.func
    def length_of(i):
        return count[i]

    @ti.func
    def value_of(i, j):
        return slots[i, j]

    return {"step": fill, "outputs": of_lists(lists, length_of, value_of)}


@WORK.spelling("a table and counters, runs of 64 values, the place is kept", family="table")
def table_of_runs(inputs, lists, values):
    keys = np.ascontiguousarray(inputs["keys"])
    count, slots = ti.field(ti.i32, shape=lists), ti.field(ti.i32, shape=lists * MOST)

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        count.fill(0)
        for run in range(keys.shape[0] // 64):
            for q in range(64):
                p = run * 64 + q
                key = keys[p]
                place = ti.atomic_add(count[key], 1)
                if place < MOST:
                    slots[key * MOST + place] = p

    @ti.func
    def length_of(i):
        return count[i]

    @ti.func
    def value_of(i, j):
        return slots[i * MOST + j]

    return {"step": lambda: fill(keys), "outputs": of_lists(lists, length_of, value_of)}


@WORK.spelling("counted, scanned, placed", family="table")
def counted(inputs, lists, values):
    keys = np.ascontiguousarray(inputs["keys"])
    count, first = ti.field(ti.i32, shape=lists), ti.field(ti.i32, shape=lists)
    order = ti.field(ti.i32, shape=values)

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in count:
            count[i] = 0
        for p in range(keys.shape[0]):
            count[keys[p]] += 1
        ti.loop_config(serialize=True)
        for i in range(lists):
            if i == 0:
                first[i] = 0
            else:
                first[i] = first[i - 1] + count[i - 1]
        for i in count:
            count[i] = 0
        for p in range(keys.shape[0]):
            place = ti.atomic_add(count[keys[p]], 1)
            order[first[keys[p]] + place] = p

    @ti.func
    def length_of(i):
        return count[i]

    @ti.func
    def value_of(i, j):
        return order[first[i] + j]

    return {"step": lambda: fill(keys), "outputs": of_lists(lists, length_of, value_of)}
