"""Loops in order that count what they keep: around blocks of turns, bit for bit what the loop gives, against Python."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as ti

LENGTHS = [0, 1, 15, 16, 17, 255, 256, 257, 3000]
I32 = ti.types.ndarray(dtype=ti.i32, ndim=1)
F32 = ti.types.ndarray(dtype=ti.f32, ndim=1)

WAYS = [{}, {"chunk_ns": 0}, {"deterministic": True}, {"debug": True}, {"arch": ti.interp}]


@pytest.fixture(params=WAYS, ids=str)
def context(request):
    with ti.Context(**request.param):
        yield


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("n", LENGTHS)
def test_one_counter(rng, n):
    @ti.kernel
    def keep(x: I32, out: I32) -> ti.i32:
        place = 3
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] % 3 == 0:
                if x[i] > 10:
                    out[place] = x[i]
                    place += 1
        return place

    x, out = rng.integers(0, 100, n).astype(np.int32), np.full(n + 4, -1, np.int32)
    kept = x[(x % 3 == 0) & (x > 10)]
    assert keep(x, out) == 3 + len(kept)
    assert list(out) == [-1] * 3 + list(kept) + [-1] * (n + 1 - len(kept))


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("n", LENGTHS)
def test_two_counters_a_sum_and_steps(rng, n):
    """One from each end, in steps of two and one; besides, a sum that the loop carries in its order."""

    @ti.kernel
    def split(x: F32, low: F32, high: I32, numbers: I32) -> ti.f32:
        a, b = 0, 0
        s = 0.0
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            s = s * 0.5 + x[i]
            if x[i] < 0.3:
                low[a] = x[i]
                low[a + 1] = s
                a += 2
            else:
                b += 1
                high[high.shape[0] - b] = i
        numbers[0], numbers[1] = a, b
        return s

    x = rng.random(n, np.float32)
    low, high, numbers = np.zeros(2 * n + 1, np.float32), np.full(n + 1, -1, np.int32), np.zeros(2, np.int32)
    total = split(x, low, high, numbers)
    s, sums = np.float32(0), []
    for value in x:
        s = s * np.float32(0.5) + value
        sums.append(s)
    kept = np.flatnonzero(x < np.float32(0.3))
    others = np.flatnonzero(x >= np.float32(0.3))
    assert list(numbers) == [2 * len(kept), len(others)]
    np.testing.assert_array_equal(low[: 2 * len(kept) : 2], x[kept])
    np.testing.assert_allclose(low[1 : 2 * len(kept) : 2], np.array(sums, np.float32)[kept], rtol=1e-6)
    np.testing.assert_allclose(total, s, rtol=1e-6)
    assert not low[2 * len(kept) :].any()
    assert list(high[::-1][: len(others)]) == list(others) and (high[: n + 1 - len(others)] == -1).all()


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("n", LENGTHS)
def test_while_loops_and_fields(rng, n):
    kept, count = ti.field(ti.i32, shape=4000), ti.field(ti.i32, shape=())

    @ti.kernel
    def keep(x: I32):
        i, place = 0, 0
        while i < x.shape[0]:
            if x[i] > 20 and x[i] < 60:
                kept[place] = i
                place = place + 1
            i += 1
        count[None] = place

    x = rng.integers(0, 100, n).astype(np.int32)
    keep(x)
    places = np.flatnonzero((x > 20) & (x < 60))
    assert count[None] == len(places)
    assert list(kept.to_numpy()[: len(places)]) == list(places)


@pytest.mark.usefixtures("context")
def test_rows_of_a_parallel_loop(rng):
    @ti.kernel
    def keep(x: ti.types.ndarray(dtype=ti.i32, ndim=2), out: ti.types.ndarray(dtype=ti.i32, ndim=2), count: I32):
        for i in range(x.shape[0]):
            n = 0
            for j in range(x.shape[1]):
                if x[i, j] < 30:
                    out[i, n] = x[i, j] * 2
                    n += 1
            count[i] = n

    x = rng.integers(0, 100, (40, 300)).astype(np.int32)
    out, count = np.zeros((40, 300), np.int32), np.zeros(40, np.int32)
    keep(x, out, count)
    for row, found, number in zip(x, out, count, strict=True):
        assert list(found[:number]) == list(2 * row[row < 30]) and not found[number:].any()


@pytest.mark.usefixtures("context")
def test_what_looks_at_the_number_or_at_what_was_kept_stays(rng):
    """A limit, a number that is asked elsewhere, the same array, a number that goes back."""

    @ti.kernel
    def others(x: I32, out: I32, seen: I32, limited: I32, numbers: I32):
        a, b, c, last = 0, 0, 0, 0
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] > 50:
                out[a] = i
                a += 1
            seen[i] = a
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] > 30 and b < 7:
                limited[b] = i
                b += 1
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] > 40:
                x[c] = x[i]
                c += 1
            else:
                last = c
        numbers[0], numbers[1], numbers[2], numbers[3] = a, b, c, last

    x = rng.integers(0, 100, 1000).astype(np.int32)
    before = x.copy()
    out, seen, limited = np.zeros(1000, np.int32), np.zeros(1000, np.int32), np.zeros(10, np.int32)
    numbers = np.zeros(4, np.int32)
    others(x, out, seen, limited, numbers)
    assert list(out[: numbers[0]]) == list(np.flatnonzero(before > 50))
    assert list(seen) == list(np.cumsum(before > 50))
    assert list(limited[: numbers[1]]) == list(np.flatnonzero(before > 30)[:7])
    kept = before[before > 40]
    assert numbers[2] == len(kept) and list(x[: len(kept)]) == list(kept)
    assert numbers[3] == (before[: np.flatnonzero(before <= 40)[-1]] > 40).sum()


def test_what_is_gathered(rng):
    @ti.kernel
    def keep(x: I32, out: I32) -> ti.i32:
        place = 0
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] > 5:
                out[place] = x[i]
                place += 1
        return place

    @ti.kernel
    def asked(x: I32, out: I32) -> ti.i32:
        place = 0
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] > place:
                out[place] = x[i]
                place += 1
        return place

    def is_done(kernel):
        with ti.Context():
            report = kernel.report(np.zeros(100, np.int32), np.zeros(100, np.int32))
        return any(r.pass_name.endswith("gather-appends") and r.outcome == "done" for r in report.remarks)

    assert ARCH or (is_done(keep) and not is_done(asked))
