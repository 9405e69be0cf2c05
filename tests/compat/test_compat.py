"""Taichi programs with only their import changed: each case computes what Taichi 1.7.4 computed (expected.json)."""

import importlib.util
import json
import os
import pathlib

import numpy as np
import pytest

import metate as ti

_FOLDER = pathlib.Path(__file__).resolve().parent
_SPEC = importlib.util.spec_from_file_location("compat_record", _FOLDER / "record.py")
record = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(record)

EXPECTED = json.loads((_FOLDER / "expected.json").read_text())
CASES = dict(record.cases())


@pytest.fixture(autouse=True)
def fresh_context():
    stage = os.environ.get("METATE_TEST_INTERP")
    ti.init(**({"arch": ti.interp, "interp_stage": stage} if stage else {"arch": ti.cpu}))
    yield
    ti.reset()


def test_every_case_is_recorded():
    assert list(CASES) == list(EXPECTED), "run record.py with the peers' Python"


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    """What differs on purpose has what is computed here as the case's attribute `ours`."""
    compare(record.plain(CASES[name](ti)), getattr(CASES[name], "ours", EXPECTED[name]))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if hasattr(case, "ours")])
def test_what_differs_on_purpose_says_so(name):
    assert CASES[name].ours != EXPECTED[name]
    assert CASES[name].__doc__.startswith("Differs: ")


def compare(found, expected):
    if isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected)
        for one, other in zip(found, expected):
            compare(one, other)
    elif isinstance(expected, dict):
        assert (found["dtype"], found["shape"]) == (expected["dtype"], expected["shape"])
        np.testing.assert_allclose(found["values"], expected["values"], rtol=2e-5, atol=1e-6)
    else:
        assert found == (expected if isinstance(expected, str) else pytest.approx(expected, rel=2e-5))
