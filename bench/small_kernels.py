"""Kernels that are measured for their launch and their compilation, not for what they compute."""

import metate as mt

Array = mt.types.ndarray(dtype=mt.f32, ndim=1)


@mt.kernel
def empty0():
    pass


@mt.kernel
def empty5(a: mt.i32, b: mt.i32, c: mt.i32, d: mt.i32, e: mt.i32):
    pass


@mt.kernel
def empty20(
    a: mt.i32, b: mt.i32, c: mt.i32, d: mt.i32, e: mt.i32, f: mt.i32, g: mt.i32, h: mt.i32, i: mt.i32, j: mt.i32,
    k: mt.i32, l: mt.i32, m: mt.i32, n: mt.i32, o: mt.i32, p: mt.i32, q: mt.i32, r: mt.i32, s: mt.i32, t: mt.i32,
):  # fmt: skip
    pass


def graph(count):
    """A graph of `count` kernels of five scalars."""
    builder = mt.graph.GraphBuilder()
    arguments = [mt.graph.Arg(mt.graph.ArgKind.SCALAR, name, mt.i32) for name in "abcde"]
    for turn in range(count):  # no two in a row are alike, so that there is no loop
        builder.dispatch(empty5, *arguments[turn % 5 :], *arguments[: turn % 5])
    return builder.compile()


@mt.kernel
def saxpy(a: mt.f32, x: Array, y: Array):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


def graph_of_arrays(count):
    """A graph of `count` kernels over three short arrays, in turns, as solvers have them."""
    builder = mt.graph.GraphBuilder()
    a = mt.graph.Arg(mt.graph.ArgKind.SCALAR, "a", mt.f32)
    arrays = [mt.graph.Arg(mt.graph.ArgKind.NDARRAY, name, mt.f32, ndim=1) for name in "xyz"]
    for turn in range(count):
        builder.dispatch((saxpy, difference)[turn % 2], a, arrays[turn % 3], arrays[(turn + 1) % 3])
    return builder.compile()


@mt.kernel
def difference(a: mt.f32, x: Array, y: Array):
    for i in range(x.shape[0]):
        y[i] = y[i] - a * x[i]


@mt.kernel
def scale(a: mt.f32, x: Array):
    for i in range(x.shape[0]):
        x[i] *= a


@mt.kernel
def mix(n: mt.i32) -> mt.i32:
    total = 0
    for _ in range(1):
        for i in range(n):
            total = total * 3 + (i ^ total)
    return total


@mt.kernel
def scatter(at: mt.types.ndarray(dtype=mt.i32, ndim=1), x: Array, y: Array):
    for i in range(at.shape[0]):
        y[at[i]] += x[i] * x[at[i]]
