"""Reports of code for devices: sizes, and of CUDA what ptxas says. No device is needed."""

import re

import numpy as np
import ptxas
import pytest

import metate as mt
from metate.cli import main

PROGRAM = """\
import metate as mt


@mt.kernel
def scale(x: mt.types.ndarray(dtype=mt.f32, ndim=1), by: mt.f32) -> mt.f32:
    total = 0.0
    for i in x:
        x[i] *= by
    for i in x:
        total += x[i]
    return total
"""
# What ptxas 12 says of each entry function; the second property is of a function that it calls.
PTXAS = """\
#!/bin/sh
for word; do input=$word; done
while [ "$1" != -o ]; do [ "$1" = -v ] && told=1; shift; done
cp {elf} "$2"
[ "$told" ] || exit 0
echo "ptxas info    : 0 bytes gmem"
for name in $(sed -n 's/.*[.]entry \\([^(]*\\)(.*/\\1/p' "$input"); do
    echo "ptxas info    : Compiling entry function '$name' for 'sm_80'"
    echo "ptxas info    : Function properties for $name"
    echo "    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads"
    echo "ptxas info    : Used 27 registers, used 1 barriers, 512 bytes smem, 384 bytes cmem[0]"
    echo "ptxas info    : Function properties for helper"
    echo "    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads"
done
"""


@pytest.fixture
def scale(tmp_path):
    names = {}
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    exec(compile(PROGRAM, file, "exec"), names)
    return names["scale"]


@pytest.fixture
def no_ptxas(monkeypatch):
    monkeypatch.setenv("METATE_PTXAS", "")


def tasks(code):
    """The functions of the kernel's two loops at least, each named once."""
    names = [one.name for one in code]
    assert len(names) >= 2 and len(set(names)) == len(names) and all("scale" in name for name in names)
    return code


def test_simt_has_bytes(scale):
    report = scale.report(target="simt")
    assert all(one.bytes > 0 and one.numbers == {} for one in tasks(report.code))
    assert f"  code: {sum(one.bytes for one in report.code)} bytes in {len(report.code)} functions" in str(report).splitlines()
    assert all(f"    {one.name}: {one.bytes} bytes" in str(report).splitlines() for one in report.code)


def test_vulkan_has_words_and_instructions(scale):
    for one in tasks(scale.report(target="vulkan").code):
        assert one.bytes == 4 * one.numbers["words"] and one.numbers["words"] > 2 * one.numbers["instructions"] > 20


def test_a_larger_function_has_more(scale):
    def of(unrolled):
        @mt.kernel
        def many(x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
            for i in x:
                for k in mt.static(range(unrolled)):
                    x[i] = x[i] * x[i] + k

        return many

    for target, number in (("vulkan", lambda one: one.numbers["instructions"]), ("simt", lambda one: one.bytes)):
        few, more = (max(map(number, of(count).report(target=target).code)) for count in (1, 50))
        assert more > few + 50


def test_cuda_without_an_assembler_has_instructions_of_ptx(scale, no_ptxas):
    report = scale.report(target="cuda:compute_80")
    for one in tasks(report.code):
        assert one.bytes == 0 and list(one.numbers) == ["instructions of PTX"] and one.numbers["instructions of PTX"] > 5
        assert f"    {one.name}: {one.numbers['instructions of PTX']} instructions of PTX" in str(report).splitlines()


@pytest.mark.parametrize("target", ["cuda:compute_80", "cuda:sm_80"])
def test_cuda_has_what_the_assembler_says(scale, monkeypatch, tmp_path, target):
    with mt.Context():
        elf = mt.aot.Module().add_kernel(scale).save(tmp_path / "m.o")
    script = tmp_path / "ptxas"
    script.write_text(PTXAS.format(elf=elf))
    script.chmod(0o755)
    monkeypatch.setenv("METATE_PTXAS", str(script))
    said = {
        "bytes of stack": 16, "bytes spilled": 24, "bytes reloaded": 32, "registers": 27, "bytes of shared memory": 512,
    }  # fmt: skip
    assert all(one.numbers == said for one in tasks(scale.report(target=target).code))


def test_the_assembler_of_this_machine_is_understood(scale):
    assert ptxas.find(), "no ptxas: scripts/setup installs NVIDIA's package with one"
    for one in tasks(scale.report(target="cuda:compute_80").code):
        assert one.bytes > 0 and 0 < one.numbers["registers"] < 256
        assert (one.numbers["bytes spilled"], one.numbers["bytes reloaded"]) == (0, 0)


def test_an_assembler_that_writes_nothing_is_an_error(scale, monkeypatch):
    monkeypatch.setenv("METATE_PTXAS", "/bin/true")
    with pytest.raises(mt.CompilationError, match=r"ptxas \(/bin/true\) has written no code"):
        scale.report(target="cuda:sm_80")


def test_the_page_has_the_numbers(tmp_path, no_ptxas, capsys):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    assert main(["explain", "--target", "cuda:compute_80", "-o", str(tmp_path / "page.html"), str(file)]) == 0
    assert re.search(r'\["","\d+ instructions of PTX",""\]', (tmp_path / "page.html").read_text())


def test_the_cpu_has_instructions(scale):
    report = scale.report(np.ones(3, np.float32), 2.0, target="x86-64-v3")
    assert all(one.instructions and one.numbers == {} for one in report.code if one.bytes)
    assert not any(line.startswith(f"    {one.name}:") for one in report.code for line in str(report).splitlines())
