"""Gradients where they meet other capabilities and the rest of the language: the tables of docs/coverage.md name these."""

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError

Array = mt.types.ndarray(mt.f32, 1)
Scalar = mt.types.ndarray(mt.f32, 0)
LINE = mt.types.SNodeTreeBuilder().pointer(mt.i, 16, name="blocks").dense(mt.i, 4).place(x=mt.f32).build()


def arrays(*shapes):
    return [mt.ndarray(mt.f32, shape, needs_grad=True) for shape in shapes]


@mt.kernel
def squares(x: Array, loss: Scalar):
    for i in x:
        loss[None] += x[i] * x[i]


def check(kernel, *others):
    """The gradient of a sum of squares."""
    x, loss = arrays(5, ())
    x.from_numpy(np.arange(5, dtype=np.float32))
    kernel(x, loss, *others)
    loss.grad.fill(1)
    kernel.grad(x, loss, *others)
    assert loss[None] == 30 and x.grad.to_numpy().tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    "options",
    [*({"opt_level": level} for level in range(4)), {"fast_math": True}, {"fast_math": False}, {"threads": 1, "chunk_ns": 0},
     {"threads": 4, "chunk_ns": 0}, {"deterministic": True, "threads": 4}, {"debug": True}, {"nontemporal_bytes": 1}],
    ids=str,
)  # fmt: skip
def test_under_every_option(options):
    with mt.Context(**options):
        check(squares)


def test_the_same_bits_in_deterministic_mode(rng):
    @mt.kernel
    def gather(x: Array, at: mt.types.ndarray(mt.i32, 1), y: Array):
        for i in at:
            y[i] = x[at[i]] * x[at[i] // 2]

    x, y = arrays(50, 20000)
    x.from_numpy(rng.random(50, np.float32))
    at, given = rng.integers(0, 50, 20000).astype(np.int32), rng.random(20000, np.float32)
    found = []
    for threads in (1, 2, 4):
        with mt.Context(deterministic=True, threads=threads, chunk_ns=0):
            x.grad.fill(0)
            y.grad.from_numpy(given)
            gather(x, at, y)
            gather.grad(x, at, y)
            found.append(x.grad.to_numpy().tobytes())
    assert len(set(found)) == 1 and np.frombuffer(found[0], np.float32).all()


def test_derivatives_are_profiled_and_reported():
    with mt.Context(profile=True, reports=True, offline_cache=False):
        check(squares)
        names = {one.name for one in mt.profiler.kernel_profiles()}
        assert {"squares", "squares_grad"} <= names
        assert squares.grad.report().code and str(squares.grad.report()).startswith("squares.grad(x: f32[:], loss: f32[])")


def test_slots_of_gradients_are_counted():
    @mt.kernel
    def energy(t: LINE, loss: Scalar):
        for i in t.x:
            loss[None] += t.x[i] ** 2

    t, (loss,) = LINE.new(needs_grad=True), arrays(())
    t.x[3], t.x[40] = 1, 2
    loss.grad.fill(1)
    assert t.grad.reserve_for(energy.grad, t, loss) == {"blocks": 2}
    t.grad = LINE.grad_type().new({"blocks": 1})
    with pytest.raises(mt.errors.CapacityError) as raised:
        t.grad.reserve_for(energy.grad, t, loss)
    t.grad.migrate(capacity=raised.value.capacities)
    energy.grad(t, loss)
    assert t.grad.x[40] == 4


def test_derivatives_are_no_nodes_of_graphs():
    builder = mt.graph.GraphBuilder()
    arg = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", mt.f32, ndim=1)
    total = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "loss", mt.f32, ndim=0)
    for derivative in (squares.grad, squares.fwd):
        with pytest.raises(mt.errors.RuntimeTypeError_, match="dispatch: derivatives cannot be dispatched yet, got <derivative"):
            builder.dispatch(derivative, arg, total)


def test_algorithms_are_constants_to_a_tape():
    x, loss = arrays(5, ())
    x.from_numpy(np.array([3, 1, 2, 5, 4], np.float32))
    with mt.ad.Tape(loss):
        mt.algorithms.parallel_sort(x)
        squares(x, loss)
    assert x.to_numpy().tolist() == [1, 2, 3, 4, 5] and x.grad.to_numpy().tolist() == [2, 4, 6, 8, 10]


@mt.func
def inlined(v):
    return v * v


@mt.real_func
def called(v: mt.f32) -> mt.f32:
    if v < 0:
        return 0.0
    return v * v


def test_functions_and_real_functions():
    @mt.kernel
    def both(x: Array, loss: Scalar):
        for i in x:
            loss[None] += 0.5 * inlined(x[i]) + 0.5 * called(x[i])

    check(both)


@mt.real_func
def itself(v: mt.f32, n: mt.i32) -> mt.f32:
    if n == 0:
        return v
    return v * itself(v, n - 1)


def test_functions_that_call_themselves_are_refused():
    @mt.kernel
    def power(x: Array, loss: Scalar):
        for i in x:
            loss[None] += itself(x[i], 1)

    x, loss = arrays(3, ())
    with pytest.raises(CompilationError, match=r"'itself' calls itself, .* compute with variables"):
        power.grad(x, loss)


def test_templates_and_closures():
    weight = 1.0

    @mt.kernel
    def general(x: mt.template(), loss: Scalar, power: mt.template(), f: mt.template()):
        for i in x:
            loss[None] += weight * f(x[i]) ** power

    check(general, 2, mt.func(lambda v: v))


def test_argument_packs():
    Pack = mt.types.argpack(x=Array, loss=Scalar, weight=mt.f32)

    @mt.kernel
    def packed(p: Pack):
        for i in p.x:
            p.loss[None] += p.weight * p.x[i] ** 2

    x, loss = arrays(3, ())
    x.from_numpy(np.array([1, 2, 3], np.float32))
    pack = Pack(x=x, loss=loss, weight=2.0)
    packed(pack)
    loss.grad.fill(1)
    packed.grad(pack)
    assert loss[None] == 28 and x.grad.to_numpy().tolist() == [4, 8, 12]


def test_static_loops_conditions_and_whiles():
    @mt.kernel
    def every_form(x: Array, loss: Scalar):
        for i in x:
            v, n = x[i], 0
            for k in mt.static(range(2)):
                v += mt.static(k) * 0.0
            while n < 10:
                n += 1
                if n > 3:
                    break
                if n == 2:
                    continue
                v = v * 1.0
            if mt.static(True):
                loss[None] += v * v if x[i] >= 0 else 0.0

    check(every_form)


def test_structs_by_value_and_results():
    Gain = mt.types.struct({"a": mt.f32, "b": mt.f32})

    @mt.kernel
    def gained(x: Array, loss: Scalar, g: Gain) -> mt.f32:
        for i in x:
            loss[None] += g.a * x[i] * x[i] + g.b
        return 1.0

    check(gained, Gain(a=1.0, b=0.0))


def test_indices_that_are_clamped():
    @mt.kernel
    def smooth(x: mt.types.ndarray(mt.f32, 1, boundary="clamp"), y: Array):
        for i in y:
            y[i] = x[i - 1] + 10 * x[i + 1]

    x, y = arrays(3, 3)
    y.grad.from_numpy(np.array([1, 2, 3], np.float32))
    smooth.grad(x, y)
    assert x.grad.to_numpy().tolist() == [1 + 2, 10 * 1 + 3, 10 * (2 + 3)]


def test_precisions_in_one_kernel():
    @mt.kernel
    def mixed(x: mt.types.ndarray(mt.f64, 1), y: mt.types.ndarray(mt.f16, 1), loss: Scalar):
        for i in x:
            loss[None] += mt.f32(x[i]) * y[i] * mt.cast(3, mt.f32)

    x, y, loss = (mt.ndarray(dtype, shape, needs_grad=True) for dtype, shape in ((mt.f64, 2), (mt.f16, 2), (mt.f32, ())))
    x.fill(0.5)
    y.fill(0.25)
    with mt.ad.Tape(loss):
        mixed(x, y, loss)
    assert x.grad.to_numpy().tolist() == [0.75] * 2 and y.grad.to_numpy().tolist() == [1.5] * 2
    assert x.grad.dtype is mt.f64 and y.grad.dtype is mt.f16


def test_prints_and_asserts_are_the_kernels_alone(capfd):
    @mt.kernel(asserts=True)
    def told(x: Array, loss: Scalar):
        for i in x:
            assert x[i] < 100, "too large"
            if i == 4:
                print("at", i)
            loss[None] += x[i] * x[i]

    check(told)
    assert capfd.readouterr().out.count("at 4") == 1
