"""B10: automata whose cells are a few bits of words, each in some of the ways in which users write them.

A function is called with `word`, the bits of the words that cells lie in; with 0 cells are bytes of their own. Whatever
lies at the border stays 0. Arrays come and go by kernels, for the peers' fields of such types have no to_numpy.
"""

import numpy as np
import ti

Cells = ti.types.ndarray(dtype=ti.u8, ndim=2)


def grids(bits, inputs, word):
    """Two fields of cells of so many bits: of the inputs, and of zeros."""
    n, per = len(inputs["a"]), word // bits
    made = []
    for _ in range(2):
        field = ti.field(ti.types.quant.int(bits, False) if word else ti.u8)
        if word:
            ti.root.dense(ti.ij, (n, n // per)).quant_array(ti.j, per, max_num_bits=word).place(field)
        else:
            ti.root.dense(ti.ij, (n, n)).place(field)
        made.append(field)

    @ti.kernel
    def put(to: ti.template(), values: Cells):
        for i, j in ti.ndrange(n, n):
            to[i, j] = ti.cast(values[i, j], ti.i32)

    put(made[0], np.ascontiguousarray(inputs["a"]))
    return made


def made(step, b):
    n, m = b.shape

    @ti.kernel
    def get(values: Cells):
        for i, j in ti.ndrange(n, m):
            values[i, j] = ti.cast(b[i, j], ti.u8)

    def outputs():
        found = np.zeros((n, m), np.uint8)
        get(found)
        return {"b": found}

    return {"step": step, "outputs": outputs}


# -- the Game of Life: alive with three neighbours, or with two and alive ----------------------------


def life_if(inputs, n, word):
    a, b = grids(1, inputs, word)

    @ti.kernel
    def step():
        for i, j in a:
            if 0 < i and i < n - 1 and 0 < j and j < n - 1:
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                around = above + below + a[i, j - 1] + a[i, j + 1]
                alive = 0
                if around == 3 or (around == 2 and a[i, j] == 1):
                    alive = 1
                b[i, j] = alive

    return made(step, b)


def life_func(inputs, n, word):
    a, b = grids(1, inputs, word)

    @ti.func
    def around(i, j):
        found = 0
        for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            if ti.static(p != 0 or q != 0):
                found += ti.cast(a[i + p, j + q], ti.i32)
        return found

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            count = around(i, j)
            b[i, j] = int(count == 3 or (count == 2 and a[i, j] == 1))

    return made(step, b)


def life_one_loop(inputs, n, word):
    a, b = grids(1, inputs, word)

    @ti.kernel
    def step():
        for c in range(n * n):
            i, j = c // n, c % n
            if i > 0 and i < n - 1 and j > 0 and j < n - 1:
                block = 0
                for p, q in ti.ndrange(3, 3):
                    block += ti.cast(a[i + p - 1, j + q - 1], ti.i32)
                b[i, j] = ti.select(block == 3, 1, ti.select(block == 4, ti.cast(a[i, j], ti.i32), 0))

    return made(step, b)


@ti.data_oriented
class Life:
    def __init__(self, a, b):
        self.a, self.b, self.n = a, b, a.shape[0]

    @ti.func
    def row(self, i, j):
        return self.a[i, j - 1] + self.a[i, j] + self.a[i, j + 1]

    @ti.kernel
    def step(self):
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                own = self.a[i, j]
                around = self.row(i - 1, j) + self.row(i, j) + self.row(i + 1, j) - own
                if around == 3:
                    self.b[i, j] = 1
                elif around == 2:
                    self.b[i, j] = own
                else:
                    self.b[i, j] = 0


def life_class(inputs, n, word):
    a, b = grids(1, inputs, word)
    return made(Life(a, b).step, b)


def blocks(inputs, n, word):
    """As Taichi wants it for `bit_vectorize`, in whose loops nothing may depend on the place of a cell: blocks of 64 x 64
    cells, and around the grid some that are not active. Cells at the border come alive here; they are left out at the end."""
    size = 64
    fields = [ti.field(ti.types.quant.int(1, False)) for _ in range(2)]
    block = ti.root.pointer(ti.ij, n // size + 2)
    for field in fields:
        block.dense(ti.ij, (size, size // word)).quant_array(ti.j, word, max_num_bits=word).place(field)
    a, b = fields

    @ti.kernel
    def put(values: Cells):
        for p, q in ti.ndrange((1, n // size + 1), (1, n // size + 1)):
            a[p * size, q * size] = 0  # all blocks first: Quadrants hung where many cells made one at once
        for i, j in ti.ndrange(n, n):
            a[i + size, j + size] = ti.cast(values[i, j], ti.i32)

    @ti.kernel
    def get(values: Cells):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            values[i, j] = ti.cast(b[i + size, j + size], ti.u8)

    def outputs():
        found = np.zeros((n, n), np.uint8)
        get(found)
        return {"b": found}

    put(np.ascontiguousarray(inputs["a"]))
    return a, b, outputs


def life_vectorized_sums(inputs, n, word):
    a, b, outputs = blocks(inputs, n, word)

    @ti.kernel
    def step():
        ti.loop_config(bit_vectorize=True)
        for i, j in a:
            around = ti.u32(0)
            around += ti.cast(a[i - 1, j - 1], ti.u32)
            around += ti.cast(a[i - 1, j], ti.u32)
            around += ti.cast(a[i - 1, j + 1], ti.u32)
            around += ti.cast(a[i, j - 1], ti.u32)
            around += ti.cast(a[i, j + 1], ti.u32)
            around += ti.cast(a[i + 1, j - 1], ti.u32)
            around += ti.cast(a[i + 1, j], ti.u32)
            around += ti.cast(a[i + 1, j + 1], ti.u32)
            b[i, j] = (around == 3) | ((around == 2) & (a[i, j] == 1))

    return {"step": step, "outputs": outputs}


def life_vectorized_adders(inputs, n, word):
    a, b, outputs = blocks(inputs, n, word)

    @ti.kernel
    def step():
        ti.loop_config(bit_vectorize=True)
        for i, j in a:
            # Ones and twos of the sums of three above, three below, and two at the sides.
            p, q, r = a[i - 1, j - 1], a[i - 1, j], a[i - 1, j + 1]
            ones_above, twos_above = p ^ q ^ r, (p & q) | (r & (p ^ q))
            s, t, u = a[i + 1, j - 1], a[i + 1, j], a[i + 1, j + 1]
            ones_below, twos_below = s ^ t ^ u, (s & t) | (u & (s ^ t))
            v, w = a[i, j - 1], a[i, j + 1]
            ones_sides, twos_sides = v ^ w, v & w
            ones = ones_above ^ ones_below ^ ones_sides
            carry = (ones_above & ones_below) | (ones_sides & (ones_above ^ ones_below))
            odd = twos_above ^ twos_below ^ twos_sides ^ carry
            one = odd ^ (odd & ((twos_above & twos_below) | (twos_sides & carry)))  # of the four twos
            b[i, j] = one & (ones | a[i, j])

    return {"step": step, "outputs": outputs}


# -- majority: alive if at least 13 of 5 x 5 cells are ------------------------------------------------


def majority_if(inputs, n, word):
    a, b = grids(1, inputs, word)

    @ti.kernel
    def step():
        for i, j in a:
            if i >= 2 and i < n - 2 and j >= 2 and j < n - 2:
                alive = 0
                for p, q in ti.static(ti.ndrange(5, 5)):
                    alive += a[i + p - 2, j + q - 2]
                b[i, j] = alive >= 13

    return made(step, b)


def majority_func(inputs, n, word):
    a, b = grids(1, inputs, word)

    @ti.func
    def row(i, j):
        return a[i, j - 2] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i, j + 2]

    @ti.kernel
    def step():
        for i, j in ti.ndrange((2, n - 2), (2, n - 2)):
            alive = row(i - 2, j) + row(i - 1, j) + row(i, j) + row(i + 1, j) + row(i + 2, j)
            b[i, j] = 1 if alive > 12 else 0

    return made(step, b)


def majority_one_loop(inputs, n, word):
    a, b = grids(1, inputs, word)

    @ti.kernel
    def step():
        for c in range(n * n):
            i, j = c // n, c % n
            if 2 <= i < n - 2 and 2 <= j < n - 2:
                alive = 0
                for k in range(25):
                    alive += ti.cast(a[i + k // 5 - 2, j + k % 5 - 2], ti.i32)
                if alive >= 13:
                    b[i, j] = 1
                else:
                    b[i, j] = 0

    return made(step, b)


@ti.data_oriented
class Majority:
    def __init__(self, a, b):
        self.a, self.b, self.n = a, b, a.shape[0]

    @ti.kernel
    def step(self):
        for i in range(2, self.n - 2):
            for j in range(2, self.n - 2):
                difference = 0  # of the cells that are alive and those that are not
                for p in ti.static(range(-2, 3)):
                    for q in ti.static(range(-2, 3)):
                        difference += 2 * ti.cast(self.a[i + p, j + q], ti.i32) - 1
                self.b[i, j] = ti.cast(difference > 0, ti.i32)


def majority_class(inputs, n, word):
    a, b = grids(1, inputs, word)
    return made(Majority(a, b).step, b)
