"""atomic_exchange and atomic_compare_exchange: what was there, what is there, and that nothing comes between."""

import numpy as np
import pytest

import metate as ti

quant = ti.types.quant
SCALARS = {t: getattr(ti, t) for t in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "u1")}
WAYS = {"O2": {}, "O0": {"opt_level": 0}, "interpreted": {"arch": ti.interp}, "checked": {"debug": True}}


def of_words(kind):
    """A field of eight quantised numbers."""
    if kind == "array of bits":
        x = ti.field(quant.int(3))
        ti.root.quant_array(ti.i, 8, max_num_bits=32).place(x)
        return x
    types = {
        "int": quant.int(5),
        "fixed": quant.fixed(9, max_value=64.0),
        "float": quant.float(5, 8),
        "shared": quant.float(5, 8),
    }
    x, beside = ti.field(types[kind]), ti.field(types["shared" if kind == "shared" else "int"])
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x, beside, shared_exponent=kind == "shared")
    ti.root.dense(ti.i, 8).place(word)
    return x


def place_of(kind):
    if kind in SCALARS:
        return ti.field(SCALARS[kind], 8)
    if kind == "sparse":
        x = ti.field(ti.i32)
        ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
        return x
    return of_words(kind)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [*SCALARS, "sparse", "int", "fixed", "float", "shared", "array of bits"])
def test_old_and_new(kind, way):
    ti.init(**WAYS[way])
    x = place_of(kind)

    @ti.kernel
    def run(old: ti.types.ndarray(ti.f64, 1)):
        for _ in range(1):
            old[0] = ti.atomic_exchange(x[3], 1)
            old[1] = ti.atomic_compare_exchange(x[3], 0, 0)
            old[2] = x[3]
            old[3] = ti.atomic_compare_exchange(x[3], 1, 0)
            old[4] = x[3]
            old[5] = ti.atomic_exchange(x[5], 1)

    old = np.full(6, 7.0)
    run(old)
    assert old.tolist() == [0, 1, 1, 1, 0, 0]
    assert float(x[5]) == 1


@pytest.mark.parametrize("way", WAYS)
def test_arrays_variables_vectors_and_components(way):
    ti.init(**WAYS[way])
    v = ti.Vector.field(3, ti.f32, shape=2)

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, 1), seen: ti.types.ndarray(ti.f32, 1)):
        for _ in range(1):
            local = ti.f32(2)
            seen[0] = ti.atomic_compare_exchange(local, 2.0, 3.0)
            seen[1] = ti.atomic_exchange(local, 4.0) + 10 * local
            seen[2] = ti.atomic_compare_exchange(a[0], 1.0, 5.0)
            seen[3] = ti.atomic_compare_exchange(a[1], 7.0, 5.0)
            before = ti.atomic_exchange(v[1], ti.Vector([1.0, 2.0, 3.0]))
            seen[4] = before.sum()
            seen[5] = ti.atomic_compare_exchange(v[1][2], 3.0, 9.0)

    a, seen = np.array([1, 2], np.float32), np.zeros(6, np.float32)
    run(a, seen)
    assert seen.tolist() == [2, 43, 1, 2, 0, 3]
    assert a.tolist() == [5, 2]
    assert v[1].to_list() == [1, 2, 9]


@pytest.mark.parametrize("way", ["O2", "O0", "interpreted"])
def test_bits_are_compared(way):
    ti.init(**WAYS[way])

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, 1), zero: ti.f32, nan: ti.f32):
        for _ in range(1):
            ti.atomic_compare_exchange(a[0], zero, 1.0)
            ti.atomic_compare_exchange(a[1], nan, 1.0)

    a = np.array([-0.0, np.nan], np.float32)
    run(a, 0.0, np.float32(np.nan))
    assert np.signbit(a[0])
    assert a[0] == 0
    assert a[1] == 1


def test_what_is_expected_is_rounded_as_a_store_is():
    x = of_words("fixed")

    @ti.kernel
    def run() -> ti.f32:
        x[0] = 0.3  # 0.25
        return ti.atomic_compare_exchange(x[0], 0.3, 2.0)

    assert run() == 0.25
    assert x[0] == 2


@pytest.mark.parametrize("kind", ["i32", "f32", "u8", "int", "fixed"])
def test_one_of_many_iterations_claims_a_place(kind):
    """Each place is claimed once, by the iteration that found it free."""
    ti.init(threads=4, chunk_ns=0)
    x, n = place_of(kind), 20000

    @ti.kernel
    def run(wins: ti.types.ndarray(ti.i32, 1)):
        for i in range(n):
            if ti.atomic_compare_exchange(x[i % 8], 0, 1) == 0:
                wins[i] = 1

    wins = np.zeros(n, np.int32)
    run(wins)
    assert np.bincount(np.flatnonzero(wins) % 8).tolist() == [1] * 8


@pytest.mark.parametrize("kind", ["i32", "i64", "f64", "int"])
def test_nothing_is_lost_in_exchanges(kind):
    """What iterations get out and what is left at the end are what was there and what they put in."""
    ti.init(threads=4, chunk_ns=0)
    x, n = place_of(kind), 12 if kind == "int" else 20000

    @ti.kernel
    def run(got: ti.types.ndarray(ti.i64, 1)):
        for i in range(n):
            got[i] = ti.cast(ti.atomic_exchange(x[0], i + 1), ti.i64)

    got = np.zeros(n, np.int64)
    run(got)
    assert sorted([*got.tolist(), int(x[0])]) == list(range(n + 1))


def test_a_counter_of_ones_own():
    """Compare-exchange in a loop is any operation: here a maximum of squares."""
    ti.init(threads=4, chunk_ns=0)
    best = ti.field(ti.i64, ())

    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1)):
        for i in range(a.shape[0]):
            square = ti.cast(a[i], ti.i64) ** 2
            seen = best[None]
            while seen < square:
                found = ti.atomic_compare_exchange(best[None], seen, square)
                seen = square if found == seen else found

    a = np.random.default_rng(3).integers(-40000, 40000, 30000).astype(np.int32)
    run(a)
    assert best[None] == (a.astype(np.int64) ** 2).max()


def test_vectors_are_exchanged_and_not_compared():
    v = ti.Vector.field(3, ti.f32, shape=2)

    @ti.kernel
    def run():
        ti.atomic_compare_exchange(v[0], 0.0, 1.0)

    with pytest.raises(ti.MetateError, match=r"expected a place that holds one number.*name a component, as in x\[i\]\[0\]"):
        run()


def test_a_shared_exponent_keeps_the_others():
    x, y = ti.field(quant.float(5, 8)), ti.field(quant.float(5, 8))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x, y, shared_exponent=True)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def run() -> ti.f32:
        x[1], y[1] = 1.0, 0.5
        return ti.atomic_exchange(x[1], 2.0) + 10 * ti.atomic_compare_exchange(y[1], 0.5, 1.5)

    assert run() == 6
    assert (x[1], y[1]) == (2, 1.5)


def test_what_does_not_fit_is_said():
    ti.init(debug=True)
    x = of_words("int")

    @ti.kernel
    def run(value: ti.i32):
        ti.atomic_compare_exchange(x[2], 0, value)

    run(15)
    assert x[2] == 15
    with pytest.raises(AssertionError, match="holds -16 to 15"):
        run(16)


def test_derivatives():
    """Of a place of the iteration's own; of one that others exchange as well it would depend on their order."""
    x, y, loss = (ti.field(ti.f32, shape, needs_grad=True) for shape in (8, 8, ()))
    at = ti.field(ti.i32, 8)

    @ti.kernel
    def own():
        for i in range(8):
            old = ti.atomic_exchange(y[i], x[i] * 2)
            loss[None] += y[i] + 3 * old

    @ti.kernel
    def anywhere():
        for i in range(8):
            loss[None] += ti.atomic_exchange(y[at[i]], x[i])

    x.fill(1)
    own()
    loss.grad[None] = 1
    own.grad()
    assert x.grad.to_numpy().tolist() == [2] * 8
    assert y.grad.to_numpy().tolist() == [3] * 8
    with pytest.raises(ti.MetateError, match=r"has no derivative|needs what was there"):
        anywhere.grad()


def test_exchanges_of_one_kind_in_several_tasks():
    """The same numbers are expected and desired before a loop, in it and behind it."""
    x, y, at = ti.field(ti.i32, 8), ti.field(ti.i32, 8), ti.field(ti.i32, 64)

    @ti.kernel
    def run(expected: ti.i32, desired: ti.i32):
        x[1] = 3
        ti.atomic_compare_exchange(x[0], expected, desired)
        for i in range(64):
            ti.atomic_compare_exchange(y[at[i]], expected, desired)
        ti.atomic_compare_exchange(x[2], expected, desired)

    y.fill(7)
    y[0] = 0
    run(0, 5)
    assert x.to_numpy().tolist() == [5, 3, 5, 0, 0, 0, 0, 0]
    assert y.to_numpy().tolist() == [5] + [7] * 7


def test_a_sum_stays_before_the_exchange_behind_it():
    """In whatever order iterations come, each ends with its exchange."""
    x, v = ti.field(ti.i32, 128), ti.field(ti.i32, (128, 100))
    v.fill(1)

    @ti.kernel
    def run():
        for i, k in v:
            x[i] += v[i, k]
            ti.atomic_exchange(x[i], 0)

    run()
    assert not x.to_numpy().any()
