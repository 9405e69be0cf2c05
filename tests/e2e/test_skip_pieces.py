"""A loop for the place of an extreme asks what the loop before has kept of each piece; results are NumPy's."""

import numpy as np
import pytest
from device_tests import ARCH

import metate as mt

f32, i32, u32 = mt.f32, mt.i32, mt.u32
WAYS = [{}, {"threads": 1}, {"chunk_ns": 0}, {"opt_level": 0}]
NONE = 2**31 - 1


@pytest.fixture(
    params=WAYS, ids=lambda way: "-".join(f"{name}-{value}" for name, value in way.items()) or "default", autouse=True
)
def context(request):
    with mt.Context(**request.param):
        yield


def skipped(kernel, *arguments):
    """Whether the second loop skips pieces, as the compiler reports it."""
    return any(one.pass_name == "skip-pieces" and one.outcome == "done" for one in kernel.report(*arguments).remarks)


def arrays(rng, dtype):
    """Arrays of one dtype, of many lengths and with many or few that are equal."""
    for length in (0, 1, 2, 5, 255, 256, 257, 4096, 40_000):
        for most in (2, 100, 1 << 20):
            yield (rng.integers(0, most, length) - (most // 2 if dtype is not np.uint32 else 0)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32, np.float64])
def test_first_and_last_places(dtype):
    scalar = getattr(mt, {"float32": "f32", "int32": "i32", "uint32": "u32", "float64": "f64"}[np.dtype(dtype).name])

    @mt.kernel
    def least(x: mt.types.ndarray(scalar, 1), start: scalar) -> i32:
        low, at = start, NONE
        for i in x:
            mt.atomic_min(low, x[i])
        for i in x:
            if x[i] == low:
                mt.atomic_min(at, i)
        return at

    @mt.kernel
    def greatest(x: mt.types.ndarray(scalar, 1), start: scalar) -> i32:
        high, at = start, -1
        for i in range(x.shape[0]):
            mt.atomic_max(high, x[i])
        for i in range(x.shape[0]):
            if high <= x[i]:
                mt.atomic_max(at, i)
        return at

    rng = np.random.default_rng(5)
    for x in arrays(rng, dtype):
        start = dtype(1 << 30)
        assert least(x, start) == (x.argmin() if len(x) else NONE)
        start = dtype(0) if dtype is np.uint32 else dtype(-(1 << 30))
        assert greatest(x, start) == (len(x) - 1 - x[::-1].argmax() if len(x) else -1)


def test_a_start_that_no_value_reaches():
    @mt.kernel
    def run(x: mt.types.ndarray(f32, 1)) -> i32:
        low, found = -5.0, 0
        for i in x:
            mt.atomic_min(low, x[i])
        for i in x:
            if x[i] == low:
                found += 1
        return found

    x = np.arange(10_000, dtype=np.float32)
    assert run(x) == 0
    x[[3, 9_000]] = -5
    assert run(x) == 2


def test_not_a_number_and_zeros_of_both_signs():
    @mt.kernel
    def run(x: mt.types.ndarray(f32, 1)) -> i32:
        low, found = 1e30, 0
        for i in x:
            mt.atomic_min(low, x[i])
        for i in x:
            if x[i] <= low:
                found += 1
        return found

    rng = np.random.default_rng(6)
    x = rng.choice(np.array([0.0, -0.0, 1.0, np.nan], np.float32), 30_000)
    assert run(x) == (x == 0).sum()
    x[:] = np.nan
    assert run(x) == 0
    x[20_000] = np.inf
    assert run(x) == 0  # 1e30 is less


def test_two_dimensions_and_both_extremes():
    field = mt.field(f32, shape=(37, 211))
    found = mt.field(f32, shape=6)

    @mt.kernel
    def run():
        found[0] = field[0, 0]
        found[1] = field[0, 0]
        for i, j in field:
            mt.atomic_min(found[0], field[i, j])
            mt.atomic_max(found[1], field[i, j])
        for i, j in field:
            if field[i, j] == found[1]:
                found[2] += i
                found[3] += j
        for i, j in field:
            if j % 2 == 0 and found[0] == field[i, j]:
                found[4] += i
                found[5] += j

    rng = np.random.default_rng(7)
    for most in (3, 100, 10_000):
        x = rng.integers(0, most, (37, 211)).astype(np.float32)
        field.from_numpy(x)
        found.fill(0)
        run()
        high, low = np.argwhere(x == x.max()), np.argwhere(x == x.min())
        low = low[low[:, 1] % 2 == 0]
        expected = [x.min(), x.max(), *high.sum(axis=0), *low.sum(axis=0)]
        assert found.to_numpy().tolist() == expected


def test_of_what_is_computed_of_values():
    @mt.func
    def size(v):
        return abs(v)

    @mt.kernel
    def run(x: mt.types.ndarray(f32, 1), order: mt.types.ndarray(i32, 1)) -> i32:
        high, at = 0.0, NONE
        for i in order:
            mt.atomic_max(high, size(x[order[i]]))
        for i in order:
            if size(x[order[i]]) == high:
                mt.atomic_min(at, i)
        return at

    rng = np.random.default_rng(8)
    x = (rng.integers(-500, 500, 20_000)).astype(np.float32)
    order = rng.permutation(20_000).astype(np.int32)
    assert run(x, order) == abs(x[order]).argmax()


def test_values_that_were_written_since():
    @mt.kernel
    def between(x: mt.types.ndarray(i32, 1), n: i32) -> i32:
        low, found = 1 << 30, 0
        for i in x:
            mt.atomic_min(low, x[i])
        x[n] = low
        for i in x:
            if x[i] == low:
                found += 1
        return found

    @mt.kernel
    def extreme(x: mt.types.ndarray(i32, 1), n: i32) -> i32:
        low, found = 1 << 30, 0
        for i in x:
            mt.atomic_min(low, x[i])
        low = n
        for i in x:
            if x[i] == low:
                found += 1
        return found

    @mt.kernel
    def meanwhile(x: mt.types.ndarray(i32, 1), y: mt.types.ndarray(i32, 1)) -> i32:
        low = 1 << 30
        found = 0
        for i in x:
            mt.atomic_min(low, x[i])
            y[i] = 0
        for i in y:
            if y[i] == low:
                found += 1
        return found

    x = np.arange(20_000, dtype=np.int32)
    assert between(x, 15_000) == 2
    assert extreme(np.arange(20_000, dtype=np.int32), 12_345) == 1
    assert meanwhile(np.arange(20_000, dtype=np.int32), np.zeros(20_000, np.int32)) == 20_000


def test_the_second_loop_writes_what_it_finds():
    @mt.kernel
    def run(x: mt.types.ndarray(i32, 1)):
        low = 1 << 30
        for i in x:
            mt.atomic_min(low, x[i])
        for i in x:
            if x[i] == low:
                x[i] = 7

    rng = np.random.default_rng(9)
    x = rng.integers(10, 50, 20_000).astype(np.int32)
    expected = np.where(x == x.min(), 7, x)
    run(x)
    assert (x == expected).all()


@pytest.mark.skipif(bool(ARCH), reason="a pass of CPUs")
def test_who_skips(request):
    @mt.kernel
    def pair(x: mt.types.ndarray(f32, 1)) -> i32:
        low, at = 1e30, NONE
        for i in x:
            mt.atomic_min(low, x[i])
        for i in x:
            if x[i] == low:
                mt.atomic_min(at, i)
        return at

    @mt.kernel
    def fused(x: mt.types.ndarray(f32, 1)) -> i32:
        low, at = 1e30, NONE
        for i in x:
            mt.atomic_min(low, x[i] * x[i] + 1.0)
        for i in x:
            if x[i] * x[i] + 1.0 == low:  # may be rounded otherwise than above
                mt.atomic_min(at, i)
        return at

    @mt.kernel
    def other(x: mt.types.ndarray(f32, 1)) -> i32:
        low, at = 1e30, NONE
        for i in x:
            mt.atomic_min(low, x[i])
        for i in x:
            if x[i] > low:
                mt.atomic_min(at, i)
        return at

    x = np.arange(1000, dtype=np.float32)
    assert skipped(pair, x) == ("opt_level" not in request.node.name)
    assert not skipped(fused, x) and not skipped(other, x)
    assert fused(x) == 0 and other(x) == 1
