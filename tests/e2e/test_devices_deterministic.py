"""`deterministic=True` on a device: sums are those of pieces, and what shows the order of iterations is in order."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
PIECES = 4096
array = mt.types.ndarray


@pytest.fixture(autouse=True, params=["1", "3"])
def device(request, monkeypatch):
    """With invocations one after the other, and with three threads of them."""
    monkeypatch.setenv("METATE_SIMT_THREADS", request.param)
    with mt.Context(arch=ARCH, deterministic=True) as context:
        yield context


def spread(rng, count):
    """Values of many magnitudes: a sum in another order has other bits."""
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)).astype(np.float32)


def in_order(values, start=0.0):
    found = np.float32(start)
    for value in values:
        found = np.float32(found + value)
    return found


def in_pieces(x, start=0.0):
    """Each piece takes iterations that are a multiple of the number of pieces apart; pieces are combined in order."""
    number = min(PIECES, len(x))
    return in_order([in_order(x[piece::number]) for piece in range(number)], start)


@pytest.mark.parametrize("count", [0, 1, 100, PIECES, 20001])
def test_sums_are_those_of_pieces(rng, count):
    @mt.kernel
    def sums(x: array(mt.f32, 1), out: array(mt.f32, 1), n: array(mt.i32, 1)):
        for i in range(x.shape[0]):
            out[0] += x[i]
            out[1] += x[i] * 0.5
            mt.atomic_max(out[2], x[i])
            n[0] += i & 3

    x, out, n = spread(rng, count), np.array([3, 5, 0], np.float32), np.zeros(1, np.int32)
    sums(x, out, n)
    assert out[0] == in_pieces(x, 3) and out[1] == in_pieces(x * np.float32(0.5), 5)
    assert out[2] == x.max(initial=0) and n[0] == (np.arange(count) & 3).sum()


def test_a_sum_of_two_dimensions_and_one_behind_it(rng):
    @mt.kernel
    def run(x: array(mt.f32, 2)) -> mt.f32:
        s = 0.0
        for i, j in mt.ndrange(x.shape[0], x.shape[1]):
            s += x[i, j]
        for i, j in x:
            x[i, j] *= s
        t = 0.0
        for i, j in x:
            t += x[i, j]
        return t

    x = spread(rng, 70 * 130).reshape(70, 130)
    scaled = x * in_pieces(x.ravel())
    assert np.float32(run(x)) == in_pieces(scaled.ravel())
    np.testing.assert_array_equal(x, scaled)


def test_what_shows_the_order_is_in_order(rng):
    @mt.kernel
    def run(x: array(mt.f32, 1), at: array(mt.i32, 1), h: array(mt.f32, 1), kept: array(mt.f32, 1)) -> mt.i32:
        n = 0
        for i in x:
            h[at[i]] += x[i]
        for i in x:
            if x[i] > 0:
                kept[mt.atomic_add(n, 1)] = x[i]
        return n

    x, at = spread(rng, 3000), rng.integers(0, 7, 3000, np.int32)
    h, kept = np.zeros(7, np.float32), np.zeros(3000, np.float32)
    count = run(x, at, h, kept)
    np.testing.assert_array_equal(h, [in_order(x[at == k]) for k in range(7)])
    np.testing.assert_array_equal(kept[:count], x[x > 0])
    assert count == (x > 0).sum() and not kept[count:].any()


def test_sums_over_sparse_trees_have_the_same_bits(rng):
    Cloud = mt.types.SNodeTreeBuilder().pointer(mt.ij, 16).dense(mt.ij, 8).place(a=mt.f32).build()

    @mt.kernel
    def fill(t: Cloud, at: array(mt.i32, 2), v: array(mt.f32, 1)):
        for k in range(v.shape[0]):
            t.a[at[k, 0], at[k, 1]] = v[k]

    @mt.kernel
    def total(t: Cloud) -> mt.f32:
        s = 0.0
        for i, j in t.a:
            s += t.a[i, j]
        return s

    cells = rng.choice(128 * 128, 500, replace=False)
    at, v = np.stack([cells // 128, cells % 128], 1).astype(np.int32), spread(rng, 500)
    found = set()
    for order in (slice(None), slice(None, None, -1)):
        t = Cloud.new()
        fill(t, at[order].copy(), v[order].copy())
        found.add(np.float32(total(t)).tobytes())
        t.check()
    assert len(found) == 1
