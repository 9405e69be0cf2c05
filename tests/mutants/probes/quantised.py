"""Probes of faults in quantised members: decoding, words, who owns them, loops by words."""

import numpy as np

import metate as mt

from . import expect, probe

Q = mt.types.quant


def packed(*fields, bits=32, cells=64):
    """Puts fields into one word of each of so many cells."""
    word = mt.BitpackedFields(max_num_bits=bits)
    word.place(*fields)
    mt.root.dense(mt.i, cells).place(word)


def row(type_, elements=128, word=32):
    """A field of elements that lie in words, one after the other."""
    field = mt.field(type_)
    mt.root.quant_array(mt.i, elements, max_num_bits=word).place(field)
    return field


@probe("QuantSignForgotten")
def quant_sign_forgotten():
    x, y = mt.field(Q.int(5)), mt.field(mt.i32, 64)
    packed(x)

    @mt.kernel
    def run():
        for i in x:
            x[i] = i % 32 - 16
        for i in x:
            y[i] = x[i]

    run()
    expect(y.to_numpy(), np.arange(64) % 32 - 16)


@probe("QuantTruncated")
def quant_truncated():
    x = mt.field(Q.fixed(11, scale=0.5))
    packed(x)

    @mt.kernel
    def run():
        for i in x:
            x[i] = 0.25 * i

    run()
    expect(x.to_numpy(), np.floor(0.25 * np.arange(64) / 0.5 + 0.5).astype(np.float32) * 0.5)


@probe("WordLosesNeighbour")
def word_loses_neighbour():
    x, y = mt.field(Q.int(12)), mt.field(Q.int(12))
    packed(x, y)
    x.fill(7)

    @mt.kernel
    def run():
        for i in y:
            y[i] = i

    run()
    expect(x.to_numpy(), np.full(64, 7))


@probe("EveryWordOwn")
def every_word_own():
    n, cells = 1 << 19, 64
    x = row(Q.int(16, False), cells)

    # Who asks for what was there has no copy to add to.
    @mt.kernel
    def run(at: mt.types.ndarray(mt.i32, 1), old: mt.types.ndarray(mt.i32, 1)):
        for i in range(n):
            old[i] = mt.atomic_add(x[at[i]], 1)

    # All workers count in the same 32 words; on a busy machine one of them may do most.
    at, old = np.arange(n, dtype=np.int32) % cells, np.zeros(n, np.int32)
    with mt.Context(threads=4):
        for _ in range(40):
            x.fill(0)
            run(at, old)
            expect(x.to_numpy(), np.full(cells, n // cells))


@probe("MergesJoinedAcross")
def merges_joined_across():
    x, y = mt.field(Q.int(12)), mt.field(Q.int(12))
    packed(x, y)

    @mt.kernel
    def run(at: mt.types.ndarray(mt.i32, 1), seen: mt.types.ndarray(mt.i32, 1)):
        for i in range(64):
            k = at[i]
            x[k] = i + 1
            seen[i] = x[k]
            y[k] = i

    at, seen = np.arange(64, dtype=np.int32)[::-1].copy(), np.zeros(64, np.int32)
    run(at, seen)
    expect(seen, np.arange(64) + 1)


@probe("WordNeighbourForgotten")
def word_neighbour_forgotten():
    x, y = row(Q.int(1, False)), row(Q.int(1, False))
    x.fill(1)

    @mt.kernel
    def run():
        for i in range(127):
            y[i] = x[i + 1]

    run()
    expect(y.to_numpy(), np.arange(128) < 127)


@probe("PlaneCarryLost")
def plane_carry_lost():
    x, y = row(Q.int(1, False), word=32), row(Q.int(1, False), word=32)
    x.fill(1)

    @mt.kernel
    def run():
        for i in range(2, 126):
            n = mt.u32(0)
            for d in mt.static(range(-2, 3)):
                n += x[i + d]
            y[i] = mt.select(n == 5, mt.u32(1), mt.u32(0))

    run()
    expect(y.to_numpy(), (np.arange(128) >= 2) & (np.arange(128) < 126))


@probe("CountBeyondBound")
def count_beyond_bound():
    x, y = row(Q.int(4, False)), row(Q.int(4, False))
    values = np.arange(128) % 16
    x.from_numpy(values.astype(np.uint32))

    @mt.kernel
    def run():
        for i in range(1, 127):
            n = mt.cast(x[i], mt.i32)
            for d in mt.static((-1, 1)):
                if x[i + d] > 3 and n < 9:
                    n += 1
            y[i] = n

    run()
    inner, expected = values[1:-1], np.zeros(128, int)
    count = (values[:-2] > 3).astype(int) + (values[2:] > 3)
    expected[1:-1] = np.where(inner >= 9, inner, np.minimum(inner + count, 9))
    expect(y.to_numpy(), expected)


@probe("BorderWordWhole")
def border_word_whole():
    y = row(Q.int(1, False))

    @mt.kernel
    def run():
        for i in range(3, 100):
            y[i] = 1

    run()
    expect(y.to_numpy(), (np.arange(128) >= 3) & (np.arange(128) < 100))
