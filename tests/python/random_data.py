"""Fresh random data for each run, and the seed printed so that a failure can be repeated."""

import os

import numpy as np
import pytest


def fresh_seed() -> int:
    """The seed in METATE_TEST_SEED, or a new one."""
    given = os.environ.get("METATE_TEST_SEED")
    return int(given) if given else int.from_bytes(os.urandom(4), "little")


@pytest.fixture
def rng():
    """A generator seeded afresh; pytest shows the line when the test fails."""
    seed = fresh_seed()
    print(f"METATE_TEST_SEED={seed}")
    return np.random.default_rng(seed)
