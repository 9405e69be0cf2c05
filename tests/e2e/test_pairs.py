"""Where two capabilities meet that no other test has together: the table of docs/coverage.md names these and the others."""

import numpy as np
import pytest

import metate as mt
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


def test_a_graphs_slots_are_not_counted_wrongly():
    graph, tree, at = graph_of(rain, TREE, AT), SMALL.new(capacity={"blocks": 2}), np.array([0, 9, 99], np.int32)
    with pytest.raises(mt.RuntimeError_, match="is a graph, whose slots cannot be counted before it runs"):
        tree.reserve_for(graph.kernel, tree, at)
    with pytest.raises(mt.CapacityError) as caught:
        tree.reserve_for(rain, tree, at)
    tree.migrate(capacity=caught.value.capacities)
    graph.run({"f": tree, "at": at})
    assert [tree.h[int(k)] for k in at] == [2, 2, 2]


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
