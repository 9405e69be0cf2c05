"""Graphs under tapes and forward modes: as their kernels, one after another."""

import numpy as np
import pytest

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

array = mt.types.ndarray
X = Arg(ArgKind.NDARRAY, "x", mt.f64, ndim=1)
Y = Arg(ArgKind.NDARRAY, "y", mt.f64, ndim=1)
DT = Arg(ArgKind.SCALAR, "dt", mt.f64)
N = Arg(ArgKind.SCALAR, "n", mt.i32)


@mt.kernel
def square(a: array(mt.f64, 1), b: array(mt.f64, 1), s: mt.f64):
    for i in a:
        b[i] = s * a[i] ** 2


@mt.kernel
def drift(a: array(mt.f64, 1), dt: mt.f64):
    for i in a:
        a[i] += dt * a[i]


@mt.kernel
def noise(a: array(mt.f64, 1), b: array(mt.f64, 1)):
    for i in a:
        b[i] += a[i] ** 2 * mt.random(mt.f64)


@mt.kernel
def total(a: array(mt.f64, 1), loss: mt.template()):
    for i in a:
        loss[None] += a[i]


def drawn(loss):
    """square, n times drift, noise twice, total."""
    builder = GraphBuilder()
    builder.dispatch(square, X, Y, 0.5)
    turn = builder.create_sequential()
    turn.dispatch(drift, Y, DT)
    builder.append(turn, N)
    for _ in range(2):
        builder.dispatch(noise, X, Y)
    builder.dispatch(total, Y, loss)
    return builder.compile("steps")


def called(x, y, dt, n, loss):
    square(x, y, 0.5)
    for _ in range(n):
        drift(y, dt)
    for _ in range(2):
        noise(x, y)
    total(y, loss)


def arrays():
    x, y = (mt.ndarray(mt.f64, 5, needs_grad=True) for _ in range(2))
    x.from_numpy(np.linspace(1, 2, 5))
    return x, y


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"arch": mt.interp}], ids=["plain", "debug", "interpreted"])
def test_gradients_are_those_of_the_kernels(options):
    found = []
    for runs_graph in (True, False):
        with mt.Context(random_seed=3, **options):
            loss = mt.field(mt.f64, (), needs_grad=True)
            graph, (x, y) = drawn(loss), arrays()
            with mt.ad.Tape(loss, validation="debug" in options) as tape:
                if runs_graph:
                    graph.run({"x": x, "y": y, "dt": 0.1, "n": 3})
                else:
                    called(x, y, 0.1, 3, loss)
            assert [one.__name__ for one, _ in tape.calls] == ["square", *["drift"] * 3, *["noise"] * 2, "total"]
            found.append((loss[None], x.grad.to_numpy(), y.to_numpy()))
    assert found[0][0] == found[1][0] and np.array_equal(found[0][1], found[1][1]) and np.array_equal(found[0][2], found[1][2])
    assert found[0][1].all()


def test_packs_objects_and_forward_mode():
    pack = mt.types.argpack(scale=mt.f32, shift=mt.f32)

    @mt.data_oriented
    class Model:
        def __init__(self):
            self.x, self.y = (mt.field(mt.f32, 3, needs_grad=True, needs_dual=True) for _ in range(2))

        @mt.kernel
        def step(self, p: pack):
            for i in self.x:
                self.y[i] += p.scale * self.x[i] ** 2 + p.shift

    @mt.kernel
    def sum_up(y: mt.template(), loss: mt.template()):
        for i in y:
            loss[None] += y[i]

    mt.init()
    model, loss = Model(), mt.field(mt.f32, (), needs_grad=True, needs_dual=True)
    builder = GraphBuilder()
    builder.dispatch(model.step, Arg(ArgKind.ARGPACK, "p", pack))
    builder.dispatch(model.step, pack(scale=2.0, shift=1.0))
    builder.dispatch(sum_up, model.y, loss)
    graph = builder.compile()
    model.x.fill(3)
    with mt.ad.Tape(loss):
        graph.run({"p": pack(scale=1.0, shift=0.5)})
    assert loss[None] == 3 * (9.5 + 19) and model.x.grad.to_numpy().tolist() == [18] * 3
    with mt.ad.FwdMode(loss, model.x, [1, 0, 0]):
        graph.run({"p": pack(scale=1.0, shift=0.5)})
    assert loss.dual[None] == 18


def test_a_graph_has_no_derivative_of_its_own():
    graph = drawn(mt.field(mt.f64, (), needs_grad=True))
    with pytest.raises(
        mt.TaichiCompilationError, match=r"graph 'steps': a graph has no derivative of its own; run it under mt\.ad"
    ):
        _ = graph.kernel.grad
