"""The list of tests that cannot pass on devices: every line names a test, and is read as it is written."""

import os
import pathlib
import subprocess
import sys

import device_tests
import pytest
from device_tests import Group

from metate import devices

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def collected():
    """Ids of all tests of the files that are on the list."""
    files = sorted({test.partition("::")[0] for group in device_tests.groups() for test in group.tests})
    command = (sys.executable, "-m", "pytest", "-q", "--collect-only", *(file for file in files if (ROOT / file).exists()))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.parametrize("group", device_tests.groups(), ids=lambda group: group.reason[:40])
def test_every_line_names_a_test(collected, group):
    known = {*collected, *(test.partition("[")[0] for test in collected)}
    assert [test for test in group.tests if test not in known] == [], "these tests are not there: mend or delete the lines"
    assert group.tests and len(group.reason) > 20 and not group.reason.endswith(".")
    assert set(group.archs) <= set(devices.ARCHS) - {devices.GPU}


def test_a_test_is_on_the_list_once():
    tests = [(test, arch) for group in device_tests.groups() for test in group.tests for arch in group.archs or devices.ARCHS]
    assert len(tests) == len(set(tests))


class Item:
    def __init__(self, nodeid):
        self.nodeid, self.marks = nodeid, []

    def add_marker(self, mark):
        self.marks.append((mark.name, mark.kwargs.get("strict")))


def test_what_a_line_says_of_tests(monkeypatch):
    said = [
        Group("one", ("f.py::a", "f.py::b[1]")),
        Group("two", ("f.py::c",), strict=False),
        Group("three", ("f.py::d",), archs=("cuda",), skip=True),
    ]
    monkeypatch.setattr(device_tests, "groups", lambda: said)
    names = ("a", "a[x-2]", "ab", "b[1]", "b[2]", "c", "d")

    def marks(arch):
        items = [Item(f"f.py::{name}") for name in names]
        device_tests.mark(items, arch)
        return {item.nodeid.removeprefix("f.py::"): item.marks for item in items if item.marks}

    always = {"a": [("xfail", True)], "a[x-2]": [("xfail", True)], "b[1]": [("xfail", True)], "c": [("xfail", False)]}
    assert marks("simt") == always
    assert marks("cuda") == {**always, "d": [("skip", None)]}
