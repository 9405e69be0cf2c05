"""Packed functions of kernels that use fields and random numbers: as ordinary calls, as long as the fields are there."""

import gc
import threading
import weakref

import numpy as np
import pytest
import tvm_ffi

import metate as mt
from metate import packed_functions
from metate.errors import RuntimeTypeError_, TreeError

tensor = tvm_ffi.from_dlpack
N = 6


@pytest.fixture(autouse=True)
def begin():
    mt.init(random_seed=5)


def program():
    """A sparse field and a dense one, in trees of their own, and what is done with them."""

    class Program:
        pass

    made = Program()
    made.weights = weights = mt.field(mt.f32)
    made.builder = mt.FieldsBuilder()
    made.builder.pointer(mt.i, N).place(weights)
    made.tree = made.builder.finalize()
    made.count = count = mt.field(mt.i32, shape=())

    @mt.kernel
    def scatter(x: mt.types.ndarray(mt.f32, 1), by: mt.f32) -> mt.f32:
        total = 0.0
        for i in x:
            weights[i] += by * x[i]
            mt.atomic_add(count[None], 1)
            total += x[i]
        return total

    made.scatter = scatter
    return made


@mt.kernel
def draw(x: mt.types.ndarray(mt.f32, 1)):
    for i in x:
        x[i] = mt.random()


def test_fields_are_the_processes_own(rng):
    made, x = program(), rng.random(N, np.float32)
    function = made.scatter.packed()
    assert function(tensor(x), 2.0) == pytest.approx(x.sum(), rel=1e-6)
    np.testing.assert_allclose(made.weights.to_numpy(), 2 * x, rtol=1e-6)
    made.scatter(x, 1.0)
    assert function(tensor(x), -3.0) == pytest.approx(x.sum(), rel=1e-6)
    np.testing.assert_allclose(made.weights.to_numpy(), np.zeros(N), atol=1e-6)
    assert made.count[None] == 3 * N
    with pytest.raises(TypeError, match=r"kernel 'scatter': expected 2 arguments \(x, by\), got 3"):
        function(tensor(x), 1.0, 5)


def test_by_steps(rng):
    made, x = program(), rng.random(N, np.float32)
    session = made.scatter.packed_session()
    with pytest.raises(ValueError, match="kernel 'scatter': it has no argument 'weights'; it has x, by"):
        session("set_input", "weights", 1)
    session("set_input", "x", tensor(x))
    session("set_input", "by", 0.5)
    session("run")
    session("run")
    np.testing.assert_allclose(made.weights.to_numpy(), x, rtol=1e-6)
    assert session("get_output", "return") == pytest.approx(x.sum(), rel=1e-6)


def test_results_behind_hidden_arguments():
    scale = mt.field(mt.f32, shape=())
    scale[None] = 3.0

    @mt.kernel
    def scaled(v: mt.math.vec2) -> mt.math.vec2:
        return v * scale[None]

    found = np.zeros(2, np.float32)
    scaled.packed()(tensor(np.array([1, 2], np.float32)), tensor(found))
    assert found.tolist() == [3, 6]


def test_the_function_keeps_the_fields(rng):
    made, x = program(), rng.random(N, np.float32)
    function, gone = made.scatter.packed(), weakref.ref(made.count)
    del made
    gc.collect()
    kept = len(packed_functions._library()._kept)
    assert gone() is not None and function(tensor(x), 1.0) == pytest.approx(x.sum(), rel=1e-6)
    assert gone()[None] == N
    del function
    gc.collect()
    assert gone() is None and len(packed_functions._library()._kept) == kept - 1


def test_fields_that_were_migrated_or_destroyed(rng):
    made, x = program(), rng.random(N, np.float32)
    function = made.scatter.packed()
    function(tensor(x), 1.0)
    made.weights._tree.migrate(capacity=N)
    function(tensor(x), 1.0)
    np.testing.assert_allclose(made.weights.to_numpy(), 2 * x, rtol=1e-6)
    made.tree.destroy()
    with pytest.raises(ValueError, match=r"kernel 'scatter': .*(destroyed|unbound).*: call packed\(\) again"):
        function(tensor(x), 1.0)
    assert made.count[None] == 2 * N, "nothing ran"
    builder = mt.FieldsBuilder()
    builder.dense(mt.i, N).place(made.weights)
    builder.finalize()
    with pytest.raises(ValueError, match="call packed"):  # another place
        function(tensor(x), 1.0)
    made.scatter.packed()(tensor(x), 3.0)
    np.testing.assert_allclose(made.weights.to_numpy(), 3 * x, rtol=1e-6)


def test_a_field_in_use_is_not_destroyed():
    """From where the function has taken it to the end of the launch."""
    made = program()
    used = made.scatter.packed()
    give = packed_functions._library()._kept[max(packed_functions._library()._kept)][2]
    assert give.give([], [packed_functions.Argument() for _ in range(2)]) == ""
    with pytest.raises(TreeError, match="destroy"):
        made.tree.destroy()
    give.take_back()
    made.tree.destroy()
    del used


def test_random_numbers_are_those_of_a_call():
    def drawn(call):
        mt.init(random_seed=7)
        found = np.zeros((3, 4), np.float32)
        for row in found:
            call(row)
        return found

    wanted = drawn(draw)
    function = draw.packed()
    packed = lambda row: function(tensor(row))
    np.testing.assert_array_equal(drawn(packed), wanted)  # seeded anew since it was made
    mt.init(random_seed=8)
    other = np.zeros(4, np.float32)
    packed(other)
    assert (other != wanted[0]).any()
    mt.init(random_seed=7)
    mixed = np.zeros((3, 4), np.float32)
    draw(mixed[0])
    packed(mixed[1])
    draw(mixed[2])
    np.testing.assert_array_equal(mixed, wanted)


def test_graphs_with_fields_and_random_numbers(rng):
    builder, made = mt.graph.GraphBuilder(), program()
    x = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", mt.f32, ndim=1)
    builder.dispatch(draw, x)
    noise = mt.field(mt.f32, shape=N)

    @mt.kernel
    def keep(x: mt.types.ndarray(mt.f32, 1)):
        for i in x:
            noise[i] = x[i]

    builder.dispatch(keep, x)
    graph, found = builder.compile(), np.zeros((2, N), np.float32)
    graph.packed()(tensor(found[0]))
    np.testing.assert_array_equal(noise.to_numpy(), found[0])
    graph.run({"x": found[1]})
    assert (found[0] != found[1]).any() and made.count[None] == 0


def test_a_graph_of_loops_draws_as_often_as_its_arguments_say():
    builder = mt.graph.GraphBuilder()
    x, n = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", mt.f32, ndim=1), mt.graph.Arg(mt.graph.ArgKind.SCALAR, "n", mt.i32)
    turn = builder.create_sequential()
    turn.dispatch(draw, x)
    builder.append(turn, count=n)
    graph = builder.compile()
    function, found = graph.packed(), np.zeros((2, 3, 4), np.float32)
    for one, call in zip(found, (lambda x, n: function(tensor(x), n), lambda x, n: graph.run({"x": x, "n": n}))):
        mt.init(random_seed=9)
        for row, times in zip(one, (3, 1, 2)):
            call(row, times)
    np.testing.assert_array_equal(*found)


def test_derivatives_are_refused():
    x = mt.ndarray(mt.f32, 3, needs_grad=True)

    @mt.kernel
    def square(x: mt.types.ndarray(mt.f32, 1, needs_grad=True), y: mt.types.ndarray(mt.f32, 1, needs_grad=True)):
        for i in x:
            y[i] = x[i] * x[i]

    assert x.grad is not None
    with pytest.raises((RuntimeTypeError_, mt.errors.CompilationError)):
        square.grad.packed()(1, 2)


def test_many_threads():
    total = mt.field(mt.i32, shape=())

    @mt.kernel
    def add(n: mt.i32):
        for _ in range(n):
            mt.atomic_add(total[None], 1)

    function = add.packed()
    failed = []

    def work():
        try:
            for _ in range(20):
                function(10)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and total[None] == 800
