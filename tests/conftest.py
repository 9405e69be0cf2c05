"""Fixtures shared by all Python tests: fresh random data for each run."""

import os

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A generator seeded afresh; pytest shows the seed when the test fails. METATE_TEST_SEED repeats one."""
    given = os.environ.get("METATE_TEST_SEED")
    seed = int(given) if given else int.from_bytes(os.urandom(4), "little")
    print(f"METATE_TEST_SEED={seed}")
    return np.random.default_rng(seed)
