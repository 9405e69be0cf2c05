"""Fixtures shared by all Python tests."""

from random_data import rng  # noqa: F401
