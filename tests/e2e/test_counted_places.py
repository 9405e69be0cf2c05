"""Appends to many lists, and counters of many cells, whose places are counted before the loop runs: against NumPy."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as ti

I32 = ti.types.ndarray(dtype=ti.i32, ndim=1)
F32 = ti.types.ndarray(dtype=ti.f32, ndim=1)
LISTS = 8

WAYS = [
    {},
    {"threads": 3, "chunk_ns": 0},
    {"threads": 1, "chunk_ns": 0},
    {"chunk_ns": 0, "deterministic": True},
    {"debug": True},
    {"arch": ti.interp},
]

# Around what is worth it with 8 lists (16, where chunks are short), and around parts of it.
LENGTHS = [0, 1, 15, 16, 17, 127, 500, 3001]


@pytest.fixture(params=WAYS, ids=str)
def context(request):
    with ti.Context(**request.param):
        yield request.param


def lists(parent, most, chunk, pool=None):
    x = ti.field(ti.i32)
    above = {
        "dense": lambda: ti.root.dense(ti.i, LISTS),
        "pointer": lambda: ti.root.pointer(ti.i, LISTS // 2).dense(ti.i, 2),
        "bitmasked": lambda: ti.root.bitmasked(ti.i, LISTS),
    }[parent]()
    level = above.dynamic(ti.j, most, chunk_size=chunk, **({} if pool is None else {"capacity": pool}))
    level.place(x)
    return x, level


def contents(x, most):
    """What each list holds."""
    length, found = np.zeros(LISTS, np.int32), np.full((LISTS, most), -7, np.int32)

    @ti.kernel
    def read(length: I32, found: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for c in range(LISTS):
            length[c] = x[c].length()
            for k in range(x[c].length()):
                found[c, k] = x[c, k]

    read(length, found)
    return [list(found[c, : length[c]]) for c in range(LISTS)]


def by_list(keys):
    return [list(np.flatnonzero(keys == c)) for c in range(LISTS)]


@pytest.mark.parametrize("parent,n", [*(("dense", n) for n in LENGTHS), ("pointer", 16), ("pointer", 3001), ("bitmasked", 500)])
def test_lists_hold_what_was_appended(context, rng, parent, n):
    keys = rng.integers(0, LISTS, n).astype(np.int32)
    keys[keys == 5] = 2  # a list, and a bit, that nobody takes
    x, _ = lists(parent, 4096, 16)

    @ti.kernel
    def fill(keys: I32):
        for p in range(keys.shape[0]):
            x[keys[p]].append(p)

    fill(keys)
    found, expected = contents(x, 4096), by_list(keys)
    assert [sorted(cells) for cells in found] == expected
    if context.get("deterministic") or "arch" in context:
        assert found == expected  # in the order of the iterations
    fill(keys)  # behind what is there
    again = contents(x, 4096)
    assert [cells[: len(old)] for cells, old in zip(again, found, strict=True)] == found
    assert [sorted(cells) for cells in again] == [sorted(2 * cells) for cells in expected]


def test_places_conditions_and_what_is_outside(context, rng):
    beyond = 0 if "debug" in context else 3  # which debug mode refuses
    keys = rng.integers(-beyond, LISTS + beyond, 2000).astype(np.int32)
    x, _ = lists("dense", 2048, 16)
    places = np.full(2000, -5, np.int32)

    @ti.kernel
    def fill(keys: I32, places: I32):
        for p in range(keys.shape[0]):
            if keys[p] % 3 != 1:
                for turn in range(1 + p % 2):
                    k = x[keys[p]].append(p * 2 + turn)
                    places[p] = k

    fill(keys, places)
    inside = (keys >= 0) & (keys < LISTS)
    taken = keys % 3 != 1
    expected = [[2 * p + t for p in np.flatnonzero(taken & (keys == c)) for t in range(1 + p % 2)] for c in range(LISTS)]
    found = contents(x, 2048)
    assert [sorted(cells) for cells in found] == expected
    assert (places[~taken] == -5).all()
    assert (places[taken & ~inside] == -1).all()
    for p in np.flatnonzero(taken & inside):
        assert found[keys[p]][places[p]] == 2 * p + p % 2


@pytest.mark.usefixtures("context")
def test_two_sites_of_one_list_and_two_lists(rng):
    a, b = rng.integers(0, LISTS, 900).astype(np.int32), rng.integers(0, LISTS, 900).astype(np.int32)
    x, _ = lists("dense", 2048, 32)
    y, _ = lists("pointer", 2048, 16)

    @ti.kernel
    def edges(a: I32, b: I32):
        for e in range(a.shape[0]):
            x[a[e]].append(b[e])
            x[b[e]].append(a[e])
            if a[e] < b[e]:
                y[a[e]].append(e)

    edges(a, b)
    assert [sorted(cells) for cells in contents(x, 2048)] == [sorted([*b[a == c], *a[b == c]]) for c in range(LISTS)]
    assert [sorted(cells) for cells in contents(y, 2048)] == [list(np.flatnonzero((a == c) & (a < b))) for c in range(LISTS)]


@pytest.mark.parametrize("options", [{}, {"chunk_ns": 0, "threads": 3}, {"deterministic": True, "chunk_ns": 0}], ids=str)
def test_a_full_list_takes_what_it_has_room_for(rng, options):
    keys = rng.integers(0, LISTS, 9000).astype(np.int32)
    places = np.full(9000, -5, np.int32)
    with ti.Context(**options):
        x, _ = lists("dense", 100, 16)

        @ti.kernel
        def fill(keys: I32, places: I32):
            for p in range(keys.shape[0]):
                places[p] = x[keys[p]].append(p)

        with pytest.raises(ti.CapacityError):
            fill(keys, places)
        found = contents(x, 100)
    for c in range(LISTS):
        assert len(found[c]) == 100
        own = places[keys == c]
        assert sorted(own[own >= 0]) == list(range(100))
        assert (own[own < 0] == -1).all()
        assert [keys[p] for p in found[c]] == [c] * 100


def test_structs_and_vectors(rng):
    n = 3000
    keys = rng.integers(0, LISTS, n).astype(np.int32)
    with ti.Context(chunk_ns=0, threads=3):
        point = ti.types.struct(at=ti.types.vector(3, ti.f32), mass=ti.f32)
        x = point.field()
        ti.root.dense(ti.i, LISTS).dynamic(ti.j, 1024, chunk_size=32).place(x)

        @ti.kernel
        def fill(keys: I32):
            for p in range(keys.shape[0]):
                x[keys[p]].append(point(at=[p, p + 1, p + 2], mass=p * 0.5))

        @ti.kernel
        def add_up(total: F32, count: I32):
            for c in range(LISTS):
                s = 0.0
                for k in range(x[c].length()):
                    s += x[c, k].at.sum() + x[c, k].mass
                total[c], count[c] = s, x[c].length()

        fill(keys)
        total, count = np.zeros(LISTS, np.float32), np.zeros(LISTS, np.int32)
        add_up(total, count)
    assert list(count) == list(np.bincount(keys, minlength=LISTS))
    numbers = np.arange(n)
    np.testing.assert_allclose(total, np.bincount(keys, weights=3.5 * numbers + 3, minlength=LISTS), rtol=1e-5)


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("n", LENGTHS)
def test_a_table_with_counters(rng, n):
    keys, step = rng.integers(0, LISTS, n).astype(np.int32), rng.integers(1, 4, n).astype(np.int32)
    table = ti.field(ti.i32, shape=(LISTS, 3 * 4096))
    count = ti.field(ti.i32, shape=LISTS)
    for c in range(LISTS):
        count[c] = c

    @ti.kernel
    def fill(keys: I32, step: I32):
        for p in range(keys.shape[0]):
            k = ti.atomic_add(count[keys[p]], step[p])
            for j in range(step[p]):
                table[keys[p], k + j] = 10 * p + j + 1

    fill(keys, step)
    found = table.to_numpy()
    for c in range(LISTS):
        own = np.flatnonzero(keys == c)
        expected = sorted(10 * p + j + 1 for p in own for j in range(step[p]))
        assert count[c] == c + len(expected)
        assert sorted(found[c, c : c + len(expected)]) == expected
        assert not found[c, :c].any() and not found[c, c + len(expected) :].any()


@pytest.mark.usefixtures("context")
def test_counters_that_go_up_and_down(rng):
    """Whose steps are nothing in all: each iteration sees another number, or none is new."""
    count = ti.field(ti.i32, shape=LISTS)
    keys = np.repeat(np.arange(LISTS, dtype=np.int32), 100)
    step = np.tile(np.array([2, -2, 0, 0], np.int32), 2 * 100)

    @ti.kernel
    def take(keys: I32, step: I32, old: I32):
        for p in range(keys.shape[0]):
            old[p] = ti.atomic_add(count[keys[p]], step[p])

    old = np.full(len(keys), -1, np.int32)
    take(keys, step, old)
    assert not count.to_numpy().any()
    assert set(old) <= set(range(-100, 102))
    take(keys, np.zeros_like(step), old)
    assert not old.any()


def test_what_is_counted_and_what_is_not(rng):
    keys = rng.integers(0, LISTS, 1000).astype(np.int32)
    x, level = lists("dense", 1024, 16)
    count = ti.field(ti.i32, shape=LISTS)
    table = ti.field(ti.i32, shape=(LISTS, 1024))

    @ti.kernel
    def appends(keys: I32):
        for p in range(keys.shape[0]):
            x[keys[p]].append(p)

    @ti.kernel
    def counts(keys: I32):
        for p in range(keys.shape[0]):
            table[keys[p], ti.atomic_add(count[keys[p]], 1)] = p

    @ti.kernel
    def own(keys: I32):
        for c in range(LISTS):
            for p in range(keys.shape[0]):
                x[c].append(keys[p])

    @ti.kernel
    def one(keys: I32):
        for p in range(keys.shape[0]):
            x[3].append(keys[p])

    @ti.kernel
    def as_far_as(keys: I32):
        for p in range(keys.shape[0]):
            if x[keys[p]].length() < 5:
                x[keys[p]].append(p)

    @ti.kernel
    def changes(keys: I32):
        for p in range(keys.shape[0]):
            x[keys[p]].append(p)
            keys[p] = 0

    @ti.kernel
    def emptied(keys: I32):
        for p in range(keys.shape[0]):
            if p % 100 == 0:
                ti.deactivate(level, [keys[p]])
            x[keys[p]].append(p)

    @ti.kernel
    def looked_at(keys: I32):
        for p in range(keys.shape[0]):
            table[keys[p], ti.atomic_add(count[keys[p]], 1)] = count[0]

    assert ARCH or [is_done(kernel, keys) for kernel in (appends, counts)] == [True, True]
    left = (own, one, as_far_as, changes, emptied, looked_at)
    assert [is_done(kernel, keys) for kernel in left] == [False] * len(left)


def is_done(kernel, *args):
    with ti.Context(chunk_ns=0):
        report = kernel.report(*args)
    return any(remark.pass_name.endswith("count-places") and remark.outcome == "done" for remark in report.remarks)
