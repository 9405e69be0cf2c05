"""Objects for other machines, run on emulated ones: by their direct entries they give the bits that this machine's code gives.

What a target cannot do yet stands in expected_failures.toml.
"""

import pathlib
import sys
import tomllib

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import machine_kernels as kernels  # noqa: E402
from machines import HOST, MACHINES, Machine  # noqa: E402

CASES = ("dense", "matrices", "doubles", "integers", "narrow", "histogram", "reset", "paint", "erase", "full", "quantised",
         "stop", "beyond", "say", "told", "recurse", "steps", "done")  # fmt: skip
EXPECTED_FAILURES = tomllib.loads((HERE / "expected_failures.toml").read_text()).get("group", [])


def lines_of(machine: Machine, folder: pathlib.Path) -> dict[str, str]:
    """What the program prints, by the first word of each line."""
    machine.need()
    kernels.module(machine.target).save(folder / "machine.o")
    machine.build(folder / "program", HERE / "host.c", folder / "machine.o")
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


def test_expected_failures_name_cases_and_targets():
    for group in EXPECTED_FAILURES:
        assert set(group) == {"reason", "targets", "cases"} and len(group["reason"]) > 20
        assert set(group["targets"]) <= {*MACHINES, "wasm32"} and set(group["cases"]) <= set(CASES)
