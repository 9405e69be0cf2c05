"""Ways in which a kernel is compiled and run, all with the same results: options of an mt.Context.

A test that runs a kernel in several ways takes them from here, so that a new optimisation is a name in its `without`.
"""

import os

import metate as mt

PLAIN: dict = {}
UNOPTIMISED = {"opt_level": 0}
PIECES = {"threads": 4, "chunk_ns": 0}  # many small pieces on four workers
# The reference interpreter: of the kernel as it was written, and as it is before layout.
INTERPRETED = {"interp": {"arch": mt.interp}, "interp-offload": {"arch": mt.interp, "interp_stage": "offload"}}


def without(*options: str) -> tuple[dict, ...]:
    """PLAIN, and for each of these optimisations a way that leaves it out."""
    return (PLAIN, *({option: False} for option in options))


def distinct(*ways: dict) -> tuple[dict, ...]:
    """All of them; where METATE_TEST_INTERP has every kernel interpreted the first, since options of the code change nothing."""
    return ways[:1] if "METATE_TEST_INTERP" in os.environ else ways
