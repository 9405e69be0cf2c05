"""Square roots of f32 and their inverses on a device: correctly rounded, of all numbers there are (all of them on a GPU)."""

import device_tests
import numpy as np

import metate as mt

ARCH = device_tests.ARCH or mt.simt
WORDS = mt.types.ndarray(mt.u32, 1)
# Zeros, the least and greatest subnormal and normal numbers, both sides of 2^-101 and 2^-100, infinities, NaNs, negative numbers.
EDGES = [0, 1, 2, 0x7FFFFF, 0x800000, 0xCFFFFFF, 0xD000000, 0xD7FFFFF, 0xD800000, 0x3F7FFFFF, 0x3F800000, 0x7F7FFFFF, 0x7F800000]
EDGES += [0x7F800001, 0x7FC00000, 0x80000000, 0x80000001, 0x80800000, 0xBF800000, 0xFF7FFFFF, 0xFF800000, 0xFFC00000]


@mt.kernel
def count_wrong(first: mt.i64, count: mt.i64) -> mt.i64:
    """Of the numbers with these bits. f64 has enough digits that rounding twice is rounding once."""
    wrong = mt.i64(0)
    for k in range(count):
        x = mt.bit_cast(mt.u32(first + k), mt.f32)
        root = mt.sqrt(x)
        inverse = 1.0 / root
        expected = mt.f32(mt.sqrt(mt.f64(x)))
        expected_inverse = mt.f32(1.0 / mt.f64(expected))
        if root != expected and (root == root or expected == expected):
            wrong += 1
        elif inverse != expected_inverse and (inverse == inverse or expected_inverse == expected_inverse):
            wrong += 1
        elif root == 0 and mt.bit_cast(root, mt.u32) != mt.bit_cast(expected, mt.u32):
            wrong += 1
    return wrong


@mt.kernel
def roots(bits: WORDS, root: WORDS, inverse: WORDS):
    for k in bits:
        x = mt.sqrt(mt.bit_cast(bits[k], mt.f32))
        root[k] = mt.bit_cast(x, mt.u32)
        inverse[k] = mt.bit_cast(1.0 / x, mt.u32)


def test_roots_are_rounded_correctly():
    with mt.Context(arch=ARCH):
        if ARCH == mt.cuda:
            assert count_wrong(0, 1 << 32) == 0
        for first in range(0, 1 << 32, 0x10010011):
            assert count_wrong(first, 1000) == 0


def test_roots_of_edges_are_numpys(rng):
    bits = np.concatenate([np.array(EDGES, np.uint32), rng.integers(0, 1 << 32, 2000, np.uint32)])
    root, inverse = np.zeros_like(bits), np.zeros_like(bits)
    with mt.Context(arch=ARCH):
        roots(bits, root, inverse)
    with np.errstate(all="ignore"):
        expected = np.sqrt(bits.view(np.float32))
        expected_inverse = np.float32(1) / expected
    np.testing.assert_array_equal(root.view(np.float32), expected)
    np.testing.assert_array_equal(inverse.view(np.float32), expected_inverse)
    zeros = expected == 0
    np.testing.assert_array_equal(root[zeros], expected.view(np.uint32)[zeros])
