"""What the core judges as libmetate does: named extents, any strides, members between each other, a pool with a place."""

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

n = mt.Dim("n", min=2, max=12, multiple=2)
k = mt.Dim("k", min=1, max=5)
pair = mt.types.struct(a=mt.f32, b=mt.f32)


@mt.kernel
def named(
    s: mt.f32,
    x: mt.types.ndarray(mt.f32, shape=(n, k)),
    y: mt.types.ndarray(mt.f32, shape=(k, 3)),
    z: mt.types.ndarray(mt.f32, shape=(n,)),
):
    for i in range(z.shape[0]):
        z[i] = s * x[i, 0] + y[0, 2]


@mt.kernel
def free(
    x: mt.types.ndarray(dtype=mt.f32, ndim=2),
    y: mt.types.ndarray(dtype=mt.f32, ndim=2),
    z: mt.types.ndarray(dtype=mt.f32, ndim=1),
):
    for i, j in x:
        x[i, j] += 1
    for i in range(z.shape[0]):
        z[i] += 1


@mt.kernel
def members(p: mt.types.ndarray(dtype=pair, ndim=1), q: mt.types.ndarray(dtype=pair, ndim=2)):
    for i in range(p.shape[0]):
        p[i].a = p[i].b
    for i, j in mt.ndrange(q.shape[0], q.shape[1]):
        q[i, j].b += 1


@mt.kernel
def square(x: mt.types.ndarray(mt.f32, shape=(n,)), y: mt.types.ndarray(mt.f32, shape=(n,))):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


def module(target: str) -> mt.aot.Module:
    graph = GraphBuilder()
    x, y = (Arg(ArgKind.NDARRAY, name, mt.f32, shape=(n,)) for name in "xy")
    between = graph.intermediate("between", mt.f32, (n,))
    graph.dispatch(square, x, between)
    graph.dispatch(square, between, y)
    made = mt.aot.Module(targets=[target], name="judged")
    for kernel in (named, free, members, square):
        made.add_kernel(kernel)
    return made.add_graph("fourth", graph.compile("fourth"), place={"intermediates": "sram"})
