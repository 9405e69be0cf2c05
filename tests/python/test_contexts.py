"""Contexts: options, code, devices and types side by side in one process, and what becomes of them."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import metate as mt
from metate import context, runtime, types
from metate.errors import MetateError, RuntimeError_, RuntimeTypeError_, RuntimeValueError_

Line = types.ndarray(mt.f32, 1)


@pytest.fixture(autouse=True)
def default_context():
    """Each test starts and ends with a fresh default context."""
    mt.init()
    yield
    mt.init()


def make_scale():
    @mt.kernel
    def scale(x: Line, a: mt.f32):
        for i in range(x.shape[0]):
            x[i] = x[i] * a

    return scale


def test_each_context_has_instances_of_its_own(rng):
    scale, contexts = make_scale(), [mt.Context(threads=n) for n in (1, 2)]
    for k, ctx in enumerate(contexts):
        with ctx:
            for _ in range(k + 2):
                x = rng.random(5, np.float32)
                expected = x * np.float32(3)
                scale(x, 3.0)
                assert (x == expected).all()
    assert scale.instances() == [], "nothing was compiled in the default context"
    for k, ctx in enumerate(contexts):
        with ctx:
            assert [one.hits for one in scale.instances()] == [k + 2]


def test_options_belong_to_the_context(rng):
    @mt.kernel
    def literals(x: types.ndarray(mt.f64, 1)) -> mt.f64:
        x[0] = 1 / 3
        largest = 2147483647
        return largest + 1

    wide, narrow = mt.Context(default_ip=mt.i64, default_fp=mt.f64), mt.Context()
    x = np.zeros(1)
    for ctx, third, sum_ in ((wide, 1 / 3, 2.0**31), (narrow, float(np.float32(1) / np.float32(3)), -(2.0**31))) * 2:
        with ctx:
            assert literals(x) == sum_ and x[0] == third


def test_nested_contexts_and_threads():
    outer, inner = mt.Context(threads=1), mt.Context(debug=True)
    default = context.current()
    seen = {}

    def other():
        seen["before"] = context.current()
        with inner:
            seen["inside"] = context.current()

    with outer:
        with inner, outer, inner:
            assert context.current() is inner
        assert context.current() is outer
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert context.current() is default
    assert seen == {"before": default, "inside": inner}, "a thread starts in the default context"


def test_left_in_the_wrong_order():
    first, second = mt.Context(), mt.Context()
    with first:
        with pytest.raises(RuntimeError_, match="expected it to be left by the thread that entered it, innermost first"):
            second.__exit__(None, None, None)
        assert context.current() is first


def test_a_generator_that_is_closed_late_leaves_nothing_behind():
    a, b = mt.Context(), mt.Context()

    def enter():
        with a:
            yield

    waiting = enter()
    next(waiting)
    with b:
        with pytest.raises(RuntimeError_, match="innermost first"):
            waiting.close()
        assert context.current() is b
    assert context.current() not in (a, b)


def test_one_context_in_several_threads_at_once(rng):
    scale, ctx, failed = make_scale(), mt.Context(threads=2), []

    def work(seed):
        local = np.random.default_rng(seed)
        for _ in range(50):
            x = local.random(7, np.float32)
            expected = x * np.float32(seed)
            with ctx:
                scale(x, float(seed))
            if not (x == expected).all():
                failed.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with ctx:
        (instance,) = scale.instances()
        assert instance.hits == 200


def test_a_tree_of_one_context_in_another(rng):
    T = types.SNodeTreeBuilder().pointer(mt.i, 16).dense(mt.i, 4).place(a=mt.f32).build()

    @mt.kernel
    def put(t: T, at: mt.i32, value: mt.f32):
        t.a[at] = value

    contexts = [context.current(), mt.Context(threads=1), mt.Context(debug=True), mt.Context(threads=2)]
    with contexts[1]:
        tree = T.new()
    values = rng.random(len(contexts), np.float32)
    for k, ctx in enumerate(contexts):
        with ctx:
            put(tree, 17 * k % 64, values[k])
    assert [tree.a[17 * k % 64] for k in range(len(contexts))] == values.tolist()


def test_init_replaces_the_default_context():
    scale = make_scale()
    scale(np.ones(3, np.float32), 2.0)
    before = context.current()
    mt.init(threads=1)
    assert context.current() is not before and scale.instances() == []
    assert before.options.threads is None and context.current().options.threads == 1
    scale(np.ones(3, np.float32), 2.0)
    assert [one.hits for one in scale.instances()] == [1]


def test_a_context_that_nobody_holds_frees_its_code_and_device():
    scale, T = make_scale(), types.SNodeTreeBuilder().dense(mt.i, 4).place(a=mt.f32).build()
    ctx = mt.Context(threads=1)
    with ctx:
        scale(np.ones(3, np.float32), 2.0)
        T.bytes()
    freed = [weakref.ref(ctx), weakref.ref(ctx.holdings)]
    assert len(scale._homes) == len(scale._plain) == len(T._handles) == 1
    del ctx
    gc.collect()
    assert [one() for one in freed] == [None, None]
    assert len(scale._homes) == len(scale._plain) == len(T._handles) == 0


def test_a_kernel_that_nobody_holds_frees_its_code():
    ctx, scale = mt.Context(threads=1), make_scale()
    with ctx:
        scale(np.ones(3, np.float32), 2.0)
    (dispatcher,) = scale._plain.values()
    code = weakref.ref(dispatcher.instances[0][0])
    del scale, dispatcher
    gc.collect()
    assert code() is None and ctx.holdings.device is not None, "the context lives on without it"


def test_tasks_of_one_thread_have_contexts_of_their_own():
    contexts, seen = [mt.Context(threads=n) for n in (1, 2)], []

    async def task(ctx):
        with ctx:
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append((ctx, context.current()))

    async def both():
        await asyncio.gather(*map(task, contexts))

    asyncio.run(both())
    assert len(seen) == 6 and all(ctx is current for ctx, current in seen)
    assert len({id(ctx) for ctx, _ in seen[:2]}) == 2, "they took turns"


def test_reset_frees_and_the_context_goes_on():
    scale, ctx = make_scale(), mt.Context(threads=1)
    with ctx:
        scale(np.ones(3, np.float32), 2.0)
        holdings = weakref.ref(ctx.holdings)
        ctx.reset()
        assert holdings() is None and scale.instances() == [] and not scale._plain
        x = np.ones(3, np.float32)
        scale(x, 2.0)
        assert (x == 2).all() and [one.hits for one in scale.instances()] == [1]


def test_trees_and_types_outlive_a_reset(rng):
    T = types.SNodeTreeBuilder().pointer(mt.i, 16).dense(mt.i, 4).place(a=mt.f32).build()

    @mt.kernel
    def double(t: T):
        for i in t.a:
            t.a[i] *= 2

    ctx = mt.Context()
    with ctx:
        tree = T.new()
        tree.a[9] = 3.0
        double(tree)
    device = weakref.ref(tree._handle.device)
    ctx.reset()
    assert tree.a[9] == 6.0
    with ctx:
        double(tree)
        other = T.new()
    double(tree)  # in the default context
    assert tree.a[9] == 24.0 and other.a[9] == 0.0
    del ctx
    assert device() is not None, "a tree keeps its device"
    del tree
    gc.collect()
    assert device() is None


def test_mt_reset_gives_the_defaults_back():
    mt.init(threads=1, default_ip=mt.i64)
    scale = make_scale()
    scale(np.ones(3, np.float32), 2.0)
    before = context.current()
    mt.reset()
    assert context.current().options == mt.Context().options and scale.instances() == []
    assert before.holdings.device is None


def test_threads_of_the_environment(monkeypatch):
    monkeypatch.setenv("METATE_NUM_THREADS", "1")
    with mt.Context():
        assert runtime.threads() == 1
    monkeypatch.setenv("METATE_NUM_THREADS", "many")
    with mt.Context(), pytest.raises(RuntimeValueError_, match=r"METATE_NUM_THREADS: expected a number of threads.*'many'"):
        runtime.device()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"arch": "riscv64"}, RuntimeValueError_, "arch: expected mt.cpu, .* or mt.interp, got 'riscv64'"),
        ({"threads": -1}, RuntimeValueError_, "threads: expected a number of threads, or 0"),
        ({"threads": True}, RuntimeValueError_, "threads: expected a number of threads, or 0"),
        ({"cpu": ""}, RuntimeValueError_, "cpu: expected a CPU's name"),
        ({"default_ip": mt.f32}, RuntimeTypeError_, "default_ip: expected an integer type, got f32"),
        ({"default_fp": mt.i32}, RuntimeTypeError_, "default_fp: expected a float type, got i32"),
        ({"sanitizer": "leaks"}, RuntimeValueError_, "sanitizer: expected one of address, thread, got 'leaks'"),
        ({"arch": "interp", "sanitizer": "thread"}, RuntimeValueError_, "sanitizer: expected none with mt.interp, .*"),
        ({"opt_level": 4}, RuntimeValueError_, "opt_level: expected one of 0, 1, 2, 3, got 4"),
        ({"opt_level": True}, RuntimeValueError_, "opt_level: expected one of 0, 1, 2, 3, got True"),
        ({"interp_stage": "map"}, RuntimeValueError_, "interp_stage: expected one of import, .*, got 'map'"),
        ({"checks": ["bounds"]}, RuntimeValueError_, "checks: expected one of inactive-read, .*, got 'bounds'"),
    ],
)
def test_wrong_options(options, error, text):
    with pytest.raises(error, match=text):
        mt.Context(**options)
    with pytest.raises(error, match=text):
        mt.init(**options)
    assert issubclass(error, MetateError)
    with pytest.raises(RuntimeTypeError_, match="context: expected a Context, got 3"):
        context.set_default(3)


T = types.SNodeTreeBuilder().pointer(mt.i, 16).dense(mt.i, 4).place(a=mt.f32, n=mt.i32).build()


@pytest.mark.parametrize("stage", context.INTERP_STAGES)
def test_the_interpreter_is_a_context_like_any_other(rng, stage):
    @mt.kernel
    def work(t: T, at: types.ndarray(mt.i32, 1), x: Line) -> mt.i32:
        total = 0
        for i in range(at.shape[0]):
            t.n[at[i]] += 1
            t.a[at[i]] = 0.5 * at[i]
            x[i] = x[i] * x[i] - 1.0
            total += at[i]
        return total

    at = rng.integers(0, 64, 200).astype(np.int32)
    start = rng.random(200, np.float32)
    seen = []
    contexts = mt.Context(mt.interp, interp_stage=stage, contract=False), mt.Context(contract=False)
    for ctx in contexts:
        with ctx:
            tree, x = T.new(), start.copy()
            total = work(tree, at, x)
            assert [one.hits for one in work.instances()] == [1]
        seen.append((total, tree.n.to_numpy().tolist(), tree.a.to_numpy().tolist(), x.tolist()))
    assert seen[0] == seen[1] and seen[0][0] == at.sum()
    assert contexts[0].take_findings() == contexts[1].take_findings() == []


def test_findings_of_a_context():
    from metate_native import _compiler

    assert sorted(context.CHECKS) == sorted(_compiler.check_names())

    @mt.kernel
    def divide(x: types.ndarray(mt.i32, 1), y: mt.i32):
        for i in range(x.shape[0]):
            x[i] = x[i] // y

    stopping = mt.Context(mt.interp, checks=["division"])
    with stopping, pytest.raises(MetateError, match="is divided by zero"):
        divide(np.ones(3, np.int32), 0)
    going_on = mt.Context(mt.interp, checks="all", stop=False)
    with going_on:
        divide(np.ones(3, np.int32), 1)
        assert going_on.take_findings() == []
        divide(np.ones(3, np.int32), 0)
        (finding,) = going_on.take_findings()
    assert (finding.kind, finding.kernel, finding.count) == ("division", "divide", 3)
    assert finding.file == __file__ and finding.line == divide.source.first_line + 3
    assert going_on.take_findings() == []


@pytest.mark.parametrize("stage", context.INTERP_STAGES)
def test_debug_mode_of_the_interpreter(stage):
    """What stops a compiled debug kernel stops an interpreted one, after whatever stage."""
    Sparse = types.SNodeTreeBuilder().pointer(mt.i, 4, name="p").dense(mt.i, 4).place(a=mt.i32).build()

    @mt.kernel
    def divide(x: types.ndarray(mt.i32, 1), y: mt.i32):
        x[0] = 7 // y

    @mt.kernel
    def grow(f: Sparse, i: mt.i32):
        mt.activate(f.p, i)

    @mt.kernel
    def write(f: Sparse, i: mt.i32):
        f[i].a = 1

    for ctx in mt.Context(debug=True), mt.Context(mt.interp, debug=True, interp_stage=stage):
        with ctx:
            x, f = np.zeros(1, np.int32), Sparse.new()
            with pytest.raises(ZeroDivisionError, match=f"{__file__}:{divide.source.first_line + 2}:.*by zero"):
                divide(x, 0)
            for kernel, wrong in (grow, 4), (write, 16), (write, -1):
                with pytest.raises(IndexError, match=r"index out of range: f|outside of the tree: f"):
                    kernel(f, wrong)
            assert x[0] == 0 and f.stats()["p"].used == 0
    with mt.Context(mt.interp, interp_stage=stage):
        divide(x, 0)
        write(f, 16)


def test_how_a_context_shows_itself():
    assert repr(mt.Context()) == "<context cpu>"
    assert repr(mt.Context(mt.interp, threads=2, debug=True)) == "<context interp, threads=2, debug=True>"


COLLECTED = '''
import gc
import metate as mt

class Ring:
    pass

def leave_kernels():
    """In circles: only a garbage collection frees them, and their weak references to what the context holds."""
    gc.collect()
    gc.disable()
    for _ in range(12):
        ring = Ring()

        @mt.kernel
        def run() -> mt.i32:
            return 1

        run()
        ring.kernel, ring.itself = run, ring

with mt.Context() as context:
    for turn in range(60):
        leave_kernels()
        gc.set_threshold(gc.get_count()[0] + turn)  # each allocation of a reset is once the one that collects
        gc.enable()
        context.reset()
    leave_kernels()
gc.set_threshold(1)
gc.enable()
del context
print("done")
'''


def test_a_garbage_collection_while_a_context_ends(tmp_path):
    """CPython 3.11 dies of one that frees a weak reference to what is just being freed."""
    program = tmp_path / "program.py"
    program.write_text(COLLECTED)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
