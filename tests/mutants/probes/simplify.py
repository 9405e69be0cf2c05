"""Probes of the simplify stage's faults."""

import numpy as np

import metate as mt

from . import expect, probe

array = mt.types.ndarray


@probe("LoopValuesDropped")
def loop_values_dropped():
    @mt.kernel
    def run(out: array(mt.i32, 1)):
        for i in range(out.shape[0]):
            total = 0
            for k in range(i):
                total += k
            out[i] = total

    out = np.zeros(6, np.int32)
    run(out)
    expect(out, [0, 0, 1, 3, 6, 10])


@probe("ElseValueDropped")
def else_value_dropped():
    @mt.kernel
    def run(out: array(mt.i32, 1)):
        for i in range(out.shape[0]):
            v = 7
            if i % 2 == 0:
                v = i
            else:
                v = -i
            out[i] = v

    out = np.zeros(4, np.int32)
    run(out)
    expect(out, [0, -1, 2, -3])


@probe("DifferenceBecomesSum")
def difference_becomes_sum():
    @mt.kernel
    def run(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for i in range(1, 4):
            out[i] = x[i - 1]

    x, out = np.arange(8, dtype=np.int32) * 10, np.zeros(5, np.int32)
    run(x, out)
    expect(out, [0, 0, 10, 20, 0])


@probe("FirstComponentAgain")
def first_component_again():
    @mt.kernel
    def run(x: array(mt.i32, 2), out: array(mt.i32, 2)):
        for I in mt.grouped(out):
            out[I] = x[I + mt.Vector([0, 1])]

    x, out = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((3, 3), np.int32)
    run(x, out)
    expect(out, x[:, 1:])


@probe("CarriedTransposed")
def carried_transposed():
    @mt.kernel
    def run(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for _ in range(1):
            v = mt.Vector([0, 0, 0])
            for k in range(x.shape[0]):
                v[0] += x[k]
                v[1] += 10 * x[k]
                v[2] += 100 * x[k]
            out[0], out[1], out[2] = v[0], v[1], v[2]

    x, out = np.arange(20, dtype=np.int32), np.zeros(3, np.int32)
    run(x, out)
    expect(out, [190, 1900, 19000])


@probe("CountedOneShort")
def counted_one_short():
    @mt.kernel
    def run(ends: array(mt.i32, 1)):
        for i in ends:
            k = 0
            while k < 40:
                k += 3
            ends[i] = k

    ends = np.zeros(2, np.int32)
    run(ends)
    expect(ends, [42, 42])


@probe("FallsToAbove")
def falls_to_above():
    @mt.kernel
    def run(seen: array(mt.i32, 1)):
        for _ in range(1):
            k = 20
            while k >= 0:
                seen[k] += 1
                k -= 1

    seen = np.zeros(21, np.int32)
    run(seen)
    expect(seen, np.ones(21))


@probe("OrderedSumReassociated")
def ordered_sum_reassociated():
    @mt.kernel(fast_math=False)
    def run(x: array(mt.f32, 1), sums: array(mt.f32, 1)):
        mt.loop_config(serialize=True)  # else iterations would be lanes, each in order
        for k in range(x.shape[0]):
            sums[0] += x[k]

    x, sums = np.ones(1000, np.float32), np.zeros(1, np.float32)
    x[0] = 2**24  # each 1 that is added to it alone is lost
    run(x, sums)
    expect(sums, [2**24])


@probe("UnrolledTurnLost")
def unrolled_turn_lost():
    @mt.kernel
    def run(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for i in range(out.shape[0]):
            v = mt.Vector([x[0], x[1], x[2]])
            for k in range(3):
                out[i] += v[k] * (i + 1)

    x, out = np.array([1, 20, 300], np.int32), np.zeros(2, np.int32)
    run(x, out)
    expect(out, [321, 642])


@probe("StoredOutOfRange")
def stored_out_of_range():
    @mt.kernel
    def run(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for i in range(out.shape[0]):
            v = mt.Vector([0] * 10)
            for k in range(x.shape[0]):
                v[x[k]] = k + 1
            out[i] = v[9]

    x, out = np.array([3, 9, 10], np.int32), np.zeros(2, np.int32)
    run(x, out)
    expect(out, [2, 2])


@probe("PromotedCellNotStored")
def promoted_cell_not_stored():
    @mt.kernel
    def run(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for i in range(out.shape[0]):
            for j in range(x.shape[0]):
                out[i] += x[j]

    x, out = np.arange(40, dtype=np.int32), np.zeros(2, np.int32)
    run(x, out)
    expect(out, [780, 780])


@probe("LoopStartsBefore")
def loop_starts_before():
    @mt.kernel
    def run(x: array(mt.i32, 1)):
        mt.loop_config(serialize=True)
        for i in range(18):
            for j in range(i + 1):
                x[i] += x[j]

    x = np.arange(20, dtype=np.int32)
    expected = list(range(20))
    for i in range(18):
        for j in range(i + 1):
            expected[i] += expected[j]
    run(x)
    expect(x, expected)


@probe("ChangedCellPromoted")
def changed_cell_promoted():
    @mt.kernel
    def run(x: array(mt.i32, 1)):
        mt.loop_config(serialize=True)
        for j in range(20):
            x[j] = x[2] + 1

    x = np.zeros(20, np.int32)
    run(x)
    expect(x, [1, 1, 1] + [2] * 17)


@probe("UpperDigitsForgotten")
def upper_digits_forgotten():
    @mt.kernel
    def run(out: array(mt.i32, 2)):
        for c in range(16 * 32):
            out[c // 32, c % 32] = c

    out = np.zeros((16, 32), np.int32)
    run(out)
    expect(out, np.arange(16 * 32).reshape(16, 32))


@probe("LastRowLost")
def last_row_lost():
    @mt.kernel
    def run(out: array(mt.i32, 1), m: mt.i32):
        for c in range(out.shape[0]):
            out[c] = c // m

    out = np.full(250, -1, np.int32)
    run(out, 20)
    expect(out, np.arange(250) // 20)


@probe("NarrowedTooFar")
def narrowed_too_far():
    @mt.kernel
    def run(out: array(mt.i32, 1), last: mt.i32):
        for i in out:
            if i <= last:
                out[i] = 1

    out = np.zeros(8, np.int32)
    run(out, 4)
    expect(out, [1] * 5 + [0] * 3)


@probe("WrappedBoundForgotten")
def wrapped_bound_forgotten():
    @mt.kernel
    def run(k: mt.i32, out: mt.types.ndarray(mt.i32, 1)):
        for i in range(out.shape[0]):
            for _ in range(k + i, k + i + 2):
                out[i] += 1

    out = np.zeros(3, np.int32)
    run(2**31 - 3, out)
    expect(out, [2, 0, 0])


@probe("TurnTakenForRest")
def turn_taken_for_rest():
    @mt.kernel
    def run(out: mt.types.ndarray(mt.i32, 1)):
        for i in range(out.shape[0]):
            k = i
            for turn in range(40):
                if k + turn != 7:
                    k = k ^ turn
            out[i] = k

    def after(k):
        for turn in range(40):
            if k + turn != 7:
                k ^= turn
        return k

    out = np.zeros(20, np.int32)
    run(out)
    expect(out, [after(k) for k in range(20)])


@probe("ExtentsNotOrdered")
def extents_not_ordered():
    @mt.kernel
    def run(x: mt.types.ndarray(mt.f32, 2)):
        for j, i in mt.ndrange(70, 90):
            x[i, j] = 1.0

    x = np.zeros((90, 90), np.float32)
    run(x)
    expect(x.sum(axis=1), np.full(90, 70))


@probe("BoxFromZero")
def box_from_zero():
    x = mt.field(mt.i32)
    mt.root.pointer(mt.i, 4).dense(mt.i, 8).place(x)

    @mt.kernel
    def run():
        for b in range(4):
            for i in range(8 * b + 4, 8 * b + 8):
                x[i] = i

    run()
    expect(x.to_numpy(), np.where(np.arange(32) % 8 >= 4, np.arange(32), 0))


@probe("SharedTurnsFromFirst")
def shared_turns_from_first():
    @mt.kernel
    def run(x: mt.types.ndarray(mt.i32, 1)):
        for w in range(3):
            for i in range(w + 2, 20, 3):
                x[i] = i

    x = np.full(20, -1, np.int32)
    run(x)
    expect(x, [-1, -1, *range(2, 20)])


@probe("LeavesCutShort")
def leaves_cut_short():
    x = mt.field(mt.i32)
    mt.root.pointer(mt.i, 4).dense(mt.i, 8).place(x)

    @mt.kernel
    def run():
        for i in range(32):
            x[i] = i

    run()
    expect(x.to_numpy(), np.arange(32))


@probe("ProductFromZero")
def product_from_zero():
    @mt.kernel
    def run(out: array(mt.i32, 1)):
        for i, _ in mt.ndrange(out.shape[0], 3):
            mt.atomic_mul(out[i], 2)

    out = np.ones(100, np.int32)
    run(out)
    expect(out, np.full(100, 8))


@probe("VaryingPlaceFixed")
def varying_place_fixed():
    n = 1 << 15
    x = mt.field(mt.i32, 80)

    # Who asks for what was there has no copy to add to.
    @mt.kernel
    def run(at: array(mt.i32, 1), old: array(mt.i32, 2)):
        for i in range(64):
            for k in range(n):
                old[i, k] = mt.atomic_add(x[i + at[k] % 16], 1)

    at, old = np.arange(n, dtype=np.int32), np.zeros((64, n), np.int32)
    with mt.Context(threads=4):
        for _ in range(20):
            x.fill(0)
            run(at, old)
            expect(x.to_numpy()[:79], n // 16 * np.convolve(np.ones(64, np.int32), np.ones(16, np.int32)))


@probe("LoopsFusedAcrossTurns")
def loops_fused_across_turns():
    @mt.kernel
    def run(x: array(mt.i32, 1), y: array(mt.i32, 1), z: array(mt.i32, 1)):
        for i in range(7):
            y[i] = x[i] + 1
        for i in range(7):
            z[i] = y[6 - i]

    x, y, z = np.arange(7, dtype=np.int32), np.zeros(7, np.int32), np.zeros(7, np.int32)
    run(x, y, z)
    expect(z, x[::-1] + 1)
