"""B15: launches of kernels that do nothing, with arguments of several kinds, graphs of them; writing and reading one element."""

import numpy as np
import ti

Array = ti.types.ndarray(dtype=ti.f32, ndim=1)


def nothing(step):
    """A program whose result is that it ran."""
    return {"step": step, "outputs": lambda: {"out": np.zeros(1, np.float32)}}


def no_arguments(inputs):
    @ti.kernel
    def empty():
        pass

    return nothing(empty)


def scalars5(inputs):
    @ti.kernel
    def empty(a: ti.i32, b: ti.i32, c: ti.i32, d: ti.i32, e: ti.i32):
        pass

    return nothing(lambda: empty(0, 1, 2, 3, 4))


def fields5(inputs):
    u, v, w, x, y = (ti.field(ti.f32, shape=8) for _ in range(5))

    @ti.kernel
    def touch():
        for _ in range(1):
            u[0] = v[0] + w[0] + x[0] + y[0]

    return nothing(touch)


def ndarrays20(inputs):
    @ti.kernel
    def empty(
        a: Array, b: Array, c: Array, d: Array, e: Array, f: Array, g: Array, h: Array, i: Array, j: Array,
        k: Array, l: Array, m: Array, n: Array, o: Array, p: Array, q: Array, r: Array, s: Array, t: Array,
    ):  # fmt: skip
        pass

    arrays = [ti.ndarray(ti.f32, shape=8) for _ in range(20)]
    return nothing(lambda: empty(*arrays))


def numpy5(inputs):
    @ti.kernel
    def empty(a: Array, b: Array, c: Array, d: Array, e: Array):
        pass

    arrays = [np.zeros(8, np.float32) for _ in range(5)]
    return nothing(lambda: empty(*arrays))


def graph16(inputs):
    @ti.kernel
    def empty(a: Array, b: Array, v: ti.f32):
        pass

    kind, builder = ti.graph.ArgKind, ti.graph.GraphBuilder()
    a, b = (ti.graph.Arg(kind.NDARRAY, name, ti.f32, ndim=1) for name in "ab")
    v = ti.graph.Arg(kind.SCALAR, "v", ti.f32)
    for k in range(16):  # in turns, as solvers do
        builder.dispatch(empty, *((a, b) if k % 2 else (b, a)), v)
    graph = builder.compile()
    arguments = {"a": ti.ndarray(ti.f32, shape=8), "b": ti.ndarray(ti.f32, shape=8), "v": 0.5}
    return nothing(lambda: graph.run(arguments))


def graph1(inputs):
    @ti.kernel
    def empty(a: Array, b: Array, v: ti.f32):
        pass

    kind, builder = ti.graph.ArgKind, ti.graph.GraphBuilder()
    a, b = (ti.graph.Arg(kind.NDARRAY, name, ti.f32, ndim=1) for name in "ab")
    builder.dispatch(empty, a, b, ti.graph.Arg(kind.SCALAR, "v", ti.f32))
    graph = builder.compile()
    arguments = {"a": ti.ndarray(ti.f32, shape=8), "b": ti.ndarray(ti.f32, shape=8), "v": 0.5}
    return nothing(lambda: graph.run(arguments))


def element_write(inputs):
    x = ti.field(ti.f32, shape=8)

    def write():
        x[3] = 1.0

    return nothing(write)


def element_read(inputs):
    x = ti.field(ti.f32, shape=8)
    return nothing(lambda: x[3])
