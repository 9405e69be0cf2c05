"""Graphs with memory of their own, as programs have them: `python planned_graphs.py` prints a table of what they take.

docs/manual/graphs.md has the table; test_planned_graphs.py compares.
"""

import itertools

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

n = mt.Dim("n", min=1, max=4096)
line = mt.types.ndarray(mt.f32, ndim=1)
image = mt.types.ndarray(mt.f32, ndim=2)


@mt.kernel
def square(x: line, y: line):
    for i in x:
        y[i] = x[i] * x[i]


@mt.kernel
def slope(x: line, k: line):
    for i in k:
        k[i] = -x[i] * x[i]


@mt.kernel
def ahead(x: line, k: line, dt: mt.f32, y: line):
    for i in y:
        y[i] = x[i] + dt * k[i]


@mt.kernel
def weigh(x: line, k1: line, k2: line, k3: line, k4: line, y: line):
    for i in y:
        y[i] = x[i] + (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 60


@mt.kernel
def coarser(x: image, y: image):
    for i, j in y:
        y[i, j] = 0.25 * (x[2 * i, 2 * j] + x[2 * i + 1, 2 * j] + x[2 * i, 2 * j + 1] + x[2 * i + 1, 2 * j + 1])


@mt.kernel
def finer(x: image, skip: image, y: image):
    for i, j in y:
        y[i, j] = x[i // 2, j // 2] + skip[i, j]


@mt.kernel
def smooth(x: image, y: image):
    for i, j in y:
        y[i, j] = 0.5 * x[i, j] + 0.5 * x[max(i - 1, 0), j]


@mt.kernel
def residual(x: image, b: image, r: image):
    for i, j in r:
        r[i, j] = b[i, j] - x[i, j] + 0.25 * x[max(i - 1, 0), j]


def power(builder, x, y):
    chain = [x, *(builder.intermediate(f"x{2**k}", mt.f32, (n,)) for k in range(1, 5)), y]
    for before, after in itertools.pairwise(chain):
        builder.dispatch(square, before, after)


def runge_kutta(builder, x, y):
    k1, k2, k3, k4, p1, p2, p3 = (builder.intermediate(name, mt.f32, (n,)) for name in ("k1", "k2", "k3", "k4", "p1", "p2", "p3"))
    builder.dispatch(slope, x, k1)
    for before, place, after, dt in ((k1, p1, k2, 0.05), (k2, p2, k3, 0.05), (k3, p3, k4, 0.1)):
        builder.dispatch(ahead, x, before, dt, place)
        builder.dispatch(slope, place, after)
    builder.dispatch(weigh, x, k1, k2, k3, k4, y)


def _levels(builder, name, sizes):
    return [builder.intermediate(f"{name}{size}", mt.f32, (size, size)) for size in sizes]


def u_net(builder, x, y):
    """Half as large thrice, then back, each level beside what came down: two arrays a level, and one for each step between."""
    sizes = (256, 128, 64, 32)
    skips, downs = _levels(builder, "skip", sizes), _levels(builder, "down", sizes[1:])
    ups, joined = _levels(builder, "up", sizes), _levels(builder, "joined", sizes[:-1])
    for k, source in enumerate((x, *downs)):
        builder.dispatch(smooth, source, skips[k])
        if k < 3:
            builder.dispatch(coarser, skips[k], downs[k])
    builder.dispatch(smooth, skips[3], ups[3])
    for k in (2, 1, 0):
        builder.dispatch(finer, ups[k + 1], skips[k], joined[k])
        builder.dispatch(smooth, joined[k], ups[k])
    builder.dispatch(smooth, ups[0], y)


def v_cycles(builder, x, b):
    """Ten cycles in a loop: what a turn computes on its way down and up is needed in that turn alone."""
    sizes = (256, 128, 64, 32)
    cycle = builder.create_sequential()
    once, rests = _levels(builder, "once", sizes), _levels(builder, "rest", sizes)
    rights, ups = _levels(builder, "right", sizes[1:]), _levels(builder, "up", sizes[:-1])
    cycle.dispatch(smooth, x, once[0])
    cycle.dispatch(residual, once[0], b, rests[0])
    for k in range(3):
        cycle.dispatch(coarser, rests[k], rights[k])
        cycle.dispatch(smooth, rights[k], once[k + 1])
        cycle.dispatch(residual, once[k + 1], rights[k], rests[k + 1])
    correction = rests[3]
    for k in (2, 1, 0):
        cycle.dispatch(finer, correction, once[k], ups[k])
        correction = ups[k]
    cycle.dispatch(smooth, correction, x)
    builder.append(cycle, count=10)


GRAPHS = {power: (n,), runge_kutta: (n,), u_net: (256, 256), v_cycles: (256, 256)}  # the shape of both arguments


def compiled(drawing):
    builder = GraphBuilder()
    drawing(builder, *(Arg(ArgKind.NDARRAY, name, mt.f32, shape=GRAPHS[drawing]) for name in "xy"))
    return builder.compile(drawing.__name__)


def rows():
    """(graph, arrays, bytes planned, bytes that are needed at once, bytes without sharing)."""
    found = []
    for drawing in GRAPHS:
        with mt.Context(opt_level=0):
            module = mt.aot.Module(name="planned").add_graph(drawing.__name__, compiled(drawing))
            module.build()
        ((graph, text),) = module.planned
        arrays, taken, more, apart = (int(word) for word in text.replace(";", "").split() if word.isdigit())
        found.append((graph, arrays, taken, taken - more, apart))
    return found


def table():
    lines = ["| graph | arrays | planned | lower bound | above it | without sharing |", "|---|---|---|---|---|---|"]
    for graph, arrays, taken, bound, apart in rows():
        lines.append(f"| `{graph}` | {arrays} | {taken:,} | {bound:,} | {100 * (taken / bound - 1):.1f} % | {apart:,} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
