"""Random numbers of tests: the same in every run, so that a suite which passed passes again. METATE_TEST_SEED gives others: a
long run draws one and prints it (scripts/test --long), and given again it repeats that run."""

import os
import zlib

import numpy as np


def seed() -> int:
    """What METATE_TEST_SEED says; 0 without it."""
    return int(os.environ.get("METATE_TEST_SEED") or 0)


def generator(name: str) -> np.random.Generator:
    """A generator of its own for each name, such as the test's: what others draw does not change what it gives."""
    return np.random.default_rng([seed(), zlib.crc32(name.encode())])
