"""What gives each launch a value of its own, by the names that cached kernels have for them."""

from __future__ import annotations


def random_keys(holdings):
    """What gives each launch its key in a context; see context.RandomKeys."""
    return holdings.random_keys.next


PROVIDERS = {"random_keys": random_keys}
