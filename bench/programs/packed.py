"""B11: numbers that share a word, updated in place, in some of the ways in which users write it.

`kind` of vectors is how they are stored: `fixed` or `int` (3 x 10 bits in 32), `f32` (three of them). All constants and
values are such that each step of any order is exact. Arrays come and go by kernels: the peers have no to_numpy here.
"""

import numpy as np
import ti

Reals = ti.types.ndarray(dtype=ti.f32, ndim=1)
Rows = ti.types.ndarray(dtype=ti.f32, ndim=2)
FACTORS = {"fixed": 0.5, "int": 3, "f32": 0.5, "shared": 0.5}
OFFSETS = {"fixed": (0.25, -0.5, 0.125), "int": (1, -3, 7), "f32": (0.25, -0.5, 0.125), "shared": (0.5, 1.0, 2.0)}
STEP = 0.25  # of a number that is read, changed and written


def stored(kind):
    quant = ti.types.quant
    return {
        "fixed": lambda: quant.fixed(10, max_value=2.0),
        "int": lambda: quant.int(10),
        "f32": lambda: ti.f32,
        "shared": lambda: quant.float(5, 9, signed=False),
    }[kind]()


def placed(kind, n, *fields):
    """Places fields of three numbers together in each of n cells."""
    if kind == "f32":
        ti.root.dense(ti.i, n).place(*fields)
        return
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(*fields, shared_exponent=kind == "shared")
    ti.root.dense(ti.i, n).place(word)


def whole(inputs, kind):
    """One field of vectors."""
    x, n = ti.Vector.field(3, dtype=stored(kind)), len(inputs["x"])
    placed(kind, n, x)

    @ti.kernel
    def put(values: Rows):
        for i in range(n):
            x[i] = ti.Vector([values[i, 0], values[i, 1], values[i, 2]])

    @ti.kernel
    def get(values: Rows):
        for i in range(n):
            for k in ti.static(range(3)):
                values[i, k] = ti.cast(x[i][k], ti.f32)

    put(np.ascontiguousarray(inputs["x"]))
    return x, read_by(get, (n, 3))


def apart(inputs, kind):
    """Three fields of numbers."""
    fields, n = [ti.field(stored(kind)) for _ in range(3)], len(inputs["x"])
    placed(kind, n, *fields)

    @ti.kernel
    def put(values: Rows):
        for i in range(n):
            for k in ti.static(range(3)):
                fields[k][i] = values[i, k]

    @ti.kernel
    def get(values: Rows):
        for i in range(n):
            for k in ti.static(range(3)):
                values[i, k] = ti.cast(fields[k][i], ti.f32)

    put(np.ascontiguousarray(inputs["x"]))
    return fields, read_by(get, (n, 3))


def read_by(get, shape):
    def outputs():
        found = np.zeros(shape, np.float32)
        get(found)
        return {"x": found}

    return outputs


# -- vectors of three: x = x * factor + offset ---------------------------------------------------------


def vector_whole(inputs, n, kind):
    x, outputs = whole(inputs, kind)
    factor, offset = FACTORS[kind], ti.Vector(OFFSETS[kind])

    @ti.kernel
    def step():
        for i in x:
            x[i] = x[i] * factor + offset

    return {"step": step, "outputs": outputs}


def vector_apart(inputs, n, kind):
    (u, v, w), outputs = apart(inputs, kind)
    factor, (a, b, c) = FACTORS[kind], OFFSETS[kind]

    @ti.kernel
    def step():
        for i in u:
            u[i] = factor * u[i] + a
            v[i] = factor * v[i] + b
            w[i] = factor * w[i] + c

    return {"step": step, "outputs": outputs}


def vector_parts(inputs, n, kind):
    x, outputs = whole(inputs, kind)
    factor, offsets = FACTORS[kind], OFFSETS[kind]

    @ti.func
    def moved(value, offset):
        return value * factor + offset

    @ti.kernel
    def step():
        for i in range(n):
            for k in ti.static(range(3)):
                x[i][k] = moved(x[i][k], offsets[k])

    return {"step": step, "outputs": outputs}


@ti.data_oriented
class Vectors:
    def __init__(self, x, factor, offset):
        self.x, self.factor, self.offset = x, factor, offset

    @ti.kernel
    def step(self):
        for I in ti.grouped(self.x):
            old = self.x[I]
            new = ti.Vector([old.x * self.factor, old.y * self.factor, old.z * self.factor])
            new += ti.Vector([self.offset[0], self.offset[1], self.offset[2]])
            self.x[I] = new


def vector_class(inputs, n, kind):
    x, outputs = whole(inputs, kind)
    return {"step": Vectors(x, FACTORS[kind], OFFSETS[kind]).step, "outputs": outputs}


# -- one number among others: x += STEP; `kind` is fixed (13 bits) or float (6 and 13 bits) -------------


def beside(inputs, kind):
    """A field of numbers that share their words with one of integers."""
    n, quant = len(inputs["x"]), ti.types.quant
    x = ti.field(quant.fixed(13, max_value=256.0) if kind == "fixed" else quant.float(6, 13))
    other = ti.field(quant.int(13, False))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x)
    word.place(other)
    ti.root.dense(ti.i, n).place(word)

    @ti.kernel
    def put(values: Reals):
        for i in range(n):
            x[i] = values[i]
            other[i] = i & 8191

    @ti.kernel
    def get(values: Rows):
        for i in range(n):
            values[i, 0], values[i, 1] = x[i], ti.cast(other[i], ti.f32)

    put(np.ascontiguousarray(inputs["x"]))
    return x, read_by(get, (n, 2))


def member_added(inputs, n, kind):
    x, outputs = beside(inputs, kind)

    @ti.kernel
    def step():
        for i in x:
            x[i] += STEP

    return {"step": step, "outputs": outputs}


def member_assigned(inputs, n, kind):
    x, outputs = beside(inputs, kind)

    @ti.kernel
    def step(by: ti.f32):
        for i in range(n):
            x[i] = x[i] + by

    return {"step": lambda: step(STEP), "outputs": outputs}


def member_atomic(inputs, n, kind):
    x, outputs = beside(inputs, kind)

    @ti.kernel
    def step():
        for i in range(n):
            ti.atomic_add(x[i], STEP)

    return {"step": step, "outputs": outputs}


@ti.data_oriented
class Member:
    def __init__(self, x):
        self.x = x

    @ti.func
    def moved(self, i):
        return self.x[i] + STEP

    @ti.kernel
    def step(self):
        for i in self.x:
            new = self.moved(i)
            self.x[i] = new


def member_class(inputs, n, kind):
    x, outputs = beside(inputs, kind)
    return {"step": Member(x).step, "outputs": outputs}


# -- matrices of 9 x 7 bits in 64: m = m @ TURN ---------------------------------------------------------

TURN = ((0.5, 0.5, 0.0), (-0.5, 0.5, 0.0), (0.0, 0.25, 1.0))


def matrices(inputs):
    n, m = len(inputs["x"]), ti.Matrix.field(3, 3, dtype=ti.types.quant.fixed(7, max_value=2.0))
    word = ti.BitpackedFields(max_num_bits=64)
    word.place(m)
    ti.root.dense(ti.i, n).place(word)

    @ti.kernel
    def put(values: Rows):
        for i in range(n):
            for r, c in ti.static(ti.ndrange(3, 3)):
                m[i][r, c] = values[i, 3 * r + c]

    @ti.kernel
    def get(values: Rows):
        for i in range(n):
            for r, c in ti.static(ti.ndrange(3, 3)):
                values[i, 3 * r + c] = m[i][r, c]

    put(np.ascontiguousarray(inputs["x"]))
    return m, read_by(get, (n, 9))


def matrix_product(inputs, n):
    m, outputs = matrices(inputs)

    @ti.kernel
    def step():
        turn = ti.Matrix(TURN)
        for i in m:
            m[i] = m[i] @ turn

    return {"step": step, "outputs": outputs}


def matrix_parts(inputs, n):
    m, outputs = matrices(inputs)

    @ti.kernel
    def step():
        for i in range(n):
            old = m[i]
            for r in ti.static(range(3)):
                for c in ti.static(range(3)):
                    m[i][r, c] = old[r, 0] * TURN[0][c] + old[r, 1] * TURN[1][c] + old[r, 2] * TURN[2][c]

    return {"step": step, "outputs": outputs}


def matrix_func(inputs, n):
    m, outputs = matrices(inputs)

    @ti.func
    def turned(a):
        b = ti.Matrix.zero(ti.f32, 3, 3)
        for r, c, k in ti.static(ti.ndrange(3, 3, 3)):
            b[r, c] += a[r, k] * TURN[k][c]
        return b

    @ti.kernel
    def step():
        for I in ti.grouped(m):
            m[I] = turned(m[I])

    return {"step": step, "outputs": outputs}


@ti.data_oriented
class Matrices:
    def __init__(self, m):
        self.m = m

    @ti.kernel
    def step(self, turn: ti.types.matrix(3, 3, ti.f32)):
        for i in self.m:
            self.m[i] = self.m[i] @ turn


def matrix_class(inputs, n):
    m, outputs = matrices(inputs)
    made, turn = Matrices(m), ti.Matrix(TURN)
    return {"step": lambda: made.step(turn), "outputs": outputs}
