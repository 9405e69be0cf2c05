"""What is called over a stream of bytes: each kind of argument and result, a graph with memory of its own, failures."""

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

vec3 = mt.types.vector(3, mt.f32)
mat2 = mt.types.matrix(2, 2, mt.f64)
f32s = mt.types.ndarray(dtype=mt.f32, ndim=1)
i32s = mt.types.ndarray(dtype=mt.i32, ndim=1)

_cells = mt.types.SNodeTreeBuilder()
_cells.pointer(mt.i, 8).dense(mt.i, 4).place(level=mt.f32)
Cells = _cells.build()


@mt.kernel
def axpy(a: mt.f32, x: f32s, y: f32s):
    for i in x:
        y[i] = a * x[i] + y[i]


@mt.kernel
def count(x: i32s):
    for i in x:
        x[i] += 1


@mt.kernel
def numbers(a: mt.u1, b: mt.i8, c: mt.u16, d: mt.i64, e: mt.u64, f: mt.f16, g: mt.bf16, h: mt.f64,
            out: mt.types.ndarray(dtype=mt.f64, ndim=1)):  # fmt: skip
    for _ in range(1):
        out[0], out[1], out[2], out[3] = a, b, c, d
        out[4], out[5], out[6], out[7] = e, f, g, h


@mt.kernel
def total(x: f32s) -> mt.f64:
    sum = mt.cast(0.0, mt.f64)
    for i in range(x.shape[0]):
        sum += x[i]
    return sum


@mt.kernel
def steepness(x: f32s) -> mt.f32:
    sum, squares = 0.0, 0.0
    for i in x:
        sum += x[i]
        squares += x[i] * x[i]
    return squares / sum


@mt.kernel
def shift(m: mat2, by: vec3, points: mt.types.ndarray(dtype=vec3, ndim=1)) -> vec3:
    for i in points:
        points[i] += by * mt.cast(m[0, 1], mt.f32)
    return by * mt.cast(m[1, 0], mt.f32)


@mt.kernel
def fill(cells: Cells, first: mt.i32, value: mt.f32):
    for i in range(first, first + 4):
        cells[i].level = value + i


@mt.kernel
def weigh(cells: Cells) -> mt.f32:
    sum = 0.0
    for i in cells.level:
        sum += cells.level[i]
    return sum


@mt.kernel(asserts=True)
def stop(x: i32s):
    for i in range(x.shape[0]):
        assert x[i] < 1000, f"x[{i}] is {x[i]}, {0.5 * x[i]:.1f} is half of it {{really}}"
        x[i] += 1


@mt.kernel
def double(x: f32s, y: f32s):
    for i in x:
        y[i] = 2 * x[i]


@mt.kernel
def wide(runs: mt.types.ndarray(dtype=mt.i32, ndim=12)) -> mt.types.vector(40, mt.f32):
    runs[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] += 1
    return mt.Vector([1.5 * k for k in mt.static(range(40))])


@mt.kernel(asserts=True)
def tell(n: mt.i32, by: mt.f32):
    mt.loop_config(serialize=True)
    for i in range(n):
        print(f"{i:>3} of", n, by * i, mt.cast(i, mt.u8), i > 1, mt.cast(by, mt.f64) / 3)
        assert i < 40, f"{i}"


KERNELS = (axpy, count, numbers, total, shift, fill, weigh, stop, double, wide, steepness, tell)
GRAPH_EXTENT = 8


def twice():
    """4 x, by way of an array that the graph plans."""
    builder = GraphBuilder()
    x, y = (Arg(ArgKind.NDARRAY, name, mt.f32, ndim=1) for name in "xy")
    between = builder.intermediate("between", mt.f32, (GRAPH_EXTENT,))
    builder.dispatch(double, x, between)
    builder.dispatch(double, between, y)
    builder.dispatch(stop, Arg(ArgKind.NDARRAY, "limits", mt.i32, ndim=1))
    return builder.compile("twice")


def module(target):
    made = mt.aot.Module(targets=[target], name="service", reserve=False, contract=False)
    made.add_type(Cells, "cells")
    for kernel in KERNELS:
        made.add_kernel(kernel)
    return made.add_graph("twice", twice())
