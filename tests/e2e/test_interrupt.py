"""^C and other signals while a kernel runs: real signals, sent to a process of its own.

The program says when its kernel is about to run; the test sends the signal a little later and looks at how long
the program took from there, what it saw, and that everything works afterwards.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import metate as mt

HOST = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin" / "metate_interrupt_host"

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import metate as mt

mode, threads, how = sys.argv[1:4]
mt.init(mt.interp if mode == "interp" else None, debug=mode == "debug", threads=int(threads))
A = mt.types.ndarray(dtype=mt.f64, ndim=1)
T = mt.types.SNodeTreeBuilder().pointer(mt.i, 64, name="blocks").dense(mt.i, 8).place(a=mt.f64).build()

@mt.kernel
def chunks(x: A, f: T, n: mt.i32):
    for i in range(n):
        s = mt.f64(i % 64)  # what an element gets does not depend on who comes last
        for j in range(10):
            s += mt.sin(s + j)
        x[i % 64] = s
        f[i % 512].a = s

@mt.kernel
def iteration(x: A, f: T, n: mt.i32):
    for i in range(4):
        s = 0.0
        for j in range(n):
            s += mt.sin(s + j)
        x[i] = s

@mt.kernel
def serial(x: A, f: T, n: mt.i32):
    s = 0.0
    k = 0
    while k < n:
        s += mt.sin(s + k)
        k += 1
    x[0] = s

@mt.kernel
def cells(x: A, f: T, n: mt.i32):
    for i in f:
        s = 0.0
        for j in range(n):
            s += mt.sin(s + j)
        f[i].a = s

kernel = {"chunks": chunks, "iteration": iteration, "serial": serial, "cells": cells}[how]
x, f = np.zeros(64), T.new()
chunks(x, f, 512)
kernel(x, f, 1)  # compiled
used = f.stats()["blocks"].used
"""

LONG = 2_000_000_000
DONE = """
chunks(x, f, 512)  # the next launch, the same tree
again, g = np.zeros(64), T.new()
chunks(again, g, 512)
assert (again == x).all() and (f.a.to_numpy() == g.a.to_numpy()).all() and f.stats() == g.stats()
f = None  # not in use
print("works", flush=True)
"""


@pytest.fixture
def run(tmp_path):
    return lambda *arguments, **more: run_in(tmp_path, *arguments, **more)


def run_in(folder, tail, mode, threads, how, signals=(signal.SIGINT,)):
    """(output, seconds from the first signal to the program's "stopped")"""
    file = folder / "program.py"
    file.write_text(PROGRAM + tail + DONE)
    program = subprocess.Popen(
        [sys.executable, file, mode, str(threads), how],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert program.stdout.readline() == "running\n", program.stderr.read()
        time.sleep(0.4)
        sent = time.monotonic()
        for number in signals:
            os.kill(program.pid, number)
            time.sleep(0.2)
        lines = []
        while "stopped" not in (lines or [""])[-1]:
            line = program.stdout.readline()
            assert line, (lines, program.stderr.read())
            lines.append(line.rstrip())
        took = float(lines[-1].split()[1]) - sent
        rest, errors = program.stdout.read(), program.stderr.read()
        assert program.wait(60) == 0, errors
        return lines + rest.split("\n"), took
    finally:
        program.kill()


RAISES = f"""
print("running", flush=True)
try:
    kernel(x, f, {LONG})
    print("it was not interrupted", flush=True)
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
"""


@pytest.mark.parametrize(
    ("mode", "how", "threads"),
    [
        ("release", "chunks", 1),
        ("release", "chunks", 2),
        ("debug", "chunks", 1),
        ("debug", "chunks", 2),
        ("debug", "iteration", 2),
        ("debug", "serial", 1),
        ("debug", "cells", 1),
        ("debug", "cells", 2),
        ("interp", "chunks", 1),
        ("interp", "serial", 1),
    ],
)
def test_sigint_raises_keyboard_interrupt(run, mode, how, threads):
    lines, took = run(RAISES, mode, threads, how)
    assert "works" in lines
    assert 0 <= took < 1.5  # 0.05 s, on a machine that does nothing else


def test_a_handler_of_the_program_goes_on(run):
    """A handler that returns is run while the kernel runs and ends nothing; one that raises ends it with its exception."""
    tail = f"""
seen = []
def handler(number, frame):
    chunks(np.zeros(64), T.new(), 100)  # kernels may be launched in a handler
    seen.append(number)
    if len(seen) == 3:
        raise TimeoutError("three")
signal.signal(signal.SIGUSR1, handler)
print("running", flush=True)
try:
    kernel(x, f, {LONG})
except TimeoutError as error:
    assert str(error) == "three"
    print("stopped", time.monotonic(), flush=True)
assert seen == [signal.SIGUSR1] * 3
"""
    lines, took = run(tail, "release", 2, "chunks", [signal.SIGUSR1] * 3)
    assert "works" in lines
    assert 0.3 < took < 3


def test_only_the_main_threads_launch_ends(run):
    """Another thread's kernel runs to its end; what the main thread does is interrupted as ever."""
    tail = f"""
other, ends = np.zeros(64), []
thread = threading.Thread(target=lambda: ends.append(chunks(other, T.new(), 4_000_000)))
thread.start()
print("running", flush=True)
try:
    kernel(x, f, {LONG})
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
thread.join()
assert ends == [None] and other[(4_000_000 - 1) % 64] != 0
"""
    lines, took = run(tail, "release", 1, "chunks")
    assert "works" in lines
    assert 0 <= took < 3


def test_what_was_printed_comes_before_the_exception(run):
    tail = f"""
@mt.kernel
def says(n: mt.i32):
    for i in range(n):
        if i == 0:
            print("hello from a kernel")
        s = 0.0
        for j in range(100):
            s += mt.sin(s + j)
        if s > 1000.0:
            print("never")
says(0)
print("running", flush=True)
try:
    says({LONG})
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
"""
    lines, _ = run(tail, "release", 1, "chunks")
    assert "hello from a kernel" in lines[:-1]
    assert lines.index("hello from a kernel") < next(k for k, line in enumerate(lines) if line.startswith("stopped"))


@mt.kernel
def spread(x: mt.types.ndarray(dtype=mt.f64, ndim=1), n: mt.i32):
    for i in range(n):
        s = mt.f64(i)
        for j in range(10):
            s += mt.sin(s + j)
        x[i % 64] = s


@mt.kernel
def inside(x: mt.types.ndarray(dtype=mt.f64, ndim=1), n: mt.i32):
    s = 0.0
    j = 0
    while j < n:
        s += mt.sin(s + j)
        j += 1
    x[0] = s


@pytest.mark.parametrize(("kernel", "debug"), [(spread, False), (inside, True)], ids=["release", "debug"])
def test_a_host_in_c_stops_its_kernel_from_a_signal_handler(tmp_path, kernel, debug):
    module = mt.aot.Module(debug=debug).add_kernel(kernel).save(tmp_path / "kernel.metate")
    host = subprocess.Popen([HOST, module, kernel.__name__, "200000000"], stdout=subprocess.PIPE, text=True)
    try:
        assert host.stdout.readline() == "running\n"
        time.sleep(0.3)
        sent = time.monotonic()
        host.send_signal(signal.SIGINT)
        assert host.stdout.readline() == f"METATE_E_INTERRUPTED: kernel '{kernel.__name__}': interrupted\n"
        assert time.monotonic() - sent < 1.5  # one of 256 chunks, or one turn of a loop
        assert host.wait(60) == 0
    finally:
        host.kill()
