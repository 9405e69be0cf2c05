"""Keys go to their bins, a place after the other: the pass that moves in a counting sort."""

import numpy as np
import ti
from harness.workload import Workload

BITS = 11


def inputs(rng, n):
    return {"keys": rng.integers(0, 1 << 31, n, np.int32)}


def model(inputs, n):
    keys = np.sort(inputs["keys"])
    return {"bins": keys >> 31 - BITS, "sorted": keys}


WORK = Workload(
    title="two million keys to 2048 bins",
    unit="key",
    parameters={"n": 1 << 21},
    smoke={"n": 3000},
    items=lambda n: n,
    inputs=inputs,
    model=model,
    tolerance=(0, 0),
)


def first_places(keys):
    counts = np.bincount(keys >> 31 - BITS, minlength=1 << BITS)
    return (np.cumsum(counts) - counts).astype(np.int32)


def made(step, out):
    """In a bin keys may stand in any order: which bin each place is of, and all keys."""

    def outputs():
        keys = out if isinstance(out, np.ndarray) else out.to_numpy()
        return {"bins": keys >> 31 - BITS, "sorted": np.sort(keys)}

    return {"step": step, "outputs": outputs}


def fields(inputs, n):
    keys, out = ti.field(ti.i32, shape=n), ti.field(ti.i32, shape=n)
    first, place = ti.field(ti.i32, shape=1 << BITS), ti.field(ti.i32, shape=1 << BITS)
    keys.from_numpy(inputs["keys"])
    first.from_numpy(first_places(inputs["keys"]))
    return keys, out, first, place


@WORK.spelling("NumPy arrays, one thread, read and counted up")
def arrays(inputs, n):
    keys, out, first, place = (
        inputs["keys"].copy(),
        np.zeros(n, np.int32),
        first_places(inputs["keys"]),
        np.zeros(1 << BITS, np.int32),
    )
    array = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def move(keys: array, out: array, first: array, place: array):
        for d in range(first.shape[0]):
            place[d] = first[d]
        ti.loop_config(serialize=True)
        for i in range(keys.shape[0]):
            d = keys[i] >> 31 - BITS
            at = place[d]
            place[d] = at + 1
            out[at] = keys[i]

    return made(lambda: move(keys, out, first, place), out)


@WORK.spelling("fields, one thread, atomic_add")
def one_thread(inputs, n):
    keys, out, first, place = fields(inputs, n)

    @ti.kernel
    def move():
        for d in first:
            place[d] = first[d]
        ti.loop_config(serialize=True)
        for i in range(n):
            out[ti.atomic_add(place[keys[i] >> 31 - BITS], 1)] = keys[i]

    return made(move, out)


@WORK.spelling("fields, a func that gives the next place, in parallel")
def by_func(inputs, n):
    keys, out, first, place = fields(inputs, n)

    @ti.func
    def next_of(d):
        return ti.atomic_add(place[d], 1)

    @ti.kernel
    def move():
        for d in first:
            place[d] = first[d]
        for i in keys:
            at = next_of(keys[i] >> 31 - BITS)
            out[at] = keys[i]

    return made(move, out)


@WORK.spelling("a struct of bins, in a class, an inner loop")
def by_class(inputs, n):
    keys, out, first, _ = fields(inputs, n)

    @ti.data_oriented
    class Bins:
        def __init__(self):
            self.bins = ti.Struct.field({"first": ti.i32, "place": ti.i32}, shape=1 << BITS)

        @ti.kernel
        def move(self):
            for d in self.bins:
                self.bins[d].place = first[d]
            for _ in range(1):
                for i in range(n):
                    d = keys[i] >> 31 - BITS
                    at = self.bins[d].place
                    self.bins[d].place += 1
                    out[at] = keys[i]

    bins = Bins()
    return made(bins.move, out)
