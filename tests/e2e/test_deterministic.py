"""`deterministic=True`: the same bits in every run, for any number of threads.

Values are spread over many magnitudes, so that every other order of an f32 sum has other bits; leaves are activated by
racing workers, so that slots have other numbers in each run."""

import numpy as np
import pytest

import metate as mt

N = 1 << 15


def contexts(**options):
    """1, 2 and 4 workers, with chunks as small as they can be."""
    return [mt.Context(deterministic=True, threads=threads, chunk_ns=2000, **options) for threads in (1, 2, 4)]


def values(count, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(count) * 10.0 ** random.integers(-6, 7, count)).astype(np.float32)


def bits(array):
    return np.asarray(array).tobytes()


def leaves():
    return mt.types.SNodeTreeBuilder().pointer(mt.ij, 64).dense(mt.ij, 8).place(a=mt.f32).build()


T = leaves()


@mt.kernel
def scatter(f: T, at: mt.types.ndarray(mt.i32, 2), v: mt.types.ndarray(mt.f32, 1)):
    for k in range(v.shape[0]):
        f.a[at[k, 0], at[k, 1]] = v[k]


@mt.kernel
def total(f: T) -> mt.f32:
    s = 0.0
    for I in mt.grouped(f.a):
        s += f.a[I]
    return s


@mt.kernel
def histogram(f: T, h: mt.types.ndarray(mt.f32, 1)):
    for i, j in f.a:
        h[(i * 7 + j * 3) % 11] += f.a[i, j]


@mt.kernel
def activate_then_sum(f: T, at: mt.types.ndarray(mt.i32, 2), v: mt.types.ndarray(mt.f32, 1)) -> mt.f32:
    for k in range(v.shape[0]):
        f.a[at[k, 0], at[k, 1]] = v[k]
    s = 0.0
    for i, j in f.a:
        s += f.a[i, j]
    return s


def points(seed=3):
    random = np.random.default_rng(seed)
    cells = random.choice(512 * 512, N, replace=False)
    return np.stack([cells // 512, cells % 512], 1).astype(np.int32), values(N)


def runs(body, repeat=7):
    """What `body` gives in contexts of 1, 2 and 4 workers, `repeat` times each."""
    found = []
    for context in contexts():
        with context:
            found += [bits(body()) for _ in range(repeat)]
    return found


def test_a_sparse_sum_has_the_same_bits():
    at, v = points()

    def body():
        f = T.new()
        scatter(f, at, v)
        return np.float32(total(f))

    assert len(set(runs(body))) == 1


def test_a_scatter_has_the_same_bits():
    at, v = points()

    def body():
        f = T.new()
        scatter(f, at, v)
        h = np.zeros(11, np.float32)
        histogram(f, h)
        return h

    assert len(set(runs(body))) == 1


def test_a_kernel_may_activate_before_it_loops():
    at, v = points()

    def body():
        f = T.new()
        first = activate_then_sum(f, at, v)
        # The same cells again: nothing moves, and the sum is the same.
        version = f.topology_version
        again = activate_then_sum(f, at, v)
        assert f.topology_version == version and bits(first) == bits(again)
        f.check()
        return np.float32(first)

    assert len(set(runs(body))) == 1


def test_dense_sums_and_several_results():
    v = values(1 << 18, 5)

    @mt.kernel
    def sums(x: mt.types.ndarray(mt.f32, 1), out: mt.types.ndarray(mt.f32, 1), n: mt.types.ndarray(mt.i32, 1)):
        for i in range(x.shape[0]):
            out[0] += x[i]
            out[1] += x[i] * x[i]
            mt.atomic_max(out[2], x[i])
            n[0] += i & 3

    def body():
        out, n = np.zeros(3, np.float32), np.zeros(1, np.int32)
        sums(v, out, n)
        assert n[0] == (1 << 18) * 3 // 2 and out[2] == v.max()
        assert abs(float(out[1]) / float((v.astype(np.float64) ** 2).sum()) - 1) < 1e-5
        return out

    assert len(set(runs(body))) == 1


def test_two_dimensional_loops_and_few_iterations():
    x = values(700 * 300, 6).reshape(700, 300)

    @mt.kernel
    def rows(x: mt.types.ndarray(mt.f32, 2)) -> mt.f32:
        s = 0.0
        for i, j in mt.ndrange(x.shape[0], x.shape[1]):
            s += x[i, j]
        return s

    assert len(set(runs(lambda: np.float32(rows(x)), 4))) == 1
    for context in contexts():
        with context:
            assert rows(np.zeros((0, 3), np.float32)) == 0
            assert rows(np.full((1, 1), 2.5, np.float32)) == 2.5
            assert rows(np.ones((257, 3), np.float32)) == 771


def test_what_was_there_is_added_to():
    @mt.kernel
    def add(x: mt.types.ndarray(mt.f32, 1), out: mt.types.ndarray(mt.f32, 1)):
        for i in range(x.shape[0]):
            out[0] += x[i]

    for context in contexts():
        with context:
            out = np.full(1, 100, np.float32)
            add(np.ones(5000, np.float32), out)
            assert out[0] == 5100


L = mt.types.SNodeTreeBuilder().pointer(mt.ij, 16).dense(mt.ij, 4).place(a=mt.i32).build()
Q = mt.types.SNodeTreeBuilder().dynamic(mt.i, 1 << 16, chunk_size=64).place(v=mt.i32).build()


def test_lists_are_appended_in_the_order_of_the_loop():
    @mt.kernel
    def fill(f: L, seed: mt.i32):
        for k in range(4096):
            at = (k * 1021 + seed) % 4096
            f.a[at // 64, at % 64] = at

    @mt.kernel
    def gather(f: L, q: Q):
        for i, j in f.a:
            if f.a[i, j] % 3 == 0:
                mt.append(q.v.parent(), [], f.a[i, j])

    def body():
        f, q = L.new(), Q.new()
        fill(f, 5)
        gather(f, q)
        return q.v.to_numpy()[: q.dynamic0.length()]

    assert len(set(runs(body, 4))) == 1


def test_old_values_count_in_order():
    @mt.kernel
    def number(x: mt.types.ndarray(mt.i32, 1), n: mt.types.ndarray(mt.i32, 1)):
        for i in range(x.shape[0]):
            x[i] = mt.atomic_add(n[0], 1)

    for context in contexts():
        with context:
            x = np.zeros(20000, np.int32)
            number(x, np.zeros(1, np.int32))
            assert (x == np.arange(20000)).all()


def test_read_only_trees_are_in_order_or_refused(tmp_path):
    at, v = points()
    with mt.Context(threads=2):
        f = T.new()
        scatter(f, at[::-1].copy(), v)
        f.save(tmp_path / "unsorted")
        f.sort()
        f.save(tmp_path / "sorted")
        version = f.topology_version
        f.sort()
        assert f.topology_version == version
    with mt.Context(deterministic=True):
        with pytest.raises(RuntimeError, match="bound read-only: sort it before it is saved"):
            total(T.load(tmp_path / "unsorted", read_only=True))
        shown = T.load(tmp_path / "sorted", read_only=True)
        assert bits(total(shown)) == bits(total(f)) and shown.topology_version == version


def lists():
    return mt.types.SNodeTreeBuilder().dynamic(mt.axes("i"), 64, 4, name="level").place(a=mt.f32).build()


def pointers():
    return mt.types.SNodeTreeBuilder().pointer(mt.axes("i"), 64, name="level").place(a=mt.f32).build()


def tables():
    return mt.types.SNodeTreeBuilder().hash(mt.axes("i"), name="level").place(a=mt.f32).build()


@pytest.mark.parametrize("make", [lists, pointers, tables])
def test_slots_that_a_statement_gives_up_before_a_sorted_loop(make):
    """They are free before slots are put in order: the order was noted, and then they left."""
    tree_type = make()
    is_list = make is lists

    @mt.kernel
    def drop_then_walk(f: tree_type, out: mt.types.ndarray(mt.f32, 1)):
        if mt.static(is_list):
            mt.deactivate(f.level, [])
        else:
            for k in mt.static(range(1, 64, 2)):
                mt.deactivate(f.level, [k])
        for i in f.a:
            out[i] = f.a[i]

    for context in contexts():
        with context:
            f = tree_type.new({"level": 64} if make is tables else None)
            for i in range(64) if is_list else reversed(range(64)):
                f["a"][i] = i + 1
            out = np.zeros(64, np.float32)
            drop_then_walk(f, out)
            f.check()
            assert f.stats()["level"].peak == f.stats()["level"].used == (0 if is_list else 32)
            assert (out == [0 if is_list or i % 2 else i + 1 for i in range(64)]).all()
            drop_then_walk(f, out)
            f.check()
