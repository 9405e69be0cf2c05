"""Calls over a stream of bytes (runtime/rpc, mt.rpc) to a server in this process: what comes back is what a local call gives,
whatever happens to the stream."""

import os
import pathlib
import socket
import sys
import threading
import time

import numpy as np
import pytest
from seeded import generator

import metate as mt
from metate import native
from metate.errors import (
    AssertionError_,
    CallError_,
    RuntimeIOError_,
    RuntimeLookupError_,
    RuntimeTypeError_,
    RuntimeValueError_,
    TimeoutError_,
)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import rpc_kernels as kernels  # noqa: E402
from machines import MACHINES, WARNINGS, run  # noqa: E402
from rpc_loop import INCLUDES, ROOT, SOURCES, Loop, built, exercise, expected  # noqa: E402

M4 = MACHINES["thumbv7em-none-eabihf"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built(tmp_path_factory.mktemp("rpc"))


@pytest.fixture
def loop(library, request):
    return Loop(library, generator(request.node.name))


@pytest.fixture
def remote(loop):
    return loop.connect()


def test_what_is_there_is_told(remote):
    assert remote.name == "service" and list(remote.types) == ["cells"]
    assert list(remote.kernels) == [*(kernel.__name__ for kernel in kernels.KERNELS), "twice"]
    axpy = remote.kernels["axpy"]
    assert axpy.names == ("a", "x", "y") and not axpy.results
    assert [str(one) for one in axpy.parameters] == ["f32", "a 1-dimensional array of f32", "a 1-dimensional array of f32"]
    assert [one.is_written for one in axpy.parameters] == [False, False, True]
    shift = remote.kernels["shift"]
    assert [one.shape for one in shift.parameters] == [(2, 2), (3,), (-1, 3)] and shift.results[0].shape == (3,)
    assert repr(remote).startswith("<remote 'service': axpy, count")


def test_calls_give_what_they_give_here(remote, request):
    name = request.node.name
    for there, here in zip(exercise(remote, generator(name)), expected(generator(name)), strict=True):
        np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize("frame", [160, 161, 255, 4096])
def test_frames_of_any_length(library, frame):
    remote = Loop(library, generator(str(frame)), frame=frame).connect()
    for there, here in zip(exercise(remote, generator("frame")), expected(generator("frame")), strict=True):
        np.testing.assert_array_equal(there, here)


def test_what_loops_accumulate_in_is_no_result(remote):
    x = np.array([1, 2, 5], np.float32)
    assert remote.call("steepness", x) == 3.75 and kernels.steepness(x) == 3.75
    assert [one.name for one in remote.kernels["steepness"].results] == ["return"]


def test_the_shortest_frame_tells_of_any_array_and_runs_nothing_whose_result_it_has_no_room_for(library):
    remote = Loop(library, generator("short"), frame=160).connect()
    wide = remote.kernels["wide"]
    assert wide.names == ("runs",) and wide.parameters[0].shape == (-1,) * 12
    runs = remote.array(np.zeros((1,) * 12, np.int32))
    with pytest.raises(mt.TreeError, match="kernel 'wide': the result is larger than a frame"):
        wide(runs)
    assert runs.numpy().sum() == 0
    longer = Loop(library, generator("long"), frame=255).connect()
    np.testing.assert_array_equal(longer.call("wide", np.zeros((1,) * 12, np.int32)), 1.5 * np.arange(40))


@pytest.mark.parametrize("damage", [(2e-3, 0, 0), (0, 2e-3, 0), (0, 0, 2e-3), (1e-3, 1e-3, 1e-3)], ids=str)
def test_a_damaged_stream_changes_no_result(library, damage):
    """Frames are sent again, and nothing runs twice: `count` would show it."""
    whole = exercise(Loop(library, generator("clean")).connect(), generator("damaged"))
    loop = Loop(library, generator(str(damage)), damage)
    remote = loop.connect(timeout=0.02, attempts=40)
    for there, here in zip(exercise(remote, generator("damaged")), whole, strict=True):
        np.testing.assert_array_equal(there, here)
    counted = remote.array(np.zeros(3, np.int32))
    for _ in range(50):
        remote.call("count", counted)
    assert counted.numpy().tolist() == [50, 50, 50]


def test_noise_before_the_first_answer_is_passed_over(library):
    """A board that has said other things, with zeros among them, before a server was there."""
    loop = Loop(library, generator("noise"))
    loop._answers += b"\0hello from a boot loader" * 100
    assert loop.connect(attempts=1).name == "service"


def test_by_steps(remote):
    session = remote.session("axpy")
    x = np.arange(100, dtype=np.float32)
    with pytest.raises(CallError_, match="kernel 'axpy': argument 'a' is not set: call set_input"):
        session.run()
    for name, value in (("a", 2), ("x", x), ("y", np.ones(100, np.float32))):
        session.set_input(name, value)
    session.run()
    session.run()
    np.testing.assert_array_equal(session.get_output("y"), 4 * x + 1)
    session.set_input("y", x[:7])
    with pytest.raises(RuntimeLookupError_, match="kernel 'axpy' has no argument 'z'; it has a, x, y"):
        session.set_input("z", 1)
    with pytest.raises(RuntimeLookupError_, match="it has no result yet: call run"):
        remote.session("total").get_output()
    summed = remote.session("total")
    summed.set_input("x", x)
    summed.run()
    assert summed.get_output() == x.sum() and summed.get_output("return") == x.sum()
    session.close(), summed.close()


def test_values_stay_there(remote):
    x, y = remote.array(np.arange(6, dtype=np.float32)), remote.empty(6, mt.f32)
    for _ in range(3):
        remote.call("axpy", 1, x, y)
    np.testing.assert_array_equal(y.numpy(), 3 * np.arange(6))
    x.free()
    np.testing.assert_array_equal(y.numpy(), 3 * np.arange(6))  # it has been moved
    with pytest.raises(RuntimeLookupError_, match="kernel 'axpy' argument 1 'x': there is no such value"):
        remote.call("axpy", 1, x, y)
    with pytest.raises(RuntimeLookupError_, match="there is no such value"):
        x.numpy()
    with pytest.raises(RuntimeValueError_, match="kernel 'axpy' argument 2 'y': it is written and overlaps another one"):
        remote.call("axpy", 1, y, y)


def test_values_that_the_program_names(remote):
    table, state, ours = (remote.values[name] for name in ("table", "state", "ours"))
    np.testing.assert_array_equal(table.numpy(), [1, 2, 3, 4])
    with pytest.raises(RuntimeValueError_, match="the value is read-only"):
        table.write(np.zeros(4, np.float32))
    with pytest.raises(
        RuntimeValueError_, match="kernel 'axpy' argument 2 'y': the kernel writes it, and the value is read-only"
    ):
        remote.call("axpy", 1, remote.empty(4, mt.f32), table)
    state.write(np.arange(6, dtype=np.int32).reshape(2, 3))
    np.testing.assert_array_equal(state.numpy(), [[0, 1, 2], [3, 4, 5]])
    remote.call("fill", ours, 4, 0.5)
    assert remote.call("weigh", ours) == 24  # 4.5 + 5.5 + 6.5 + 7.5
    with pytest.raises(RuntimeLookupError_, match="there is no such value"):
        table.free()


def test_trees_go_there_and_come_back(remote):
    here = kernels.Cells.new(capacity=8)
    kernels.fill(here, 0, 1.0)
    there = remote.tree("cells", here)
    assert remote.call("weigh", there) == 10
    remote.call("fill", there, 8, 0.0)
    back = there.fetch(kernels.Cells)
    np.testing.assert_array_equal(back.level.to_numpy()[[0, 3, 8, 11]], [1, 4, 8, 11])
    fresh = remote.tree("cells")
    assert remote.call("weigh", fresh) == 0
    fresh.write(bytes(fresh.bytes))
    with pytest.raises(RuntimeValueError_, match="kernel 'weigh' argument 0 'cells': the value holds no tree of that type"):
        remote.call("weigh", fresh)
    with pytest.raises(mt.TreeError):
        remote.tree("cells", bytes=256)
    with pytest.raises(mt.TreeError):
        fresh.fetch(kernels.Cells)
    with pytest.raises(RuntimeLookupError_, match="module 'service' has no type 'sells'; it has cells"):
        remote.tree("sells")


def test_a_failing_kernel_says_so(remote):
    """The class and the text of a local call."""
    x = np.array([1, 1500], np.int32)
    with pytest.raises(AssertionError_) as here, mt.Context():
        kernels.stop(x.copy())
    with pytest.raises(AssertionError_) as there:
        remote.call("stop", x)
    assert str(there.value) == str(here.value) and "x[1] is 1500, 750.0 is half of it {really}" in str(there.value)
    assert there.value.status == 14
    y = np.zeros(8, np.float32)
    with pytest.raises(AssertionError_, match=r"rpc_kernels.py:\d+:\d+: kernel 'stop': assertion failed: x\[1\] is 1500"):
        remote.call("twice", y, y.copy(), x)


def test_no_room_in_a_tree(remote):
    small = remote.tree("cells")
    with pytest.raises(mt.TreeError):  # as few bytes as a tree can have
        while True:
            small.free()
            small = remote.tree("cells", bytes=small.bytes - 64)
    small = remote.tree("cells", bytes=small.bytes)
    with pytest.raises(mt.CapacityError, match=r"kernel 'fill': .*exhausted"):
        for first in range(0, 32, 4):
            remote.call("fill", small, first, 1.0)
    assert remote.call("weigh", small) > 0


def test_wrong_arguments_are_refused(remote):
    x = np.zeros(4, np.float32)
    refused = lambda kind, text: pytest.raises(kind, match=text)
    with refused(CallError_, r"kernel 'axpy': expected 3 arguments \(a, x, y\), got 1"):
        remote.call("axpy", 1)
    with refused(RuntimeTypeError_, "kernel 'axpy' argument 1 'x': expected a 1-dimensional array of f32, got .* of float64"):
        remote.call("axpy", 1, x.astype(float), x)
    with refused(RuntimeTypeError_, "kernel 'axpy' argument 1 'x': expected a 1-dimensional array of f32, got a 2-dimensional"):
        remote.call("axpy", 1, x.reshape(2, 2), x)
    with refused(RuntimeTypeError_, "kernel 'axpy' argument 0 'a': expected f32, got None"):
        remote.call("axpy", None, x, x)
    with refused(RuntimeTypeError_, "kernel 'axpy' argument 1 'x': expected a 1-dimensional array of f32, got list"):
        remote.call("axpy", 1, [1.0], x)
    with refused(RuntimeTypeError_, "kernel 'weigh' argument 0 'cells': expected a tree of the other side"):
        remote.call("weigh", x)
    with refused(RuntimeValueError_, "kernel 'numbers' argument 1 'b': expected a value of i8, got 128"):
        remote.call("numbers", 1, 128, 0, 0, 0, 0, 0, 0, np.zeros(8))
    with refused(RuntimeTypeError_, r"kernel 'shift' argument 1 'by': expected f32 of shape \(3,\), got \(1, 2\)"):
        remote.call("shift", np.zeros((2, 2)), (1, 2), np.zeros((1, 3), np.float32))
    with refused(RuntimeValueError_, "kernel 'shift' argument 2 'points': dimension 1: expected 3, got 2"):
        remote.call("shift", np.zeros((2, 2)), (1, 2, 3), np.zeros((1, 2), np.float32))
    with refused(RuntimeLookupError_, "module 'service' has no kernel 'axpi'; it has axpy, count"):
        remote.call("axpi")
    with refused(RuntimeTypeError_, "expected an array of float32"):
        remote.array(x).write(np.zeros(5, np.float32))


def test_what_a_client_checks_the_server_checks_as_well(remote):
    """By requests that no client of ours sends."""
    ask, words = remote._line.ask, lambda *numbers: b"".join(number.to_bytes(4, "little") for number in numbers)
    call, axpy = 10, words(0)
    handle = words(remote.empty(4, mt.f64)._handle)
    scalar = bytes((1, 12)) + bytes(4)
    assert ask(call, axpy + scalar + (b"\0" + handle) * 2)[0] == 4  # f64 where f32 is expected
    assert ask(call, axpy + bytes((1, 13)) + bytes(8))[0] == 4
    assert ask(call, axpy + scalar)[0] == 2
    assert ask(call, axpy + scalar + bytes((9, 1, 2)))[0] == 2
    assert ask(call, axpy + scalar + (b"\0" + handle) * 2 + b"\0")[0] in (2, 4)
    assert ask(call, words(99))[0] == 3 and ask(call, b"")[0] == 3
    assert ask(8, handle + words(0, 0, 33))[0] == 16 and ask(8, handle + words(30, 0, 3))[0] == 16
    assert ask(8, handle + words(33, 0, 0))[0] == 16 and ask(8, handle + words(0xFFFFFFFF, 0xFFFFFFFF, 8))[0] == 16
    assert ask(7, handle + words(31, 0) + b"ab")[0] == 16 and ask(7, handle)[0] == 3
    assert ask(6, words(3, 12, 13))[0] == 2 and ask(6, words(3, 12, 2, 1, 0))[0] == 2 and ask(6, words(3, 99, 0))[0] == 2
    assert ask(6, words(3, 12, 1, 0xFFFFFFFF, 0xFFFFFFFF))[0] == 2 and ask(6, words(7, 0, 0, 0))[0] == 2
    assert ask(6, words(3, 12, 2) + words(0x7FFFFFFF, 0, 9, 0))[0] == 12 and ask(6, words(4, 5, 0, 0))[0] == 3
    assert ask(55)[0] == 11 and ask(0)[0] == 11 and ask(2, words(1000))[0] == 3 and ask(5, words(3))[0] == 3
    assert ask(1, words(0, 1))[0] == 2 and ask(1, words(0x4350524D, 2))[0] == 10


def test_memory_of_the_server_is_bounded(library):
    remote = Loop(library, generator("memory"), memory=6144, values=3, prints=0).connect()
    assert remote.most_values == 3 and 3000 < remote.memory < 6144
    with pytest.raises(mt.RuntimeError_, match="the server has no memory left for the value"):
        remote.empty(remote.memory, mt.u8)
    kept = [remote.empty(10, mt.i32) for _ in range(3)]
    with pytest.raises(mt.RuntimeError_, match="the server has no memory left for the value"):
        remote.empty(1, mt.u8)
    kept[1].free()
    x, y = kept[0], kept[2]
    x.free(), y.free()
    x, limits = remote.empty(8, mt.f32), remote.empty(1, mt.i32)
    large = remote.empty(remote.memory // 4 - 40, mt.f32)
    with pytest.raises(mt.RuntimeError_, match=r"^kernel 'twice': the server has no memory left for the call"):
        remote.call("twice", x, large, limits)
    large.free()
    remote.call("twice", x, remote.empty(8, mt.f32), limits)
    assert Loop(library, generator("small"), memory=1000).status == 5
    assert Loop(library, generator("short"), frame=127).status == 2
    long = remote.kernels["numbers"]
    with pytest.raises(RuntimeValueError_, match="its arguments take 300 bytes, and a frame of the other side holds 248"):
        long._run(bytes(300), None)


def test_a_server_that_began_anew_says_so(library, loop):
    remote = loop.connect()
    Loop(library, generator("again")).write(b"")
    loop.__init__(library, generator("new"))
    with pytest.raises(mt.RuntimeError_, match="the server expects a hello first"):
        remote.empty(1, mt.u8)
    remote = loop.connect()
    remote.close()
    with pytest.raises(mt.RuntimeError_, match="the server expects a hello first"):
        remote.empty(1, mt.u8)
    with loop.connect() as again:
        again.empty(1, mt.u8)


def fill(stream):
    """A socket of which nobody reads, until it takes no more."""
    try:
        while True:
            stream.send(bytes(1 << 16), socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass


def test_nobody_waits_for_ever(library):
    class Silent:
        def write(self, data):
            return len(data)

        def read(self, most):
            return b""

    start = time.monotonic()
    with pytest.raises(TimeoutError_, match=r"no answer after 3 attempts of 0\.02 s"):
        mt.rpc.connect(Silent(), timeout=0.02, attempts=3)
    ours, theirs = socket.socketpair()
    with pytest.raises(TimeoutError_, match="no answer after 2 attempts"):
        mt.rpc.connect(ours, timeout=0.02, attempts=2)
    with pytest.raises(TimeoutError_, match="the stream takes no bytes"):
        fill(ours)  # nobody reads
        mt.rpc.connect(ours, timeout=0.02)
    theirs.close()
    with pytest.raises(RuntimeIOError_, match=r"rpc: (the other side has closed the stream|.*[Bb]roken pipe)"):
        mt.rpc.connect(ours, timeout=0.02)
    reader, writer = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    with reader, writer, pytest.raises(TimeoutError_):
        os.set_blocking(writer.fileno(), False)
        while True:  # until the pipe is full
            try:
                os.write(writer.fileno(), bytes(1 << 16))
            except BlockingIOError:
                break
        os.set_blocking(writer.fileno(), True)
        mt.rpc.connect((ours, writer), timeout=0.02)
    with pytest.raises(RuntimeTypeError_, match="connect: expected a socket, a file, a pair"):
        mt.rpc.connect(7)
    noisy = Loop(library, generator("noise"), (0.5, 0.2, 0))
    with pytest.raises(TimeoutError_):
        noisy.connect(timeout=0.02, attempts=3)
    assert time.monotonic() - start < 10


def test_a_slow_kernel_runs_once(loop):
    """The client asks again while it runs; the answer that it then gets is that of the one run."""
    remote = loop.connect(timeout=0.02, attempts=20)
    counted = remote.array(np.zeros(2, np.int32))
    kept, loop.read = loop.read, lambda most: b""  # answers come late
    threading.Timer(0.1, lambda: setattr(loop, "read", kept)).start()
    remote._line._stream._read = lambda most: loop.read(most)
    remote.call("count", counted)
    assert counted.numpy().tolist() == [1, 1]


def test_over_a_socket(library):
    ours, theirs = socket.socketpair()
    loop = Loop(library, generator("socket"))

    def serve():
        while data := theirs.recv(4096):
            loop.write(data)
            while answer := loop.read(4096):
                theirs.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    remote = mt.rpc.connect(ours, timeout=5)
    x, y = np.arange(2000, dtype=np.float32), np.zeros(2000, np.float32)
    remote.call("axpy", 3, x, y)
    np.testing.assert_array_equal(y, 3 * x)
    ours.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    assert not thread.is_alive()


CPP = """13 kernels, axpy
1 11 2991
44850
3 8, 3 6 9
unset: kernel 'stop': argument 'x' is not set
METATE_E_ASSERT, kernel 'stop': assertion failed: x[1] is 1500, 750 is half of it {really}
dtype: kernel 'stop' argument 'x': it is none, or not an array or vector of f32
shape: kernel 'stop' argument 'x': it is none, or not an array of that shape
name: kernel 'stop' argument 'z': it is none, or not a scalar
session: rpc: there is no kernel 'stopp'
thrown
3: 2 of 3 1 2 True 0.166667
8: [rpc: prints dropped: 16; the server keeps 400 bytes of them]
2 of 3 1 2 True 0.166667
noise: rpc: no answer after 50 attempts
"""


def test_a_client_in_cpp(tmp_path):
    """Over a stream that damages one of 400 bytes; both sides under sanitizers."""
    kernels.module("x86-64").save(tmp_path / "service.o")
    sanitizers = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    lib = native.library_directory()
    run("gcc", "-std=c11", "-O0", *WARNINGS, *sanitizers, *INCLUDES, "-c", *SOURCES, cwd=tmp_path)
    run("g++", "-std=c++20", "-O0", *WARNINGS, *sanitizers, *INCLUDES, f"-I{tmp_path}", HERE / "rpc_client.cpp",
        *tmp_path.glob("*.o"), f"-L{lib}", "-lmetate", f"-Wl,-rpath,{lib}", "-lm", "-o", tmp_path / "client")  # fmt: skip
    assert run(tmp_path / "client") == CPP


def test_it_takes_few_kib_of_thumb_code(tmp_path):
    M4.need()
    total = 0
    for source in sorted((ROOT / "runtime" / "rpc").glob("*.c")):
        made = tmp_path / f"{source.stem}.o"
        run(*M4.compiler, "-std=c11", "-Os", *WARNINGS, "-Wpedantic", "-DMETATE_ONE_THREAD", *INCLUDES, "-c", source, "-o", made)
        text, data, bss = (int(word) for word in run("arm-none-eabi-size", made).splitlines()[1].split()[:3])
        assert data == bss == 0, f"{source.name} has variables"
        total += text
    print(f"rpc: {total} bytes, beside the core")
    assert total <= 7168
    unknown = set(run("arm-none-eabi-nm", "-u", *tmp_path.glob("*.o")).split()) - {"U"}
    unknown = {name for name in unknown if ":" not in name and not name.startswith(("__aeabi_", "metate_core_", "metate_rpc_"))}
    assert unknown <= {"memcpy", "memset", "memmove"}
    assert len(SOURCES) >= 7
