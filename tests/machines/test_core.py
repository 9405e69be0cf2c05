"""The core of libmetate (runtime/core): the standard level here, under sanitizers, and on a Cortex-M4 without a heap."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import core_kernels  # noqa: E402
import machine_kernels as kernels  # noqa: E402
from machines import HOST, MACHINES, ROOT, WARNINGS, run  # noqa: E402

SOURCES = sorted((ROOT / "runtime" / "core").glob("*.c"))
INCLUDES = [f"-I{ROOT / folder}" for folder in ("include", "abi", "protocol", "runtime")]
LIBMETATE = (f"-L{ROOT}/build/lib", "-lmetate", f"-Wl,-rpath,{ROOT}/build/lib")
M4 = MACHINES["thumbv7em-none-eabihf"]
EXPECTED = """open 0 -1
machine 15
entries 9 -1
bytes 9 -1
launched 0 -1
 1500000 4414213 7598076 11000000
dtype 4 1
alignment 6 2
null 1 2
extent 16 1
alias 15 2
kind 4 0
count 2 -1
name 3 -1
unset 2 0
small 5 0
reset 0 0
paint 0 -1
gather 0 -1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("core")
    kernels.module(HOST.target).save(made / "machine.o")
    return made


@pytest.fixture(scope="module")
def here(folder):
    HOST.build(folder / "core", HERE / "core_host.c", *SOURCES, folder / "machine.o",
               flags=(*INCLUDES, "-Wpedantic", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"))  # fmt: skip
    return HOST.run(folder / "core")


def test_kernels_are_found_and_launched_and_misuse_is_refused(here):
    assert here.startswith(EXPECTED), here  # 2 x + y sqrt(x) - floor(x) / (1 + i), in millionths
    assert here.endswith("bind 0 -1\nother 4 -1\nshort 5 -1\ndamaged 14\ndone\n"), here


def test_a_cortex_m4_gives_the_same(here, tmp_path):
    M4.need()
    kernels.module(M4.target).save(tmp_path / "machine.o")
    M4.build(tmp_path / "core", HERE / "core_host.c", *SOURCES, tmp_path / "machine.o", flags=(*INCLUDES, "-DMETATE_ONE_THREAD"))
    assert M4.run(tmp_path / "core") == here


def test_it_takes_less_than_12_kib_of_thumb_code(tmp_path):
    M4.need()
    total = 0
    for source in SOURCES:
        made = tmp_path / f"{source.stem}.o"
        run(*M4.compiler, "-std=c11", "-Os", *WARNINGS, "-Wpedantic", "-DMETATE_ONE_THREAD", *INCLUDES, "-c", source, "-o", made)
        text, data, bss = (int(word) for word in run("arm-none-eabi-size", made).splitlines()[1].split()[:3])
        assert data == bss == 0, f"{source.name} has variables"
        total += text
    print(f"core: {total} bytes")
    assert total <= 12 << 10
    undefined = {
        word for word in run("arm-none-eabi-nm", "-u", *tmp_path.glob("*.o")).split() if word not in ("U",) and ":" not in word
    }
    assert {name for name in undefined if not name.startswith(("__aeabi_", "metate_core_"))} <= {"memcpy", "memset", "memcmp"}


def test_it_judges_launches_as_libmetate_does(tmp_path):
    """Named extents, strides of any order and sign, members between each other's elements: one status from both."""
    core_kernels.module(HOST.target).save(tmp_path / "judged.o")
    HOST.build(tmp_path / "same", HERE / "core_same.c", *SOURCES, tmp_path / "judged.o", *LIBMETATE, flags=(*INCLUDES, "-g"))
    first, *met = HOST.run(tmp_path / "same", 40000, 7).splitlines()
    assert first == "n 2 to 12, by 2, then 0; fourth in 'sram'"
    met = {int(status): int(times) for status, times in (line.split(": ") for line in met)}
    assert set(met) == {0, 1, 2, 6, 15, 16} and min(met.values()) > 100, met  # OK, null, invalid, misaligned, alias, out of range


@pytest.mark.parametrize("name", ["machine", "judged"])
def test_damaged_descriptors_end_nothing(folder, name):
    if name == "judged":
        core_kernels.module(HOST.target).save(folder / "judged.o")
    run("clang-22", "-std=c11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *WARNINGS,
        f"-I{folder}", *INCLUDES, f'-DMODULE_HEADER="{name}.h"', f"-DMODULE={name}_module", HERE / "core_damage.c", *SOURCES,
        folder / f"{name}.o", "-lm", "-o", folder / "damage")  # fmt: skip
    opened = int(run(folder / "damage", 20000).split()[0])
    assert 5000 < opened < 19000, "about a quarter is not damaged at all"
    assert subprocess.run([folder / "damage", "1"], check=False).returncode == 0
