"""Vulkan is used as its specification says: Khronos' validation layer has nothing to say about the driver's own tests.

An application's device and recorded launches are among them. pytest-vulkan runs kernels under the layer (conftest.py).
"""

import os
import pathlib
import subprocess
import sys

from vulkan_layer import needs_layer, run_validated

GRID_TEST = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin" / "grid_test"
# A flag that no instance has.
WRONG = """
import ctypes
vulkan = ctypes.CDLL("libvulkan.so.1")
fields = [("type", ctypes.c_uint32), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32), ("application", ctypes.c_void_p)]
fields += [("layers", ctypes.c_uint32), ("names", ctypes.c_void_p), ("extensions", ctypes.c_uint32), ("more", ctypes.c_void_p)]
Info = type("Info", (ctypes.Structure,), {"_fields_": fields})
instance = ctypes.c_void_p()
vulkan.vkCreateInstance(ctypes.byref(Info(type=1, flags=0x40000000)), None, ctypes.byref(instance))
"""
# A test on Vulkan that uses it wrongly, and one behind it that does not.
WRONG_TEST = f"""
def test_wrong():
    exec({WRONG!r})

def test_right():
    pass
"""


@needs_layer
def test_the_layer_reports(tmp_path):
    assert "VUID-VkInstanceCreateInfo-flags-parameter" in run_validated(tmp_path, sys.executable, "-c", WRONG)[1]


@needs_layer
def test_a_test_that_is_invalid_fails(tmp_path):
    tests = pathlib.Path(__file__).parents[1]
    (tmp_path / "test_here.py").write_text(WRONG_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", tmp_path / "test_here.py"]
    paths = os.pathsep.join([str(tests), str(tests / "python"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "METATE_TEST_ARCH": "vulkan", "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert "VUID-VkInstanceCreateInfo-flags-parameter" in done.stdout, done.stdout
    assert "2 passed, 1 error" in done.stdout, done.stdout


@needs_layer
def test_the_drivers_tests_are_valid(tmp_path):
    said, messages = run_validated(tmp_path, GRID_TEST, "--gtest_filter=*ulkan*:*/staged")
    assert messages == ""
    assert "[  PASSED  ]" in said and "VulkanRecording" in said
