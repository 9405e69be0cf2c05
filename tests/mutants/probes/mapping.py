"""Probes of faults in tasks, chunks, LLVM operations and object code."""

import contextlib
import io
import platform

import numpy as np

import metate as mt

from . import expect, probe
from .sparse import line

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray


@probe("UnswitchedElseLost")
def unswitched_else_lost():
    @mt.kernel
    def run(flag: i32, x: array(i32, 2)):
        for i in range(2):
            for k in range(x.shape[1]):  # few turns that are known are written out
                if flag > 0:
                    x[i, k] = 1
                else:
                    x[i, k] = 2

    x = np.zeros((2, 3), np.int32)
    run(0, x)
    expect(x, np.full((2, 3), 2))


@probe("FlattenedElseLost")
def flattened_else_lost():
    tree_type = line(a=5, b=6)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            out[i] = f.a[i] if i % 2 == 0 else f.b[i]

    tree = tree_type.new()
    tree.a[0] = 1
    out = np.zeros(4, np.int32)
    run(tree, out)
    expect(out, [1, 6, 5, 6])


@probe("ChunkEndShort")
def chunk_end_short():
    @mt.kernel
    def run(out: array(i32, 1)):
        for i in range(out.shape[0]):
            out[i] = i + 1

    out = np.zeros(5, np.int32)
    run(out)
    expect(out, [1, 2, 3, 4, 5])


@probe("LowerBoundForgotten")
def lower_bound_forgotten():
    @mt.kernel
    def run(out: array(i32, 1)):
        for i in range(2, 5):
            out[i] = i

    out = np.zeros(6, np.int32)
    run(out)
    expect(out, [0, 0, 2, 3, 4, 0])


@probe("InnerBoundForgotten")
def inner_bound_forgotten():
    @mt.kernel
    def run(out: array(i32, 2)):
        for i, j in mt.ndrange(2, (1, 3)):
            out[i, j] = 1

    out = np.zeros((2, 3), np.int32)
    run(out)
    expect(out, [[0, 1, 1], [0, 1, 1]])


@probe("ScopesOfOverlapping")
def scopes_of_overlapping():
    @mt.kernel
    def run(a: array(i32, 1), b: array(i32, 1), out: array(i32, 1)):
        for i in range(1):
            before = a[i]
            b[i] = before + 1
            out[i] = a[i] + before

    a, out = np.full(4, 3, np.int32), np.zeros(1, np.int32)
    run(a, a, out)
    expect(out, [7])


@probe("PrintedUnsigned")
def printed_unsigned():
    @mt.kernel
    def run(n: i32):
        print(n, mt.i64(n))

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run(-3)
    expect(text.getvalue(), "-3 -3\n")


@probe("AtomicMaxUnsigned")
def atomic_max_unsigned():
    @mt.kernel
    def run(x: array(i32, 1)):
        for i in range(3):
            mt.atomic_max(x[0], -1 - i)

    x = np.array([4], np.int32)
    run(x)
    expect(x, [4])


@probe("AtomicProductAdds")
def atomic_product_adds():
    @mt.kernel
    def run(x: array(i32, 1)):
        while mt.atomic_mul(x[0], 5) < 3:  # what a loop waits for stays an atomic operation
            pass

    x = np.array([1], np.int32)
    run(x)
    expect(x, [25])


@probe("EveryReadInvariant")
def every_read_invariant():
    @mt.kernel
    def run(x: array(i32, 1), at: array(i32, 1), out: array(i32, 1)):
        for i in range(1):
            before = x[i]
            x[at[i]] = 8
            out[i] = x[i] * 100 + before

    x, out = np.array([3], np.int32), np.zeros(1, np.int32)
    run(x, np.zeros(1, np.int32), out)
    expect(out, [803])


@probe("FastFloats")
def fast_floats():
    @mt.kernel
    def run(x: array(f32, 1), out: array(i32, 1)):
        for i in range(x.shape[0]):
            out[i] = 1 if x[i] != x[i] else 0

    out = np.zeros(2, np.int32)
    run(np.array([1, np.nan], np.float32), out)
    expect(out, [0, 1])


@probe("HalfTruncates")
def half_truncates():
    @mt.kernel
    def run(x: array(mt.f64, 1), out: array(mt.f16, 1)):
        for i in range(x.shape[0]):
            out[i] = x[i]

    x = np.array([1.0009, 0.1, -2.7182])
    out = np.zeros(3, np.float16)
    # The fault is in what a CPU does that converts no f64 to f16 itself.
    with mt.Context(cpu="x86-64-v3" if platform.machine() == "x86_64" else None):
        run(x, out)
    expect(out, x.astype(np.float16))


@probe("PartialStartsAtOne")
def partial_starts_at_one():
    @mt.kernel
    def run(x: array(i32, 1)) -> i32:
        s = 0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    expect(run(np.array([4, 5], np.int32)), 9)


@probe("AloneReturnsNew")
def alone_returns_new():
    @mt.kernel
    def run(at: array(i32, 1), x: array(i32, 1), out: array(i32, 1)):
        for i in range(at.shape[0]):
            out[i] = mt.atomic_add(x[at[i]], 5)

    x, out = np.array([1, 2], np.int32), np.zeros(1, np.int32)
    run(np.array([1], np.int32), x, out)
    expect(out, [2])


@probe("StreamStartsLate")
def stream_starts_late():
    @mt.kernel
    def run(x: array(f32, 1), out: array(f32, 1)):
        for i in range(1, out.shape[0]):
            out[i] = x[i]

    for first in (2, 3):  # wherever lines begin, not at both of these
        out = np.zeros(200, np.float32)
        with mt.Context(nontemporal_bytes=0):
            run(np.ones(200, np.float32), out[first:])
        expect(out[first + 1 :], np.ones(199 - first))


@probe("QuotientOfAnother")
def quotient_of_another():
    @mt.kernel
    def run(out: array(i32, 1)):
        for i in range(7):
            out[i] = (i // 3) * 3 + (i + 1) % 3

    out = np.zeros(7, np.int32)
    run(out)
    expect(out, [1, 2, 0, 4, 5, 3, 7])


@probe("RunTakesOnePlace")
def run_takes_one_place():
    @mt.kernel
    def run(x: array(i32, 1), out: array(i32, 1), count: array(i32, 1)):
        for i in range(x.shape[0]):
            if x[i] % 2 == 0:
                out[mt.atomic_add(count[0], 1)] = x[i]

    out, count = np.full(8, -1, np.int32), np.zeros(1, np.int32)
    run(np.arange(16, dtype=np.int32), out, count)
    expect(np.sort(out), np.arange(0, 16, 2))


@probe("KeptRunForgets")
def kept_run_forgets():
    @mt.kernel
    def run(x: array(i32, 1), out: array(i32, 1)) -> i32:
        place = 0
        mt.loop_config(serialize=True)
        for i in range(x.shape[0]):
            if x[i] % 2 == 0:
                out[place] = x[i]
                place += 1
        return place

    with mt.Context(chunk_ns=0):  # blocks of 16 turns
        x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
        run(x, out)
    expect(out[:32], np.arange(0, 64, 2))


@probe("ExtentUnasked")
def extent_unasked():
    @mt.kernel
    def run(x: array(i32, 3), y: array(i32, 3)):
        for p, i, j in mt.ndrange(x.shape[0], 3, 3):
            y[p, i, j] = x[p, j, i] + 1

    values, out = np.arange(60, dtype=np.int32).reshape(5, 3, 4), np.zeros((5, 3, 4), np.int32)
    run(values, out)
    expect(out[..., :3], values[..., :3].transpose(0, 2, 1) + 1)


@probe("OperandsExchanged")
def operands_exchanged():
    @mt.kernel
    def run(x: array(f32, 1), out: array(f32, 1)):
        for i in x:
            out[i] = mt.atan2(x[i], 0.0)

    out = np.zeros(2, np.float32)
    run(np.full(2, 3, np.float32), out)
    expect(out, np.full(2, np.pi / 2, np.float32))


@probe("RecursionRepeats")
def recursion_repeats():
    @mt.real_func
    def power(n: i32, x: i32, product: i32) -> i32:
        if n == 0:
            return product
        return power(n - 1, x, product * x)

    @mt.kernel
    def run(n: i32) -> i32:
        return power(n, 3, 1)

    expect(run(4), 81)


@probe("InteriorTooLarge")
def interior_too_large():
    @mt.kernel
    def run(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for i in range(40):
            out[i] = x[1 + (i - 1) % 40]

    x, out = np.arange(41, dtype=np.int32), np.zeros(40, np.int32)
    run(x, out)
    expect(out, np.roll(x[1:], 1))


def add_to_an_odd_slab():
    Cells = mt.types.SNodeTreeBuilder().dense(mt.i, 100_000).place(m=mt.f32).build()

    @mt.kernel
    def run(g: Cells, x: array(i32, 1)):
        for k in range(20_000):
            for d in range(16):
                g.m[x[k] + d] += 1.0

    g = Cells.new()
    run(g, np.full(20_000, 1500, np.int32))
    expect(g.m.to_numpy()[1500:1516], [20_000] * 16)


@probe("OddSlabsLost")
def odd_slabs_lost():
    add_to_an_odd_slab()


@probe("FirstBoundsAgain")
def first_bounds_again():
    add_to_an_odd_slab()


@probe("FirstRecordAgain")
def first_record_again():
    Cells = mt.types.SNodeTreeBuilder().dense(mt.i, 100_000).place(m=mt.f32).build()

    @mt.kernel
    def run(g: Cells, x: array(i32, 1), w: mt.types.ndarray(mt.types.vector(16, f32), 1)):
        for k in range(20_000):
            for d in mt.static(range(16)):
                g.m[x[k] + d] += w[k][d]

    with mt.Context(nontemporal_bytes=0):
        g = Cells.new()
        w = np.zeros((20_000, 16), np.float32)
        w[1::2] = 1
        run(g, np.full(20_000, 1500, np.int32), w)
        expect(g.m.to_numpy()[1500:1516], [10_000] * 16)


@probe("WindowsOfFirstLanes")
def windows_of_first_lanes():
    @mt.kernel
    def run(x: array(i32, 1), v: mt.types.ndarray(mt.types.vector(3, f32), 1), out: array(f32, 1)):
        for k in x:
            out[k] = v[x[k]].sum()

    at = np.arange(64, dtype=np.int32)[::-1].copy()
    v, out = np.arange(64 * 3, dtype=np.float32).reshape(64, 3), np.zeros(64, np.float32)
    run(at, v, out)
    expect(out, v[at].sum(axis=1))


@probe("FirstNumberOfArray")
def first_number_of_array():
    @mt.kernel
    def run(x: array(i32, 1), g: mt.types.ndarray(mt.types.vector(2, f32), 1)):
        for k in range(x.shape[0]):
            for d in range(16):
                g[x[k] + d] += mt.Vector([1.0, 2.0])

    g = np.zeros((100_000, 2), np.float32)
    run(np.full(20_000, 1500, np.int32), g)
    expect(g[1500:1516], [[20_000, 40_000]] * 16)


@probe("FirstCopyLost")
def first_copy_lost():
    @mt.kernel
    def run(at: array(i32, 1), counts: array(i32, 1)):
        for k in range(at.shape[0]):
            counts[at[k]] += 1

    with mt.Context(chunk_ns=0):  # pieces of any size
        counts = np.zeros(2, np.int32)
        run(np.arange(40, dtype=np.int32) % 2, counts)
    expect(counts, [20, 20])


@probe("OtherExtremeAsked")
def other_extreme_asked():
    @mt.kernel
    def run(x: array(i32, 1)) -> i32:
        low, high, found = 1000, -1000, 0
        for i in x:
            mt.atomic_min(low, x[i])
            mt.atomic_max(high, x[i])
        for i in x:
            if x[i] == high:
                found += 1
        return found + 10 * low

    with mt.Context(chunk_ns=0):  # pieces of few values
        expect(run(np.arange(1, 301, dtype=np.int32)), 11)


@probe("WrittenValueSkipped")
def written_value_skipped():
    @mt.kernel
    def run(x: array(i32, 1), n: i32) -> i32:
        low, found = 1000, 0
        for i in x:
            mt.atomic_min(low, x[i])
        x[n] = low
        for i in x:
            if x[i] == low:
                found += 1
        return found

    with mt.Context(chunk_ns=0):  # pieces of few values
        expect(run(np.arange(300, dtype=np.int32), 299), 2)
