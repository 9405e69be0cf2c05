"""Probes of faults in iterations and turns that run side by side, as lanes of vectors."""

import numpy as np

import metate as mt

from . import expect, probe

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray


@probe("LanesTwice")
def lanes_twice():
    @mt.kernel
    def run(x: array(f32, 1), out: array(f32, 1)):
        for i in range(out.shape[0]):
            for j in range(x.shape[0]):
                out[i] += x[j]

    out = np.zeros(17, np.float32)
    run(np.ones(2, np.float32), out)
    expect(out, np.full(17, 2))


@probe("LanesLeftAdd")
def lanes_left_add():
    @mt.kernel
    def run(turns: array(i32, 1), counts: array(i32, 1)):
        for i in range(turns.shape[0]):
            k = 0
            while k * k < turns[i]:
                k += 1
            if k < 5:
                counts[k] += 1

    turns, counts = np.arange(70, dtype=np.int32), np.zeros(70, np.int32)
    run(turns, counts)
    expect(counts[:5], [1, 1, 3, 5, 7])
    expect(counts[5:], np.zeros(65))


@probe("VectorSumRepeats")
def vector_sum_repeats():
    vec4 = mt.types.vector(4, f32)

    @mt.kernel
    def run(x: array(vec4, 1), out: array(vec4, 1)):
        mt.loop_config(serialize=True)
        for _ in range(1):
            s = mt.Vector.zero(f32, 4)
            for i in range(x.shape[0]):
                s += x[i]
            out[0] = s

    out = np.zeros((1, 4), np.float32)
    run(np.ones((9, 4), np.float32), out)
    expect(out, np.full((1, 4), 9))


@probe("JammedTwice")
def jammed_twice():
    @mt.kernel
    def run(x: array(f32, 2), out: array(f32, 1)):
        for i in range(out.shape[0]):
            for j in range(x.shape[0]):
                out[i] += x[j, i]

    out = np.zeros(70, np.float32)
    run(np.ones((20, 70), np.float32), out)
    expect(out, np.full(70, 20))


@probe("ChosenForgotten")
def chosen_forgotten():
    @mt.kernel
    def run(x: array(i32, 2), at: array(i32, 1)):
        for i in range(x.shape[0]):
            best = 0
            for q in range(x.shape[1]):
                if x[i, q] < x[i, best]:
                    best = q
            at[i] = best

    at = np.zeros(2, np.int32)
    run(np.array([[5, 1, 7, 3] * 6, [9, 2, 4, 0] * 6], np.int32), at)
    expect(at, [1, 3])


@probe("LaterOfEqualLanes")
def later_of_equal_lanes():
    @mt.kernel
    def run(x: array(i32, 1)) -> i32:
        least, at = 9, -1
        for _ in range(1):
            for i in range(x.shape[0]):
                if x[i] < least:
                    least = x[i]
                    at = i
        return at

    expect(run(np.full(64, 5, np.int32)), 0)


@probe("LanesStartWithNaN")
def lanes_start_with_nan():
    @mt.kernel
    def run(x: array(mt.f32, 1)) -> mt.f32:
        least = x[0]
        for _ in range(1):
            for i in range(x.shape[0]):
                least = mt.min(least, x[i])
        return least

    x = np.arange(64, dtype=np.float32)
    x[0] = np.nan
    expect(run(x), 1)


@probe("BlockHalfAsked")
def block_half_asked():
    @mt.kernel
    def run(x: array(i32, 1), at: array(i32, 1)):
        for i in range(x.shape[0]):
            if x[i] == 50:
                at[0] = i

    at = np.zeros(1, np.int32)
    run(np.arange(64, dtype=np.int32), at)
    expect(at, [50])


def add_what_a_turn_changes():
    @mt.kernel
    def run(x: array(i32, 1), k: i32):
        mt.loop_config(serialize=True)
        for j in range(x.shape[0]):
            x[j] = x[j] + x[k]

    x = np.full(20, 5, np.int32)
    run(x, 2)
    expect(x, [10] * 3 + [15] * 17)


@probe("CutTurnForgotten")
def cut_turn_forgotten():
    add_what_a_turn_changes()


@probe("ChangingTurnForgotten")
def changing_turn_forgotten():
    add_what_a_turn_changes()


@probe("EarlierWriteForgotten")
def earlier_write_forgotten():
    @mt.kernel
    def run(x: array(i32, 1), k: i32):
        mt.loop_config(serialize=True)
        for j in range(4, x.shape[0]):
            x[j] = x[j - 4] + x[k]

    x = np.array([1] * 4 + [0] * 20, np.int32)
    run(x, 9)
    expect(x, [1] * 10 + [2] * 4 + [3] * 4 + [4] * 4 + [5] * 2)


@probe("BlendedStale")
def blended_stale():
    @mt.kernel
    def run(x: array(i32, 1), k: i32):
        mt.loop_config(serialize=True)
        for j in range(x.shape[0]):
            old = x[j]
            x[j + k] = 7
            if old > 100:
                x[j] = old

    x = np.zeros(20, np.int32)
    run(x, 0)
    expect(x, [7] * 20)


@probe("StoredAtOther")
def stored_at_other():
    @mt.kernel
    def run(x: array(f32, 1), out: array(f32, 1)):
        for _ in range(1):
            low, high = 0, x.shape[0]
            for i in range(x.shape[0]):
                if x[i] < 3:
                    out[low] = x[i]
                    low += 1
                else:
                    high -= 1
                    out[high] = x[i]

    out = np.zeros(5, np.float32)
    run(np.array([5, 1, 2, 4, 0], np.float32), out)
    expect(out, [1, 2, 0, 4, 5])


@probe("FallingRowRises")
def falling_row_rises():
    @mt.kernel
    def run(x: array(i32, 1), out: array(i32, 1), turns: i32, last: i32):
        for i in range(out.shape[0]):
            total = 0
            for j in range(turns):
                total += x[last - j - i]
            out[i] = total

    out = np.zeros(40, np.int32)
    run(np.arange(42, dtype=np.int32), out, 2, 41)
    expect(out, [2 * (41 - i) - 1 for i in range(40)])


@probe("ChangedReadHoisted")
def changed_read_hoisted():
    @mt.kernel
    def run(x: array(i32, 2), out: array(i32, 1)):
        for i in range(x.shape[0]):
            total = 0
            for j in range(x.shape[1]):
                total += x[i, 0]
                x[i, j] = j
            out[i] = total

    out = np.zeros(2, np.int32)
    run(np.full((2, 20), 5, np.int32), out)
    expect(out, [5, 5])


@probe("MemberExchanged")
def member_exchanged():
    a, b = mt.field(i32), mt.field(i32)
    mt.root.dense(mt.i, 9).place(a, b)

    @mt.kernel
    def run():
        for i in range(9):
            b[i] = a[i] + 7

    run()
    expect(a.to_numpy(), np.zeros(9))
    expect(b.to_numpy(), np.full(9, 7))


@probe("OverwrittenForwarded")
def overwritten_forwarded():
    @mt.kernel
    def run(x: array(i32, 1), at: array(i32, 1), out: array(i32, 1)):
        for i in range(out.shape[0]):
            x[i] = 3
            x[at[i]] = 5
            out[i] = x[i]

    out = np.zeros(1, np.int32)
    run(np.zeros(1, np.int32), np.zeros(1, np.int32), out)
    expect(out, [5])


@probe("WindowRowsExchanged")
def window_rows_exchanged():
    x, y = mt.Vector.field(9, i32, shape=17), mt.Vector.field(9, i32, shape=17)
    values = np.arange(17 * 9, dtype=np.int32).reshape(17, 9)
    x.from_numpy(values)

    @mt.kernel
    def run():
        for i in x:
            y[i] = x[i] * 3 + 1

    run()
    expect(y.to_numpy(), values * 3 + 1)


@probe("BreakForgetsTurn")
def break_forgets_turn():
    @mt.kernel
    def run(n: i32, out: array(i32, 1)):
        for i in range(out.shape[0]):
            total = 0
            for j in range(n):
                total += j
                if total > 9:
                    break
            out[i] = total

    out = np.zeros(2, np.int32)
    run(7, out)
    expect(out, [10, 10])


@probe("LanesDivideInSingle")
def lanes_divide_in_single():
    @mt.kernel
    def run(x: array(i32, 1), by: array(i32, 1), out: array(i32, 1)):
        for i in range(out.shape[0]):
            for j in range(by.shape[0]):
                out[i] += x[i] // by[j]

    out = np.zeros(17, np.int32)
    with mt.Context(chunk_ns=0, threads=1):
        run(np.full(17, 2**24 + 1, np.int32), np.ones(2, np.int32), out)
    expect(out, np.full(17, 2**25 + 2))


def _turns(out, steps):
    @mt.kernel
    def run(turns: array(i32, 1), out: array(f32, 1)):
        for i in range(out.shape[0]):
            a, left = 1.0, turns[i]
            while left > 0:
                a = mt.sqrt(a * a + 3.0)
                left -= 1
            if a > 3.0:
                out[i] += a

    with mt.Context(chunk_ns=0, threads=1):
        run(steps, out)


@probe("LanesLeftGoOn")
def lanes_left_go_on():
    out = np.zeros(3, np.float32)
    _turns(out, np.array([5, 0, 8], np.int32))
    expect(out, [4, 0, 5])


@probe("LanesForgetMask")
def lanes_forget_mask():
    out = np.zeros(3, np.float32)
    _turns(out, np.array([5, 1, 8], np.int32))
    expect(out, [4, 0, 5])


@probe("LanesLeftWrite")
def lanes_left_write():
    @mt.kernel
    def run(turns: array(i32, 1), out: array(i32, 2)):
        for i in range(turns.shape[0]):
            for k in range(turns[i]):
                out[i, k & 3] += 1

    turns, out = np.arange(16, dtype=np.int32), np.zeros((16, 4), np.int32)
    with mt.Context(chunk_ns=0, threads=1):
        run(turns, out)
    expect(out, [[(turn + 3 - k) // 4 for k in range(4)] for turn in turns])


@probe("LanesLeftStore")
def lanes_left_store():
    @mt.kernel
    def run(turns: array(i32, 1), out: array(i32, 1)):
        for i in range(turns.shape[0]):
            seen = mt.Vector([0] * 20)
            for k in range(turns[i]):
                seen[k] = 1
            for k in range(20):
                out[i] += seen[k]

    turns, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    with mt.Context(chunk_ns=0, threads=1):
        run(turns, out)
    expect(out, turns)


@probe("GatheredOnceFirst")
def gathered_once_first():
    @mt.kernel
    def run(x: array(i32, 2), out: array(i32, 1)):
        for i in range(out.shape[0]):
            last = mt.Vector([0] * 20)
            for _ in range(20):
                for k in range(20):
                    last[k] = last[k] * 3 + x[i, k]
            for k in range(20):
                out[i] += last[k]

    x, out = np.arange(320, dtype=np.int32).reshape(16, 20), np.zeros(16, np.int32)
    with mt.Context(chunk_ns=0, threads=1):
        run(x, out)
    want = np.zeros_like(x)
    for _ in range(20):
        want = want * 3 + x
    expect(out, want.sum(axis=1, dtype=np.int32))


@probe("OwnRowUnread")
def own_row_unread():
    x = mt.field(i32, shape=(16, 40))

    @mt.kernel
    def run():
        for p in range(16):
            for _ in range(20):
                for j in range(40):
                    x[p, j] += x[p, (j + 1) % 40]

    start = np.arange(640, dtype=np.int32).reshape(16, 40)
    x.from_numpy(start)
    run()
    want = start.copy()
    for _ in range(20):
        for j in range(40):
            want[:, j] += want[:, (j + 1) % 40]
    expect(x.to_numpy(), want)


@probe("ColumnsFromOne")
def columns_from_one():
    @mt.kernel
    def run(out: array(i32, 2)):
        for j in range(out.shape[1]):
            for i in range(out.shape[0]):
                out[i, j] = i + 1

    out = np.zeros((2, 3), np.int32)
    run(out)
    expect(out, [[1, 1, 1], [2, 2, 2]])


@probe("OddLaneLost")
def odd_lane_lost():
    Cells = mt.types.SNodeTreeBuilder().dense(mt.i, 4).place(v=mt.types.vector(3, mt.f32), m=mt.f32).build()

    @mt.kernel
    def run(g: Cells, x: array(mt.f32, 2)):
        for k in range(x.shape[0]):
            g.v[k % 4] += mt.Vector([x[k, 0] + 1.0, x[k, 1] + 1.0, x[k, 2] + 1.0])
            g.m[k % 4] += 2.0

    with mt.Context(chunk_ns=0):  # pieces of any size
        g = Cells.new()
        run(g, np.zeros((40, 3), np.float32))
        expect(g.m.to_numpy(), [20, 20, 20, 20])


@probe("ScatterOfBlocksFirst")
def scatter_of_blocks_first():
    @mt.kernel
    def run(to: array(f32, 1), at: array(i32, 1), zero: array(f32, 1)):
        mt.loop_config(serialize=True)
        for j in range(at.shape[0]):
            one = mt.exp(zero[j])  # worth two loops
            to[at[j]] += mt.exp(one - 1) * at[j]

    to = np.zeros(4, np.float32)
    run(to, np.array([1, 3, 2, 3], np.int32), np.zeros(4, np.float32))
    expect(to, [0, 1, 2, 6])


@probe("LanesAloneAreFirst")
def lanes_alone_are_first():
    @mt.kernel
    def run(x: array(f32, 2), y: array(f32, 2)):
        for i in range(x.shape[0]):
            s = 0.0
            for j in range(20):
                s = 0.5 * s + mt.exp(x[i, j] - s)
            for j in range(20):
                y[i, j] = x[i, j] + 0 * s

    x = np.arange(640, dtype=np.float32).reshape(32, 20) / 640
    y = np.zeros_like(x)
    run(x, y)
    expect(y, x)
