"""C source on emulated machines of 32 bits: as C99, without a C library's headers, it gives the bits of the objects.

One file for all of them. No heap, no abort and no exit: what the files leave undefined is on the list of what objects may.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "aot"))
import machine_kernels as kernels  # noqa: E402
import test_machines  # noqa: E402
import test_pools  # noqa: E402
from machines import HOST, MACHINES, WARNINGS, Machine, run  # noqa: E402

CASES = test_machines.CASES
STRICT = ("-std=c99", *WARNINGS, "-Wpedantic", "-O1")
BARE = [name for name in MACHINES if name.startswith("thumb")]
# Of the C library, of its libm, and of the compiler's run-time library (docs/manual/modules.md).
ALLOWED = re.compile(
    r"mem(cpy|move|set)|__aeabi_\w+|__(clz|ctz|popcount)[sd]i2|(ceil|copysign|fabs|floor|fma|fmod|rint|round|sqrt|trunc)f?|TVMFFI\w+"
)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return test_machines.lines_of(HOST, tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """machine.c and careful.c."""
    folder = tmp_path_factory.mktemp("source")
    kernels.module("thumbv7em").save(folder / "machine.c")
    kernels.careful("thumbv7em").save(folder / "careful.c")
    return folder


def compiled(machine: Machine, file: pathlib.Path, folder: pathlib.Path, *flags, compiler=()) -> pathlib.Path:
    made = folder / file.with_suffix(".o").name
    run(*(compiler or machine.compiler), *STRICT, *flags, f"-I{file.parent}", "-c", file, "-o", made)
    return made


def lines_of(machine: Machine, source: pathlib.Path, folder: pathlib.Path, compiler=()) -> dict[str, str]:
    machine.need()
    objects = [compiled(machine, source / name, folder, compiler=compiler) for name in ("machine.c", "careful.c")]
    for one in objects if machine.target in BARE else ():
        expect_undefined(one)
    machine.build(folder / "program", HERE / "host.c", *objects, flags=(f"-I{source}",))
    text = machine.run(folder / "program")
    return {line.split(" ", 1)[0]: line for line in text.splitlines()}


def expect_undefined(made: pathlib.Path):
    undefined = {line.split()[-1] for line in run("arm-none-eabi-nm", "-u", made).splitlines()}
    assert not [name for name in undefined if not ALLOWED.fullmatch(name)], undefined


def expect_as(here, there):
    shown = "\n".join(f"here  {here[case]}\nthere {there.get(case)}" for case in CASES if there.get(case) != here[case])
    assert not shown, shown


@pytest.mark.parametrize("target", BARE)
def test_the_same_bits_as_objects(here, source, target, tmp_path):
    expect_as(here, lines_of(MACHINES[target], source, tmp_path))


def test_one_file_is_for_64_bits_as_well(here, source, tmp_path):
    expect_as(here, lines_of(HOST, source, tmp_path))


def test_for_any_machine_is_for_these_too(tmp_path):
    """Atomic operations are none on a machine of Arm's that has one thread; memory is for as many workers as elsewhere."""
    machine = MACHINES["thumbv8m.main-none-eabihf"]
    machine.need()
    expect_undefined(compiled(machine, kernels.module("c").save(tmp_path / "machine.c"), tmp_path))


def test_clang_takes_it(here, source, tmp_path):
    if not shutil.which("clang-22"):
        pytest.skip("clang-22 is not installed: scripts/setup installs it")
    machine = MACHINES["thumbv7em-none-eabihf"]
    flags = ["-fshort-enums", *machine.compiler[1:]]  # as the ABI's other compiler has them
    expect_as(here, lines_of(machine, source, tmp_path, compiler=("clang-22", "--target=thumbv7em-none-eabihf", *flags)))
    compiled(machine, source / "machine.c", tmp_path, compiler=("clang-22", "--target=wasm32", "-ffreestanding"))


def test_an_array_of_pools_is_of_this_machines_pointers(tmp_path):
    """The second pool's address is the second pointer, which is 4 bytes behind the first or 8."""
    from metate_native import _compiler

    module, choices = _compiler.SourceModule("pools"), test_pools.choices()
    module.parse(f"module @pools {{\n{test_pools.TEXT}\n}}")
    choices.targets = ["c:bare"]
    header, (source,) = _compiler.build_static(module, choices)
    (tmp_path / "pools.h").write_text(header)
    (tmp_path / "pools.c").write_bytes(source)
    shown = []
    for machine in (HOST, MACHINES["thumbv7em-none-eabi"]):
        machine.need()
        made = compiled(machine, tmp_path / "pools.c", tmp_path)
        machine.build(tmp_path / "program", HERE / "pools_board.c", made)
        shown.append(machine.run(tmp_path / "program"))
    k = np.arange(40)
    wanted = test_pools.mirrored((0.25 * (k * k % 97)).astype("f4"))
    words = "".join(f" {bits:08x}" for bits in wanted.view("u4"))
    assert shown == [f"direct 0{words}\npacked 0{words}\n"] * 2


def test_what_is_left_out(source, tmp_path):
    """METATE_NO_PACKED: direct entries alone. Of a kernel of three lines the file is some tens of kilobytes."""
    compiled(HOST, source / "machine.c", tmp_path, "-DMETATE_NO_PACKED")
    names = {line.split()[-1] for line in run("nm", "--defined-only", "-g", tmp_path / "machine.o").splitlines()}
    assert "machine_dense" in names and not [name for name in names if name.startswith("__tvm_ffi")]
    small = (source / "careful.c").read_text()
    print(f"careful.c: {len(small)} bytes, machine.c: {(source / 'machine.c').stat().st_size} bytes")
    assert len(small) < 84 << 10
    for line in small.splitlines():
        assert not re.match(r"(static|typedef) .*\b(?!metate|METATE)\w+\($", line), line


def test_a_machine_of_another_order_is_refused(source):
    done = subprocess.run([*MACHINES[BARE[0]].compiler, "-mbig-endian", "-std=c99", f"-I{source}", "-c", source / "careful.c",
                           "-o", "/dev/null"], capture_output=True, text=True)  # fmt: skip
    assert done.returncode and "this file is for little-endian machines" in done.stderr
