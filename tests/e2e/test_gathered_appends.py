"""Counters and single lists whose places many iterations take at once: around blocks, full lists and pools, against NumPy."""

import numpy as np
import pytest

import metate as ti

LENGTHS = [0, 1, 15, 16, 17, 255, 256, 257, 5000]
I32 = ti.types.ndarray(dtype=ti.i32, ndim=1)


WAYS = [
    {},
    {"threads": 3, "chunk_ns": 0},
    {"threads": 1, "chunk_ns": 0},
    {"deterministic": True},
    {"debug": True},
    {"arch": ti.interp},
]


@pytest.fixture(params=WAYS, ids=str)
def context(request):
    with ti.Context(**request.param):
        yield


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("n", LENGTHS)
def test_a_counter_gives_places(rng, n):
    @ti.kernel
    def pick(x: I32, out: I32, at: I32, count: I32):
        for i in range(x.shape[0]):
            if x[i] > 3:
                if x[i] % 2 == 0:
                    k = ti.atomic_add(count[1], 1)
                    out[k] = x[i] * 10
                    at[k] = i

    x = rng.integers(0, 10, n).astype(np.int32)
    out, at, count = np.full(n + 1, -1, np.int32), np.full(n + 1, -1, np.int32), np.array([7, 0, 9], np.int32)
    pick(x, out, at, count)
    kept = np.flatnonzero((x > 3) & (x % 2 == 0))
    assert list(count) == [7, len(kept), 9]
    assert sorted(at[: len(kept)]) == list(kept)
    assert (out[: len(kept)] == x[at[: len(kept)]] * 10).all()
    assert (out[len(kept) :] == -1).all()


@pytest.mark.usefixtures("context")
def test_steps_and_old_numbers(rng):
    @ti.kernel
    def pairs(x: I32, out: I32, count: I32):
        for i in range(x.shape[0]):
            if x[i] < 5:
                k = ti.atomic_add(count[0], 2)
                out[k], out[k + 1] = i, x[i]

    x = rng.integers(0, 10, 3000).astype(np.int32)
    out, count = np.full(6100, -1, np.int32), np.array([100], np.int32)
    pairs(x, out, count)
    kept = np.flatnonzero(x < 5)
    found = out[100 : count[0]].reshape(-1, 2)
    assert sorted(found[:, 0]) == list(kept)
    assert (found[:, 1] == x[found[:, 0]]).all()
    assert (out[:100] == -1).all() and (out[count[0] :] == -1).all()


@pytest.mark.usefixtures("context")
def test_room_for_some(rng):
    """Who finds that his place is beyond the end writes nothing."""

    @ti.kernel
    def some(x: I32, out: I32, count: I32):
        for i in range(x.shape[0]):
            k = ti.atomic_add(count[0], 1)
            if k < out.shape[0]:
                out[k] = x[i]

    x = rng.permutation(2000).astype(np.int32)
    out, count = np.full(700, -1, np.int32), np.zeros(1, np.int32)
    some(x, out, count)
    assert count[0] == 2000
    assert len(set(out)) == 700 and (out >= 0).all()


@pytest.mark.usefixtures("context")
def test_two_counters_and_two_dimensions(rng):
    @ti.kernel
    def split(x: ti.types.ndarray(dtype=ti.f32, ndim=2), low: I32, high: I32, lows: I32, highs: I32):
        for i, j in ti.ndrange(x.shape[0], x.shape[1]):
            if x[i, j] < 0.3:
                low[ti.atomic_add(lows[0], 1)] = i * 1000 + j
            elif x[i, j] > 0.6:
                high[ti.atomic_add(highs[0], 1)] = i * 1000 + j

    x = rng.random((37, 300), np.float32)
    low, high = np.zeros(x.size, np.int32), np.zeros(x.size, np.int32)
    lows, highs = np.zeros(1, np.int32), np.zeros(1, np.int32)
    split(x, low, high, lows, highs)
    number = np.add.outer(np.arange(37) * 1000, np.arange(300))
    assert sorted(low[: lows[0]]) == sorted(number[x < np.float32(0.3)])
    assert sorted(high[: highs[0]]) == sorted(number[x > np.float32(0.6)])


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("chunk", [4, 64, 1024])
@pytest.mark.parametrize("n", LENGTHS)
def test_one_list(rng, n, chunk):
    kept = ti.field(ti.i32)
    level = ti.root.dynamic(ti.i, 5000, chunk_size=chunk)
    level.place(kept)

    @ti.kernel
    def fill(x: I32):
        for i in range(x.shape[0]):
            if x[i] < 500:
                kept.append(x[i])

    @ti.kernel
    def read(out: I32) -> ti.i32:
        for j in range(kept.length()):
            out[j] = kept[j]
        return kept.length()

    x, out = rng.integers(0, 1000, n).astype(np.int32), np.zeros(5000, np.int32)
    for turn in range(2):  # behind what is there
        if turn and 2 * (x < 500).sum() > 5000:
            break
        fill(x)
        count = read(out)
        assert sorted(out[:count]) == sorted(np.tile(x[x < 500], turn + 1))
    level.deactivate_all()
    assert read(out) == 0


@pytest.mark.usefixtures("context")
def test_a_list_that_is_full(rng):
    """What there is room for is there, the others get -1 for a place."""
    kept = ti.field(ti.i32)
    level = ti.root.dynamic(ti.i, 100, chunk_size=8)
    level.place(kept)

    @ti.kernel
    def fill(x: I32, place: I32):
        for i in range(x.shape[0]):
            place[i] = ti.append(level, [], x[i])

    @ti.kernel
    def read(out: I32) -> ti.i32:
        for j in range(kept.length()):
            out[j] = kept[j]
        return kept.length()

    x, place = np.arange(1, 301, dtype=np.int32), np.full(300, -7, np.int32)
    is_whole = True
    try:
        fill(x, place)
    except ti.MetateError:
        is_whole = False  # debug mode says so
    out = np.zeros(100, np.int32)
    assert read(out) == 100
    assert len(set(out)) == 100 and set(out) <= set(x)
    if is_whole:
        kept_at = place >= 0
        assert (place[~kept_at] == -1).all() and kept_at.sum() == 100
        assert (out[place[kept_at]] == x[kept_at]).all()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("capacity", [1, 3, 7])
def test_too_few_chunks(capacity, workers):
    """Once chunks run out the launch says so; with room made everything is there."""
    heap = ti.types.SNodeTreeBuilder().dynamic(ti.i, 400, 8).place(item=ti.i32).build()

    @ti.kernel
    def fill(t: heap):
        for i in range(300):
            ti.append(t.dynamic0, [], i + 1)

    @ti.kernel
    def read(t: heap, out: I32) -> ti.i32:
        for j in range(ti.length(t.dynamic0, [])):
            out[j] = t.item[j]
        return ti.length(t.dynamic0, [])

    with ti.Context(threads=workers, chunk_ns=0):
        tree, out = heap.new(capacity=capacity), np.zeros(400, np.int32)
        with pytest.raises(ti.CapacityError) as error:
            fill(tree)
        count = read(tree, out)
        assert capacity * 8 <= count < 300
        assert len(set(out[:count])) == count and set(out[:count]) <= set(range(1, 301))
        tree.reset()
        tree.migrate(capacity=error.value.capacities)
        while True:
            try:
                fill(tree)
                break
            except ti.CapacityError as again:
                tree.reset()
                tree.migrate(capacity=again.capacities)
        count = read(tree, out)
        assert count == 300 and sorted(out[:300]) == list(range(1, 301))


def test_one_worker_keeps_the_order(rng):
    with ti.Context(threads=1):

        @ti.kernel
        def pick(x: I32, out: I32, count: I32):
            for i in range(x.shape[0]):
                if x[i] > 3:
                    out[ti.atomic_add(count[0], 1)] = i

        x = rng.integers(0, 10, 5000).astype(np.int32)
        out, count = np.zeros(5000, np.int32), np.zeros(1, np.int32)
        pick(x, out, count)
        assert np.array_equal(out[: count[0]], np.flatnonzero(x > 3))


@pytest.mark.usefixtures("context")
def test_what_is_read_meanwhile_stays(rng):
    """Loops that read what they write there, or the counter, or that hand out places in a loop of their own."""

    @ti.kernel
    def chained(x: I32, out: I32, count: I32, seen: I32):
        for i in range(x.shape[0]):
            if out[i] == 0 and x[i] > 4:  # the same array
                k = ti.atomic_add(count[0], 1)
                out[x.shape[0] + k] = i
            seen[i] = ti.min(count[0], 0)

    x = rng.integers(0, 10, 1000).astype(np.int32)
    out, count, seen = np.zeros(2000, np.int32), np.zeros(1, np.int32), np.ones(1000, np.int32)
    chained(x, out, count, seen)
    assert sorted(out[1000 : 1000 + count[0]]) == list(np.flatnonzero(x > 4))
    assert not seen.any()
