"""Threads: kernels launched and compiled from several at once, contexts of different options mixed, memory given back."""

import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import metate as mt
import metate.kernel
from metate import types
from metate.errors import TreeError

Kernel = sys.modules["metate.kernel"].Kernel
Line = types.ndarray(mt.f32, 1)
Flags = types.ndarray(mt.i32, 1)
T = types.SNodeTreeBuilder().pointer(mt.i, 64).dense(mt.i, 8).place(a=mt.f64, n=mt.i32).build()
BUSY = 17


def in_threads(*works, timeout=120):
    """Runs each in a thread of its own; raises the first error of any of them."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def make_long(turns):
    """A kernel that takes long to compile."""

    @mt.kernel
    def long(x: Line):
        for i in range(x.shape[0]):
            for k in mt.static(range(turns)):
                if x[i] > k:
                    x[i] = mt.sin(x[i]) * x[i] + k

    return long


@mt.kernel
def meet(t: T, flags: Flags):
    """Says that it runs and runs until it is told to stop."""
    mt.atomic_add(flags[0], 1)
    while mt.atomic_add(flags[1], 0) == 0:
        pass
    t.n[3] = 7


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.001)


def test_a_running_kernel_leaves_python_to_other_threads_and_keeps_its_tree():
    tree, flags = T.new(), np.zeros(2, np.int32)
    meet(tree, np.array([0, 1], np.int32))
    tree.reset()

    def watch():
        wait_for(lambda: flags[0] == 1)
        try:
            for what in ("unbind", "reset"):
                with pytest.raises(TreeError, match=f"{what}: another thread works on the tree") as caught:
                    getattr(tree, what)()
                assert caught.value.status == BUSY
            assert tree.n[3] == 0, "the kernel is still waiting"
        finally:
            flags[1] = 1

    in_threads(lambda: meet(tree, flags), watch)
    assert tree.n[3] == 7
    tree.reset()
    tree.unbind()


def test_kernels_of_two_contexts_run_at_once():
    contexts = [mt.Context(threads=1), mt.Context(threads=2)]
    flags = np.zeros(2, np.int32)
    trees = [T.new() for _ in contexts]

    def run(ctx, tree):
        with ctx:
            meet(tree, flags)

    def release():
        wait_for(lambda: flags[0] == 2)  # both have said that they run, and neither may return
        flags[1] = 1

    in_threads(*(lambda k=k: run(contexts[k], trees[k]) for k in range(2)), release)
    assert [tree.n[3] for tree in trees] == [7, 7]


@pytest.mark.parametrize("what", ["kernels", "instances", "contexts"])
def test_what_is_independent_compiles_at_once(monkeypatch, what):
    """Two threads meet inside the compiler: a lock around it would keep the second out until the barrier breaks."""
    barrier, lower = threading.Barrier(2), Kernel._lower

    def together(self, *arguments):
        barrier.wait(60)
        return lower(self, *arguments)

    monkeypatch.setattr(Kernel, "_lower", together)
    kernels = [make_long(1)] * 2 if what != "kernels" else [make_long(1), make_long(2)]
    arrays = [np.ones(4, np.float32), np.ones(8, np.float32)[:: 2 if what == "instances" else 1]]
    contexts = [mt.Context(threads=1)] * 2 if what != "contexts" else [mt.Context(threads=1), mt.Context(threads=2)]

    def run(k):
        with contexts[k]:
            kernels[k](arrays[k])

    in_threads(*(lambda k=k: run(k) for k in range(2)))
    for kernel, ctx in zip(kernels, contexts):
        with ctx:
            assert len(kernel.instances()) == (2 if what == "instances" else 1)


def test_raced_kernels_compile_once(monkeypatch):
    compiled, lower, barrier = [], Kernel._lower, threading.Barrier(4)
    monkeypatch.setattr(Kernel, "_lower", lambda self, *rest: compiled.append(self) or lower(self, *rest))
    kernel, ctx = make_long(20), mt.Context()
    arrays = [np.full(3, 0.5, np.float32) for _ in range(4)]

    def run(x):
        with ctx:
            barrier.wait(60)
            kernel(x)

    in_threads(*(lambda x=x: run(x) for x in arrays))
    assert compiled == [kernel]
    with ctx:
        assert [one.hits for one in kernel.instances()] == [4]
    assert all((x == arrays[0]).all() for x in arrays)


def test_two_compilations_make_progress_together(monkeypatch):
    """While both threads are inside the compiler both use the processor: no lock keeps one of them waiting.

    Measured by the threads' own clocks, so a busy machine does not matter.
    """
    barrier, lower, inside, starts = threading.Barrier(2), Kernel._lower, set(), {}
    progress = []

    def watched(self, *arguments):
        clock = time.pthread_getcpuclockid(threading.get_ident())
        barrier.wait(60)
        starts[clock] = time.clock_gettime(clock)
        inside.add(clock)
        try:
            return lower(self, *arguments)
        finally:
            inside.discard(clock)

    def watch():
        wait_for(lambda: len(starts) == 2)
        while len(inside) == 2:
            now = [time.clock_gettime(clock) - start for clock, start in starts.items()]
            if len(inside) == 2:  # still: what was read counts
                progress[:] = now
            time.sleep(0.002)

    monkeypatch.setattr(Kernel, "_lower", watched)
    kernels = [make_long(300) for _ in range(2)]
    in_threads(*(lambda kernel=kernel: kernel(np.ones(2, np.float32)) for kernel in kernels), watch)
    assert len(progress) == 2 and min(progress) > 0.03, f"seconds that each thread worked while the other was inside: {progress}"


def test_modules_are_built_at_once():
    """LLD's state is the process': the links take turns, and the bytes are those of one thread."""

    def build(turns):
        return mt.aot.Module(targets=["x86-64-v2"]).add_kernel(make_long(turns), "long").build()

    alone, together = [build(turns) for turns in (1, 2, 3)], {}
    in_threads(*(lambda turns=turns: together.update({turns: build(turns)}) for turns in (1, 2, 3)))
    assert [together[turns] for turns in (1, 2, 3)] == alone


def test_an_error_in_one_thread_is_its_own():
    @mt.kernel
    def wrong(x: Line):
        x[0] = nowhere  # noqa: F821

    good, caught, barrier = make_long(3), [], threading.Barrier(2)

    def fail():
        barrier.wait(60)
        for _ in range(2):  # compiled anew each time: an error is not remembered
            with pytest.raises(mt.NameError_, match="nowhere") as error:
                wrong(np.ones(2, np.float32))
            caught.append(str(error.value))

    def run():
        barrier.wait(60)
        good(np.zeros(2, np.float32))

    in_threads(fail, run)
    assert len(caught) == 2 and wrong.instances() == [] and len(good.instances()) == 1


@mt.kernel
def literal(x: types.ndarray(mt.f64, 1)) -> mt.f64:
    x[0] = 1 / 3
    large = 2147483647
    return large + 1


@mt.kernel
def axpy(x: types.ndarray(mt.f64, 1), y: types.ndarray(mt.f64, 1), a: mt.f64):
    for i in range(x.shape[0]):
        y[i] = a * x[i] - y[i] * 0.5


@mt.kernel
def scatter(t: T, at: Flags):
    for i in range(at.shape[0]):
        t.n[at[i]] += 1
        t.a[at[i]] = 0.5 * at[i]


def test_contexts_of_different_options_mixed_from_four_threads(rng):
    options = [
        {"threads": 1, "default_fp": mt.f64},
        {"threads": 2, "debug": True},
        {"default_ip": mt.i64, "opt_level": 0},
        {"fast_math": True, "contract": False, "default_fp": mt.f64},
        {"arch": mt.interp, "interp_stage": "activate"},
    ]
    contexts = [mt.Context(**one) for one in options]
    single, double = float(np.float32(1) / np.float32(3)), 1 / 3
    third = [double, single, single, double, single]
    largest = [-(2.0**31), -(2.0**31), 2.0**31, -(2.0**31), -(2.0**31)]

    def work(seed):
        local = np.random.default_rng(seed)
        for _ in range(40):
            which = int(local.integers(len(contexts)))
            x, y = local.random((2, int(local.integers(1, 5000))))
            at = local.integers(0, 512, int(local.integers(1, 3000))).astype(np.int32)
            expected = 3 * x - y * 0.5
            with contexts[which]:
                one = np.zeros(1)
                assert literal(one) == largest[which] and one[0] == third[which]
                axpy(x, y, 3.0)
                tree = T.new()
            with contexts[int(local.integers(len(contexts)))]:
                scatter(tree, at)
            np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-15)
            counts = np.bincount(at, minlength=512)
            assert (tree.n.to_numpy() == counts).all()
            assert (tree.a.to_numpy() == np.where(counts > 0, 0.5 * np.arange(512), 0)).all()
            tree.unbind()

    in_threads(*(lambda seed=seed: work(seed) for seed in rng.integers(0, 2**32, 4)))
    for ctx in contexts:
        with ctx:
            assert len(literal.instances()) == len(axpy.instances()) == len(scatter.instances()) == 1


def test_lines_printed_from_several_threads_stay_whole(rng, capsys):
    @mt.kernel
    def tell(who: mt.i32, n: mt.i32):
        for i in range(n):
            print("line", who, i, "ends")

    contexts, count = [mt.Context(threads=1), mt.Context(threads=2)], int(rng.integers(50, 300))

    def work(who):
        with contexts[who % 2]:
            tell(who, count)

    in_threads(*(lambda who=who: work(who) for who in range(4)))
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"line {who} {i} ends" for who in range(4) for i in range(count))


def test_contexts_reset_under_threads_that_use_them(rng):
    """Code is dropped and made again while others run it: results stay right, nothing is freed too early."""
    ctx, stop = mt.Context(threads=1), threading.Event()

    def work(seed):
        local = np.random.default_rng(seed)
        for _ in range(60):
            x, y = local.random((2, 64))
            expected = 3 * x - y * 0.5
            with ctx:
                try:
                    axpy(x, y, 3.0)
                except mt.RuntimeError_ as error:
                    assert "the context was reset while" in str(error)
                    continue
            np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-15)

    def reset():
        while not stop.is_set():
            ctx.reset()
            time.sleep(0.01)

    resetter = threading.Thread(target=reset)
    resetter.start()
    try:
        in_threads(*(lambda seed=seed: work(seed) for seed in rng.integers(0, 2**32, 3)))
    finally:
        stop.set()
        resetter.join()


MEMORY = """
import gc, re
import numpy as np
import metate as mt
from metate import types

T = types.SNodeTreeBuilder().pointer(mt.i, 16).dense(mt.i, 64).place(a=mt.f32).build()
Line = types.ndarray(mt.f32, 1)

@mt.kernel
def put(t: T, at: mt.i32, value: mt.f32):
    t.a[at] = value

def make():
    @mt.kernel
    def scale(x: Line, a: mt.f32):
        for i in range(x.shape[0]):
            x[i] = x[i] * a
    return scale

def field(name):
    return int(re.search(name + r":\\s*(\\d+)", open("/proc/self/status").read())[1])

def code_pages():
    lines = [line.split() for line in open("/proc/self/maps")]
    return sum(1 for line in lines if "x" in line[1] and len(line) == 5)

def usage():
    gc.collect()
    return field("VmRSS"), field("Threads"), code_pages()

def work(k):
    ctx, seen = mt.Context(mt.interp if k % 4 == 3 else mt.cpu, threads=k % 3, debug=k % 2 == 1), 0
    with ctx:
        tree = T.new()
        put(tree, 5, float(k))
        assert tree.a[5] == k
        x = np.ones(1 << 12, np.float32)
        make()(x, 2.0)
        assert (x == 2).all()
        seen = code_pages()
    if k % 3 == 0:
        ctx.reset()
    elif k % 3 == 1:
        mt.init(threads=1)
        put(T.new(), 1, 1.0)
        mt.reset()
    return seen

for k in range(12):  # the allocator's and LLVM's own tables fill
    assert work(k) > 0, "code is mapped while a context lives"
before = after = usage()
growth = []
for part in range(3):  # the allocator takes some MiB once; what is left behind grows each time
    start = after
    for k in range(20):
        work(k)
    after = usage()
    growth.append(after[0] - start[0])
print(min(growth), *before[1:], *after[1:])
"""


def test_reset_gives_memory_threads_and_code_back(tmp_path):
    file = tmp_path / "memory.py"
    file.write_text(MEMORY)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kib, threads, code, threads_after, code_after = map(int, re.findall(r"-?\d+", done.stdout))
    assert code == code_after == 0, "no code is left mapped"
    assert threads_after <= threads, "threads go or are used again"
    assert kib < 1024, f"20 contexts left {kib} KiB"
