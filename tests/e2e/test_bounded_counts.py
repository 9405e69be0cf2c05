"""Counts that stop at a bound, in the ways in which users write them, of packed and of plain numbers: what NumPy says,
also where a number is beyond the bound at first."""

import numpy as np
import pytest

import metate as mt

N = 192
BOUNDS = [3, 9, 14, 15]


@mt.func
def conjunction(own, beside, n, bound: mt.template()):
    if beside > own and n < bound:
        n += 1
    return n


@mt.func
def nested(own, beside, n, bound: mt.template()):
    if beside > own:
        if n < bound:
            n += 1
    return n


@mt.func
def inverse(own, beside, n, bound: mt.template()):
    if n <= bound - 1 and own < beside:
        n = n + 1
    return n


@mt.func
def selection(own, beside, n, bound: mt.template()):
    return mt.select((beside > own) & (n < bound), n + 1, n)


@mt.func
def minimum(own, beside, n, bound: mt.template()):
    return mt.min(n + mt.cast(beside > own, mt.i32), bound)


@mt.func
def conditional_minimum(own, beside, n, bound: mt.template()):
    if own < beside:
        n = mt.min(n + 1, bound)
    return n


def expected(values, bound, comes_back):
    own, count = values[1:-1], np.zeros(N - 2, int)
    for shift in (-1, 0, 1):
        count += values[1 + shift : N - 1 + shift] > own
    stays = own + np.minimum(count, np.maximum(bound - own, 0))
    if comes_back == "always":
        return np.minimum(stays, bound)
    return np.where((count > 0) & (own > bound), bound, stays) if comes_back == "counted" else stays


@pytest.mark.parametrize("kind", ["4 bits", "i32"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    "step, comes_back",
    [(conjunction, ""), (nested, ""), (inverse, ""), (selection, ""), (minimum, "always"), (conditional_minimum, "counted")],
)
def test_counts_stop_at_their_bound(kind, bound, step, comes_back):
    number = mt.types.quant.int(4, False) if kind == "4 bits" else mt.i32
    x, y = mt.field(number), mt.field(number)
    for field in (x, y):
        if kind == "4 bits":
            mt.root.quant_array(mt.i, N, max_num_bits=64).place(field)
        else:
            mt.root.dense(mt.i, N).place(field)
    values = np.random.default_rng(bound).integers(0, 16, N)
    x.from_numpy(values.astype(np.uint32 if kind == "4 bits" else np.int32))

    @mt.kernel
    def run():
        for i in range(1, N - 1):
            own = mt.cast(x[i], mt.i32)
            n = own
            for d in mt.static(range(-1, 2)):
                n = step(own, mt.cast(x[i + d], mt.i32), n, bound)
            y[i] = n

    run()
    np.testing.assert_array_equal(y.to_numpy()[1:-1], expected(values, bound, comes_back))
