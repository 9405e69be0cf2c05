"""examples/vulkan_host and examples/cuda_host: the RFC's program in memory, queues, streams and commands of the application's."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from vulkan_layer import needs_lavapipe, run_validated

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
VULKAN_HEADER = pathlib.Path("/usr/include/vulkan/vulkan.h")
NO_DEVICE = 77
LIBRARY = ROOT / "build" / "lib"
SHADES = " .:-=+*#%@"


def build(folder, name, *arguments):
    program = folder / name
    command = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}",
               f"-I{EXAMPLES}", EXAMPLES / name / "host.cpp", f"-L{LIBRARY}", "-lmetate", f"-Wl,-rpath,{LIBRARY}", *arguments,
               "-o", program]  # fmt: skip
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("device")
    targets = ("x86-64-v2", "vulkan:lavapipe", "cuda:compute_80")
    subprocess.run([sys.executable, EXAMPLES / "rfc" / "device.py", "--save", folder, *targets], check=True)
    return folder / "device.metate"


def cells():
    """(i, j, a * b) of the cells that fill1 activates."""
    for i in range(15):
        for j in range(15):
            if i // 5 == j // 5:
                yield i, j, np.float32(i + np.float32(0.5) * j) * np.array([i, j, 1], np.float32)


def check_output(said):
    device, printed, picture = re.split(r"^== .*\n", said, flags=re.MULTILINE)
    assert re.fullmatch(r"-- device \S.*\n", device)
    assert sorted(printed.splitlines()) == sorted(f"I= [{i}, {j}]  a*b= {[float(c) for c in v]}" for i, j, v in cells())
    expected = np.zeros((15, 15), int)
    for i, j, v in cells():
        expected[i, j] = 1 + int(min(np.float32(8), np.float32(np.linalg.norm(v)) / np.float32(40)))
    assert len(np.unique(expected)) > 6
    assert picture.splitlines() == [f"|{''.join(SHADES[shade] for shade in row)}|" for row in expected]


@needs_lavapipe
@pytest.mark.skipif(not VULKAN_HEADER.exists(), reason="there are no headers of Vulkan's (Debian: libvulkan-dev)")
def test_vulkan(module, tmp_path):
    program = build(tmp_path, "vulkan_host", "-lmetate_vulkan", "-lvulkan")
    said, messages = run_validated(tmp_path, program, module)
    check_output(said)
    assert messages == ""
    nowhere = {"VK_DRIVER_FILES": "/nowhere.json", "VK_ICD_FILENAMES": "/nowhere.json", "VK_INSTANCE_LAYERS": ""}
    without = subprocess.run([program, module], capture_output=True, text=True, env={**os.environ, **nowhere})
    assert without.returncode == NO_DEVICE and "no device here that runs kernels: " in without.stderr, without.stderr


@pytest.mark.parametrize("toolkit", ["as it is", "without"])
def test_cuda(module, tmp_path, toolkit):
    there = pathlib.Path("/usr/local/cuda/include")
    flags = [f"-isystem{there}"] if toolkit == "as it is" else ["-DMETATE_WITHOUT_TOOLKIT"]
    program = build(tmp_path, "cuda_host", "-lmetate_cuda", "-ldl", *flags)
    nowhere = {"METATE_CUDA_LIBRARY": "/nowhere/libcuda.so"}
    without = subprocess.run([program, module], capture_output=True, text=True, env={**os.environ, **nowhere})
    assert without.returncode == NO_DEVICE, without.stderr
    assert without.stderr.startswith("cuda_host: no CUDA driver here: /nowhere/libcuda.so: ")
    done = subprocess.run([program, module], capture_output=True, text=True)
    if done.returncode == NO_DEVICE:
        assert "cuda_host: no CUDA driver here: " in done.stderr
        return
    assert done.returncode == 0, done.stderr
    check_output(done.stdout)
