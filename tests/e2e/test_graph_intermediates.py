"""Arrays of a graph's own: planned in one pool, shared where they are not needed at once, as large as the largest launch."""

import inspect

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError, DerivativeError_, RuntimeTypeError_, RuntimeValueError_
from metate.graph import Arg, ArgKind, GraphBuilder

n = mt.Dim("n", min=1, max=100)
line = mt.types.ndarray(mt.f32, ndim=1)
WAYS = pytest.mark.parametrize(
    "options", [{}, {"debug": True}, {"arch": mt.interp}, {"threads": 4, "chunk_ns": 0}], ids=["cpu", "debug", "interp", "pieces"]
)


@mt.kernel
def square(x: line, y: line):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


@mt.kernel
def add(x: line, y: line, z: line):
    for i in range(x.shape[0]):
        z[i] = x[i] + y[i]


@mt.kernel
def accumulate(x: line, y: line):
    for i in range(x.shape[0]):
        y[i] += x[i]


def chain(builder, x, y, shape=(n,)):
    """y = x^2 + x^4 + x^8, of which each square is an intermediate."""
    a, b, c, d = (builder.intermediate(name, mt.f32, shape) for name in "abcd")
    builder.dispatch(square, x, a)
    builder.dispatch(square, a, b)
    builder.dispatch(add, a, b, c)
    builder.dispatch(square, b, d)
    builder.dispatch(add, c, d, y)
    return builder.compile("chain")


def chained(x):
    return x**2 + x**4 + x**8


def ends(shape=(n,)):
    return (Arg(ArgKind.NDARRAY, name, mt.f32, shape=shape) for name in "xy")


@WAYS
def test_kernels_hand_on_what_nobody_else_sees(options, rng):
    with mt.Context(**options):
        graph = chain(GraphBuilder(), *ends())
        assert graph.arguments == ("x", "y")
        for count in (1, 7, 100):
            x, y = rng.random(count, dtype="f4"), np.zeros(count, "f4")
            graph.run({"x": x, "y": y})
            np.testing.assert_allclose(y, chained(x), rtol=1e-5)
        with pytest.raises(RuntimeValueError_, match=r"dimension 0 \(n\): expected 1 to 100, got 101"):
            graph.run({"x": np.zeros(101, "f4"), "y": np.zeros(101, "f4")})


def module_of(graph, **options):
    return mt.aot.Module(name="graph").add_graph("g", graph, **options)


def loaded(tmp_path, graph, **options):
    return mt.aot.load(module_of(graph, **options).save(tmp_path / "graph.metate")).g


def test_the_plan_shares_memory(tmp_path):
    g = loaded(tmp_path, chain(GraphBuilder(), *ends()))
    x = np.zeros(3, "f4")
    (pool,) = g.plan(x, x.copy()).pools
    assert (pool.name, pool.kind, pool.align, pool.memory) == ("intermediates", "launch", 64, "")
    assert pool.bytes == pool.maximum == 3 * 448, "a, b and c live at once; d lies where a was"
    assert g.plan().pools == (pool,)


def test_the_report_says_how_far_the_plan_is_from_the_bound():
    (remark,) = [one for one in chain(GraphBuilder(), *ends()).report().remarks if one.subject == "intermediates"]
    numbers = {"arrays": 4, "bytes": 1344, "bound": 1344, "above": 0, "apart": 1792}
    assert {name: remark.numbers[name] for name in numbers} == numbers
    assert "4 intermediates lie in 1344 bytes, 0 more than the 1344 that are needed at once" in remark.text


def test_memory_of_the_callers_is_as_much_as_planned(tmp_path, rng):
    g = loaded(tmp_path, chain(GraphBuilder(), *ends()))
    x, y = rng.random(100, dtype="f4"), np.zeros(100, "f4")
    (pool,) = g.plan(x, y).pools
    memory = np.full(pool.bytes + 192, 0xFF, "u1")  # read as f32 it is no number
    start = 64 + -memory.ctypes.data % 64
    g.launch_with({"intermediates": memory[start : start + pool.bytes]}, x, y)
    np.testing.assert_allclose(y, chained(x), rtol=1e-5)
    assert (memory[:start] == 0xFF).all() and (memory[start + pool.bytes :] == 0xFF).all()
    assert (memory[start : start + pool.bytes] != 0xFF).any()


@WAYS
def test_what_a_loop_uses_lives_in_all_of_it(options, rng):
    """`kept` is written before the loop and read in it, `carried` goes from turn to turn: neither may share with `own`."""
    with mt.Context(**options):
        builder, (x, y) = GraphBuilder(), ends()
        turns = Arg(ArgKind.SCALAR, "turns", mt.i32)
        kept, carried, own = (builder.intermediate(name, mt.f32, (n,)) for name in ("kept", "carried", "own"))
        builder.dispatch(square, x, kept)
        builder.dispatch(square, kept, carried)
        turn = builder.create_sequential()
        turn.dispatch(add, kept, carried, own)
        turn.dispatch(accumulate, own, carried)
        builder.append(turn, count=turns)
        builder.dispatch(square, carried, y)
        graph = builder.compile("loop")
        values, found = rng.random(64, dtype="f4"), np.zeros(64, "f4")
        graph.run({"x": values, "y": found, "turns": 5})
        expected = values**4
        for _ in range(5):
            expected = expected + (values**2 + expected)
        np.testing.assert_allclose(found, expected**2, rtol=1e-4)


def test_vectors_matrices_constants_and_two_dims(rng):
    k = mt.Dim("k", max=5)
    table = mt.types.ndarray(mt.f32, ndim=2)

    @mt.kernel
    def outer(x: line, w: line, t: mt.types.ndarray(mt.math.vec3, ndim=2), c: table):
        for i, j in mt.ndrange(t.shape[0], t.shape[1]):
            t[i, j] = mt.math.vec3(x[i], w[j], x[i] * w[j])
        for i, j in mt.ndrange(c.shape[0], c.shape[1]):
            c[i, j] = i * 10 + j

    @mt.kernel
    def inner(t: mt.types.ndarray(mt.math.vec3, ndim=2), c: table, z: table):
        for i, j in mt.ndrange(z.shape[0], z.shape[1]):
            z[i, j] = t[i, j].sum() + c[i % 4, j % 3]

    builder = GraphBuilder()
    x = Arg(ArgKind.NDARRAY, "x", mt.f32, shape=(n,))
    w = Arg(ArgKind.NDARRAY, "w", mt.f32, shape=(k,))
    z = Arg(ArgKind.NDARRAY, "z", mt.f32, shape=(n, k))
    t, c = builder.intermediate("t", mt.math.vec3, (n, k)), builder.intermediate("c", mt.f32, (4, 3))
    builder.dispatch(outer, x, w, t, c)
    builder.dispatch(inner, t, c, z)
    graph = builder.compile()
    for rows, columns in ((6, 5), (100, 2), (1, 0)):
        a, b, found = rng.random(rows, dtype="f4"), rng.random(columns, dtype="f4"), np.zeros((rows, columns), "f4")
        graph.run({"x": a, "w": b, "z": found})
        i, j = np.mgrid[:rows, :columns]
        np.testing.assert_allclose(found, a[:, None] + b + a[:, None] * b + (i % 4) * 10 + j % 3, rtol=1e-5)


@mt.kernel
def mix(x: line, y: line, z: line):
    for i in range(z.shape[0]):
        z[i] = 0.5 * x[i % x.shape[0]] + 0.25 * y[i % y.shape[0]] + 1.0


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_keep_what_is_needed(seed):
    """Runs that mix two known arrays into a third one, some of them in loops: sharing memory must change nothing."""
    draw = np.random.default_rng(seed)
    builder, x = GraphBuilder(), Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1)
    values = {"x": draw.random(30, dtype="f4")}
    given, handles, results = {"x": values["x"].copy()}, {"x": x}, {}

    def mixed(into, a, b):
        long = np.arange(len(into))
        into[:] = np.float32(0.5) * a[long % len(a)] + np.float32(0.25) * b[long % len(b)] + np.float32(1)

    def step(name):
        size = int(draw.choice([16, 40, 100, 250]))
        handles[name] = builder.intermediate(name, mt.f32, (size,))
        values[name] = np.zeros(size, "f4")
        return [str(one) for one in draw.choice([one for one in handles if one != name], 2)]

    for number in range(14):
        if number % 5 == 4:  # a loop of two runs, whose first one reads what the second one left the turn before
            turn, (first, second) = builder.create_sequential(), (f"a{number}", f"b{number}")
            (p, q), (r, s) = step(first), step(second)
            for name, (a, b) in ((first, (p, q)), (second, (r, s))):
                builder.dispatch(mix, handles[a], handles[b], handles[name])
                mixed(values[name], values[a], values[b])
            p, r = ("x" if one in (first, second) else one for one in (p, r))
            turn.dispatch(mix, handles[second], handles[p], handles[first])
            turn.dispatch(mix, handles[first], handles[r], handles[second])
            builder.append(turn, count=3)
            for _ in range(3):
                mixed(values[first], values[second], values[p])
                mixed(values[second], values[first], values[r])
            continue
        name = f"t{number}"
        a, b = step(name)
        builder.dispatch(mix, handles[a], handles[b], handles[name])
        mixed(values[name], values[a], values[b])
    for number, name in enumerate(draw.choice([*handles][1:], 4, replace=False)):
        handles[f"out{number}"] = Arg(ArgKind.NDARRAY, f"out{number}", mt.f32, ndim=1)
        builder.dispatch(mix, handles[str(name)], x, handles[f"out{number}"])
        results[f"out{number}"] = np.zeros(64, "f4")
        mixed(results[f"out{number}"], values[str(name)], values["x"])
    with mt.Context(opt_level=0, reports=True):
        graph = builder.compile()
        found = {name: np.zeros(64, "f4") for name in results}
        graph.run({**given, **found})
        (remark,) = [one for one in graph.report().remarks if one.subject == "intermediates"]
    for name, expected in results.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-6)
    assert remark.numbers["bound"] <= remark.numbers["bytes"] < remark.numbers["apart"]


@mt.kernel
def keep(x: line, y: line):
    for i in range(y.shape[0]):
        if x[i] > 1.5:
            y[i] = x[i] - 1.0


@mt.kernel
def latch(x: line, turn: mt.types.ndarray(mt.i32, ndim=1), y: line):
    for i in range(y.shape[0]):
        if turn[0] == 0:
            y[i] = x[i]


@mt.kernel
def count(turn: mt.types.ndarray(mt.i32, ndim=1)):
    for i in turn:
        turn[i] += 1


@pytest.mark.parametrize("seed", range(6))
def test_arrays_of_a_turn_share_memory(seed):
    """Random turns: arrays that each turn writes anew, beside arrays that keep something from one turn to the next."""
    draw = np.random.default_rng(seed)
    builder, turns = GraphBuilder(), Arg(ArgKind.SCALAR, "turns", mt.i32)
    handles = {name: Arg(ArgKind.NDARRAY, name, mt.f32, ndim=1) for name in ("x", "out")}
    steps = []  # (kernel, names)

    def run(into, kernel, *names):
        into.dispatch(kernel, *(handles[name] for name in names))
        return kernel, names

    handles["kept"] = builder.intermediate("kept", mt.f32, (64,))
    before = [run(builder, mix, "x", "x", "kept")]
    turn, inner = builder.create_sequential(), builder.create_sequential()
    for number in range(7):
        name = f"t{number}"
        known = [one for one in handles if one not in ("out", "turn", "held")][-4:]
        handles[name] = builder.intermediate(name, mt.f32, (64,))
        steps.append(run(turn, mix, *draw.choice(known, 2), name))
        if number == 2:  # what the first turn leaves is there in the later ones
            handles["turn"] = Arg(ArgKind.NDARRAY, "turn", mt.i32, ndim=1)
            handles["held"] = builder.intermediate("held", mt.f32, (64,))
            steps.append(run(turn, latch, name, "turn", "held"))
    handles["last"] = builder.intermediate("last", mt.f32, (64,))
    steps += [run(turn, mix, "held", "t6", "last"), run(turn, keep, "last", "kept")]
    handles["far"] = builder.intermediate("far", mt.f32, (64,))
    again = [run(inner, mix, "kept", "t6", "far"), run(inner, mix, "far", str(draw.choice(["t4", "t5"])), "out")]
    turn.append(inner, count=2)
    builder.append(turn, count=turns)
    values = {name: np.zeros(64, "f4") for name in handles} | {"x": draw.random(64, dtype="f4") * 2}

    def do(kernel, names, number=0):
        a, b, into = values[names[0]], values[names[-2]], values[names[-1]]
        if kernel is mix:
            into[:] = np.float32(0.5) * a + np.float32(0.25) * b + np.float32(1)
        elif kernel is keep:
            into[:] = np.where(a > 1.5, a - 1, into)
        elif number == 0:
            into[:] = a

    for one in before:
        do(*one)
    for number in range(3):
        for one in (*steps, *again * 2):
            do(*one, number)
    turn.dispatch(count, handles["turn"])
    with mt.Context(opt_level=0, reports=True):
        graph = builder.compile()
        found = np.zeros(64, "f4")
        graph.run({"x": values["x"], "out": found, "turns": 3, "turn": np.zeros(1, "i4")})
        (remark,) = [one for one in graph.report().remarks if one.subject == "intermediates"]
    np.testing.assert_allclose(found, values["out"], rtol=1e-6)
    assert remark.numbers["bound"] == remark.numbers["bytes"] < remark.numbers["apart"] == 11 * 256


def test_trees_beside_intermediates(rng):
    cells = mt.root.pointer(mt.i, 8).dense(mt.i, 16)
    field = mt.field(mt.f32)
    cells.place(field)

    @mt.kernel
    def scatter(h: line):
        for i in range(h.shape[0]):
            field[i] += h[i]

    builder, (x, _) = GraphBuilder(), ends()
    h = builder.intermediate("h", mt.f32, (n,))
    builder.dispatch(square, x, h)
    builder.dispatch(scatter, h)
    values = rng.random(40, dtype="f4")
    builder.compile().run({"x": values})
    np.testing.assert_allclose(field.to_numpy()[:40], values**2, rtol=1e-6)


def test_an_intermediate_that_is_read_first_is_refused():
    builder, (x, y) = GraphBuilder(), ends()
    h = builder.intermediate("h", mt.f32, (n,))
    builder.dispatch(add, x, h, y)
    builder.dispatch(square, x, h)
    wanted = "intermediate 'h' is given to a kernel that does not write it, before any other"
    with mt.Context(), pytest.raises(CompilationError, match=wanted):  # where memory is planned, not interpreted
        builder.compile()


def test_an_intermediate_that_a_loop_may_leave_unwritten_is_refused():
    def drawn(before):
        builder, (x, y) = GraphBuilder(), ends()
        h, turns = builder.intermediate("h", mt.f32, (n,)), Arg(ArgKind.SCALAR, "turns", mt.i32)
        if before:
            builder.dispatch(square, x, h)
        body = builder.create_sequential()
        body.dispatch(square, x, h)
        builder.append(body, turns)
        builder.dispatch(square, h, y)
        return builder.compile()

    with mt.Context():  # where memory is planned, not interpreted
        with pytest.raises(CompilationError, match="intermediate 'h' is first written in a loop that may make no turn"):
            drawn(before=False)
        drawn(before=True)


@pytest.mark.parametrize(
    "draw, kind, text",
    [
        (lambda b: b.intermediate("h", mt.f32, (None,)), RuntimeValueError_, "expected numbers and Dims"),
        (lambda b: b.intermediate("h", mt.f32, (mt.Dim("k"),)), RuntimeValueError_, "expected Dims with a max"),
        (lambda b: b.intermediate("h h", mt.f32, (4,)), RuntimeValueError_, "name: expected an identifier"),
        (
            lambda b: b.intermediate("h", mt.types.struct(a=mt.f32), (4,)),
            RuntimeTypeError_,
            "expected a scalar, vector or matrix",
        ),
    ],
)
def test_what_is_no_intermediate(draw, kind, text):
    with pytest.raises(kind, match=text):
        draw(GraphBuilder())


def test_a_dim_of_an_intermediate_is_an_arguments():
    builder = GraphBuilder()
    x = Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1)
    h = builder.intermediate("h", mt.f32, (n,))
    builder.dispatch(square, x, h)
    with pytest.raises(CompilationError, match="intermediate 'h': expected Dims of the graph's arguments in its shape, got Dim"):
        builder.compile()


def test_tapes_refuse_them(rng):
    graph = chain(GraphBuilder(), *ends())
    x = mt.ndarray(mt.f32, 4, needs_grad=True)
    y = mt.ndarray(mt.f32, 4, needs_grad=True)
    with pytest.raises(DerivativeError_, match=r"its intermediates \(a, b, c, d\) have no gradients: make them arguments"):
        with mt.ad.Tape():
            graph.run({"x": x, "y": y})


#  -- where pools lie ------------------------------------------------------------------------------


def test_a_pools_memory_has_a_name(tmp_path):
    graph = chain(GraphBuilder(), *ends())
    g = loaded(tmp_path, graph, place={"intermediates": "sram"})
    x = np.zeros(3, "f4")
    assert g.plan(x, x.copy()).pools[0].memory == "sram"
    module_of(graph, place={"intermediates": "sram"}).save(tmp_path / "graph.o")
    header = (tmp_path / "graph.h").read_text()
    assert '#define graph_g_intermediates_MEMORY "sram"\n' in header
    assert "#define graph_g_intermediates_BYTES_MAX UINT64_C(1344)\n" in header


def test_a_place_of_a_pool_that_is_not_there():
    graph = chain(GraphBuilder(), *ends())
    module = mt.aot.Module(name="graph").add_graph("g", graph, place={"scratch": "sram"})
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(CompilationError) as refused:
        module.build()
    wanted = "place: kernel 'g' has no pool 'scratch' that could lie in 'sram': name one of its pools: 'intermediates'\n"
    assert f'{__file__}":{line}:' in str(refused.value) and str(refused.value).endswith(wanted)
    assert "metate." not in str(refused.value)  # no IR
    module = mt.aot.Module(name="graph").add_graph("g", graph).add_kernel(square, place={"tile": "sram"})
    wanted = (
        r"kernel 'square' has no pool 'tile' .* it plans no memory: leave place= away; .* other pools: 'intermediates' of 'g'"
    )
    with pytest.raises(CompilationError, match=wanted):
        module.build()
    with pytest.raises(RuntimeValueError_, match="place of 'intermediates': name: expected an identifier, got 'on chip'"):
        module_of(chain(GraphBuilder(), *ends()), place={"intermediates": "on chip"})
