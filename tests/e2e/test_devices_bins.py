"""Scatters to few places, which workgroups accumulate in memory of their own: every kind and type, against NumPy."""

import re

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
TARGET = {"cuda": "cuda:compute_90", "vulkan": "vulkan:lavapipe"}.get(str(ARCH), "simt")
f32, f64, i32, i64, u32 = mt.f32, mt.f64, mt.i32, mt.i64, mt.u32
BINS, MANY = 37, 20011
TYPES = {i32: np.int32, u32: np.uint32, i64: np.int64, f32: np.float32, f64: np.float64}
array = mt.types.ndarray


@pytest.fixture(autouse=True, params=["1", "3"])
def device(request, monkeypatch):
    """With invocations one after the other, and with three threads of them."""
    monkeypatch.setenv("METATE_SIMT_THREADS", request.param)
    with mt.Context(arch=ARCH) as context:
        yield context


def shared_bytes(kernel, target=TARGET):
    """Of each task with bins, in the launch table."""
    return [int(found) for found in re.findall(r"shared = (\d+)", kernel.stages(target=target)[f"map.{target}"])]


def has_bins(dtype):
    """Vulkan's devices need not have atomic operations of 64 bits in such memory."""
    return not TARGET.startswith("vulkan") or np.dtype(TYPES[dtype]).itemsize == 4


def keys_of(rng, count):
    """Some places get much, others nothing."""
    return np.minimum(rng.integers(0, BINS, count), rng.integers(0, BINS, count)).astype(np.int32)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("count", [1, 31, MANY])
def test_a_sum_by_keys_of_an_array(rng, dtype, count):
    h = mt.field(dtype, shape=BINS)
    x, v = keys_of(rng, count), rng.integers(0, 100, count).astype(TYPES[dtype])

    @mt.kernel
    def run(x: array(i32, 1), v: array(dtype, 1)):
        for i in x:
            h[x[i]] += v[i]

    h.fill(3)
    want = np.full(BINS, 3, TYPES[dtype])
    for _ in range(2):
        run(x, v)
        np.add.at(want, x, v)
    np.testing.assert_array_equal(h.to_numpy(), want)
    assert shared_bytes(run) == ([-(-BINS * want.itemsize // 8) * 8] if has_bins(dtype) else [])


@pytest.mark.parametrize("dtype", TYPES)
def test_a_count_by_keys_of_a_field(rng, dtype):
    h, x = mt.field(dtype, shape=BINS), mt.field(i32, shape=MANY)
    keys = keys_of(rng, MANY)
    x.from_numpy(keys)

    @mt.kernel
    def run():
        for i in x:
            h[x[i]] += 1

    run()
    np.testing.assert_array_equal(h.to_numpy(), np.bincount(keys, minlength=BINS))
    assert bool(shared_bytes(run)) == has_bins(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_loops_of_two_dimensions_with_an_inner_one(rng, dtype):
    """Places are computed, and begin behind other members and a row of their own."""
    Table = mt.types.SNodeTreeBuilder().place(first=f64).dense(mt.i, 5).dense(mt.j, 7).place(n=i32, sum=dtype, last=i64).build()
    table = Table.new()

    @mt.kernel
    def run(t: Table, n: i32, m: i32):
        for i, j in mt.ndrange(n, m):
            for k in range(3):
                t.sum[(i * j + k) % 5, (i ^ j) % 7] += i + k
            t.n[i % 5, j % 7] += 1

    n, m = 123, 45
    run(table, n, m)
    i, j = np.indices((n, m))
    sums, counts = np.zeros((5, 7), TYPES[dtype]), np.zeros((5, 7), np.int32)
    for k in range(3):
        np.add.at(sums, ((i * j + k) % 5, (i ^ j) % 7), (i + k).astype(TYPES[dtype]))
    np.add.at(counts, (i % 5, j % 7), 1)
    np.testing.assert_array_equal(table.sum.to_numpy(), sums)
    np.testing.assert_array_equal(table.n.to_numpy(), counts)
    assert not table.first.to_numpy().any() and not table.last.to_numpy().any()
    assert shared_bytes(run)


@pytest.mark.parametrize("dtype", [i32, u32, i64])
def test_extremes(rng, dtype):
    least, most = mt.field(dtype, shape=BINS), mt.field(dtype, shape=BINS)
    x = keys_of(rng, MANY)
    info = np.iinfo(TYPES[dtype])
    v = rng.integers(info.min, info.max, MANY, TYPES[dtype], endpoint=True)

    @mt.kernel
    def run(x: array(i32, 1), v: array(dtype, 1)):
        for i in range(x.shape[0]):
            mt.atomic_min(least[x[i]], v[i])
            mt.atomic_max(most[x[i]], v[i])

    least.fill(int(info.max) // 3)
    most.fill(int(info.max) // 3)
    run(x, v)
    start = np.full(BINS, info.max // 3, TYPES[dtype])
    for at, field in [(np.minimum.at, least), (np.maximum.at, most)]:
        want = start.copy()
        at(want, x, v)
        np.testing.assert_array_equal(field.to_numpy(), want)
    assert len(shared_bytes(run)) == has_bins(dtype)


def test_vectors_and_rounded_sums(rng):
    h = mt.Vector.field(3, f32, shape=BINS)
    x, v = keys_of(rng, MANY), rng.standard_normal(MANY).astype(np.float32)

    @mt.kernel
    def run(x: array(i32, 1), v: array(f32, 1)):
        for i in x:
            h[x[i]] += mt.Vector([v[i], -v[i], 1.0])

    run(x, v)
    want = np.zeros((BINS, 3))
    np.add.at(want, x, np.stack([v, -v, np.ones_like(v)], 1))
    np.testing.assert_allclose(h.to_numpy(), want, atol=1e-2)
    np.testing.assert_array_equal(h.to_numpy()[:, 2], np.bincount(x, minlength=BINS))
    assert shared_bytes(run)


def test_a_launch_of_no_iterations_leaves_zeros_of_both_signs():
    h = mt.field(f32, shape=BINS)

    @mt.kernel
    def run(x: array(i32, 1)):
        for i in x:
            h[x[i]] += 1.0

    h.fill(-0.0)
    run(np.zeros(0, np.int32))
    assert np.signbit(h.to_numpy()).all()
    run(np.array([2], np.int32))
    assert np.signbit(h.to_numpy()).sum() == BINS - 1 and h[2] == 1


def test_one_target_of_many_loops_and_what_stands_between(rng):
    h, total = mt.field(i32, shape=BINS), mt.field(i32, shape=())
    x = keys_of(rng, MANY)

    @mt.kernel
    def run(x: array(i32, 1)):
        for i in x:
            h[x[i]] += 1
        for i in h:
            total[None] += h[i]
            h[i] += 1
        for i in range(x.shape[0] // 2):
            h[x[i]] += total[None]

    run(x)
    want = np.bincount(x, minlength=BINS) + 1 + MANY * np.bincount(x[: MANY // 2], minlength=BINS)
    np.testing.assert_array_equal(h.to_numpy(), want.astype(np.int32))
    assert total[None] == MANY


def test_checks_before_and_among_what_is_added(rng):
    """A task behind a failed one adds nothing; of one that fails, what other iterations have added is there."""
    h, seen = mt.field(i32, shape=BINS), mt.field(i32, shape=())
    x, most = keys_of(rng, MANY), np.arange(10, dtype=np.int32)

    @mt.kernel(asserts=True)
    def run(most: array(i32, 1), x: array(i32, 1), last: i32):
        for i in most:
            assert most[i] < 10, "too many"
        for i in x:
            assert x[i] < last, "too large"
            h[x[i]] += 1
            seen[None] += 1

    counts = np.bincount(x, minlength=BINS)
    run(most, x, BINS)
    np.testing.assert_array_equal(h.to_numpy(), counts)
    with pytest.raises(mt.AssertionError_, match="too many"):
        run(most + 1, x, BINS)
    np.testing.assert_array_equal(h.to_numpy(), counts)
    with pytest.raises(mt.AssertionError_, match="too large"):
        run(most, x, 20)
    added = h.to_numpy() - counts
    assert (added >= 0).all() and (added <= counts).all() and not added[20:].any()
    assert added.sum() == seen[None] - MANY
    assert shared_bytes(run)


def test_integers_of_deterministic_kernels_have_bins_and_rounded_sums_have_none(rng):
    x, v = keys_of(rng, MANY), rng.standard_normal(MANY).astype(np.float32)
    with mt.Context(arch=ARCH, deterministic=True):
        counts, sums = mt.field(i32, shape=BINS), mt.field(f32, shape=BINS)

        @mt.kernel
        def count(x: array(i32, 1)):
            for i in x:
                counts[x[i]] += 1

        @mt.kernel
        def add(x: array(i32, 1), v: array(f32, 1)):
            for i in x:
                counts[x[i]] += 1
                sums[x[i]] += v[i]

        count(x)
        add(x, v)
        want = np.zeros(BINS, np.float32)
        np.add.at(want, x, v)
        np.testing.assert_array_equal(sums.to_numpy(), want)
        np.testing.assert_array_equal(counts.to_numpy(), 2 * np.bincount(x, minlength=BINS))
        assert shared_bytes(count)
        assert not shared_bytes(add)


def test_what_has_no_bins(rng):
    """Large targets, such as the loop reads, whose old values are used, and loops that add little."""
    large, h, seen = mt.field(i32, shape=4096), mt.field(i32, shape=BINS), mt.field(i32, shape=MANY)
    x = keys_of(rng, MANY)

    @mt.kernel
    def to_large(x: array(i32, 1)):
        for i in x:
            large[x[i] * 100] += 1

    @mt.kernel
    def reads(x: array(i32, 1)):
        for i in x:
            if h[0] >= 0:
                h[x[i]] += 1

    @mt.kernel
    def uses(x: array(i32, 1)):
        for i in x:
            seen[i] = mt.atomic_add(h[x[i]], 1)

    @mt.kernel
    def little(x: array(i32, 1)):
        for i in range(100):
            h[x[i]] += 1

    for run in (to_large, reads, uses, little):
        run(x)
        assert not shared_bytes(run)
    counts = np.bincount(x, minlength=BINS)
    np.testing.assert_array_equal(large.to_numpy()[: BINS * 100 : 100], counts)
    np.testing.assert_array_equal(h.to_numpy(), 2 * counts + np.bincount(x[:100], minlength=BINS))
    for key in range(BINS):
        mine = np.sort(seen.to_numpy()[x == key])
        np.testing.assert_array_equal(mine, np.arange(len(mine)) + counts[key])


def test_keys_that_are_long_sums_of_sums():
    """Each is looked at once: forty additions of a number to itself would be a million million looks."""
    h = mt.field(i32, shape=64)

    @mt.kernel
    def run(n: i32):
        for i in range(n):
            x = i
            for _ in mt.static(range(40)):
                x = x + x * 3 + x
            h[x & 63] += 1

    run(1000)
    expected = np.zeros(64, np.int32)
    np.add.at(expected, [i * 5**40 % 64 for i in range(1000)], 1)
    np.testing.assert_array_equal(h.to_numpy(), expected)
