"""Scatters whose pieces add to copies of their own: every kind and type, members and arrays, against NumPy."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as mt

f32, f64, i32, i64 = mt.f32, mt.f64, mt.i32, mt.i64
SHAPE = (5, 7)
members = dict(
    count=i32, mass=f32, momentum=mt.types.vector(3, f32), stress=mt.types.matrix(2, 2, f64), least=f32, most=i64, bits=i32
)
Grid = mt.types.SNodeTreeBuilder().dense(mt.ij, SHAPE).place(**members).build()
array = mt.types.ndarray


@mt.kernel
def scatter(g: Grid, at: array(i32, 2), v: array(f32, 1), sums: array(f64, 1)):
    for k in range(at.shape[0]):
        i, j, value = at[k, 0], at[k, 1], v[k]
        g.count[i, j] += 1
        g.momentum[i, j] += mt.Vector([value, -value, 1.0])
        g.stress[i, j][1, 0] += value
        mt.atomic_min(g.least[i, j], value)
        mt.atomic_max(g.most[i, j], mt.cast(k, i64))
        mt.atomic_xor(g.bits[i, j], k)
        for l in range(2):
            g.mass[(i + l) % 5, j] += 0.5
        sums[(i * 3 + j) % sums.shape[0]] += value


def expected(at, v, bins):
    """What the members and the sums are behind a launch: `count` was 2, `least` 90, sums 1, all else 0."""
    cell, k = tuple(at.T), np.arange(len(v))
    want = {name: np.zeros(SHAPE) for name in ("count", "mass", "least")}
    want |= {name: np.zeros(SHAPE, np.int64) for name in ("most", "bits")}
    want |= {"momentum": np.zeros((*SHAPE, 3)), "stress": np.zeros((*SHAPE, 2, 2)), "sums": np.ones(bins)}
    want["count"][:], want["least"][:] = 2, 90
    np.add.at(want["count"], cell, 1)
    for offset in range(2):
        np.add.at(want["mass"], ((at[:, 0] + offset) % 5, at[:, 1]), 0.5)
    np.add.at(want["momentum"], cell, np.stack([v, -v, np.ones_like(v)], 1))
    np.add.at(want["stress"], (*cell, 1, 0), v)
    np.minimum.at(want["least"], cell, v)
    np.maximum.at(want["most"], cell, k)
    np.bitwise_xor.at(want["bits"], cell, k)
    np.add.at(want["sums"], (at[:, 0] * 3 + at[:, 1]) % bins, v)
    return want


def outcomes(context, at, v, bins):
    with context:
        g, sums = Grid.new(), np.ones(bins)
        g.least.fill(90)
        g.count.fill(2)
        scatter(g, at, v, sums)
        return {name: getattr(g, name).to_numpy() for name in members} | {"sums": sums}


def particles(rng, n):
    at = np.stack([rng.integers(0, extent, n) for extent in SHAPE], 1).astype(np.int32)
    return at, rng.integers(-100, 100, n).astype(np.float32)  # sums are exact in any order


@pytest.mark.parametrize("options", [{}, {"private_reductions": False}, {"deterministic": True}, {"chunk_ns": 0}], ids=str)
def test_members_and_arrays_of_every_kind(rng, options):
    """Enough iterations for many pieces, a few, none; a launch with more bins than a pool has room for."""
    context = mt.Context(threads=4, **options)
    for n, bins in ((30_000, 11), (70, 11), (0, 3), (30_000, 1 << 19)):
        at, v = particles(rng, n)
        got, want = outcomes(context, at, v, bins), expected(at, v, bins)
        for name, values in want.items():
            np.testing.assert_array_equal(got[name], values, err_msg=name)


def test_rows_of_a_nest_are_shared_out(rng):
    h = mt.field(f32, shape=(3, 40), offset=(-1, 2))
    image = mt.field(i32, shape=(300, 500))
    image.from_numpy(rng.integers(0, 40, (300, 500), np.int32))

    @mt.kernel
    def count():
        for i, j in image:
            h[i % 3 - 1, image[i, j] + 2] += 1

    count()
    want = np.zeros((3, 40))
    np.add.at(want, (np.arange(300)[:, None] % 3, image.to_numpy()), 1)
    np.testing.assert_array_equal(h.to_numpy(), want)
    assert ARCH or "the loop is done in 8 pieces" in str(count.report())


def test_the_same_bits_for_any_number_of_workers(rng):
    """Of values of many magnitudes, whose sums differ with the order."""
    n = 1 << 17
    at = rng.integers(0, 50, n).astype(np.int32)
    v = (rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)).astype(np.float32)

    @mt.kernel
    def add(at: array(i32, 1), v: array(f32, 1), sums: array(f32, 1)):
        for k in range(at.shape[0]):
            sums[at[k]] += v[k]

    seen = set()
    for threads in (1, 2, 4):
        with mt.Context(threads=threads, deterministic=True):
            sums = np.zeros(50, np.float32)
            add(at, v, sums)
            seen.add(sums.tobytes())
            assert ARCH or "as many as its turns in a launch make worthwhile" in str(add.report())
    assert len(seen) == 1


def test_what_the_loop_looks_at_stays_atomic(rng):
    h, old = mt.field(i32, shape=4), mt.field(i32, shape=100_000)

    @mt.kernel
    def number():
        for i in old:
            old[i] = mt.atomic_add(h[i % 4], 1)

    number()
    for k in range(4):
        assert sorted(old.to_numpy()[k::4]) == list(range(25_000))
    assert ARCH or "no copies of 'h': the value from before is used" in str(number.report())
