"""Kernels of debug mode that do not end are stopped, after launch_timeout or by ^C, and the device lives on.

On mt.simt, or METATE_TEST_ARCH.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import device_tests
import numpy as np
import pytest

import metate as mt
from metate import devices

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray
SOON = 15.0  # seconds: far less than what the kernels would take

with mt.Context(arch=ARCH) as context:
    IS_LAVAPIPE = context.options.device_target == devices.LAVAPIPE
# Mesa's CPU device gives an invocation 65,535 turns in all: there it takes many of them to be busy for half a minute.
TURNS, ITERATIONS = (1000, 1 << 20) if IS_LAVAPIPE else (1000, 2_000_000_000) if ARCH == mt.vulkan else (2_000_000_000, 64)


@mt.kernel
def in_parallel(x: array(mt.f32, 1), turns: mt.i32, iterations: mt.i32):
    for i in range(iterations):
        k = 0
        while k < turns:
            x[i % 64] += mt.sin(mt.f32(k))
            k += 1


@mt.kernel
def counted(x: array(mt.f32, 1), turns: mt.i32, iterations: mt.i32):
    for i in range(iterations):
        for k in range(turns):
            x[i % 64] += mt.sin(mt.f32(k))


@mt.kernel
def in_order(x: array(mt.f32, 1), turns: mt.i32, iterations: mt.i32):
    s = 0.0
    k = 0
    while k < turns:
        s += mt.sin(s + k)
        k += 1
    x[0] = s


@mt.kernel
def endless(x: array(mt.f32, 1), turns: mt.i32, iterations: mt.i32):
    for i in x:
        k = 0
        while k < 1:
            x[i] += 1.0
            k *= 2


@mt.kernel
def double(x: array(mt.f32, 1)):
    for i in x:
        x[i] = 2 * i


def works():
    x = np.zeros(1000, np.float32)
    double(x)
    return (x == 2 * np.arange(1000)).all()


OF_LAVAPIPE = pytest.mark.skipif(IS_LAVAPIPE, reason="Mesa's CPU device ends loops after 65,535 turns")
KERNELS = [in_parallel, counted, pytest.param(in_order, marks=OF_LAVAPIPE), pytest.param(endless, marks=OF_LAVAPIPE)]


@pytest.mark.parametrize("arch", [mt.cpu, ARCH])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_that_takes_too_long_is_stopped(arch, kernel):
    x = np.zeros(64, np.float32)
    with mt.Context(arch=arch, debug=True, launch_timeout=0.5):
        if kernel is not endless:
            kernel(x, 1, 64)  # in time
        begin = time.monotonic()
        with pytest.raises(
            mt.errors.TimeoutError_,
            match=rf"{os.path.basename(__file__)}:\d+: kernel '{kernel.__name__}' was stopped after 0.5 s",
        ):
            kernel(x, TURNS, ITERATIONS)
        assert 0.5 <= time.monotonic() - begin < SOON
        assert works()


def test_on_another_thread():
    x = np.zeros(64, np.float32)
    raised = []

    def run():
        with context:
            try:
                in_parallel(x, TURNS, ITERATIONS)
            except TimeoutError as error:
                raised.append(error)

    with mt.Context(arch=ARCH, debug=True, launch_timeout=0.5) as context:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert len(raised) == 1 and isinstance(raised[0], mt.errors.TimeoutError_)
        assert works()


@pytest.mark.parametrize("value", [0, -1.0, True, "1", float("inf"), float("nan")])
def test_limits_are_checked(value):
    with pytest.raises(mt.errors.RuntimeValueError_, match="launch_timeout: expected a positive number of seconds or None, got"):
        mt.Context(debug=True, launch_timeout=value)


def test_only_debug_mode_has_a_limit():
    with pytest.raises(mt.errors.RuntimeValueError_, match="launch_timeout: expected debug=True with it, got 2 without"):
        mt.Context(arch=ARCH, launch_timeout=2)
    with pytest.raises(mt.errors.RuntimeValueError_, match="launch_timeout: expected none"):
        mt.Context(arch=mt.interp, debug=True, launch_timeout=2)


PROGRAM = f"""
import sys, time
sys.path[:0] = {[os.path.dirname(__file__), os.path.dirname(device_tests.__file__)]!r}
import test_devices_interrupt as here
import numpy as np
import metate as mt

mt.init(arch=here.ARCH, debug=sys.argv[1] == "debug", enable_fallback=False)
x = np.zeros(64, np.float32)
here.in_parallel(x, 1, 64)  # compiled
print("running", flush=True)
try:
    here.in_parallel(x, *here.LONG[sys.argv[1]])
    print("it was not interrupted")
except KeyboardInterrupt:
    print("stopped", here.works())
"""


# Without polls in their loops all of the iterations together are long.
LONG = {"debug": (TURNS, ITERATIONS), "plain": (100, 1_000_000_000)}
OF_SIMT = pytest.mark.skipif(ARCH != mt.simt, reason="only kernels of debug mode look at the word while a GPU runs them")


@pytest.mark.parametrize("mode", ["debug", pytest.param("plain", marks=OF_SIMT)])
def test_the_keyboard_interrupts(mode):
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "running\n", program.stderr.read()
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        said, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert said == "stopped True\n", said + errors
