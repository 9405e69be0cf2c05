"""Scatters that compute a block of iterations first, and add then: the numbers of one after the other."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as mt

ARRAY = mt.types.ndarray(mt.f64, 1)
INDICES = mt.types.ndarray(mt.i32, 1)


@pytest.fixture(autouse=True)
def begin():
    mt.init(default_fp=mt.f64)


@mt.kernel
def scatter(to: ARRAY, of: ARRAY, at: INDICES):
    mt.loop_config(serialize=True)
    for i in range(of.shape[0]):
        x = of[i]
        y = x * (x * (x * (x * (x + 0.5) - 0.25) + 0.125) - 2) / (1 + x * x)
        z = mt.sqrt(1 + x * x) * (x - 3) * (x + 7) * (x + 0.1)
        to[at[i]] += (y + z) * 0.01
        to[at[i] + 1] -= y * 0.02 * z


def expected(to, of, at):
    for i in range(len(of)):
        x = of[i]
        y = x * (x * (x * (x * (x + 0.5) - 0.25) + 0.125) - 2) / (1 + x * x)
        z = np.sqrt(1 + x * x) * (x - 3) * (x + 7) * (x + 0.1)
        to[at[i]] += (y + z) * 0.01
        to[at[i] + 1] -= y * 0.02 * z


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_additions_in_order(rng, count):
    of, at = rng.random(count), rng.integers(0, 8, count).astype(np.int32)
    found, wanted = np.zeros(9), np.zeros(9)
    scatter(found, of, at)
    expected(wanted, of, at)
    assert np.allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("shift", [0, 20])
def test_arrays_that_overlap_are_not_read_ahead(rng, shift):
    """What is added to is read by later iterations."""
    memory, at = rng.random(600), rng.integers(0, 500, 500).astype(np.int32)
    wanted = memory.copy()
    scatter(memory[:520], memory[shift : shift + 500], at)
    expected(wanted[:520], wanted[shift : shift + 500], at)
    assert np.allclose(memory, wanted, rtol=1e-9)


def test_particles(rng):
    """Copies of pieces: mass and momentum side by side, by run-time loops."""
    count, n = 5000, 16
    x = mt.Vector.field(2, mt.f64, count)
    mass, momentum = mt.field(mt.f64, (n, n)), mt.Vector.field(2, mt.f64, (n, n))
    positions = rng.random((count, 2)) * 0.6 + 0.2
    x.from_numpy(positions)

    @mt.kernel
    def add():
        for p in x:
            base = mt.cast(x[p] * n - 0.5, mt.i32)
            fx = x[p] * n - mt.cast(base, mt.f64)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in mt.static(mt.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                mass[base + mt.Vector([i, j])] += weight
                momentum[base + mt.Vector([i, j])] += weight * x[p]

    add()
    wanted = np.zeros((n, n, 3))
    base = (positions * n - 0.5).astype(int)
    fx = positions * n - base
    w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
    for i in range(3):
        for j in range(3):
            weight = w[i][:, 0] * w[j][:, 1]
            parts = np.stack([weight, weight * positions[:, 0], weight * positions[:, 1]], 1)
            np.add.at(wanted, (base[:, 0] + i, base[:, 1] + j), parts)
    assert np.allclose(mass.to_numpy(), wanted[..., 0]) and np.allclose(momentum.to_numpy(), wanted[..., 1:])
    assert ARCH or "is computed first, and added then" in str(add.report())
