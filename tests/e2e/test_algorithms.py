"""mt.algorithms against NumPy, on random and adversarial data; shipped, they give what they give at once."""

import numpy as np
import pytest

import metate as mt

DTYPES = [t for t in mt.types.DTYPES if t.numpy is not None]
LENGTHS = (0, 1, 2, 40, 41, 255, 256, 257, 100_000)


@pytest.fixture(autouse=True)
def compiled_quickly():
    """As it is: what is shipped below, and benchmarks, are optimised."""
    with mt.Context(opt_level=0):
        yield


def random_of(rng, dtype, n):
    """Any bits; of floats also zeros of both signs and many NaNs."""
    if dtype is mt.u1:
        return rng.integers(0, 2, n).astype(bool)
    x = rng.integers(0, 256, n * dtype.bytes, np.uint8).view(dtype.numpy)
    if dtype.is_float and n > 8:
        for value in (np.nan, 0.0, -0.0):
            x[rng.integers(0, n, n // 9)] = value
    return x


def order_of(x, descending=False):
    """The stable order of NumPy, NaNs last; descending, the reverse of it but for equal ones."""
    if not descending:
        return np.argsort(x, kind="stable")
    return len(x) - 1 - np.argsort(x[::-1], kind="stable")[::-1]


def bits(x):
    return x.view(np.uint8).tolist() if len(x) < 300 else x.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_pairs_are_sorted_stably(dtype, rng):
    for n in LENGTHS:
        x = random_of(rng, dtype, n)
        keys, values, order = x.copy(), np.arange(n, dtype=np.int32), order_of(x)
        mt.algorithms.parallel_sort(keys, values)
        assert values.tolist() == order.tolist()
        assert bits(keys) == bits(x[order])


@pytest.mark.parametrize("dtype", [mt.i8, mt.u64, mt.f32], ids=str)
def test_descending_keys(dtype, rng):
    for n in LENGTHS:
        x = random_of(rng, dtype, n)
        keys = x.copy()
        mt.algorithms.parallel_sort(keys, descending=True)
        assert bits(keys) == bits(x[order_of(x, True)])


def test_descending_pairs_are_stable(rng):
    x = rng.integers(0, 50, 3000).astype(np.int32)
    keys, values = x.copy(), np.arange(3000, dtype=np.int32)
    mt.algorithms.parallel_sort(keys, values, descending=True)
    assert values.tolist() == order_of(x, True).tolist()


def test_adversarial_keys(rng):
    n = 200_000
    outlier = np.ones(n, np.uint64)
    outlier[n // 2] = 1 << 63
    short = rng.integers(0, 1 << 20, n, np.uint64)  # two digits are left in a bucket, which fits into a row of scratch
    crowded = np.where(rng.random(n) < 0.9, short % 4096, short)  # or does not
    one_bit, up = np.uint64(1) << rng.integers(0, 64, n, np.uint64), np.arange(n, dtype=np.uint64)
    for x in (np.full(n, 7, np.uint64), up, up[::-1], outlier, one_bit, short, crowded):
        keys = x.copy()
        mt.algorithms.parallel_sort(keys)
        np.testing.assert_array_equal(keys, np.sort(x))


def test_many_bytes_with_the_same_high_bits(rng):
    for x in (rng.integers(128, 192, (1 << 20) + 5).astype(np.uint8), rng.integers(64, 100, 1 << 20).astype(np.int8)):
        keys = x.copy()
        mt.algorithms.parallel_sort(keys)
        np.testing.assert_array_equal(keys, np.sort(x))


def test_fields_and_arrays_are_sorted_in_place(rng):
    x = rng.random(500).astype(np.float32)
    pair = mt.Struct.field({"key": mt.f32, "value": mt.i32}, shape=500)  # a row of a tree of its own: a strided view
    below = mt.field(mt.f32)
    mt.root.dense(mt.i, 50).dense(mt.i, 10).place(below)  # its axis is split between levels: copied where that is no array
    moved = mt.field(mt.f32, shape=500, offset=-7)
    owned = mt.ndarray(mt.f32, 500)
    for keys in (pair.key, below, moved, owned):
        keys.from_numpy(x)
    pair.value.from_numpy(np.arange(500, dtype=np.int32))
    for keys in (below, moved, owned):
        mt.algorithms.parallel_sort(keys)
        np.testing.assert_array_equal(keys.to_numpy(), np.sort(x))
    mt.algorithms.parallel_sort(pair.key, pair.value)
    np.testing.assert_array_equal(pair.value.to_numpy(), np.argsort(x, kind="stable"))
    every_other = np.repeat(x, 2)[::2]
    mt.algorithms.parallel_sort(every_other)
    np.testing.assert_array_equal(every_other, np.sort(x))


def test_cells_that_may_be_inactive_are_refused():
    x = mt.field(mt.f32)
    mt.root.pointer(mt.i, 50).dense(mt.i, 10).place(x)
    with pytest.raises(mt.TreeError, match="below a level whose cells come and go"):
        mt.algorithms.parallel_sort(x)


def test_bf16_is_sorted(rng):
    x = mt.field(mt.bf16, shape=300)
    x.from_numpy(rng.random(300).astype(np.float32) - 0.5)
    want = np.sort(x.to_numpy())
    mt.algorithms.parallel_sort(x)
    np.testing.assert_array_equal(x.to_numpy(), want)


@pytest.mark.parametrize("dtype", [mt.i8, mt.i32, mt.u64, mt.f32, mt.f64], ids=str)
def test_prefix_sums(dtype, rng):
    for n in LENGTHS:
        x = rng.integers(0, 9, n).astype(dtype.numpy)
        want = np.cumsum(x, dtype=dtype.numpy)
        y = x.copy()
        mt.algorithms.PrefixSumExecutor(n).run(y)
        np.testing.assert_array_equal(y, want)
        mt.algorithms.PrefixSumExecutor(n, dtype, exclusive=True).run(x)
        np.testing.assert_array_equal(x, np.concatenate([np.zeros(1, dtype.numpy), want[:-1]])[:n])


def test_taichis_prefix_sum_of_a_field():
    x = mt.field(mt.i32, shape=1000)
    x.fill(1)
    mt.algorithms.PrefixSumExecutor(1000).run(x)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(1, 1001))


def test_sums_of_floats_do_not_depend_on_threads(rng):
    x = rng.random(100_000).astype(np.float32)
    sums, totals = [], []
    for threads in (1, 4):
        with mt.Context(threads=threads):
            y = x.copy()
            mt.algorithms.PrefixSumExecutor(len(y)).run(y)
            sums.append(y)
            totals.append(mt.algorithms.reduce(x))
    assert sums[0].tobytes() == sums[1].tobytes() and totals[0] == totals[1]
    np.testing.assert_allclose(sums[0], np.cumsum(x, dtype=np.float64), rtol=1e-5)


@mt.func
def product(a, b):
    return a * b


@pytest.mark.parametrize("dtype", [mt.u1, mt.i8, mt.u32, mt.f16, mt.f64], ids=str)
def test_reductions(dtype, rng):
    for n in LENGTHS:
        x = rng.integers(0, 2 if dtype is mt.u1 else 100, n).astype(dtype.numpy)
        np.testing.assert_allclose(mt.algorithms.reduce(x), x.sum(dtype=np.float64), rtol=1e-6)
        if n:
            assert mt.algorithms.reduce(x, "min") == x.min()
            assert mt.algorithms.reduce(x, "max") == x.max()


def test_reduction_by_a_function():
    x = np.ones(50_000, np.uint64)
    x[::1000] = 3
    assert mt.algorithms.reduce(x, product) == 3**50 % (1 << 64)


@mt.func
def is_odd(value):
    return value % 2 == 1


def test_compaction_keeps_the_order(rng):
    for n in LENGTHS:
        x, mask = rng.integers(0, 1000, n).astype(np.int32), rng.integers(0, 3, n).astype(np.float32)
        out = np.full(n, -1, np.int32)
        kept = mt.algorithms.compact(x, mask, out)
        assert out[:kept].tolist() == x[mask != 0].tolist() and (out[kept:] == -1).all()
        kept = mt.algorithms.compact(x, is_odd, out)
        assert out[:kept].tolist() == x[x % 2 == 1].tolist()


@pytest.mark.parametrize("dtype", [mt.i16, mt.f32], ids=str)
def test_distinct_elements(dtype, rng):
    for n in LENGTHS:
        x = random_of(rng, dtype, n)
        before, out = x.tobytes(), np.zeros(n, dtype.numpy)
        found = mt.algorithms.unique(x, out)
        np.testing.assert_array_equal(out[:found], np.unique(x))
        assert x.tobytes() == before


def test_histograms_are_numpys(rng):
    for x in (rng.random(100_000), rng.integers(-50, 50, 5000).astype(np.int16), np.full(10, 3.0), np.array([1.0, np.nan, 2.0])):
        bounds = (1.0, 2.0) if np.isnan(x).any() else None
        for bins in (1, 7, 1000):
            counts, edges = mt.algorithms.histogram(x, bins, bounds)
            want, want_edges = np.histogram(x.astype(np.float64), bins, bounds)
            np.testing.assert_array_equal(counts, want)
            np.testing.assert_array_equal(edges, want_edges)
    counts, _ = mt.algorithms.histogram(np.array([0.0, 0.5, 1.0, 7.0]), 2, range=(0.0, 1.0))
    assert counts.tolist() == [1, 2]


def test_the_interpreter_agrees(rng):
    x = rng.integers(-5, 5, 60).astype(np.int16)
    with mt.Context(arch=mt.interp):
        keys, values = x.copy(), np.arange(60, dtype=np.int32)
        mt.algorithms.parallel_sort(keys, values)
    assert values.tolist() == np.argsort(x, kind="stable").tolist()


def test_shipped_plans_give_what_they_give_at_once(rng, tmp_path):
    n = 20_000
    algorithms = mt.algorithms
    plans = {
        "sort": algorithms.Sorter(mt.f32, n, mt.i32),
        "sums": algorithms.PrefixSumExecutor(n, mt.f32),
        "total": algorithms.Reducer(mt.f32, n),
        "odd": algorithms.Compactor(mt.i32, n, is_odd),
        "bins": algorithms.Histogram(mt.f32, n, 16),
    }
    module = mt.aot.Module(targets=["x86-64-v3"])
    for name, plan in plans.items():
        assert plan.add_to(module, name) is module
    loaded = mt.aot.load(module.save(tmp_path / "algorithms.metate"))

    def memory(name):  # a host's own: what the plan says, in the order of the kernel's last arguments
        return [np.full(one.shape, 77, one.dtype.numpy) for one in plans[name].scratch.values()]

    x = rng.random(n).astype(np.float32)
    keys, values, there = x.copy(), np.arange(n, dtype=np.int32), (x.copy(), np.arange(n, dtype=np.int32))
    plans["sort"].run(keys, values)
    loaded.sort(*there, *memory("sort"))
    assert there[0].tobytes() == keys.tobytes() == np.sort(x).tobytes()
    assert there[1].tobytes() == values.tobytes()
    here, shipped, total = x.copy(), x.copy(), np.zeros(1, np.float32)
    plans["sums"].run(here)
    loaded.sums(shipped, *memory("sums"))
    np.testing.assert_allclose(shipped, here, rtol=1e-5)  # sums of blocks, in vectors of each CPU's width
    loaded.total(x, total, *memory("total"))
    assert total[0] == pytest.approx(plans["total"].run(x), rel=1e-5)
    out, number = np.zeros(n, np.int32), np.zeros(1, np.int32)
    loaded.odd(values, out, number, *memory("odd"))
    assert out[: number[0]].tolist() == values[values % 2 == 1].tolist()
    counts, edges = plans["bins"].run(x, 0, 1)
    bins = np.zeros(16, np.int64)
    loaded.bins(x, edges, bins, *memory("bins"))
    assert bins.tolist() == counts.tolist()


def test_fewer_blocks_of_scratch_are_allowed(rng, tmp_path):
    sorter = mt.algorithms.Sorter(mt.i32, 50_000)
    module = sorter.add_to(mt.aot.Module())
    loaded = mt.aot.load(module.save(tmp_path / "sort.metate"))
    x = rng.integers(-(1 << 31), 1 << 31, 50_000).astype(np.int32)
    scratch = {name: one.shape for name, one in sorter.scratch.items()} | {"counts": (1, 4096), "bits": (1, 2)}
    want = np.sort(x)
    loaded.sort_keys(x, *(np.empty(shape, sorter.scratch[name].dtype.numpy) for name, shape in scratch.items()))
    np.testing.assert_array_equal(x, want)


WRONG = {
    "a list": (lambda a: a.parallel_sort([2, 1]), "keys: expected a one-dimensional field or array of scalars, got list"),
    "two dimensions": (lambda a: a.parallel_sort(np.zeros((2, 2))), r"keys: .* of scalars, got shape \(2, 2\)"),
    "other lengths": (lambda a: a.parallel_sort(np.zeros(3), np.zeros(2)), "expected as many values as keys, 3, got 2"),
    "one array": (lambda a: a.parallel_sort(*[np.zeros(3)] * 2), "argument 0 'keys' is written and overlaps argument 1 'values'"),
    "too long": (lambda a: a.Sorter(mt.f64, 2).run(np.zeros(3)), "expected at most 2 elements, got 3"),
    "another type": (lambda a: a.Sorter(mt.f64, 2).run(np.zeros(2, np.float32)), "expected f64, got f32"),
    "no values": (lambda a: a.Sorter(mt.f64, 2).run(np.zeros(2), np.zeros(2)), "expected no values, as the sorter was made"),
    "truths": (lambda a: a.PrefixSumExecutor(2).run(np.zeros(2, bool)), "expected a scalar type of numbers, got u1"),
    "a negative number": (lambda a: a.PrefixSumExecutor(-1), "n: expected 0 to 2147483647 elements, got -1"),
    "nothing": (lambda a: a.reduce(np.zeros(0), "min"), "expected at least one element, got none"),
    "a lambda": (lambda a: a.reduce(np.zeros(1), max), "expected 'sum', 'min', 'max' or a function by @mt.func, got"),
    "no room": (lambda a: a.compact(np.ones(5), np.ones(5), np.zeros(4)), "expected room for 5 elements, got 4"),
    "no bins": (lambda a: a.histogram(np.ones(5), 0), "bins: expected 1 to 16777216, got 0"),
    "no range": (lambda a: a.histogram(np.array([np.inf])), "expected two numbers, the lower one first, got inf and inf"),
}


@pytest.mark.parametrize("call, message", WRONG.values(), ids=WRONG)
def test_wrong_arguments(call, message):
    with pytest.raises(mt.MetateError, match=message):
        call(mt.algorithms)
