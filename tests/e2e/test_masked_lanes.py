"""Loops that each iteration leaves at another turn, as lanes of vectors under masks: the same bits as one by one, and no
memory is touched where a lane has left."""

import itertools

import numpy as np
import pytest
from device_tests import ARCH
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct, without

import metate as mt

f32, f64, i32, i64, u32 = mt.f32, mt.f64, mt.i32, mt.i64, mt.u32
array = mt.types.ndarray
LANES = {"threads": 1, "chunk_ns": 0}  # lanes need not pay to be made, and one worker has them all in one chunk
WAYS = distinct(LANES, *without("across_iterations"), UNOPTIMISED, PIECES, INTERPRETED["interp"])
SIZES = 1, 7, 16, 17, 61


def alike(kernel, launches):
    """Runs each launch, a list of arguments of which arrays are copied, in every way; results are equal bit for bit.

    Sums stay in order: whether a loop that is no lanes becomes vectors of partial sums depends on the CPU.
    Returns what the arguments are after the launches of the first way.
    """
    results = []
    for options in WAYS:
        with mt.Context(contract=False, reassociate_sums=False, **options):
            done = [[np.copy(one) if isinstance(one, np.ndarray) else one for one in launch] for launch in launches]
            for launch in done:
                kernel(*launch)
            results.append(done)
            if options is LANES and not ARCH:
                lanes = [one.text for one in kernel.report().remarks if one.subject == "lanes"]
                assert any("under masks" in text for text in lanes), lanes
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            for a, b in zip(first, second, strict=True):
                np.testing.assert_array_equal(a, b)
    return results[0]


def test_escape_time(rng):
    @mt.kernel
    def run(z: array(f32, 2), turns: array(i32, 1), last: array(f32, 2), n: i32):
        for i in range(z.shape[0]):
            a, count = mt.Vector([z[i, 0], z[i, 1]]), 0
            for _ in range(n):
                if a.dot(a) >= 4.0:
                    break
                a = mt.Vector([a[0] * a[0] - a[1] * a[1] - 0.1, 2.0 * a[0] * a[1] + 0.2])
                count += 1
            turns[i] = count
            last[i, 0] = a[0]
            last[i, 1] = a[1]

    def launch(n, turns):
        z = rng.uniform(-2, 2, (n, 2)).astype(np.float32)
        z[rng.random(n) < 0.1] = np.nan  # never at least 4
        z[rng.random(n) < 0.1] = 3.0  # never enters
        return [z, np.zeros(n, np.int32), np.zeros((n, 2), np.float32), turns]

    done = alike(run, [launch(n, turns) for n in SIZES for turns in (0, 1, 50)])
    z, turns, _, _ = done[-1]
    assert (turns[np.isnan(z[:, 0])] == 50).all() and (turns[(z == 3).all(1)] == 0).all() and len(set(turns)) > 5


def test_lists_in_memory(rng):
    """Indices that are right only while a lane is alive, and loops that some lanes never enter."""

    @mt.kernel
    def run(head: array(i32, 1), after: array(i32, 1), value: array(f64, 1), out: array(f64, 1)):
        for i in range(head.shape[0]):
            total, at, steps = mt.f64(0.0), head[i], 0
            while at >= 0 and steps < 100:
                total = total * 0.5 + value[at] * mt.sqrt(value[at] + 1.0)
                at = after[at]
                steps += 1
            out[i] = total + steps

    def launch(n):
        after = np.full(40, -(2**31), np.int32)
        order = rng.permutation(40)
        for a, b in itertools.pairwise(order):
            if rng.random() < 0.8:
                after[a] = b
        head = rng.integers(-5, 40, n).astype(np.int32)
        head[head < 0] = -(2**30)
        return [head, after, rng.random(40), np.zeros(n)]

    done = alike(run, [launch(n) for n in SIZES])
    assert all((out[head < 0] == 0).all() for head, _, _, out in done)


@pytest.mark.parametrize("dtype, numpy", [(i32, np.int32), (i64, np.int64), (u32, np.uint32)], ids=str)
def test_divisors_that_become_zero(rng, dtype, numpy):
    """Lanes that have left divide by zero, if anybody lets them."""

    @mt.kernel
    def run(a: array(dtype, 1), b: array(dtype, 1), out: array(dtype, 1)):
        for i in range(a.shape[0]):
            p, q = a[i], b[i]
            while q != 0:
                rest = p - p // q * q
                p = q
                q = rest
            out[i] = p

    def launch(n):
        most = np.iinfo(numpy).max if dtype is not i64 else 2**52
        a, b = (rng.integers(0, most, n).astype(numpy) for _ in range(2))
        return [a, b * (rng.random(n) < 0.9).astype(numpy), np.zeros(n, numpy)]

    done = alike(run, [launch(n) for n in SIZES])
    for a, b, out in done:
        np.testing.assert_array_equal(out, np.gcd(a, b))


def test_stores_and_branches_inside(rng):
    """Rows, columns and places of an iteration's own, written under conditions; continue, and breaks of nested loops."""

    @mt.kernel
    def run(x: array(f32, 1), count: array(i32, 1), rows: array(f32, 2), columns: array(f32, 2), steps: array(i64, 1)):
        for i in range(x.shape[0]):
            taken = mt.i64(0)
            for j in range(count[i]):
                if j % 3 == 1:
                    continue
                y = x[i]
                for k in range(20):
                    y = mt.sqrt(y * y + x[i] * k + 0.5)
                    taken += k + 1
                    if y > 6.0 - j:
                        break
                if y > 3.0:
                    rows[j, i] = y
                    columns[i, j] = y + x[j]
                elif y > 0.9:
                    columns[i, j] -= y
                if taken > 200:
                    break
            steps[i] = taken

    def launch(n):
        count = rng.integers(-1, 9, n).astype(np.int32)
        count[rng.random(n) < 0.2] = 0
        x = rng.random(max(n, 9)).astype(np.float32)[:n] if n >= 9 else rng.random(n).astype(np.float32)
        count = np.minimum(count, n)
        return [x, count, np.full((9, n), -1, np.float32), np.full((n, 9), -1, np.float32), np.zeros(n, np.int64)]

    done = alike(run, [launch(n) for n in SIZES])
    for _, count, rows, columns, _ in done:
        for i, turns in enumerate(count):
            assert (rows[max(turns, 0) :, i] == -1).all() and (columns[i, max(turns, 0) :] == -1).all()
    assert (done[-1][2] > 3).any() and (done[-1][3] < -1.8).any()


def test_functions_that_return_from_a_loop(rng):
    @mt.func
    def root(y, least):
        low, high = 0.0, 4.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            if high - low < least:
                return middle
            if middle * middle * middle < y:
                low = middle
            else:
                high = middle
        return low

    @mt.kernel
    def run(x: array(f32, 1), least: f32, out: array(f32, 1), wraps: array(u32, 1)):
        for i in range(2, x.shape[0]):
            out[i] = root(x[i], least)
            a, odd = mt.cast(i, u32) * mt.u32(2654435761), True
            while a % 7 != 0 or odd:  # wraps around
                odd = not odd
                a = a * 1664525 + 1013904223
                wraps[i] += 1

    def launch(n, least):
        return [(rng.random(n) * 50).astype(np.float32), least, np.zeros(n, np.float32), np.zeros(n, np.uint32)]

    done = alike(run, [launch(n, least) for n in SIZES for least in (-1.0, 1e-3)])
    x, _, out, _ = done[-1]
    np.testing.assert_allclose(out[2:], np.cbrt(x[2:]), atol=1e-3)


def test_other_elements_by_a_condition(rng):
    """What is one for all lanes is read if any lane gets there."""

    @mt.kernel
    def run(p: array(f32, 2), out: array(f32, 2)):
        for i in range(p.shape[0]):
            a = mt.Vector([0.0, 0.0])
            for j in range(p.shape[0]):
                if i != j and p[i, 0] > 0.1:
                    d = mt.Vector([p[j, 0] - p[i, 0], p[j, 1] - p[i, 1]])
                    a += d / d.norm(0.01) ** 3
            out[i, 0], out[i, 1] = a[0], a[1]

    alike(run, [[rng.random((n, 2)).astype(np.float32), np.zeros((n, 2), np.float32)] for n in SIZES])


def test_debug_mode_sees_what_lanes_do_not(rng):
    @mt.kernel
    def run(head: array(i32, 1), after: array(i32, 1), out: array(i32, 1)):
        for i in range(head.shape[0]):
            at, steps = head[i], 0
            while at >= 0:
                at = after[at]
                steps += 1
            out[i] = steps

    head, after, out = np.zeros(20, np.int32), np.array([1, 2, -1, 5], np.int32), np.zeros(20, np.int32)
    with mt.Context(debug=True):
        run(head, after, out)
        assert (out == 3).all()
        head[7] = 3
        with pytest.raises(IndexError, match="after"):
            run(head, after, out)


def test_sums_and_matrices(rng):
    """What iterations accumulate together is added in their order."""

    @mt.kernel
    def run(x: array(f32, 1), n: i32, total: array(f64, 1), counts: array(i32, 1), out: array(f32, 1)):
        for i in range(x.shape[0]):
            m, turns = mt.Matrix([[1.0, x[i]], [0.5, 0.25]]), 0
            while m[0, 1] < 40.0 and turns < n:
                m = m @ m * 0.5 + mt.Matrix([[x[i], 0.0], [0.0, x[i]]])
                turns += 1
            out[i] = m[1, 0] + m.determinant()
            counts[0] += turns
            mt.atomic_max(counts[1], turns)
            if m[0, 1] < 40.0:
                total[0] += 1.0

    def launch(n, turns):
        return [rng.random(n).astype(np.float32), turns, np.zeros(1), np.zeros(2, np.int32), np.zeros(n, np.float32)]

    done = alike(run, [launch(n, 30) for n in SIZES])
    assert all(counts[0] > n and 1 < counts[1] <= 30 for _, n, _, counts, _ in done[1:] for n in [1])


def test_changes_in_order_stay_in_order():
    """Iterations that add to one place, one after the other: lanes would meet there."""

    @mt.kernel
    def run(x: array(f32, 1), sums: array(f32, 1)):
        for i in range(x.shape[0]):
            a = 0.0
            for j in range(x.shape[0]):
                a += x[j] * x[i]
            sums[i % 3] += a

    x = np.ones(60, np.float32)
    for options in LANES, {"deterministic": True}:
        with mt.Context(**options):
            sums = np.zeros(3, np.float32)
            run(x, sums)
            np.testing.assert_array_equal(sums, np.full(3, 1200))


def test_random_numbers():
    """Philox's products have two halves."""

    @mt.kernel
    def run(out: array(f32, 1), n: i32):
        for i in range(out.shape[0]):
            inside = 0.0
            for _ in range(n):
                x, y = mt.random(), mt.random()
                if x * x + y * y < 1.0:
                    inside += 1.0 + x
            out[i] = inside

    results = []
    for options in WAYS:
        with mt.Context(contract=False, random_seed=3, **options):
            out = np.zeros(50, np.float32)
            run(out, 30)
            results.append(out)
    assert all((out == results[0]).all() for out in results) and len(set(results[0])) > 40


KINDS = {"i32": (i32, np.int32), "f32": (f32, np.float32), "f64": (f64, np.float64)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [1, 15, 16, 33, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_atomics_at_places_that_differ(rng, kind, n, threads):
    """Turns of a loop that ends apart are counted: lanes that are alive add one by one, whether at one place or not."""
    dtype, numpy = KINDS[kind]

    @mt.kernel
    def count(x: array(f32, 1), turns: array(dtype, 1), most: array(dtype, 1), order: array(i32, 1)):
        for i in range(x.shape[0]):
            c, k = x[i], 0
            z = c
            while z * z < 4.0 and k < 30:
                z = z * z + c
                k += 1
            if k != 3:
                turns[k] += mt.cast(1, dtype)
                mt.atomic_max(most[i % 2], mt.cast(k, dtype))
                order[i] = mt.atomic_add(order[n], 1)

    x = (rng.random(n, dtype=np.float32) - 0.5) * 4
    k, z = np.zeros(n, int), x.copy()
    for _ in range(30):
        alive = z * z < 4
        z = np.where(alive, z * z + x, z)
        k += alive & (k < 30)
    counted = k != 3
    expected = np.bincount(k[counted], minlength=31).astype(numpy)
    with mt.Context(contract=False, **(LANES | {"threads": threads})):
        turns, most, order = np.zeros(31, numpy), np.zeros(2, numpy), np.zeros(n + 1, np.int32)
        count(x, turns, most, order)
    np.testing.assert_array_equal(turns, expected)
    for side in range(2):
        own = k[side::2][counted[side::2]]
        assert most[side] == (own.max() if len(own) else 0)
    assert order[n] == counted.sum()
    np.testing.assert_array_equal(np.sort(order[:n][counted]), np.arange(counted.sum()))


def test_rows_of_sums_added_up(rng):
    """Blocks of rows add their sums of columns to one row, in f32, each lane to its own number."""

    @mt.kernel
    def add(a: array(f32, 2), sums: array(f32, 1)):
        for block, j in mt.ndrange((a.shape[0] + 9) // 10, a.shape[1]):
            s = 0.0
            for i in range(block * 10, mt.min(block * 10 + 10, a.shape[0])):
                s += a[i, j]
            sums[j] += s

    a = rng.integers(-9, 9, (37, 53)).astype(np.float32)
    sums = np.ones(53, np.float32)
    add(a, sums)
    np.testing.assert_array_equal(sums, 1 + a.sum(axis=0))
