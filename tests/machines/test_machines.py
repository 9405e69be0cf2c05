"""Objects for other machines, run on emulated ones: by their direct entries they give the bits that this machine's code gives.

What a target cannot do yet stands in expected_failures.toml.
"""

import pathlib
import re
import sys
import tomllib

import pytest

import metate as mt
from metate import cli
from metate.errors import CompilationError

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import machine_kernels as kernels  # noqa: E402
from machines import HOST, MACHINES, Machine, run  # noqa: E402

CASES = ("dense", "matrices", "doubles", "integers", "narrow", "largest", "histogram", "packed", "raised", "session", "reset",
         "paint", "erase", "full", "quantised", "stop", "beyond", "say", "told", "recurse", "steps", "done")  # fmt: skip
EXPECTED_FAILURES = tomllib.loads((HERE / "expected_failures.toml").read_text()).get("group", [])


def lines_of(machine: Machine, folder: pathlib.Path) -> dict[str, str]:
    """What the program prints, by the first word of each line."""
    machine.need()
    kernels.module(machine.target).save(folder / "machine.o")
    kernels.careful(machine.target).save(folder / "careful.o")
    machine.build(folder / "program", HERE / "host.c", folder / "machine.o", folder / "careful.o")
    text = machine.run(folder / "program")
    return {line.split(" ", 1)[0]: line for line in text.splitlines()}


@pytest.fixture(scope="session")
def here(tmp_path_factory):
    return lines_of(HOST, tmp_path_factory.mktemp("host"))


def expected_to_fail(target: str) -> set[str]:
    return {case for group in EXPECTED_FAILURES if target in group["targets"] for case in group["cases"]}


@pytest.mark.parametrize("target", MACHINES)
def test_the_same_bits_as_here(here, target, tmp_path):
    assert tuple(here) == CASES
    there = lines_of(MACHINES[target], tmp_path)
    differing = {case for case in CASES if there.get(case) != here[case]}
    shown = "\n".join(f"here  {here[case]}\nthere {there.get(case)}" for case in differing)
    assert differing == expected_to_fail(target), f"{target}: differs beyond or less than expected_failures.toml says\n{shown}"


def test_the_header_lists_what_a_program_without_a_system_brings(tmp_path):
    """By name, what the object leaves undefined; of a file for a system as well, for any."""
    machine = MACHINES["thumbv7em-none-eabi"]
    machine.need()
    kernels.module(machine.target).save(tmp_path / "machine.o")
    head = (tmp_path / "machine.h").read_text().partition("*/")[0]
    undefined = {line.split()[1] for line in run("arm-none-eabi-nm", "-u", tmp_path / "machine.o").splitlines() if " U " in line}
    named = set(re.findall(r"\w+", "".join(re.findall(r"^ \*   of .*?:((?: \w+,?\n?(?: \*    )?)+)", head, re.M))))
    assert named == undefined and {"__aeabi_uldivmod", "__aeabi_fadd"} <= named
    assert "for one thread" in head


def test_memory_for_one_header_of_several_targets_is_enough_for_each(tmp_path):
    bytes_of = {}
    for name, targets in {"bare": ["thumbv7em"], "both": ["thumbv7em", "x86-64"], "system": ["x86-64"]}.items():
        mt.aot.Module(targets=targets, name=name).add_type(kernels.Sparse, "t").add_kernel(kernels.dense).save(
            tmp_path / f"{name}.o"
        )
        bytes_of[name] = int(re.search(r"_t_BYTES UINT64_C\((\d+)\)", (tmp_path / f"{name}.h").read_text())[1])
    assert bytes_of["bare"] < bytes_of["both"] == bytes_of["system"]


def test_what_has_no_loader_has_no_module_file(tmp_path):
    with pytest.raises(CompilationError, match=r"needs a Linux target .* got 'thumbv7em-unknown-none-eabi': save an object file"):
        mt.aot.Module(targets=["thumbv7em"]).add_kernel(kernels.dense).save(tmp_path / "x.metate")
    with pytest.raises(CompilationError, match=r"unknown target 'thumbv9'; expected native, .*thumbv7em-none-eabi, .*wasm32"):
        mt.aot.Module(targets=["thumbv9"]).add_kernel(kernels.dense).save(tmp_path / "x.o")
    with pytest.raises(CompilationError, match=r"unknown CPU 'cortex-m99' for target 'thumbv7em"):
        mt.aot.Module(targets=["thumbv7em:cortex-m99"]).add_kernel(kernels.dense).save(tmp_path / "x.o")


def test_targets_are_listed_and_parse(capsys):
    listed = {target.name: target for target in mt.aot.targets()}
    assert set(MACHINES) | {"x86-64", "wasm32", "cuda", "vulkan"} <= set(listed)
    assert listed["riscv64"].carriers == ("metate", "so", "o", "a") and listed["thumbv7em-none-eabi"].carriers == ("o", "a")
    assert cli.main(["targets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(listed) and any(line.startswith("wasm32 ") and "WebAssembly" in line for line in lines)
    for target in MACHINES:
        mt.aot.Module(targets=[target]).add_kernel(kernels.dense).build_static()


def test_expected_failures_name_cases_and_targets():
    for group in EXPECTED_FAILURES:
        assert set(group) == {"reason", "targets", "cases"} and len(group["reason"]) > 20
        assert set(group["targets"]) <= {*MACHINES, "wasm32"} and set(group["cases"]) <= set(CASES)


@pytest.mark.parametrize("target", ["riscv64", "thumbv7em-none-eabihf", "wasm32"])
def test_explain_shows_code_for_it(target, tmp_path):
    """Instructions of each function; of WebAssembly the loops alone."""
    page = tmp_path / "page.html"
    status = cli.main(["explain", "--target", target, "--kernel", "dense", "-o", str(page), str(HERE / "machine_kernels.py")])
    assert status == (2 if expected_to_fail(target) else 0)  # of the whole file a kernel does not compile; the page is there
    shown = page.read_text()
    found = {"riscv64": "fmadd.s|fmul.s", "thumbv7em-none-eabihf": "vmul.f32|vfma.f32"}.get(target)
    assert "metate_entry_dense" in shown and (found is None or re.search(found, shown))
