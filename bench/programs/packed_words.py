"""B11: sums that meet in words, and arrays of four bits, in some of the ways in which users write them; see packed.py."""

import numpy as np
import ti

Numbers = ti.types.ndarray(dtype=ti.i32, ndim=1)
Bytes = ti.types.ndarray(dtype=ti.u8, ndim=1)

# -- scatter: cells of an int and a fixed number of 16 bits each, to which many add -----------------------


def cells(inputs, n):
    count, total = ti.field(ti.types.quant.int(16)), ti.field(ti.types.quant.fixed(16, max_value=4096.0))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(count, total)
    ti.root.dense(ti.i, n).place(word)
    at = ti.ndarray(ti.i32, shape=len(inputs["at"]))
    at.from_numpy(np.ascontiguousarray(inputs["at"]))

    @ti.kernel
    def clear():
        for i in range(n):
            count[i] = 0
            total[i] = 0

    @ti.kernel
    def get(counts: ti.types.ndarray(dtype=ti.i32, ndim=1), totals: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in range(n):
            counts[i] = count[i]
            totals[i] = total[i]

    def outputs():
        found = {"count": np.zeros(n, np.int32), "total": np.zeros(n, np.float32)}
        get(found["count"], found["total"])
        return found

    return count, total, at, {"outputs": outputs, "reset": clear}


def scatter_inline(inputs, n, m):
    count, total, at, made = cells(inputs, n)

    @ti.kernel
    def step(at: Numbers):
        for p in at:
            i = at[p]
            count[i] += 1
            total[i] += 0.5

    return {"step": lambda: step(at), **made}


def scatter_atomic(inputs, n, m):
    count, total, at, made = cells(inputs, n)

    @ti.kernel
    def step(at: Numbers):
        for p in range(m):
            ti.atomic_add(total[at[p]], 0.5)
            ti.atomic_add(count[at[p]], 1)

    return {"step": lambda: step(at), **made}


@ti.data_oriented
class Cells:
    def __init__(self, count, total):
        self.count, self.total = count, total

    @ti.func
    def hit(self, i, weight):
        self.count[i] += 1
        self.total[i] += weight

    @ti.kernel
    def step(self, at: Numbers):
        for p in range(at.shape[0]):
            self.hit(at[p], 0.5)


def scatter_class(inputs, n, m):
    count, total, at, made = cells(inputs, n)
    cell = Cells(count, total)
    return {"step": lambda: cell.step(at), **made}


# -- arrays of four bits --------------------------------------------------------------------------------


def fours(n):
    x = ti.field(ti.types.quant.int(4, False))
    ti.root.dense(ti.i, n // 8).quant_array(ti.i, 8, max_num_bits=32).place(x)

    @ti.kernel
    def get(values: Bytes):
        for i in range(n):
            values[i] = ti.cast(x[i], ti.u8)

    def outputs():
        found = np.zeros(n, np.uint8)
        get(found)
        return {"x": found}

    return x, outputs


def bins(inputs, n):
    """Counters modulo 16, and where to count."""
    x, outputs = fours(n)
    at = ti.ndarray(ti.i32, shape=len(inputs["at"]))
    at.from_numpy(np.ascontiguousarray(inputs["at"]))

    @ti.kernel
    def clear():
        for i in range(n):
            x[i] = 0

    return x, at, {"outputs": outputs, "reset": clear}


def bins_inline(inputs, n, m):
    x, at, made = bins(inputs, n)

    @ti.kernel
    def step(at: Numbers):
        for p in at:
            x[at[p]] += 1

    return {"step": lambda: step(at), **made}


def bins_atomic(inputs, n, m):
    x, at, made = bins(inputs, n)

    @ti.kernel
    def step(at: Numbers):
        for p in range(m):
            ti.atomic_add(x[at[p]], 1)

    return {"step": lambda: step(at), **made}


@ti.data_oriented
class Bins:
    def __init__(self, x):
        self.x = x

    @ti.func
    def hit(self, i):
        self.x[i] += 1

    @ti.kernel
    def step(self, at: Numbers):
        for p in range(at.shape[0]):
            self.hit(at[p])


def bins_class(inputs, n, m):
    x, at, made = bins(inputs, n)
    counters = Bins(x)
    return {"step": lambda: counters.step(at), **made}


def filled(inputs):
    n = len(inputs["x"])
    x, outputs = fours(n)

    @ti.kernel
    def put(values: Bytes):
        for i in range(n):
            x[i] = ti.cast(values[i], ti.i32)

    put(np.ascontiguousarray(inputs["x"]))
    return x, outputs


def sweep_assigned(inputs, n):
    x, outputs = filled(inputs)

    @ti.kernel
    def step():
        for i in x:
            x[i] = x[i] + 3

    return {"step": step, "outputs": outputs}


def sweep_added(inputs, n):
    x, outputs = filled(inputs)

    @ti.kernel
    def step(by: ti.i32):
        for i in range(n):
            x[i] += by

    return {"step": lambda: step(3), "outputs": outputs}


def sweep_func(inputs, n):
    x, outputs = filled(inputs)

    @ti.func
    def moved(value):
        return (ti.cast(value, ti.i32) + 3) % 16

    @ti.kernel
    def step():
        for i in range(n):
            x[i] = moved(x[i])

    return {"step": step, "outputs": outputs}


@ti.data_oriented
class Fours:
    def __init__(self, x):
        self.x, self.by = x, 3

    @ti.kernel
    def step(self):
        for I in ti.grouped(self.x):
            self.x[I] = ti.cast(self.x[I], ti.i32) + self.by


def sweep_class(inputs, n):
    x, outputs = filled(inputs)
    return {"step": Fours(x).step, "outputs": outputs}
