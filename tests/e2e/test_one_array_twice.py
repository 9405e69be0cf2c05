"""Calls that give one array for two arguments: compiled for that once, and found again without a failed launch."""

import gc
import weakref

import numpy as np
import pytest

import metate as mt

A = mt.types.ndarray(dtype=mt.f32, ndim=1)


@pytest.fixture(autouse=True)
def _run():
    mt.init(arch=mt.cpu)
    yield
    mt.reset()


def _prefix():
    @mt.kernel
    def prefix(n: mt.i32, m: mt.i32, x: A, y: A):
        mt.loop_config(serialize=True)
        for i in range(1, 8):
            y[i] = x[i - 1] + n - m

    return prefix


@pytest.mark.parametrize("make", [lambda: np.zeros(8, np.float32), lambda: mt.ndarray(mt.f32, 8)])
def test_calls_with_one_array_and_with_two(make):
    prefix, one, other = _prefix(), make(), make()
    numbers = lambda x: x if isinstance(x, np.ndarray) else x.to_numpy()
    for _ in range(3):
        one.fill(0)
        other.fill(0)
        prefix(2, 1, one, other)
        np.testing.assert_array_equal(numbers(other), [0, *[1] * 7])
        prefix(2, 1, one, one)
        np.testing.assert_array_equal(numbers(one), np.arange(8))
        prefix(1, 1, one, other)  # equal numbers are no arrays
        np.testing.assert_array_equal(numbers(other), [0, *range(7)])
    assert sorted(one.may_alias for one in prefix.instances()) == [False, True]
    assert [(i, j) for i, j, _ in prefix._same.values()] == [(2, 3)]


def test_later_calls_do_not_fail_first(monkeypatch):
    prefix, x, failures = _prefix(), np.zeros(8, np.float32), []
    was = type(prefix)._failed
    monkeypatch.setattr(type(prefix), "_failed", lambda self, *given: failures.append(1) or was(self, *given))
    for _ in range(5):
        x[:] = 0
        prefix(2, 1, x, x)
        np.testing.assert_array_equal(x, np.arange(8))
    assert len(failures) == 1
    prefix(2, 1, x, x[:])  # another object over the same memory
    assert len(failures) == 2


def test_the_found_code_goes_with_its_context():
    prefix, x = _prefix(), np.zeros(8, np.float32)
    for _ in range(3):
        prefix(2, 1, x, x)
    mt.reset()
    gc.collect()
    assert not prefix._same
    prefix(2, 1, x, x)
    prefix(2, 1, x, x)
    kept = weakref.ref(prefix)
    del prefix
    gc.collect()
    assert kept() is None
