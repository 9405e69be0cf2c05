"""Where two capabilities meet that no other test has together: the table of docs/coverage.md names these and the others."""

import os

import numpy as np
import pytest

import metate as mt
from metate.errors import CallError_
from metate.linalg import sparse_native

Array = mt.types.ndarray(mt.f32, 1)
SMALL = mt.types.SNodeTreeBuilder().pointer(mt.i, 64, name="blocks").dense(mt.i, 4).place(h=mt.f32).build()
Arg, ArgKind = mt.graph.Arg, mt.graph.ArgKind


@mt.kernel
def scale(x: Array, by: mt.f32):
    for i in x:
        x[i] *= by


@mt.kernel
def rain(f: SMALL, at: mt.types.ndarray(mt.i32, 1)):
    for k in at:
        f.h[at[k]] += 1.0


def graph_of(kernel, *arguments):
    builder = mt.graph.GraphBuilder()
    builder.dispatch(kernel, *arguments)
    builder.dispatch(kernel, *arguments)
    return builder.compile("twice")


X, AT, TREE = Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1), Arg(ArgKind.NDARRAY, "at", mt.i32, ndim=1), Arg(ArgKind.TREE, "f", SMALL)


def test_a_graph_is_profiled_as_a_kernel_with_tasks():
    with mt.Context(profile=True, opt_level=0, offline_cache=False):
        graph, x = graph_of(scale, X, 2.0), np.ones(8, np.float32)
        graph.run({"x": x})
        whole, *tasks = mt.profiler.kernel_profiles()
        assert (whole.name, whole.counter) == ("twice", 1) and (x == 4).all()
        assert sum(one.counter for one in tasks) == 2


@mt.kernel
def scatter(f: SMALL, n: mt.i32):
    for _ in range(n):
        f.h[mt.i32(mt.random() * 256)] += 1.0


@mt.kernel
def spread(f: SMALL):
    for i in f.h:
        f.h[mt.min(i + 4, 255)] += 1.0


@mt.kernel
def move(at: mt.types.ndarray(mt.i32, 1), by: mt.i32):
    for k in at:
        at[k] = (at[k] + by) % 256


N = Arg(ArgKind.SCALAR, "n", mt.i32)


def growing():
    """rain, n times scatter, move: of what activates nothing reads what the graph changes."""
    builder = mt.graph.GraphBuilder()
    turn = builder.create_sequential()
    builder.dispatch(rain, TREE, AT)
    turn.dispatch(scatter, TREE, N)
    builder.append(turn, count=N)
    builder.dispatch(move, AT, 8)
    return builder.compile("growing")


def counted(tree, graph, args):
    """What reserve_for says is needed; the tree has room for it then."""
    try:
        return tree.reserve_for(graph, args)
    except mt.CapacityError as error:
        tree.migrate(capacity=error.capacities)
        return {error.level: error.needed}


def test_a_graphs_slots_are_counted(rng, tmp_path):
    with mt.Context(random_seed=5):
        graph = growing()
        for n in (0, 1, 5):
            tree, at = SMALL.new(capacity={"blocks": 1}), rng.integers(0, 256, 6, dtype=np.int32)
            args = {"f": tree, "at": at, "n": n}
            before = at.copy()
            needed = counted(tree, graph, args)
            assert tree.stats()["blocks"].used == 0 and (at == before).all()
            graph.run(args)
            assert needed == {"blocks": tree.stats()["blocks"].used} and (at == (before + 8) % 256).all()
        assert counted(tree, graph.kernel, {**args, "n": 0})["blocks"] >= needed["blocks"]
    if "METATE_TEST_INTERP" in os.environ:
        return
    mt.aot.Module().add_graph("growing", graph).save(tmp_path / "growing.metate")
    loaded = mt.aot.load(tmp_path / "growing.metate").graphs["growing"]
    tree = SMALL.new(capacity={"blocks": 1})
    args = {**args, "f": tree, "random_seed": 7}
    needed = counted(tree, loaded, args)
    loaded.run(args)
    assert needed == {"blocks": tree.stats()["blocks"].used}


def test_a_graphs_slots_are_not_counted_wrongly():
    tree, at = SMALL.new(capacity={"blocks": 8}), np.array([0, 9, 99], np.int32)
    first, second, turns = (mt.graph.GraphBuilder() for _ in range(3))
    first.dispatch(move, AT, 8)
    first.dispatch(rain, TREE, AT)
    second.dispatch(rain, TREE, AT)
    second.dispatch(spread, TREE)
    turn = turns.create_sequential()
    turn.dispatch(rain, TREE, AT)
    turn.dispatch(move, AT, 8)  # before the next turn's rain
    turns.append(turn, count=3)
    moves = rf"line {move.source.first_line + 3}"
    for builder, text in (
        (first, rf"depends on 'at' here, which the graph itself changes \({moves}\): count for its kernels one by one"),
        (second, rf"which cells of 'f.h' are active here, which the graph itself changes \(line {rain.source.first_line + 3}\)"),
        (turns, rf"depends on 'at' here, which the graph itself changes \({moves}\)"),
    ):
        graph = builder.compile()
        with pytest.raises(mt.RuntimeError_, match=text):
            tree.reserve_for(graph, {"f": tree, "at": at})
    assert tree.stats()["blocks"].used == 0
    with pytest.raises(CallError_, match="'at' is missing"):
        tree.reserve_for(graph, {"f": tree})


def calling(factor):
    """A kernel that calls a function of its own, with the name that another one's has, for where it activates."""

    @mt.real_func
    def place(n: mt.i32) -> mt.i32:
        result = n
        if n > 1:
            result = place(n // 2) + factor
        return result

    @mt.kernel
    def mark(f: SMALL, n: mt.i32):
        for i in range(n):
            f.h[place(i)] += 1.0

    expected = lambda n: n if n <= 1 else expected(n // 2) + factor
    return mark, expected


@pytest.mark.parametrize("options", [{"debug": True}, {"deterministic": True}])
def test_graphs_counts_and_the_cache_of_kernels_that_call_functions(options, tmp_path):
    with mt.Context(offline_cache=True, offline_cache_file_path=tmp_path, **options) as context:
        for start in range(2):
            kernels = [calling(8), calling(20)]
            builder = mt.graph.GraphBuilder()
            for kernel, _ in kernels:
                builder.dispatch(kernel, TREE, N)
            graph, tree = builder.compile("both"), SMALL.new(capacity={"blocks": 1})
            needed = counted(tree, graph, {"f": tree, "n": 60})
            graph.run({"f": tree, "n": 60})
            expected = np.zeros(256, np.float32)
            for _, place in kernels:
                np.add.at(expected, [place(i) for i in range(60)], 1)
            np.testing.assert_array_equal(tree.h.to_numpy(), expected)
            assert needed["blocks"] == tree.stats()["blocks"].used == len({i // 4 for i in np.nonzero(expected)[0]})
            if "METATE_TEST_INTERP" not in os.environ:
                assert graph.kernel.instances()[0].cache == ("loaded" if start else "compiled and cached")
            context.reset()


@pytest.mark.skipif(not sparse_native.available(), reason="the build has no Eigen")
def test_a_matrix_is_built_under_every_option():
    @mt.kernel
    def diagonal(K: mt.types.sparse_matrix_builder(), n: mt.i32):
        for i in range(n):
            K[i, i] += 2.0

    for options in ({"profile": True}, {"debug": True}, {"deterministic": True}, {"arch": mt.interp}):
        with mt.Context(**options):
            K = mt.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=8)
            diagonal(K, 4)
            assert (K.build().to_numpy() == 2 * np.eye(4)).all(), options


@pytest.mark.parametrize("options", [{"profile": True}, {"debug": True}], ids=str)
def test_algorithms_under_other_options(options):
    with mt.Context(offline_cache=False, **options):
        keys = np.array([3, 1, 2, 9, 0], np.int32)
        mt.algorithms.parallel_sort(keys)
        assert keys.tolist() == [0, 1, 2, 3, 9] and mt.algorithms.reduce(keys) == 15


def test_sparse_trees_are_profiled_by_their_slots_and_without_bytes():
    with mt.Context(profile=True, opt_level=0, offline_cache=False):
        tree = SMALL.new()
        rain(tree, np.array([0, 9], np.int32))
        found = mt.profiler.query_kernel_profiler_info("rain")
        assert found.counter == 1 and found.bytes == 8  # of the array; what has pools counts nothing
        assert tree.stats()["blocks"].used == 2


def test_instrumented_and_debug_kernels_are_deterministic():
    at = np.arange(200, dtype=np.int32) % 256
    with mt.Context(deterministic=True, debug=True, profile=True, threads=2):
        tree = SMALL.new()
        rain(tree, at)
        rain(tree, at)
        assert tree.h.to_numpy().sum() == 400


def test_reports_of_graphs_and_under_other_options():
    x = np.ones(8, np.float32)
    with mt.Context(deterministic=True, debug=True, profile=True):
        scale(x, 2.0)
        report = scale.report()
        assert [loop.kind for loop in report.loops] == ["parallel loop"] and report.code
        graph = graph_of(scale, X, 2.0)
        graph.run({"x": x})
        assert "twice(x: f32[:]" in str(graph.kernel.report())
    with mt.Context(mt.interp):  # what the compiler would do
        scale(x, 2.0)
        assert scale.report().code


@mt.real_func
def grown(x: mt.f32, n: mt.i32) -> mt.f32:
    result = x + mt.random()
    if n > 0:
        result = grown(x, n - 1) + 1.0
    return result


@mt.kernel
def draw(x: Array, n: mt.i32):
    for i in x:
        x[i] = grown(mt.random(), n)


@mt.real_func
def stamp(K: mt.template(), i: mt.i32, v: mt.f32):
    K[i, i] += v
    if i > 0:
        K[i, i - 1] += v


@mt.kernel
def assemble(K: mt.types.sparse_matrix_builder(), n: mt.i32):
    for i in range(n):
        stamp(K, i, 2.0)


def test_reports_and_profiles_of_draws_calls_algorithms_and_counted_slots():
    found = []
    for options in ({}, {"reports": True, "profile": True}):
        with mt.Context(random_seed=3, opt_level=0, offline_cache=False, **options) as context:
            x, keys, tree = np.zeros(64, np.float32), np.array([3, 1, 2], np.int32), SMALL.new()
            draw(x, 3)
            found.append(x)
            mt.algorithms.parallel_sort(keys)
            assert keys.tolist() == [1, 2, 3]
            at = np.array([0, 9], np.int32)
            needed = tree.reserve_for(rain, tree, at)
            rain(tree, at)
            assert needed["blocks"] == tree.stats()["blocks"].used == 2
            if not options or "METATE_TEST_INTERP" in os.environ:
                continue
            assert [kernel.__name__ for kernel, _ in context.holdings.reports] == ["draw", "sort_keys", "rain"]
            (loop,) = draw.report().loops
            assert "writes 4 and computes" in str(draw.report()) and loop.kind == "parallel loop"
            whole, task = (one for one in mt.profiler.kernel_profiles() if one.name.startswith("draw"))
            assert (whole.counter, whole.bytes, task.counter) == (1, 256, 1)  # a call is no task
            if sparse_native.available():
                K = mt.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=8)
                assemble(K, 4)
                assert (K.build().to_numpy() == 2 * (np.eye(4) + np.eye(4, k=-1))).all()
                assert [one.kind for one in assemble.report().loops] == ["parallel loop"]
    np.testing.assert_array_equal(*found)
    assert (3 < found[0]).all() and len(set(found[0].tolist())) == 64


@pytest.mark.skipif(not sparse_native.available(), reason="the build has no Eigen")
def test_functions_append_to_a_builder():
    K = mt.linalg.SparseMatrixBuilder(64, 64, max_num_triplets=128)
    assemble(K, 64)
    assert (K.build().to_numpy() == 2 * (np.eye(64) + np.eye(64, k=-1))).all()
