"""Probes of the front end's faults: what operators, casts and loop bounds mean."""

import numpy as np

import metate as mt

from . import expect, probe

f32, i32, u8, u32 = mt.f32, mt.i32, mt.u8, mt.u32
array = mt.types.ndarray


@probe("FloorDivisionSign")
def floor_division_sign():
    @mt.kernel
    def run(a: array(i32, 1), b: array(i32, 1), out: array(i32, 1)):
        for i in range(a.shape[0]):
            out[i] = a[i] // b[i]

    a, b = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
    out = np.zeros(4, np.int32)
    run(a, b, out)
    expect(out, a // b)


@probe("SmallPowerShort")
def small_power_short():
    @mt.kernel
    def run(a: array(mt.f32, 1), n: i32, out: array(mt.f32, 1)):
        for i in range(a.shape[0]):
            out[i] = a[i] ** n

    out = np.zeros(2, np.float32)
    run(np.array([2, 3], np.float32), 9, out)
    expect(out, [512, 19683])


@probe("FloatModuloSign")
def float_modulo_sign():
    @mt.kernel
    def run(a: array(f32, 1), b: array(f32, 1), out: array(f32, 1)):
        for i in range(a.shape[0]):
            out[i] = a[i] % b[i]

    a, b = np.array([7.5, -7.5, 7.5, -7.5], np.float32), np.array([2, 2, -2, -2], np.float32)
    out = np.zeros(4, np.float32)
    run(a, b, out)
    expect(out, a % b)


@probe("UnsignedCompareSigned")
def unsigned_compare_signed():
    @mt.kernel
    def run(a: array(u32, 1), out: array(i32, 1)):
        for i in range(a.shape[0]):
            out[i] = 1 if a[i] < 5 else 0

    out = np.zeros(2, np.int32)
    run(np.array([3, 2**31 + 1], np.uint32), out)
    expect(out, [1, 0])


@probe("UnsignedMinSigned")
def unsigned_min_signed():
    @mt.kernel
    def run(a: array(u8, 1), b: array(u8, 1), out: array(u8, 1)):
        for i in range(a.shape[0]):
            out[i] = mt.min(a[i], b[i])

    a, b, out = np.array([3, 200], np.uint8), np.array([5, 7], np.uint8), np.zeros(2, np.uint8)
    run(a, b, out)
    expect(out, np.minimum(a, b))


@probe("ShiftUnguarded")
def shift_unguarded():
    @mt.kernel
    def run(a: i32, by: array(i32, 1), out: array(i32, 1)):
        for i in range(by.shape[0]):
            out[i] = a << by[i]

    out = np.zeros(3, np.int32)
    run(3, np.array([1, 32, 33], np.int32), out)
    expect(out, [6, 0, 0])


@probe("CastClampsNegative")
def cast_clamps_negative():
    @mt.kernel
    def run(a: array(f32, 1), out: array(u8, 1)):
        for i in range(a.shape[0]):
            out[i] = mt.cast(a[i], u8)

    out = np.zeros(2, np.uint8)
    run(np.array([3.7, -2.5], np.float32), out)
    expect(out, [3, 254])


@probe("UnsignedToFloatSigned")
def unsigned_to_float_signed():
    @mt.kernel
    def run(a: array(u32, 1), out: array(mt.f64, 1)):
        for i in range(a.shape[0]):
            out[i] = a[i]

    a, out = np.array([7, 2**32 - 5], np.uint32), np.zeros(2)
    run(a, out)
    expect(out, a.astype(np.float64))


@probe("PromoteSignedWins")
def promote_signed_wins():
    @mt.kernel
    def run(a: array(i32, 1), b: array(u32, 1), out: array(i32, 1)):
        for i in range(a.shape[0]):
            out[i] = 1 if a[i] + b[i] > 10 else 0

    out = np.zeros(2, np.int32)
    run(np.array([-3, 4], np.int32), np.array([1, 5], np.uint32), out)
    expect(out, [1, 0])


@probe("LoopCountRoundsDown")
def loop_count_rounds_down():
    @mt.kernel
    def run(step: i32, out: array(i32, 1)):
        for i in range(1):
            total = 0
            for k in range(10, 0, step):
                total = total * 100 + k
            out[i] = total

    out = np.zeros(1, np.int32)
    run(-4, out)
    expect(out, [100602])


@probe("MatrixProductTransposed")
def matrix_product_transposed():
    @mt.kernel
    def run(a: mt.types.matrix(2, 3, i32), b: mt.types.matrix(3, 2, i32), out: array(i32, 2)):
        c = a @ b
        for i, j in mt.static(mt.ndrange(2, 2)):
            out[i, j] = c[i, j]

    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(7, 13, dtype=np.int32).reshape(3, 2)
    out = np.zeros((2, 2), np.int32)
    run(a.tolist(), b.tolist(), out)
    expect(out, a @ b)
