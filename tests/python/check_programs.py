"""Small wrong kernels, one or more for each kind of finding, and right ones; test_check.py runs them.

A line that a finding is about ends in a comment `#: NAME`; the table at the end names it. Beside the table
nothing here knows what is expected.
"""

import dataclasses

import numpy as np

import metate as mt

STAGES = ("import", "simplify", "activate", "offload")

Ints = mt.types.ndarray(dtype=mt.i32, ndim=1)
Bytes = mt.types.ndarray(dtype=mt.u8, ndim=1)
Floats = mt.types.ndarray(dtype=mt.f32, ndim=1)
Plane = mt.types.ndarray(dtype=mt.f32, ndim=2)
vec2, ivec2 = mt.types.vector(2, mt.f32), mt.types.vector(2, mt.i32)
Points = mt.types.ndarray(dtype=vec2, ndim=1)
Dense = mt.types.SNodeTreeBuilder().dense(mt.ij, (3, 4)).place(a=mt.f32, v=vec2, n=mt.u16).build()
quant = mt.types.quant
Packed = mt.types.SNodeTreeBuilder().dense(mt.i, 4).bit_struct(16).place(n=quant.int(5), s=quant.fixed(11, scale=0.001)).build()
Sparse = mt.types.SNodeTreeBuilder().pointer(mt.ij, 2).dense(mt.ij, 4).place(a=mt.f32, background=-1.5).build()


def ints(*values):
    return np.array(values, np.int32)


def floats(*values):
    return np.array(values, np.float32)


# -- bounds -------------------------------------------------------------------


@mt.kernel
def next_of_last(x: Ints):
    for i in x:
        x[i] = x[i + 1] + x[i] * 0  #: next_of_last


@mt.kernel
def before_first(x: Plane):
    for i, j in mt.ndrange(2, 3):
        mt.atomic_add(x[i, j - 1], 1.0)  #: before_first


@mt.kernel
def beside_tree(t: Dense):
    for i, j in t:
        t[i, j + 1].a = 1.0  #: beside_tree


@mt.kernel
def component(t: Dense, k: mt.i32):
    for i, j in t:
        t[i, j].v[k] = 1.0  #: component


# -- sparse trees -------------------------------------------------------------


@mt.kernel
def around(t: Sparse, x: Floats):
    for k in x:
        x[k] = t[5, 3 + k].a  #: around
        if k == 0:
            t[0, 9].a = 2.0  #: around_write


@mt.kernel
def touch(t: Sparse):
    for _k in range(1):
        t[4, 4].a = -1.5


@mt.kernel
def look(t: Sparse, x: Floats):
    for k in x:
        x[k] = t[4, 4 + k].a  #: look


# -- integers -----------------------------------------------------------------


@mt.kernel
def grow(x: Ints, y: Bytes, t: Dense):
    for i in x:
        x[i] = x[i] * 2000000000  #: grow_i32
        y[i] += 200  #: grow_u8
    for i, j in t:
        t[i, j].n -= 7  #: grow_tree


@mt.kernel
def wrap_around(x: mt.types.ndarray(dtype=mt.u32, ndim=1), v: mt.types.ndarray(dtype=ivec2, ndim=1)):
    for i in x:
        x[i] = x[i] - mt.u32(5)  #: wrap_u32
        v[i] = v[i] * 3 + 1  #: wrap_vector


@mt.kernel
def powers(x: Ints, n: Ints):
    for i in x:
        x[i] = x[i] ** n[i]  #: powers


@mt.func
def cube(n):
    return n * n * n  #: cube


@mt.kernel
def calls(x: Ints):
    for i in x:
        x[i] = cube(x[i])  #: calls


@mt.kernel
def constants(x: Ints, y: Bytes):
    for i in x:
        x[i] = mt.i32(2000000000) + mt.i32(2000000000)  #: constant_sum
        y[i] = mt.i32(300)  #: constant_cast


@mt.kernel
def divide(x: Ints, y: Ints, u: mt.types.ndarray(dtype=mt.u32, ndim=1)):
    for i in x:
        x[i] = x[i] // y[i]  #: quotient
        u[i] = u[i] % mt.u32(y[i])  #: remainder


@mt.kernel
def divide_vectors(v: mt.types.ndarray(dtype=ivec2, ndim=1)):
    for i in v:
        v[i] = ivec2(7, 8) // v[i]  #: vectors


@mt.kernel
def divide_by_nothing(x: Ints):
    for i in x:
        x[i] = x[i] // 0  #: nothing


# -- casts --------------------------------------------------------------------


@mt.kernel
def squeeze(x: Ints, y: Bytes, f: Floats):
    for i in x:
        y[i] = x[i]  #: squeeze_u8
        f[i] = x[i] * 1.0  #: squeeze_f32


@mt.kernel
def pack(x: Ints, t: Packed):
    for i in x:
        t[i].n = x[i]  #: pack_store
        t[i].s += 0.5 * x[i]  #: pack_sum


@mt.kernel
def drop(f: Floats, x: Ints, y: Bytes, g: mt.types.ndarray(dtype=mt.u64, ndim=1)):
    for i in f:
        x[i] = f[i]  #: drop_fraction
        y[i] = mt.cast(f[i], mt.u8)  #: drop_range
        g[i] = mt.u64(f[i])  #: drop_sign


# -- NaN ----------------------------------------------------------------------


@mt.func
def length(x):
    return mt.sqrt(x)  #: length


@mt.kernel
def births(x: Floats):
    for i in x:
        x[i] = length(x[i] - 2.0) * 2.0 + x[i] / (x[i] - x[i])


@mt.kernel
def infinite(x: Floats, v: Points):
    for i in x:
        x[i] = x[i] - x[i]  #: infinite
        v[i] = v[i] * 0.0  #: infinite_vector


@mt.kernel
def infinite_sum(x: Floats, total: Floats):
    for i in x:
        total[0] += x[i]  #: infinite_sum


# -- iterations ---------------------------------------------------------------


@mt.kernel
def column(x: Plane):
    for i, j in mt.ndrange(2, 3):
        x[0, j] = i + j  #: column


@mt.kernel
def two_lines(t: Dense):
    for i in range(2):
        if i == 0:
            t[1, 2].v = vec2(3.0, 4.0)  #: first_line
        else:
            t[1, 2].v[1] = 5.0  #: second_line


@mt.kernel
def sometimes_atomic(x: Ints):
    for i in range(3):
        if i < 2:
            x[0] += 4
        else:
            x[0] = 1  #: sometimes_atomic


@mt.kernel
def corrected(x: Ints):
    for i in range(3):
        x[0] = 7
        if i == 2:
            x[0] = 8  #: corrected


@mt.kernel
def running_sum(x: Ints):
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]  #: running_sum


@mt.kernel
def append(x: Ints, n: Ints):
    for i in x:
        x[mt.atomic_add(n[0], 1)] = i  #: append


@mt.kernel
def spread(t: Sparse):
    for i in range(6):
        if i == 0 or t[i, i].a > 0.0:
            t[i + 1, i + 1].a = i + 1.0  #: spread


@mt.kernel
def too_early(x: Ints):
    for i in range(4):
        mt.atomic_add(x[0], 1)
        x[1 + i] = x[0]  #: too_early


@mt.kernel
def returned(x: Ints) -> mt.i32:
    seen = 0
    for i in range(4):
        seen += x[i] * mt.atomic_add(x[0], 1)  #: returned
    return seen


@mt.kernel(asserts=True)
def falls_behind(x: Ints):
    for i in range(8):
        assert mt.atomic_add(x[0], 1) == i, "not in order"  #: falls_behind


# -- right ones ---------------------------------------------------------------


@mt.kernel
def right_arithmetic(x: Ints, y: Bytes, u: mt.types.ndarray(dtype=mt.u32, ndim=1), f: Floats):
    for i in x:
        x[i] = (x[i] // 2) ** 3 % 7 - (x[i] << 40) // 5 + mt.cast(f[i], mt.i32)
        y[i] = mt.cast(i + 250, mt.u8)
        u[i] = mt.u32(4000000000) - u[i] + (u[i] << mt.u32(31)) // mt.u32(3) + mt.u32(mt.floor(f[i] + 0.5))


@mt.kernel
def right_numbers(x: Floats):
    for i in x:
        root = mt.sqrt(x[i] - 2.0)  # of -2: a NaN that nobody keeps
        y = mt.select(x[i] >= 2.0, root * 3.0, 1.0) + mt.max(root, 0.0)
        if root == root:
            y += root
        x[i] = y + 1.0 / (x[i] + 1.0)


@mt.kernel
def right_writes(x: Ints, t: Dense, p: Points):
    for i in range(6):
        x[0] = 5  # all the same
        x[1] += i
        mt.atomic_max(x[2], i)
        x[i + 3] = 1
        x[i + 3] = i  # its own, again
        p[0][i % 2] = i % 2  # one component each
    for _k in range(1):
        x[0] = 6  # another loop
    for i, j in t:
        t[i, j].v[0] = i
        t[i, j].v[1] = j
        t[0, 0].a += 0.1


@mt.kernel
def cancel(x: Floats) -> mt.f32:
    total = 0.0
    for i in x:
        total += x[i]
    return total


def cancelling():
    values = np.random.default_rng(1).normal(size=300).astype(np.float32)
    return np.concatenate([values, -values]) * 1e6


# -- the table ----------------------------------------------------------------


@dataclasses.dataclass
class Case:
    """A call, and its findings as (kind, line's name, iteration, message, count)."""

    run: object
    checks: str
    findings: list = dataclasses.field(default_factory=list)
    stages: tuple = STAGES


BOUNDS = "index out of range: "
BACKGROUND = " reads as -1.5, the background"

CASES = {
    "an element after the last": Case(
        lambda: next_of_last(ints(1, 1, 1)), "",
        [("bounds", "next_of_last", "(2)", BOUNDS + "x[3] of shape (3,)", 1)],
    ),
    "an element before the first": Case(
        lambda: before_first(np.zeros((2, 3), np.float32)), "",
        [("bounds", "before_first", "(0, 0)",
          BOUNDS + "x[0, -1] of shape (2, 3); a negative index does not count from the end", 2)],
        stages=("import", "simplify", "activate"),  # later, owned atomics are reads and writes
    ),
    "a cell beside a dense tree": Case(
        lambda: beside_tree(Dense.new()), "", [("bounds", "beside_tree", "(0, 3)", BOUNDS + "t.a[0, 4] of shape (3, 4)", 3)]
    ),
    "a component": Case(
        lambda: component(Dense.new(), 2), "",
        [("bounds", "component", "(0, 0)", BOUNDS + "component [2] of t.v[0, 0], a value of shape (2,)", 12)],
    ),
    "outside of a sparse tree": Case(
        lambda: around(Sparse.new(), floats(0, 0, 0, 0, 0, 0)), "outside",
        [
            ("outside", "around", "(5)", "outside of the tree: t.a[5, 8] of shape (8, 8)" + BACKGROUND, 1),
            ("outside", "around_write", "(0)", "outside of the tree: t.a[0, 9] of shape (8, 8); no cell is there to write", 1),
        ],
    ),
    "an inactive cell": Case(
        lambda: around(Sparse.new(), floats(0, 0)), "inactive-read",
        [("inactive-read", "around", "(0)", "a cell that is not active is read: t.a[5, 3]" + BACKGROUND, 2)],
    ),
    "a cell that another kernel has written and one that none has": Case(
        lambda: (tree := Sparse.new(), touch(tree), look(tree, floats(0, 0))), "unwritten-read",
        [("unwritten-read", "look", "(1)",
          "a cell is read that is active but that no kernel has written: t.a[4, 5]" + BACKGROUND, 1)],
    ),
    "overflow of i32, u8 and a tree's u16": Case(
        lambda: grow(ints(1, -2), np.array([100, 10], np.uint8), Dense.new()), "overflow",
        [
            ("overflow", "grow_i32", "(1)", "-2 * 2000000000 is -4000000000, which does not fit i32 and becomes 294967296", 1),
            ("overflow", "grow_u8", "(0)", "100 + 200 is 300, which does not fit u8 and becomes 44", 1),
            ("overflow", "grow_tree", "(0, 0)", "0 - 7 is -7, which does not fit u16 and becomes 65529", 12),
        ],
        stages=("import", "simplify", "activate"),  # later, owned atomics are sums of the compiler's
    ),
    "overflow of u32 and of a vector": Case(
        lambda: wrap_around(np.array([9, 3], np.uint32), np.array([[1, 2], [3, 2**30]], np.int32)), "overflow",
        [
            ("overflow", "wrap_u32", "(1)", "3 - 5 is -2, which does not fit u32 and becomes 4294967294", 1),
            ("overflow", "wrap_vector", "(1)", "1073741824 * 3 is 3221225472, which does not fit i32 and becomes -1073741824", 1),
        ],
    ),
    "overflow in a function": Case(
        lambda: calls(ints(7, 2000)), "overflow",
        [("overflow", "cube", "(1)", "4000000 * 2000 is 8000000000, which does not fit i32 and becomes -589934592", 1)],
    ),
    "overflow of a power": Case(
        lambda: powers(ints(46341, 2, 2, -3), ints(1, 30, 40, -5)), "overflow",
        [("overflow", "powers", "(2)", "65536 * 65536 is 4294967296, which does not fit i32 and becomes 0", 1)],
    ),
    "constants": Case(
        lambda: constants(ints(0), np.zeros(1, np.uint8)), "overflow,lossy-cast",
        [
            ("overflow", "constant_sum", "(0)",
             "2000000000 + 2000000000 is 4000000000, which does not fit i32 and becomes -294967296", 1),
            ("lossy-cast", "constant_cast", "(0)", "300 does not fit u8 and becomes 44", 1),
        ],
        stages=("import",),  # they are folded
    ),
    "division": Case(
        lambda: divide(ints(7, 8), ints(2, 0), np.array([1, 2**31], np.uint32)), "division",
        [
            ("division", "quotient", "(1)", "8 is divided by zero; the result is 0", 1),
            ("division", "remainder", "(1)", "2147483648 is divided by zero; the result is 0", 1),
        ],
    ),
    "division of vectors": Case(
        lambda: divide_vectors(np.array([[1, 2], [3, 0]], np.int32)), "division",
        [("division", "vectors", "(1)", "8 is divided by zero; the result is 0", 1)],
    ),
    "division by a constant zero": Case(
        lambda: divide_by_nothing(ints(1, 2, 3)), "division",
        [("division", "nothing", "(0)", "an integer is divided by zero; the result is 0", 3)],
        stages=("import",),  # it is folded
    ),
    "casts that lose range and precision": Case(
        lambda: squeeze(ints(255, 16777217), np.zeros(2, np.uint8), floats(0, 0)), "lossy-cast",
        [
            ("lossy-cast", "squeeze_u8", "(1)", "16777217 does not fit u8 and becomes 1", 1),
            ("lossy-cast", "squeeze_f32", "(1)", "16777217 becomes 16777216, the nearest that f32 has", 1),
        ],
    ),
    "casts of floats to integers": Case(
        lambda: drop(floats(3, 2.5, -1e10), ints(0, 0, 0), np.zeros(3, np.uint8), np.zeros(3, np.uint64)), "lossy-cast",
        [
            ("lossy-cast", "drop_fraction", "(1)",
             "2.5 becomes 2 as i32: its fraction is lost; if that is meant, write the cast", 2),
            ("lossy-cast", "drop_range", "(2)", "-1e+10 does not fit u8 and becomes 0", 1),
            ("lossy-cast", "drop_sign", "(2)", "-1e+10 does not fit u64 and becomes 18446744063709551616", 1),
        ],
    ),
    "what quantised members do not hold": Case(
        lambda: pack(ints(1, 20), Packed.new()), "quant-range",
        [
            ("quant-range", "pack_store", "(1)", "20 does not fit quant.int(5) and becomes -12", 1),
            ("quant-range", "pack_sum", "(1)",
             "0 + 10 is 10, which does not fit quant.fixed(11, scale=0.001) and becomes -0.24", 1),
        ],
        stages=("import",),  # later ones encode by arithmetic
    ),
    "the first operation that makes a NaN": Case(
        lambda: births(floats(5, 0)), "nan", [("nan", "length", "(1)", "sqrt(-2) is not a number", 1)]
    ),
    "NaN of infinities": Case(
        lambda: infinite(floats(1, np.inf), np.array([[1, -np.inf], [np.nan, 2]], np.float32)), "nan",
        [
            ("nan", "infinite", "(1)", "inf - inf is not a number", 1),
            ("nan", "infinite_vector", "(0)", "-inf * 0 is not a number", 1),
        ],
    ),
    "NaN of an atomic": Case(
        lambda: infinite_sum(floats(np.inf, -np.inf), floats(0)), "nan",
        [("nan", "infinite_sum", "(1)", "inf + (-inf) is not a number", 1)],
    ),
    "conflicting elements": Case(
        lambda: column(np.zeros((2, 3), np.float32)), "conflict,order",
        [("conflict", "column", "(1, 0)", "conflicting writes of x[0, 0]: 1 in iteration (1, 0), 0 in iteration (0, 0)", 3)],
    ),
    "conflicting components, two lines": Case(
        lambda: two_lines(Dense.new()), "conflict",
        [("conflict", "second_line", "(1)",
          "conflicting writes of t.v[1, 2][1]: 5 in iteration (1), 4 in iteration (0) at line {first_line}", 1)],
    ),
    "an atomic and a write": Case(
        lambda: sometimes_atomic(ints(0)), "conflict",
        [("conflict", "sometimes_atomic", "(2)",
          "conflicting writes of x[0]: 1 in iteration (2), 8 atomically in iteration (1) at line {sometimes_atomic-2}", 1)],
    ),
    "one that writes twice": Case(
        lambda: corrected(ints(0)), "conflict",
        [("conflict", "corrected", "(2)",
          "conflicting writes of x[0]: 8 in iteration (2), 7 in iteration (1) at line {corrected-2}", 1)],
    ),
}  # fmt: skip

ORDERS = {
    "a running sum": (lambda: running_sum(ints(1, 1, 1, 1, 1, 1)), "running_sum", r"x\[\d\]"),
    "positions of an atomic": (lambda: append(ints(0, 0, 0, 0, 0, 0), ints(0)), "append", r"x\[\d\]"),
    "a sum before it is done": (lambda: too_early(ints(0, 0, 0, 0, 0, 0)), "too_early", r"x\[\d\]"),
    "what is returned": (lambda: returned(ints(0, 5, 0, 9)), "returned", "the returned value"),
    "cells of a tree": (lambda: spread(Sparse.new()), "spread", r"t\.a\[\d, \d\]"),
}

RIGHT = {
    "arithmetic": lambda: right_arithmetic(
        ints(3, -5, 7), np.zeros(3, np.uint8), np.array([0, 4000000000, 9], np.uint32), floats(2.5, 3.25, 0.0)
    ),
    "numbers": lambda: right_numbers(floats(0, 1, 2, 3, np.nan, np.inf)),
    "writes": lambda: right_writes(np.zeros(9, np.int32), Dense.new(), np.zeros((1, 2), np.float32)),
    "sums that cancel": lambda: cancel(cancelling()),
    "a tree": lambda: (tree := Sparse.new(), touch(tree), look(tree, floats(0))),
}
