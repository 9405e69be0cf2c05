"""Loops that carry vectors: read whole and summed in several, they give what the numbers do one by one."""

import numpy as np
import pytest
from ways import UNOPTIMISED

import metate as mt

f32, f64, i32 = mt.f32, mt.f64, mt.i32
KINDS = {
    "f32x4": (mt.types.vector(4, f32), np.float32),
    "f32x8": (mt.types.vector(8, f32), np.float32),
    "f32x3": (mt.types.vector(3, f32), np.float32),
    "f32x16": (mt.types.vector(16, f32), np.float32),
    "f64x2": (mt.types.vector(2, f64), np.float64),
    "i32x4": (mt.types.vector(4, i32), np.int32),
    "matrix": (mt.types.matrix(2, 2, f64), np.float64),
}


def shape_of(kind):
    return (2, 2) if kind == "matrix" else (int(kind.partition("x")[2]),)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 9, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_sums(rng, kind, n):
    vector, numpy = KINDS[kind]
    table = mt.types.ndarray(vector, 2)

    @mt.kernel
    def add(x: table, out: mt.types.ndarray(vector, 1)):
        mt.loop_config(serialize=True)
        for j in range(out.shape[0]):
            s, least = out[j], out[j]
            for i in range(x.shape[0]):
                s += x[i, j]
                least = mt.min(least, x[i, j])
            out[j] = s - least

    # Whole numbers: sums are exact in any order.
    x = rng.integers(-50, 50, (n, 5, *shape_of(kind))).astype(numpy)
    start = rng.integers(-5, 5, (5, *shape_of(kind))).astype(numpy)
    out = start.copy()
    add(x, out)
    expected = start + x.sum(axis=0, dtype=numpy) - np.minimum(start, x.min(axis=0, initial=99))
    np.testing.assert_array_equal(out, expected)


def test_steps_weights_and_products(rng):
    vec4 = mt.types.vector(4, f32)

    @mt.kernel
    def blend(x: mt.types.ndarray(vec4, 1), w: mt.types.ndarray(f32, 1), out: mt.types.ndarray(vec4, 1)):
        mt.loop_config(serialize=True)
        for j in range(3):
            s, p = mt.Vector([0.0, 1.0, 2.0, 3.0]), mt.Vector([1.0, 1.0, 1.0, 1.0])
            for i in range(j, x.shape[0], 2):
                s -= w[i] * x[i]
                p *= mt.abs(x[i])
            out[2 * j] = s
            out[2 * j + 1] = p

    x, w = rng.integers(1, 3, (21, 4)).astype(np.float32), rng.integers(-3, 4, 21).astype(np.float32)
    out = np.zeros((6, 4), np.float32)
    blend(x, w, out)
    for j in range(3):
        np.testing.assert_array_equal(out[2 * j], [0, 1, 2, 3] - (w[:, None] * x)[j::2].sum(axis=0))
        np.testing.assert_array_equal(out[2 * j + 1], x[j::2].prod(axis=0))


@pytest.mark.parametrize("options", [{"deterministic": True}, {"fast_math": False}], ids=["deterministic", "no fast math"])
def test_in_order_every_bit_is_that_of_the_numbers(rng, options):
    """Where the order is the program's, the vector holds the sums that one number after the other makes."""
    vec8 = mt.types.vector(8, f32)

    def run(x, **options):
        with mt.Context(contract=False, **options):

            @mt.kernel
            def add(x: mt.types.ndarray(vec8, 2), out: mt.types.ndarray(vec8, 1)):
                mt.loop_config(serialize=True)
                for j in range(out.shape[0]):
                    s = mt.Vector.zero(f32, 8)
                    for i in range(x.shape[0]):
                        s += x[i, j]
                    out[j] = s

            out = np.zeros(x.shape[1:], np.float32)
            add(x, out)
            return out

    x = (rng.random((43, 7, 8)) * 10.0 ** rng.integers(-6, 6, (43, 7, 8))).astype(np.float32)
    expected = np.zeros((7, 8), np.float32)
    for row in x:
        expected += row
    np.testing.assert_array_equal(run(x, **options), expected)
    np.testing.assert_array_equal(run(x, **options, **UNOPTIMISED), expected)


def test_parallel_loops_and_places_read_in_another_order(rng):
    vec4 = mt.types.vector(4, f32)

    @mt.kernel
    def add(x: mt.types.ndarray(vec4, 2), turned: mt.types.ndarray(vec4, 1), out: mt.types.ndarray(vec4, 1)):
        for j in out:
            s, t = mt.Vector.zero(f32, 4), mt.Vector.zero(f32, 4)
            for i in range(x.shape[0]):
                s += x[i, j]
                t += mt.Vector([x[i, j][3], x[i, j][2], x[i, j][1], x[i, j][0]])
            out[j], turned[j] = s, t

    x = rng.integers(-50, 50, (19, 37, 4)).astype(np.float32)
    out, turned = np.zeros((37, 4), np.float32), np.zeros((37, 4), np.float32)
    add(x, turned, out)
    np.testing.assert_array_equal(out, x.sum(axis=0))
    np.testing.assert_array_equal(turned, x.sum(axis=0)[:, ::-1])
