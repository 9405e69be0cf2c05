"""Code for Vulkan, without a device: the kernels of the examples compile, and spirv-val takes each of their modules.

They are compiled for `vulkan` (example_kernels.py): of some examples in each run, of all with METATE_TEST_VULKAN_CODE=1.
"""

import os
import shutil
import struct
import subprocess

import pytest
from example_kernels import kernels_of

# Which run always: dense and sparse trees, lists, hashes, quantised data, gradients, random numbers.
SOME = ("nbody", "quant_mpm", "fit", "sparse/particle_list", "sparse/point_cloud_hashing")
SPIRV = 3  # METATE_GRID_SPIRV
IMAGES = 72  # where the table stands in metate_grid
MAGIC = struct.pack("<I", 0x07230203)


def images_of(module):
    """The SPIR-V modules of a module's payload (metate/abi/grid.h)."""
    begin = module.index(b"GRID")
    offset, count = struct.unpack_from("<II", module, begin + IMAGES)
    for k in range(count):
        kind, _, at, size = struct.unpack_from("<IIII", module, begin + offset + 16 * k)
        assert kind == SPIRV
        yield module[begin + at : begin + at + size]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """{program/kernel: SPIR-V modules}"""
    some = None if os.environ.get("METATE_TEST_VULKAN_CODE") else SOME
    found = kernels_of(some, "vulkan", tmp_path_factory.mktemp("vulkan"))
    return {name: list(images_of(module)) for name, (_, module) in found.items()}


def validated(words, folder):
    """What spirv-val says; "" of a module that is valid."""
    (folder / "module.spv").write_bytes(words)
    command = ["spirv-val", "--target-env", "vulkan1.2", folder / "module.spv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("spirv-val"), reason="there is no spirv-val (Debian: spirv-tools)")
def test_kernels_of_examples_are_valid(kernels, tmp_path):
    for name, images in kernels.items():
        assert images, name
        for words in images:
            assert words.startswith(MAGIC), name
            assert validated(words, tmp_path) == "", name
    assert validated(words[:-4], tmp_path) != ""  # it looks at what it is given
