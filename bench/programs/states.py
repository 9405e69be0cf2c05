"""B10: automata of four and of sixteen states, in some of the ways in which users write them; see automata.py."""

import ti

from programs.automata import grids, made

# -- cyclic, of four states: a cell takes the next one if one of its four neighbours has it -----------


def cyclic_if(inputs, n, word):
    a, b = grids(2, inputs, word)

    @ti.kernel
    def step():
        for i, j in a:
            if 0 < i and i < n - 1 and 0 < j and j < n - 1:
                own = ti.cast(a[i, j], ti.i32)
                after = (own + 1) % 4
                if a[i - 1, j] == after or a[i + 1, j] == after or a[i, j - 1] == after or a[i, j + 1] == after:
                    own = after
                b[i, j] = own

    return made(step, b)


def cyclic_func(inputs, n, word):
    a, b = grids(2, inputs, word)

    @ti.func
    def next_of(i, j):
        own = ti.cast(a[i, j], ti.i32)
        result, after = own, (own + 1) & 3
        for p, q in ti.static(((-1, 0), (1, 0), (0, -1), (0, 1))):
            if a[i + p, j + q] == after:
                result = after
        return result

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            b[i, j] = next_of(i, j)

    return made(step, b)


def cyclic_one_loop(inputs, n, word):
    a, b = grids(2, inputs, word)

    @ti.kernel
    def step():
        for c in range(n * n):
            i, j = c // n, c % n
            if 0 < i < n - 1 and 0 < j < n - 1:
                own = ti.cast(a[i, j], ti.i32)
                after = 0 if own == 3 else own + 1
                eaten = (a[i - 1, j] == after) | (a[i + 1, j] == after) | (a[i, j - 1] == after) | (a[i, j + 1] == after)
                b[i, j] = ti.select(eaten, after, own)

    return made(step, b)


@ti.data_oriented
class Cyclic:
    def __init__(self, a, b):
        self.a, self.b, self.n = a, b, a.shape[0]

    @ti.func
    def eats(self, i, j, own):
        """Whether this is the state behind `own`."""
        return ((ti.cast(self.a[i, j], ti.i32) - own) & 3) == 1

    @ti.kernel
    def step(self):
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                own = ti.cast(self.a[i, j], ti.i32)
                if self.eats(i - 1, j, own) or self.eats(i + 1, j, own) or self.eats(i, j - 1, own) or self.eats(i, j + 1, own):
                    self.b[i, j] = own + 1  # of 3 its low bits
                else:
                    self.b[i, j] = own


def cyclic_class(inputs, n, word):
    a, b = grids(2, inputs, word)
    return made(Cyclic(a, b).step, b)


# -- growth, of sixteen states: a cell rises by the number of its eight neighbours that are greater, to 15 at most ---


def growth_if(inputs, n, word):
    a, b = grids(4, inputs, word)

    @ti.kernel
    def step():
        for i, j in a:
            if 0 < i and i < n - 1 and 0 < j and j < n - 1:
                own = ti.cast(a[i, j], ti.i32)
                greater = 0
                for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                    if a[i + p, j + q] > own:
                        greater += 1
                b[i, j] = ti.min(own + greater, 15)

    return made(step, b)


def growth_func(inputs, n, word):
    a, b = grids(4, inputs, word)

    @ti.func
    def greater(i, j, own):
        return ti.cast(ti.cast(a[i, j], ti.i32) > own, ti.i32)

    @ti.func
    def row(i, j, own):
        return greater(i, j - 1, own) + greater(i, j, own) + greater(i, j + 1, own)

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            own = ti.cast(a[i, j], ti.i32)
            b[i, j] = min(15, own + row(i - 1, j, own) + row(i, j, own) + row(i + 1, j, own))

    return made(step, b)


def growth_one_loop(inputs, n, word):
    a, b = grids(4, inputs, word)

    @ti.kernel
    def step():
        for c in range(n * n):
            i, j = c // n, c % n
            if i >= 1 and i <= n - 2 and j >= 1 and j <= n - 2:
                own = ti.cast(a[i, j], ti.i32)
                grown = own
                for p, q in ti.ndrange((-1, 2), (-1, 2)):
                    grown += ti.select(ti.cast(a[i + p, j + q], ti.i32) > own, 1, 0)
                if grown > 15:
                    grown = 15
                b[i, j] = grown

    return made(step, b)


@ti.data_oriented
class Growth:
    def __init__(self, a, b):
        self.a, self.b, self.n = a, b, a.shape[0]

    @ti.kernel
    def step(self):
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                own = ti.cast(self.a[i, j], ti.i32)
                grown = own
                for p in ti.static(range(-1, 2)):
                    for q in ti.static(range(-1, 2)):
                        if own < ti.cast(self.a[i + p, j + q], ti.i32) and grown < 15:
                            grown += 1
                self.b[i, j] = grown


def growth_class(inputs, n, word):
    a, b = grids(4, inputs, word)
    return made(Growth(a, b).step, b)
