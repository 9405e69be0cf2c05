"""Python on a device of Vulkan's that lacks something or is lost: the error says what, and the CPU goes on.

The loader is the tests' own (tests/driver/fake_vulkan.cpp).
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys

import pytest
from vulkan_layer import LAVAPIPE, needs_lavapipe

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = ROOT / "build" / "lib" / "libmetate_fake_vulkan.so"
PROGRAM = """
import ctypes, pathlib, sys
sys.path.insert(0, sys.argv[1])
from test_vulkan_lost import Control, FAKE
import numpy as np
import metate as mt

array = mt.types.ndarray
fake = Control.in_dll(ctypes.CDLL(str(FAKE)), "fake_vulkan")


@mt.kernel
def double(x: array(mt.f32, 1)):
    for i in x:
        assert x[i] >= 0
        x[i] *= 2


@mt.kernel
def precise(x: array(mt.f64, 1)):
    for i in x:
        x[i] *= 0.1


def works(context):
    with context:
        x = np.arange(100, dtype=np.float32)
        double(x)
        return bool((x == 2 * np.arange(100)).all())


def said(kernel, x):
    try:
        kernel(x)
    except mt.MetateError as error:
        return f"{type(error).__name__}: {error}"


"""


def fields_of_control():
    """The members of fake_vulkan_control, as tests/driver/fake_vulkan.h declares them."""
    types = {"int ": ctypes.c_int, "unsigned ": ctypes.c_uint, "const char *": ctypes.c_char_p}
    declared = re.findall(r"^  (int |unsigned |const char \*)(\w+);", (ROOT / "tests/driver/fake_vulkan.h").read_text(), re.M)
    return [(name, types[spelling]) for spelling, name in declared]


class Control(ctypes.Structure):
    _fields_ = fields_of_control()


pytestmark = [
    needs_lavapipe,
    pytest.mark.skipif(not FAKE.exists(), reason="there are no headers of Vulkan's (Debian: libvulkan-dev)"),
]


def run(tail):
    devices = {"METATE_VULKAN_LIBRARY": str(FAKE), "VK_DRIVER_FILES": str(LAVAPIPE), "VK_ICD_FILENAMES": str(LAVAPIPE)}
    program = [sys.executable, "-c", PROGRAM + tail, pathlib.Path(__file__).parent]
    done = subprocess.run(program, capture_output=True, text=True, env={**os.environ, **devices}, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines(), done.stderr


def test_a_lost_device():
    lines, _ = run("""
first = mt.Context(arch=mt.vulkan)
print(works(first))
fake.isLost = 1
with first:
    print(said(double, np.ones(10, np.float32)))
fake.isLost = 0
with first:
    print(said(double, np.ones(10, np.float32)))
print(works(mt.Context()), works(mt.Context(arch=mt.vulkan)))
""")
    assert lines[0] == "True" and lines[3] == "True True"
    for line in lines[1:3]:
        assert line.startswith("RuntimeError_: ") and "the device is lost: VK_ERROR_DEVICE_LOST" in line


def test_a_machine_without_devices():
    lines, errors = run("""
fake.hasNoDevices = 1
mt.init(arch=mt.vulkan)
print(works(mt.context.current()))
""")
    assert lines == ["True"]
    assert "there is no device for 'vulkan': this machine has no device of Vulkan's: kernels run on this machine's CPU" in errors


def test_a_feature_that_a_kernel_needs():
    lines, _ = run("""
fake.feature = b"shaderFloat64"
context = mt.Context(arch=mt.vulkan)
print(works(context))
with context:
    print(said(precise, np.ones(10)))
print(works(context))
""")
    assert lines[0] == lines[2] == "True"
    assert "'precise" in lines[1] and "needs 64-bit floats (shaderFloat64), which 'llvmpipe" in lines[1], lines[1]
