"""Rows of docs/manual/coming-from-taichi.md whose behaviour no other test has."""

import numpy as np
import pytest

import metate as ti

PAIRS = ti.types.ndarray(ti.math.vec2, 1)


@ti.kernel
def drawn(x: ti.types.ndarray(ti.i32, 1), numbers: PAIRS, halves: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        held = x[i] > 0 and ti.random() >= 0
        chosen = ti.random() if x[i] > 0 else -1.0
        numbers[i] = [chosen, ti.random()]
        x[i] = 2 * x[i] + held
    for i in halves:
        halves[i] *= 0.5


@pytest.mark.parametrize("arch", [ti.cpu, ti.interp], ids=str)
def test_the_right_side_draws_no_numbers_where_it_is_not_needed_and_subnormals_stay(arch):
    x, numbers = np.array([0, 1], np.int32), np.zeros((2, 2), np.float32)
    halves = np.array([1.5e-38, 2.0**-149, 3.0], np.float32)
    with ti.Context(arch, random_seed=5):
        drawn(x, numbers, halves)
    assert x.tolist() == [0, 3] and numbers[0, 0] == -1 and numbers[1, 0] >= 0
    only = np.zeros((2, 2), np.float32)
    with ti.Context(arch, random_seed=5):
        drawn(np.zeros(2, np.int32), only, np.zeros(1, np.float32))
    # The iteration whose right sides were not evaluated drew the same last number as where none was.
    assert numbers[0, 1] == only[0, 1] and numbers[1, 1] != only[1, 1]
    assert 0 < halves[0] < 1.1754944e-38 and halves[1] == 0 and halves[2] == 1.5


@ti.kernel
def decompose(A: ti.types.matrix(2, 2, ti.f64)) -> (ti.f64, ti.f64):
    U, S, V = ti.svd(A)
    return (U @ S @ V.transpose() - A).norm(), (S[0, 0] * S[1, 1])


def test_svd_keeps_small_entries_off_the_diagonal():
    off, product = decompose([[1.0, 1e-6], [2e-6, 1.0]])
    assert off < 1e-15 and abs(product - (1 - 2e-12)) < 1e-15
