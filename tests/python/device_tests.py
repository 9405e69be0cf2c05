"""Tests on another machine than the CPU: METATE_TEST_ARCH=ARCH has the Python tests run there; what cannot pass is on a list."""

import dataclasses
import os
import pathlib
import sys
import tomllib

import metate as mt

ARCH = os.environ.get("METATE_TEST_ARCH")
TESTS = pathlib.Path(__file__).resolve().parents[1]
IN_ORDER = ARCH in (None, "simt")  # one worker, or one of the device's threads, runs iterations one after the other
LIST = TESTS / "devices" / "expected_failures.toml"
E2E = TESTS / "e2e"


def stand_in() -> None:
    """What files of tests/e2e make for this machine's CPU, by `mt.Context(...)` or `mt.init(...)`, is made for ARCH: kernels run
    there, and fields lie there. Those of tests/e2e/test_devices*.py, which compare both, get what they ask for."""
    make, start = mt.Context.__init__, mt.init

    def is_meant(arch, options):
        file = pathlib.Path(sys._getframe(2).f_code.co_filename)
        return (
            file.parent == E2E and not file.name.startswith("test_devices") and arch in (None, mt.cpu) and not options.get("cpu")
        )

    def __init__(self, arch=None, **options):
        make(self, ARCH if is_meant(arch, options) else arch, **options)

    def init(arch=None, **options):
        here = {"arch": ARCH, "enable_fallback": False} if is_meant(arch, options) else {"arch": arch}
        start(**here, **options)

    __init__.__kwdefaults__ = make.__kwdefaults__  # by which the options of mt.init are known
    mt.Context.__init__, mt.init = __init__, init


@dataclasses.dataclass(frozen=True)
class Group:
    """Tests that fail for one reason; `archs` without any: on every device."""

    reason: str
    tests: tuple[str, ...]
    archs: tuple[str, ...] = ()
    strict: bool = True
    skip: bool = False

    def names(self, node_id: str) -> bool:
        return node_id in self.tests or node_id.partition("[")[0] in self.tests


def groups(path: pathlib.Path = LIST) -> list[Group]:
    """The list of tests that cannot pass on devices; an unknown field is an error."""
    with path.open("rb") as file:
        found = tomllib.load(file)["group"]
    return [Group(**{**one, "tests": tuple(one["tests"]), "archs": tuple(one.get("archs", ()))}) for one in found]


def mark(items, arch: str) -> None:
    """Marks what the list says of an arch: xfail, or skip where it must not run."""
    import pytest

    of_arch = [group for group in groups() if arch in group.archs or not group.archs]
    for item in items:
        for group in of_arch:
            if group.names(item.nodeid):
                reason = f"on {arch}: {group.reason}"
                item.add_marker(pytest.mark.skip(reason) if group.skip else pytest.mark.xfail(reason=reason, strict=group.strict))
