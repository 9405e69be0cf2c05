"""Graphs do what their kernels do one after another: compiled, interpreted, with trees, loops, random numbers, failures."""

import numpy as np
import pytest

import metate as ti
from metate.graph import Arg, ArgKind, GraphBuilder

X = Arg(ArgKind.NDARRAY, "x", ti.f32, ndim=1)
Y = Arg(ArgKind.NDARRAY, "y", ti.f32, ndim=1)
V = Arg(ArgKind.SCALAR, "v", ti.f32)
N = Arg(ArgKind.SCALAR, "n", ti.i32)


@ti.kernel
def fill(a: ti.types.ndarray(ti.f32, ndim=1), v: ti.f32):
    for i in a:
        a[i] = v + i


@ti.kernel
def add(a: ti.types.ndarray(), b: ti.types.ndarray(ti.f32, ndim=1), s: ti.f32):
    for i in a:
        b[i] += a[i] * s


@ti.kernel
def halve(a: ti.types.ndarray(ti.f32, ndim=1)):
    total = 0.0
    for i in a:
        total += a[i]
    for i in a:
        a[i] = a[i] / 2 + total / 1024


@ti.kernel
def noise(a: ti.types.ndarray(ti.f32, ndim=1)):
    for i in a:
        a[i] += ti.random()


@pytest.fixture(params=["compiled", "interpreted", "debug", "deterministic"])
def mode(request):
    options = {"interpreted": {"arch": ti.interp}, "debug": {"debug": True}, "deterministic": {"deterministic": True}}
    with ti.Context(**{"random_seed": 3, "threads": 2, **options.get(request.param, {})}) as made:
        yield made


def draw():
    """fill, add, four times (halve, add with a number), n times (noise, add)."""
    builder = GraphBuilder()
    builder.dispatch(fill, X, V)
    builder.dispatch(add, X, Y, V)
    turn = builder.create_sequential()
    turn.dispatch(halve, Y)
    turn.dispatch(add, Y, X, 0.25)
    for _ in range(5):
        builder.append(turn)
    loop = builder.create_sequential()
    loop.dispatch(noise, X)
    loop.dispatch(add, X, Y, V)
    loop.dispatch(noise, Y)
    builder.append(loop, count=N)
    builder.dispatch(noise, X)
    return builder.compile("steps")


def run_one_by_one(x, y, v, n):
    fill(x, v)
    add(x, y, v)
    for _ in range(5):
        halve(y)
        add(y, x, 0.25)
    for _ in range(max(n, 0)):
        noise(x)
        add(x, y, v)
        noise(y)
    noise(x)


def test_graph_is_its_kernels_one_after_another(mode):
    graph = draw()
    assert graph.arguments == ("x", "v", "y", "n")
    drawn, expected = [], []
    for launch in range(3):
        x, y = np.zeros(777, np.float32), np.ones(777, np.float32)
        graph.run({"x": x, "y": y, "v": 0.5, "n": launch - 1 + 3 * (launch == 2)})
        drawn += [x, y]
    ti.context.current().holdings.random_keys._launches = 0
    for launch in range(3):
        x, y = np.zeros(777, np.float32), np.ones(777, np.float32)
        run_one_by_one(x, y, 0.5, launch - 1 + 3 * (launch == 2))
        expected += [x, y]
    for a, b in zip(drawn, expected):
        np.testing.assert_array_equal(a, b)
    assert [one.hits for one in graph.kernel.instances()] == [3]


def test_repetitions_are_loops():
    graph = draw()
    text = graph.kernel.stages(stop_after="import")["import"]
    assert text.count("scf.for") == 2 + text.count("loc(") * 0
    assert text.count("metate.run") == 2 + 2 + 3 + 1


def test_arguments_may_be_one_array(mode):
    builder = GraphBuilder()
    builder.dispatch(fill, X, V)
    builder.dispatch(add, X, X, V)
    builder.dispatch(add, X, Y, V)
    graph = builder.compile()
    both, one = np.zeros(100, np.float32), np.zeros(100, np.float32)
    graph.run({"x": both, "y": both, "v": 3.0})
    fill(one, 3.0)
    add(one, one, 3.0)
    add(one, one, 3.0)
    np.testing.assert_array_equal(both, one)


def test_arrays_with_strides():
    builder = GraphBuilder()
    builder.dispatch(fill, X, V)
    graph = builder.compile()
    whole = np.zeros(100, np.float32)
    graph.run({"x": whole[::2], "v": 1.0})
    assert (whole[::2] == 1 + np.arange(50)).all() and (whole[1::2] == 0).all()


@ti.kernel
def grow(t: ti.template(), n: ti.i32):
    for i in range(n):
        t[3 * i] = i + 1


@ti.kernel
def count(t: ti.template(), found: ti.types.ndarray(ti.i32, ndim=1), which: ti.template()):
    for i in t:
        found[which] += t[i]


@ti.kernel
def drop(t: ti.template()):
    for i in t:
        if i % 2 == 0:
            ti.deactivate(t.parent(), i)


def test_sparse_fields_are_shared_between_kernels(mode):
    field = ti.field(ti.i32)
    ti.root.pointer(ti.i, 64).place(field)
    found = Arg(ArgKind.NDARRAY, "found", ti.i32, ndim=1)
    builder = GraphBuilder()
    builder.dispatch(grow, field, N)
    builder.dispatch(count, field, found, 0)
    builder.dispatch(drop, field)
    builder.dispatch(count, t=field, found=found, which=1)
    graph = builder.compile("sparse")
    numbers = np.zeros(2, np.int32)
    graph.run({"n": 20, "found": numbers})
    assert numbers.tolist() == [sum(range(1, 21)), sum(i + 1 for i in range(20) if i % 2)]
    assert graph.arguments == ("n", "found")
    graph.run({"n": 5, "found": numbers})  # what is active already
    assert numbers[1] > numbers[0] - sum(range(1, 21))


@ti.data_oriented
class Solver:
    def __init__(self):
        self.rate = 2
        self.x = ti.field(ti.f32, 8)

    @ti.kernel
    def step(self, v: ti.f32):
        for i in self.x:
            self.x[i] += self.rate * v


def test_methods_and_what_is_read_through_their_objects(mode):
    solver = Solver()
    builder = GraphBuilder()
    builder.dispatch(solver.step, V)
    builder.dispatch(solver.step, 0.5)
    graph = builder.compile()
    graph.run({"v": 1.0})
    assert (solver.x.to_numpy() == 3).all()
    solver.rate = 4
    graph.run({"v": 1.0})
    assert (solver.x.to_numpy() == 9).all()


@ti.kernel
def scale(a: ti.types.ndarray(ti.math.vec2, ndim=2), m: ti.types.matrix(2, 2, ti.f32), pair: ti.types.struct(a=ti.f32, n=ti.i32)):
    for I in ti.grouped(a):
        a[I] = m @ a[I] * pair.a + pair.n


def test_vectors_matrices_and_structs(mode):
    array = Arg(ArgKind.NDARRAY, "a", ti.f32, ndim=2, element_shape=(2,))
    matrix = Arg(ArgKind.MATRIX, "m", ti.types.matrix(2, 2, ti.f32))
    pair = Arg(ArgKind.SCALAR, "pair", ti.types.struct(a=ti.f32, n=ti.i32))
    builder = GraphBuilder()
    builder.dispatch(scale, array, matrix, pair)
    builder.dispatch(scale, array, matrix, pair)
    graph = builder.compile()
    one, two = ti.Vector.ndarray(2, ti.f32, (3, 4)), ti.Vector.ndarray(2, ti.f32, (3, 4))
    one.from_numpy(np.arange(24, dtype=np.float32).reshape(3, 4, 2))
    two.from_numpy(one.to_numpy())
    arguments = ti.Matrix([[1.0, 2.0], [3.0, 4.0]]), {"a": 0.5, "n": 3}
    graph.run({"a": one, "m": arguments[0], "pair": arguments[1]})
    scale(two, *arguments)
    scale(two, *arguments)
    np.testing.assert_array_equal(one.to_numpy(), two.to_numpy())


@ti.kernel
def check(a: ti.types.ndarray(ti.f32, ndim=1), limit: ti.f32):
    for i in a:
        assert a[i] < limit, f"too large: {a[i]}"


@ti.kernel
def outside(a: ti.types.ndarray(ti.f32, ndim=1), n: ti.i32):
    for i in range(n):
        a[i] = 7


@pytest.mark.parametrize("options", [{"debug": True}, {"arch": ti.interp, "debug": True}])
def test_failures_name_the_kernel_and_the_line(options):
    with ti.Context(**options):
        builder = GraphBuilder()
        builder.dispatch(fill, X, V)
        builder.dispatch(check, X, 10.0)
        builder.dispatch(outside, X, N)
        builder.dispatch(fill, X, 0.0)
        graph = builder.compile("steps")
        x = np.zeros(4, np.float32)
        with pytest.raises(AssertionError, match=r"test_graph.py:\d+:\d+: kernel 'check'.*too large: 10"):
            graph.run({"x": x, "v": 7.0, "n": 4})
        assert (x == [7, 8, 9, 10]).all()  # what comes after did not run
        with pytest.raises(ti.RuntimeIndexError_, match=r"test_graph.py:\d+:\d+: kernel 'outside'.*a\[4\] .*shape \(4,\)"):
            graph.run({"x": x, "v": 1.0, "n": 5})
        graph.run({"x": x, "v": 1.0, "n": 4})
        assert (x == [0, 1, 2, 3]).all()


@ti.kernel
def say(k: ti.i32):
    print("turn", k)


def test_prints_come_in_order(mode, capfd):
    builder = GraphBuilder()
    builder.dispatch(say, N)
    turn = builder.create_sequential()
    turn.dispatch(say, 1)
    turn.dispatch(say, 2)
    builder.append(turn, count=2)
    builder.compile().run({"n": 9})
    ti.sync()
    assert capfd.readouterr().out.split() == "turn 9 turn 1 turn 2 turn 1 turn 2".split()


def test_nested_loops():
    @ti.kernel
    def one(c: ti.types.ndarray(ti.i32, ndim=1), k: ti.i32):
        for _ in range(1):
            c[k] += 1

    c = Arg(ArgKind.NDARRAY, "c", ti.i32, ndim=1)
    m = Arg(ArgKind.SCALAR, "m", ti.u8)
    builder = GraphBuilder()
    outer, inner = builder.create_sequential(), builder.create_sequential()
    outer.dispatch(one, c, 0)
    outer.append(inner, count=m)
    inner.dispatch(one, c, 1)
    builder.append(outer, count=N)
    builder.append(outer, count=0)
    graph = builder.compile()
    for n, times in ((3, 5), (0, 5), (-4, 1), (2, 0)):
        counts = np.zeros(2, np.int32)
        graph.run({"c": counts, "n": n, "m": times})
        assert counts.tolist() == [max(n, 0), max(n, 0) * times]


def test_scalars_of_every_type(mode):
    """Slots of a graph's kernels hold what the graph's held."""
    for dtype in (ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64, ti.f16, ti.f32, ti.f64, ti.u1):

        @ti.kernel
        def put(a: ti.types.ndarray(dtype, ndim=0), v: dtype, w: dtype):
            a[None] = v
            if w != v:
                a[None] = w

        a = Arg(ArgKind.NDARRAY, "a", dtype, ndim=0)
        builder = GraphBuilder()
        builder.dispatch(put, a, Arg(ArgKind.SCALAR, "v", dtype), 1)
        array = ti.ndarray(dtype, ())
        builder.compile().run({"a": array, "v": 0})
        assert array.to_numpy() == 1, dtype
