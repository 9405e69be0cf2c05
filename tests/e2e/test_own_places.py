"""Atomic operations that become plain accesses, since no other iteration is at their place or nobody runs beside them."""

import numpy as np

import metate as ti

array = ti.types.ndarray


def test_augmented_assignments_without_atomics(rng):
    n = 96

    @ti.kernel
    def run(
        a: array(ti.i32, 2), turned: array(ti.i32, 2), pairs: array(ti.i32, 1), digits: array(ti.i32, 1), bins: array(ti.i32, 1)
    ) -> ti.i64:
        for i, j in a:
            turned[j, n - 1 - i] += a[i, j]  # owned
            digits[i * 128 + j + 3] += a[i, j]
            pairs[2 * i] += a[i, j]  # shared by a row
            pairs[2 * i + 1] -= a[i, j]
        total = ti.i64(0)
        ti.loop_config(serialize=True)
        for i in range(n):
            for j in range(n):
                bins[a[i, j] % 7] += 1
                total += ti.atomic_max(bins[7], a[i, j])
        return total

    a = rng.integers(0, 1000, (n, n)).astype(np.int32)
    turned, pairs = np.ones((n, n), np.int32), np.zeros(2 * n, np.int32)
    digits, bins = np.zeros(n * 128, np.int32), np.zeros(8, np.int32)
    total = run(a, turned, pairs, digits, bins)
    np.testing.assert_array_equal(turned, 1 + np.rot90(a, -1))
    np.testing.assert_array_equal(digits[: (n - 1) * 128 + n + 3][3:][:n], a[0])
    np.testing.assert_array_equal(digits[3 : 3 + 128 * (n - 1)].reshape(n - 1, 128)[:, :n], a[:-1])
    np.testing.assert_array_equal(pairs.reshape(n, 2), np.stack([a.sum(1), -a.sum(1)], 1))
    np.testing.assert_array_equal(bins[:7], np.bincount(a.ravel() % 7, minlength=7))
    assert total == np.concatenate([[0], np.maximum.accumulate(a.ravel())[:-1]]).astype(np.int64).sum()
