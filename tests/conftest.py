"""Fixtures shared by all Python tests: random data that are the same in every run (seeded.py)."""

import os

import hypothesis
import pytest
import seeded

import metate as mt

hypothesis.settings.register_profile("suite", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("long", database=None, deadline=None, print_blob=True)


@pytest.fixture
def rng(request):
    """A generator that depends on the test's name; METATE_TEST_SEED=N gives other data."""
    return seeded.generator(request.node.nodeid)


def pytest_configure(config):
    hypothesis.settings.load_profile("long" if seeded.seed() else "suite")


def pytest_report_header(config):
    return f"METATE_TEST_SEED={seeded.seed()}"


@pytest.fixture(autouse=True, scope="session")
def context():
    """METATE_TEST_INTERP=STAGE runs every kernel of the tests in the reference interpreter, as it is after that stage."""
    stage = os.environ.get("METATE_TEST_INTERP")
    if stage:
        mt.init(arch=mt.interp, interp_stage=stage)
