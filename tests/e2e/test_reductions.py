"""Sums, products, extremes and bits accumulated by parallel loops, against NumPy: every kind, type and place."""

import numpy as np
import pytest
from ways import INTERPRETED, PIECES, UNOPTIMISED, without

import metate as mt

f32, f64, i32, i64, u8 = mt.f32, mt.f64, mt.i32, mt.i64, mt.u8
array = mt.types.ndarray

PIPELINES = {
    **dict(zip(("default", "atomics"), without("private_reductions"), strict=True)),
    "O0": UNOPTIMISED,
    "one-thread": {"threads": 1},
    "pieces": PIECES,
    **INTERPRETED,
}


@pytest.fixture(params=PIPELINES, autouse=True)
def pipeline(request):
    with mt.Context(**PIPELINES[request.param]) as context:
        yield context


@pytest.fixture
def count(pipeline):
    return 300 if pipeline.options.arch == mt.interp else 100_003


def test_sum_that_is_returned(rng, count):
    @mt.kernel
    def total(x: array(f32, 1)) -> f32:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    x = rng.random(count).astype(np.float32)
    assert total(x) == pytest.approx(x.sum(dtype=np.float64), rel=1e-4)
    assert total(x[:0]) == 0


@pytest.mark.parametrize("dtype", [i32, i64, u8], ids=str)
def test_every_kind_of_integers(rng, count, dtype):
    @mt.kernel
    def gather(x: array(dtype, 1), out: array(dtype, 1)):
        for i in range(x.shape[0]):
            out[0] += x[i]
            out[1] -= x[i]
            out[2] |= x[i]
            out[3] &= x[i]
            out[4] ^= x[i]
            mt.atomic_min(out[5], x[i])
            mt.atomic_max(out[6], x[i])
            mt.atomic_mul(out[7], x[i] | mt.cast(1, dtype))

    numpy = {i32: np.int32, i64: np.int64, u8: np.uint8}[dtype]
    x = rng.integers(3, 90, count).astype(numpy)
    out = np.array([5, 7, 1, 127, 1, 100, 1, 3], numpy)
    start = out.copy()
    gather(x, out)
    with np.errstate(over="ignore"):
        want = [
            start[0] + x.sum(dtype=numpy), start[1] - x.sum(dtype=numpy), start[2] | np.bitwise_or.reduce(x),
            start[3] & np.bitwise_and.reduce(x), start[4] ^ np.bitwise_xor.reduce(x), x.min(), x.max(),
            start[7] * np.multiply.reduce(x | numpy(1), dtype=numpy),
        ]  # fmt: skip
    np.testing.assert_array_equal(out, np.array(want, numpy))


def test_extremes_of_floats_pass_over_nan(rng, count):
    @mt.kernel
    def extremes(x: array(f32, 1), out: array(f32, 1)):
        for i in range(x.shape[0]):
            mt.atomic_min(out[0], x[i])
            mt.atomic_max(out[1], x[i])

    x = rng.standard_normal(count).astype(np.float32)
    x[::7] = np.nan
    out = np.array([np.nan, np.nan], np.float32)
    extremes(x, out)
    np.testing.assert_array_equal(out, [np.nanmin(x), np.nanmax(x)])
    nothing = np.full(count, np.nan, np.float32)
    extremes(nothing, out)
    np.testing.assert_array_equal(out, [np.nanmin(x), np.nanmax(x)])
    out[:] = np.nan
    extremes(nothing, out)
    assert np.isnan(out).all()


def test_argmin_by_packing(rng, count):
    @mt.kernel
    def argmin(x: array(f32, 1), out: array(i64, 1)):
        for i in range(x.shape[0]):
            key = (mt.cast(mt.bit_cast(x[i], i32), i64) << 32) | mt.cast(i, i64)
            mt.atomic_min(out[0], key)

    x = rng.random(count).astype(np.float32)
    out = np.array([2**62], np.int64)
    argmin(x, out)
    assert out[0] & 0xFFFFFFFF == x.argmin()


def test_under_conditions_and_in_inner_loops(rng, count):
    @mt.kernel
    def count_pairs(x: array(i32, 1), n: i32, out: array(i64, 1)):
        for i in range(x.shape[0]):
            if x[i] % 3 == 0:
                for j in range(n):
                    if j % 2 == 0:
                        out[n - 1] += mt.cast(x[i] * j, i64)
            elif x[i] % 3 == 1:
                out[n - 1] += 1

    x = rng.integers(0, 50, count).astype(np.int32)
    out = np.array([9, 9, 9], np.int64)
    count_pairs(x, 3, out)
    assert out.tolist() == [9, 9, 9 + int(x[x % 3 == 0].sum(dtype=np.int64)) * 2 + int((x % 3 == 1).sum())]


KINDS = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "mul": np.multiply, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [i32, i64, u8], ids=str)
def test_conditions_choose_what_integers_accumulate(rng, count, dtype, kind):
    """One side, both sides, a condition under a condition, and a read that only the condition makes right."""
    step = getattr(mt, f"atomic_{kind}")

    @mt.kernel
    def gather(x: array(dtype, 1), y: array(dtype, 1), out: array(dtype, 1)):
        for i in range(x.shape[0]):
            if x[i] > 50:
                step(out[0], x[i])
            if x[i] < 30:
                step(out[1], x[i])
                if x[i] & 1 != 0:
                    step(out[1], x[i] >> 1)
                    step(out[2], x[i])
            else:
                step(out[1], x[i] | 2)
            if i < y.shape[0]:
                step(out[3], y[i] // (x[i] - 3))

    numpy = {i32: np.int32, i64: np.int64, u8: np.uint8}[dtype]
    x = rng.integers(3, 90, count).astype(numpy)
    y = rng.integers(0, 90, count // 3).astype(numpy)
    out = np.array([5, 7, 11, 13], numpy)
    low, divisor = x < 30, (x - numpy(3))[: len(y)]
    quotient = np.where(divisor == 0, 0, y // np.maximum(divisor, 1)).astype(numpy)
    odd = x[low & (x & 1 != 0)]
    taken = (x[x > 50], np.concatenate([x[low], odd >> 1, x[~low] | numpy(2)]), odd, quotient)
    ufunc = KINDS["add" if kind == "sub" else kind]
    with np.errstate(over="ignore"):
        sums = [ufunc.reduce(values, dtype=numpy) for values in taken]
        want = [KINDS[kind](start, value) for start, value in zip(out, np.array(sums, numpy))]
    gather(x, y, out)
    np.testing.assert_array_equal(out, np.array(want, numpy))


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_conditions_choose_what_floats_accumulate(rng, count, dtype):
    """A condition that is never true leaves the place: a NaN, an infinity, the sign of a zero."""

    @mt.kernel
    def gather(x: array(dtype, 1), least: dtype, out: array(dtype, 2)):
        for i in range(x.shape[0]):
            if x[i] > least:
                out[0, 0] += x[i]
                mt.atomic_min(out[1, 0], x[i])
                mt.atomic_max(out[2, 0], x[i])
            else:
                mt.atomic_min(out[1, 1], x[i])
            if not x[i] <= least:  # those that are no numbers too
                mt.atomic_min(out[3, 0], x[i])
                mt.atomic_max(out[3, 1], x[i])

    numpy = {f32: np.float32, f64: np.float64}[dtype]
    x = rng.standard_normal(count).astype(numpy)
    x[::7] = np.nan
    inf, nan = np.inf, np.nan
    out = np.array([[0, 0], [inf, inf], [-inf, 0], [nan, nan]], numpy)
    gather(x, 0.5, out)
    taken, others = x[x > 0.5], x[~(x > 0.5)]
    assert out[0, 0] == pytest.approx(taken.sum(dtype=np.float64), rel=1e-4)
    np.testing.assert_array_equal(out[1:], [[taken.min(), np.nanmin(others)], [taken.max(), 0], [taken.min(), taken.max()]])
    untouched = np.array([[-0.0, 0], [nan, inf], [-inf, 0], [nan, nan]], numpy)
    out = untouched.copy()
    gather(x, 100.0, out)
    untouched[1, 1] = np.nanmin(x)
    np.testing.assert_array_equal(out, untouched)
    assert np.signbit(out[0, 0])


def test_first_index_of_the_least_value(rng, count):
    @mt.kernel
    def argmin(x: array(f32, 1), low: array(f32, 0), at: array(i32, 0)):
        for i in range(x.shape[0]):
            mt.atomic_min(low[None], x[i])
        for i in range(x.shape[0]):
            if x[i] == low[None]:
                mt.atomic_min(at[None], i)

    x = rng.integers(0, 50, count).astype(np.float32)
    low, at = np.array(np.inf, np.float32), np.array(count, np.int32)
    argmin(x, low, at)
    assert low == x.min() and at == x.argmin()


def test_vectors(rng, count):
    @mt.kernel
    def centre(x: array(mt.types.vector(3, f32), 1), out: array(mt.types.vector(3, f32), 1)):
        for i in range(x.shape[0]):
            out[0] += x[i]

    x = rng.random((count, 3)).astype(np.float32)
    out = np.zeros((2, 3), np.float32)
    centre(x, out)
    np.testing.assert_allclose(out[0], x.sum(0, dtype=np.float64), rtol=1e-4)
    assert (out[1] == 0).all()


@pytest.mark.parametrize("level", ["dense", "pointer"])
def test_over_a_tree_into_a_tree(rng, level):
    builder = mt.types.SNodeTreeBuilder()
    getattr(builder, level)(mt.ij, (8, 6)).dense(mt.ij, (4, 8)).place(a=f32)
    grid = builder.build()
    builder = mt.types.SNodeTreeBuilder()
    builder.dense(mt.i, 4).place(sum=f32, low=i32, count=i32)
    result = builder.build()

    @mt.kernel
    def fill(f: grid, x: array(f32, 2)):
        for i, j in mt.ndrange(32, 48):
            if x[i, j] > 0:
                f[i, j].a = x[i, j]

    @mt.kernel
    def gather(f: grid, r: result):
        for i, j in f:
            r[1].sum += f[i, j].a
            r[1].count += 1
            mt.atomic_min(r[2].low, i * 100 + j - 5000)

    x = rng.standard_normal((32, 48)).astype(np.float32)
    x[:8] = -1
    f, r = grid.new(), result.new()
    fill(f, x)

    @mt.kernel
    def read(r: result, out: array(f64, 1)):
        for _ in range(1):
            out[0], out[1], out[2] = r[1].sum, r[1].count, r[2].low

    gather(f, r)
    out = np.zeros(3)
    read(r, out)
    active = x > 0
    cells, first = (32 * 48, 0) if level == "dense" else (24 * 48, 800)
    np.testing.assert_allclose(out[0], x[active].sum(dtype=np.float64), rtol=1e-4)
    assert out[1] == cells and out[2] == first - 5000


def test_a_place_that_is_read_is_no_reduction(pipeline):
    """An iteration sees what it has added itself."""

    @mt.kernel
    def run(out: array(i32, 1), seen: array(i32, 1)):
        for i in range(seen.shape[0]):
            out[0] += 1
            seen[i] = out[0]

    out, seen = np.zeros(1, np.int32), np.zeros(2000, np.int32)
    run(out, seen)
    assert out[0] == 2000 and seen.min() >= 1 and seen.max() <= 2000


def test_old_values_are_all_different(pipeline):
    @mt.kernel
    def number(out: array(i32, 1), seen: array(i32, 1)):
        for i in range(seen.shape[0]):
            seen[i] = mt.atomic_add(out[0], 1)

    out, seen = np.zeros(1, np.int32), np.zeros(2000, np.int32)
    number(out, seen)
    assert sorted(seen) == list(range(2000))


def test_scattered_atomics(rng, count):
    """Of one worker and of several: the old values too."""

    @mt.kernel
    def scatter(at: array(i32, 1), x: array(f32, 1), n: array(i32, 1), first: array(i32, 1)):
        for i in range(at.shape[0]):
            x[at[i]] += 0.5
            if mt.atomic_add(n[at[i]], 1) == 0:
                first[at[i]] += 1
            mt.atomic_xor(first[at[i] + 50], 3)

    at = rng.integers(0, 50, count).astype(np.int32)
    x, n, first = np.zeros(50, np.float32), np.zeros(50, np.int32), np.zeros(100, np.int32)
    scatter(at, x, n, first)
    want = np.bincount(at, minlength=50)
    np.testing.assert_array_equal(n, want)
    np.testing.assert_array_equal(x, want * 0.5)
    np.testing.assert_array_equal(first[:50], (want > 0).astype(np.int32))
    np.testing.assert_array_equal(first[50:], want % 2 * 3)
