"""Tests on another machine than the CPU: METATE_TEST_ARCH=ARCH has the Python tests run there; what cannot pass is on a list."""

import dataclasses
import os
import pathlib
import tomllib

import metate as mt

ARCH = os.environ.get("METATE_TEST_ARCH")
LIST = pathlib.Path(__file__).resolve().parents[1] / "devices" / "expected_failures.toml"


def context(**options):
    """A context with options of its own on the machine that the tests run on; their fields lie there."""
    return mt.Context(**({"arch": ARCH} if ARCH else {}), **options)


def init(**options):
    """mt.init on the machine that the tests run on."""
    mt.init(**({"arch": ARCH, "enable_fallback": False} if ARCH else {}), **options)


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
