"""The reference interpreter as a host sees it: launches of several threads, what they have written, what they need."""

import mmap
import os
import resource
import signal
import threading

import numpy as np
import pytest

import metate as mt

I1 = mt.types.ndarray(dtype=mt.i32, ndim=1)
Line = mt.types.SNodeTreeBuilder().pointer(mt.i, 64, name="p").dense(mt.i, 4).place(a=mt.i32).build()


@mt.kernel
def count(f: Line, x: I1):
    for i in range(64):
        f[i].a += 1
        x[i % 4] += 1


def test_launches_of_several_threads_lose_nothing():
    context, x = mt.Context(arch=mt.interp), np.zeros(4, np.int32)
    with context:
        f = Line.new()

    def work():
        with context:
            for _ in range(15):
                count(f, x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (f.a.to_numpy()[:64] == 60).all() and (x == 60 * 16).all()
    assert f.stats()["p"].used == 16


@mt.kernel
def spin(go: I1, most: mt.i64):
    for _ in range(1):
        k = mt.i64(0)
        while go[0] == 0 and k < most:
            k += 1


def test_a_launch_that_waits_for_its_turn_can_be_interrupted():
    context, go = mt.Context(arch=mt.interp), np.zeros(1, np.int32)
    with context:
        spin(go, 1)  # compiled

        def work():
            with context:
                spin(go, 10**8)  # until the end of the test

        other = threading.Thread(target=work)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        other.start()
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                while other.is_alive():  # the first of them may come before the other thread's launch
                    spin(go, 1)
        finally:
            go[0] = 1
            timer.join()
            other.join()
        spin(go, 1)


def test_a_print_may_launch_a_kernel_of_the_same_context(monkeypatch):
    @mt.kernel
    def say(x: I1):
        print(x[0])

    x, lines = np.zeros(4, np.int32), []

    class Out:
        def write(self, text):
            lines.append(text)
            count(f, x)

        def flush(self):
            pass

    with mt.Context(arch=mt.interp):
        f = Line.new()
        count(f, x)
        monkeypatch.setattr("sys.stdout", Out())
        say(x)
        monkeypatch.undo()
    assert lines and f[0].a == 1 + len(lines)


def test_local_arrays_end_with_their_loop():
    @mt.kernel
    def many(x: I1, n: mt.i32):
        for _ in range(1):
            for i in range(n):
                v = mt.Vector([1, 2, 3, 4])
                v[i % 4] = i
                k = 0
                while k < 2:
                    w = mt.Vector([5, 6])
                    w[k] = i
                    k += 1
                x[0] += v[0] + k

    with mt.Context(arch=mt.interp):
        x = np.zeros(1, np.int32)
        many(x, 100)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        many(x, 20000)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10, "KiB: 20000 times some 2 KiB"


@mt.kernel
def double(x: I1, y: I1):
    for i in range(x.shape[0]):
        y[i] = x[i] * 2


def test_a_second_run_puts_back_what_the_kernel_writes_only(tmp_path):
    """`order` runs kernels twice: what they read may be memory that cannot be written."""
    np.arange(2000, dtype=np.int32).tofile(tmp_path / "x")
    x = np.memmap(tmp_path / "x", np.int32, "r")
    y = np.zeros((2000, 2), np.int32)[:, 0]
    with mt.Context(arch=mt.interp, checks=["order"]):
        double(x[:0], y[:0])
        double(x, y)
        assert (y == 2 * np.arange(2000)).all()
        f = Line.new()
        count(f, np.zeros(4, np.int32))
        (tmp_path / "f").write_bytes(f.block)
        with (tmp_path / "f").open("rb") as file:
            g = Line.bind(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), reset=False)
        assert get(g) == 1


def test_an_order_that_matters_stops_the_kernel():
    @mt.kernel
    def chain(x: I1):
        for i in x:
            if i > 0:
                x[i] = x[i - 1] + 1

    x = np.zeros(20, np.int32)
    with mt.Context(arch=mt.interp, checks=["order"]), pytest.raises(AssertionError, match=r"x\[2\] depends on the order"):
        chain(x)
    assert x.tolist() == list(range(20))


@mt.kernel
def put(f: Line, value: mt.i32):
    f[5].a = value


@mt.kernel
def grow(f: Line):
    mt.activate(f.p, 1)


@mt.kernel
def get(f: Line) -> mt.i32:
    return f[5].a


def test_what_kernels_have_written_is_known_to_other_kernels():
    """The background too; but not of the tree that was in the memory before, nor from before a reset."""
    context = mt.Context(arch=mt.interp, checks=["unwritten-read"], stop=False)
    memory = mmap.mmap(-1, Line.bytes({"p": 4}))

    def kinds():
        return [finding.kind for finding in context.take_findings()]

    with context:
        f = Line.bind(memory, capacity={"p": 4})
        put(f, 0)
        assert get(f) == 0 and kinds() == []
        f.reset()
        grow(f)
        assert get(f) == 0 and kinds() == ["unwritten-read"]
        put(f, 0)
        assert get(f) == 0 and kinds() == []
        f.unbind()
        memory[:] = bytes(len(memory))
        g = Line.bind(memory, capacity={"p": 4})
        grow(g)
        assert get(g) == 0 and kinds() == ["unwritten-read"]
        g.unbind()
