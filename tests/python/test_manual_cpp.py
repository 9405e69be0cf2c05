"""The manual's C++ blocks compile, each as the body of a function, against the public headers alone.

What a block calls `my_...` is the reader's: it is declared here.
"""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = ROOT / "docs" / "manual"
BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block[1], id=f"{page.relative_to(MANUAL)}:{page.read_text()[: block.start()].count(chr(10)) + 1}")
    for page in sorted(MANUAL.rglob("*.md"))
    if page.parent.name != "ship"  # whole files: tests/aot/test_manual_ship.py
    for block in BLOCK.finditer(page.read_text())
]
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
READERS = """
std::vector<std::byte> my_allocate(size_t bytes, size_t align);
extern struct CUctx_st *my_context;
extern struct CUstream_st *my_stream;
extern unsigned long long my_address;
extern uint64_t my_bytes;
extern metate_device *my_metate_device;
extern const metate_kernel *my_kernel;
extern const metate_argument *my_arguments;
extern uint32_t my_count, my_family;
void my_submit_and_wait();
void my_show(const char *text);
#ifdef VULKAN_H_
extern VkInstance my_instance;
extern VkPhysicalDevice my_physical_device;
extern VkDevice my_device;
extern VkQueue my_queue;
extern VkBuffer my_buffer;
extern VkCommandBuffer my_commands;
#endif
"""


def compiled(block):
    includes = "".join(["#include <metate/metate.hpp>\n", *INCLUDE.findall(block)])
    text = f"{includes}{READERS}void manual();\nvoid manual() {{\n{INCLUDE.sub('', block)}}}\n"
    command = ["g++", "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", f"-I{ROOT}/abi", "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_compile(block):
    if "<vulkan/" in block and not pathlib.Path("/usr/include/vulkan/vulkan.h").exists():
        pytest.skip("there are no headers of Vulkan's (Debian: libvulkan-dev)")
    done = compiled(block)
    assert done.returncode == 0, done.stderr


def test_wrong_blocks_do_not():
    assert len(BLOCKS) >= 5
    assert "metate_device_opn" in compiled("metate_device *device;\nmetate_device_opn(NULL, &device);\n").stderr
