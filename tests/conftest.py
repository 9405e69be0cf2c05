"""Fixtures shared by all Python tests: fresh random data for each run."""

import os

import numpy as np
import pytest

import metate as mt


@pytest.fixture
def rng():
    """A generator seeded afresh; pytest shows the seed when the test fails. METATE_TEST_SEED repeats one."""
    given = os.environ.get("METATE_TEST_SEED")
    seed = int(given) if given else int.from_bytes(os.urandom(4), "little")
    print(f"METATE_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True, scope="session")
def context():
    """METATE_TEST_INTERP=STAGE runs every kernel of the tests in the reference interpreter, as it is after that stage."""
    stage = os.environ.get("METATE_TEST_INTERP")
    if stage:
        mt.init(arch=mt.interp, interp_stage=stage)
