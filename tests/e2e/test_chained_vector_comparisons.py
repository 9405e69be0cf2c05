"""`a < v < b` of vectors: component by component, as Taichi has it."""

import numpy as np

import metate as mt


def test_vectors_between_numbers_and_vectors():
    mt.init(arch=mt.cpu)
    x = np.array([[0.0, 0.5], [0.5, 2.0], [-1.0, 3.0], [1.0, 1.0]], np.float32)
    inside, which = np.zeros(4, np.int32), np.zeros((4, 2), np.int32)

    @mt.kernel
    def k(
        x: mt.types.ndarray(dtype=mt.types.vector(2, mt.f32), ndim=1),
        inside: mt.types.ndarray(dtype=mt.i32, ndim=1),
        which: mt.types.ndarray(dtype=mt.types.vector(2, mt.i32), ndim=1),
    ):
        for i in x:
            inside[i] = 1
            if not all(-0.1 <= x[i] <= 1.1):
                inside[i] = 0
            which[i] = mt.cast(0.25 < x[i] < mt.Vector([0.75, 2.5]) < 2.25, mt.i32)

    k(x, inside, which)
    np.testing.assert_array_equal(inside, ((x >= -0.1) & (x <= 1.1)).all(axis=1))
    np.testing.assert_array_equal(which, (x > 0.25) & (x < [0.75, 2.5]) & np.array([True, False]))
    mt.reset()
